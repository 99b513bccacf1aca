"""Questions that take too long are ended, the next one is answered, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import sys

import pytest

from renyi.web.workers import Busy, Lane, OutOfTime, Refused, Workers

SLEEPER = """
import json, sys, time
print("ready", flush=True)
for line in sys.stdin:
    what = json.loads(line)[0]
    if what == "hang":
        time.sleep(3600)
    if what == "nod":
        time.sleep(0.2)
    if what == "die":
        sys.exit(3)
    if what == "garble":
        print("{", flush=True)
    print(json.dumps({"refused": "no", "kind": "InvalidInput"} if what == "refuse" else {"answer": {"said": what}}), flush=True)
"""
COMMAND = (sys.executable, "-c", SLEEPER)


def lane(limit=120.0, workers=1, **options):
    return Lane(workers, limit, command=COMMAND, **options)


def ran(test):
    """What a test of one event loop returns; its lanes are ended."""

    async def whole():
        ends = []
        try:
            return await test(ends)
        finally:
            for each in ends:
                await each.end()

    return asyncio.run(whole())


def test_a_question_that_hangs_is_ended_and_the_next_is_answered():
    async def test(ends):
        ends.append(one := lane())
        await one.ask(["warm"])  # started, so that the limit below is that of the question alone
        one._limit = 0.05
        with pytest.raises(OutOfTime, match=r"longer than the 0\.05 seconds"):
            await one.ask(["hang"])
        one._limit = 120.0
        return await one.ask(["again"])

    assert ran(test) == {"answer": {"said": "again"}}


def test_a_process_that_dies_is_said_and_replaced():
    async def test(ends):
        ends.append(one := lane())
        with pytest.raises(OutOfTime, match="ended early"):
            await one.ask(["die"])
        return await one.ask(["again"])

    assert ran(test) == {"answer": {"said": "again"}}


def test_a_visitor_who_leaves_does_not_get_into_the_next_ones_answer():
    async def test(ends):
        ends.append(one := lane(grace=0.05))
        await left(one, "hang")
        return await one.ask(["mine"])

    assert ran(test) == {"answer": {"said": "mine"}}


def test_an_answer_that_is_nearly_there_ends_without_ending_its_process():
    async def test(ends):
        ends.append(one := lane(grace=60.0))
        process = await left(one, "nod")
        assert await one.ask(["mine"]) == {"answer": {"said": "mine"}}
        return (await one._workers[0].start()).pid == process.pid

    assert ran(test)


async def left(one, what):
    """A question whose visitor leaves while it is answered; the process that answers it."""
    await one.ask(["warm"])
    process = await one._workers[0].start()
    task = asyncio.create_task(one.ask([what]))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return process


def test_a_full_lane_says_so_at_once():
    async def test(ends):
        ends.append(one := lane(waiting=1))
        await one.ask(["warm"])
        tasks = [asyncio.create_task(one.ask(["hang"])) for _ in range(2)]
        await asyncio.sleep(0.05)
        third = asyncio.create_task(one.ask(["hang"]))
        await asyncio.sleep(0.05)
        assert isinstance(third.exception(), Busy)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    ran(test)


def test_nobody_waits_for_ever_for_a_worker():
    async def test(ends):
        ends.append(one := lane())
        await one.ask(["warm"])
        held = await one._free.get()
        one._patience = 0.01
        with pytest.raises(Busy, match="other questions"):
            await one.ask(["second"])
        one._free.put_nowait(held)
        one._patience = 120.0
        return await one.ask(["third"])

    assert ran(test) == {"answer": {"said": "third"}}


def test_what_the_quick_lane_ends_is_asked_of_the_patient_one():
    async def test(ends):
        quick, patient = lane(), lane()
        ends += [both := Workers(quick, patient)]
        await quick.ask(["warm"])
        await quick._workers[0].end()
        quick._workers[0]._command = (sys.executable, "-c", SLEEPER.replace('"hang"', '"slow"'))
        await quick.ask(["warm"])
        quick._limit = 0.05
        return await both.ask("slow", quick=True)

    assert ran(test) == {"said": "slow"}


def test_a_refusal_carries_its_words():
    async def test(ends):
        ends.append(both := Workers(lane(), lane()))
        with pytest.raises(Refused, match=r"^no$"):
            await both.ask("refuse")

    ran(test)


def test_a_program_that_is_no_worker_is_refused():
    async def test(ends):
        ends.append(one := Lane(1, 1.0, command=(sys.executable, "-c", "print('hello')")))
        with pytest.raises(OutOfTime, match="did not start"):
            await one.ask(["anything"])

    ran(test)
