"""Replay believes nothing: a journal whose lines contradict its plan is refused, and no mutation makes a run cheaper."""

from __future__ import annotations

import copy
import json
import os
import tracemalloc

import numpy as np
import pytest

from renyi import Poisson, PrivacyError
from renyi.errors import InvalidInput
from renyi.events.serial import to_dict
from renyi.ledger import Journal, JournalError, TamperedJournal, read
from renyi.ledger.journal import BEGINNING, Entry
from renyi.training import AdaptiveClip, Plan, Record, Run, replay, seeded
from renyi.training.recording import record as lines
from renyi.training.recording.findings import Looks
from tests.training.support import losses, plan, run, train

LOOKS = Looks(parameters=23, units=8)


def payloads(*, adaptive=False, unit="person", steps=6, released=4):
    """The lines of a run that was resumed once."""
    clip = AdaptiveClip(1.0, count_noise_multiplier=4.0) if adaptive else 1.0
    made = plan(clip=clip, unit=unit, steps=steps)
    bounds = [1.0 * 1.1**step if adaptive else 1.0 for step in range(released)]
    rows = [lines.released(made, made.hash, step, bound=bound) for step, bound in enumerate(bounds)]
    start = [lines.begun(made, private=True, looks=LOOKS)] + (
        [lines.stated(rows_are_units=True)] if unit != "example" else []
    )
    return [*start, *rows[:2], lines.resumed(private=True, torn=0), *rows[2:]]


def written(path, rows):
    """A chain as it should be, whatever it says."""
    head, data = BEGINNING, b""
    for number, row in enumerate(rows):
        entry = Entry.following(number, head, row)
        head, data = entry.hash, data + entry.line()
    path.write_bytes(data)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


@pytest.mark.parametrize("adaptive", [False, True])
def test_an_honest_journal_is_replayed(path, adaptive):
    record = replay(written(path, payloads(adaptive=adaptive)))
    assert (record.steps, record.lines, record.rows_are_units) == (4, 7, True)
    assert record.head == read(path)[-1].hash
    assert record.event == record.plan.events(0, 4)
    text = " ".join(record.guarantee().assumptions)
    assert f"journal of 7 lines whose last hash is {record.head}" in text
    assert "no person has two, was declared" in text
    assert "restored from a backup" in text
    assert "numbers of chunks" in text


def release(rows, number=0):
    return [row for row in rows if row["kind"] == "release"][number]


def cheaper_event(rows):
    release(rows)["event"] = to_dict(plan(noise_multiplier=100.0).event(0))


def event_of_nothing(rows):
    release(rows)["event"] = {"kind": "repeated", "count": 0, "event": release(rows)["event"]}


def plan_under_its_old_hash(rows):
    rows[0]["plan"]["noise_multiplier"] = 100.0


def other_plan_in_the_first_line_only(rows):
    other = plan(noise_multiplier=100.0, unit="person")
    rows[0].update(plan=other.to_dict(), plan_hash=other.hash)


def private_in_words(rows):
    rows[0]["private"] = "no"


def resumed_in_words(rows):
    next(row for row in rows if row["kind"] == "resumed")["private"] = "no"


def release_after_a_stop(rows):
    rows.insert(4, lines.stopped(data_independent=True))


def two_stops(rows):
    rows += [lines.stopped(data_independent=False), lines.stopped(data_independent=True)]


def two_plans(rows):
    rows.insert(1, rows[0])


def no_plan(rows):
    del rows[0]


def a_step_left_out(rows):
    rows.remove(release(rows, 1))


def a_step_twice(rows):
    rows.append(release(rows, 3))


def a_step_that_is_true(rows):
    release(rows, 1)["step"] = True


def a_step_that_is_a_float(rows):
    release(rows, 1)["step"] = 1.0


def smaller_clip(rows):
    release(rows)["clip"] = 0.01


def smaller_noise(rows):
    release(rows)["noise_deviation"] *= 0.5


def coarser_grid(rows):
    release(rows)["grid"] *= 2.0


def another_unit(rows):
    release(rows)["unit"] = "company"


def another_adjacency(rows):
    release(rows)["adjacency"] = "zero-out"


def a_field_more(rows):
    release(rows)["note"] = "fine"


def a_field_less(rows):
    del release(rows)["grid"]


def a_leak_of_the_past(rows):
    rows.insert(4, lines.leaking(release=2, last_clean=1, what="as if nothing had been released since"))


def a_leak_found_clean_later(rows):
    rows.insert(4, lines.leaking(release=3, last_clean=7, what="as if it had been looked for later"))


def a_leak_without_words(rows):
    rows.insert(4, lines.leaking(release=3, last_clean=1, what=" "))


def a_rebuttal_of_nothing(rows):
    rows.insert(4, lines.rebutted(leak=1, who="me", why="because"))


def looks_of_no_size(rows):
    rows[0]["looks"]["units"] = -1


def units_twice(rows):
    rows.insert(2, rows[1])


def negative_torn_bytes(rows):
    next(row for row in rows if row["kind"] == "resumed")["torn_bytes"] = -1


def an_older_version(rows):
    rows[0]["version"] = 1


def another_law(rows):
    rows[0]["noise"]["law"] = "none"


def an_unknown_kind(rows):
    rows.append({"kind": "refund", "step": 4})


def no_kind(rows):
    rows.append({})


def more_steps_than_planned(rows):
    made = Plan.from_dict(rows[0]["plan"])
    rows += [lines.released(made, made.hash, step, bound=1.0) for step in (4, 5, 6)]


CRAFTED = [
    cheaper_event,
    event_of_nothing,
    plan_under_its_old_hash,
    other_plan_in_the_first_line_only,
    private_in_words,
    resumed_in_words,
    release_after_a_stop,
    two_stops,
    two_plans,
    no_plan,
    a_step_left_out,
    a_step_twice,
    a_step_that_is_true,
    a_step_that_is_a_float,
    smaller_clip,
    smaller_noise,
    coarser_grid,
    another_unit,
    another_adjacency,
    a_field_more,
    a_field_less,
    a_leak_of_the_past,
    a_leak_found_clean_later,
    a_leak_without_words,
    a_rebuttal_of_nothing,
    looks_of_no_size,
    units_twice,
    negative_torn_bytes,
    an_older_version,
    another_law,
    an_unknown_kind,
    no_kind,
    more_steps_than_planned,
]


@pytest.mark.parametrize("craft", CRAFTED, ids=lambda craft: craft.__name__)
def test_a_crafted_journal_is_refused_and_the_line_is_named(path, craft):
    rows = copy.deepcopy(payloads())
    craft(rows)
    with pytest.raises(JournalError, match=r"line \d+ "):
        replay(written(path, rows))


ODD = (
    None,
    True,
    False,
    0,
    1,
    2,
    -1,
    0.5,
    100.0,
    1e308,
    1e-308,
    "",
    "no",
    "release",
    [],
    {},
    [1],
    {"kind": "stopped"},
    10**30,
)


def places(value, here=()):
    keys = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here] + [place for key, item in keys for place in places(item, (*here, key))]


@pytest.mark.parametrize("part", range(4))
def test_no_mutation_makes_a_run_cheaper(path, part):
    """A thousand, each at a random place, chained anew: refused, or no smaller epsilon and still said to be private."""
    random = np.random.default_rng(part)
    honest = payloads(adaptive=bool(part % 2))
    epsilon = replay(written(path, honest)).guarantee().epsilon.upper
    refused = 0
    for _ in range(250):
        rows = copy.deepcopy(honest)
        found = places(rows)[1:]
        place = found[int(random.integers(len(found)))]
        parent = rows
        for key in place[:-1]:
            parent = parent[key]
        odd = copy.deepcopy(ODD[int(random.integers(len(ODD)))])
        if random.random() < 0.2:
            del parent[place[-1]]
        else:
            parent[place[-1]] = odd
        if rows and all(isinstance(row, dict) for row in rows):
            try:
                assert replay(written(path, rows)).guarantee().epsilon.upper >= epsilon, (place, odd)
            except PrivacyError:
                refused += 1
    assert refused > 200 * 0.8


@pytest.mark.parametrize(
    "line",
    [
        b'{"sequence":7,"previous":"%s","payload":{"kind":NaN},"hash":"0"}',
        b'{"sequence":7,"previous":"%s","payload":{"kind":1e400},"hash":"0"}',
        b'{"sequence":7,"previous":"%s","payload":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b',"hash":"0"}',
        b'{"sequence":7,"previous":"%s","payload":{"kind":' + b"9" * 5000 + b'},"hash":"0"}',
        b'{"sequence":true,"previous":"%s","payload":{},"hash":"0"}',
        b'{"sequence":7,"sequence":7,"previous":"%s","payload":{},"hash":"0"}',
        b"[1, 2]",
        b"\xff\xfe{\x00}\x00",
        b"",
    ],
    ids=lambda line: line[:40].decode(errors="replace"),
)
def test_lines_that_are_none_are_refused_and_dropped_at_the_end(path, line):
    whole = written(path, payloads()).read_bytes()
    path.write_bytes(whole + line.replace(b"%s", read(path)[-1].hash.encode()) + b"\n")
    with pytest.raises(TamperedJournal, match="line 8"):
        replay(path)
    path.write_bytes(whole + line)
    assert replay(path).steps == 4


def test_a_last_line_counts_only_to_the_letter(path):
    """One with a space, or in another encoding, is one that was cut short."""
    whole = written(path, payloads()).read_bytes()
    *_, last = whole.splitlines()
    before = whole[: -len(last) - 1]
    for tail, steps in ((last, 4), (last + b" ", 3), (b" " + last, 3), (last.decode().encode("utf-16"), 3)):
        path.write_bytes(before + tail)
        assert replay(path).steps == steps


def test_a_line_without_end_is_refused_without_being_held(path):
    path.write_bytes(written(path, payloads()).read_bytes() + b"9" * 4_000_000)
    with pytest.raises(TamperedJournal, match="longer than any entry"):
        replay(path)


def test_a_hundred_thousand_lines_stream(path):
    """Some of them here; what is held does not grow with the journal."""
    made = plan(unit="example", steps=10**6)
    peaks = []
    for count in (300, 3000):
        rows = (lines.released(made, made.hash, step, bound=1.0) for step in range(count))
        written(path, [lines.begun(made, private=True, looks=LOOKS), *rows])
        tracemalloc.start()
        assert replay(path).steps == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 200_000


def test_a_run_goes_on_from_what_replay_accepts_only(path):
    from torch import nn
    from torch.optim import SGD

    rows = payloads(unit="example")
    net = nn.Linear(4, 2)
    made = Run.resume(plan(), net, SGD(net.parameters(), lr=0.1), losses, journal=written(path, rows))
    assert made.steps == 4
    made.close()
    cheaper_event(rows)
    with pytest.raises(JournalError, match="line 2 "):
        Run.resume(plan(), net, SGD(net.parameters(), lr=0.1), losses, journal=written(path, rows))
    with Journal(path, lambda entry: None) as journal:  # nobody holds it any more
        assert len(journal) == 6


def test_a_plan_of_another_sampling_does_not_pass_for_this_one(path):
    rows = payloads(unit="example")
    other = plan(sampling=Poisson(0.001))
    rows[0] = lines.begun(other, private=True, looks=LOOKS)
    with pytest.raises(JournalError, match=r"line 2 .*plan_hash"):
        replay(written(path, rows))
    with pytest.raises(InvalidInput):
        Plan.from_dict(json.loads(json.dumps(other.to_dict() | {"version": 7})))
    assert os.path.exists(path)


def test_a_record_says_what_it_is(tmp_path):
    made = train(run(tmp_path, keys=seeded(1)), steps=2)
    made.stop()
    made.close()
    text = str(replay(tmp_path / "run.jsonl"))
    assert text.startswith(
        "Record(2 of 6 planned steps released, then stopped: Poisson(rate=0.3), noise multiplier 1, "
    )
    assert "unit 'example', delta 1e-05; 4 lines of journal; NOT PRIVATE: seeded test; .guarantee()" in text
    assert repr(Record()) == "Record(empty)"
