"""Worker processes that answer questions, and are ended when one takes too long: no question can occupy the server.

Two lanes of them: quick ones for what follows a slider, patient ones for plots. What the quick lane ends is asked once more in
the patient lane, so that a question of some seconds holds up other such questions only.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from renyi.errors import PrivacyError

_START = 60.0
"""Seconds in which a worker must have started: importing takes one, or ten on a machine that is busy."""

_LONGEST_ANSWER = 16 << 20
"""Bytes of one answer: plots take some hundred thousand."""


_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Of linear algebra: matrices are small here, and threads that wait for one another take four times the processor's time."""

_GRACE = 1.0
"""Seconds for which an answer that nobody waits for may still be computed: starting a process anew takes longer."""


class Refused(PrivacyError):
    """A question that the library refused, with its words, and the name of the error."""

    def __init__(self, words: str, kind: str) -> None:
        super().__init__(words)
        self.kind = kind


class OutOfTime(PrivacyError):
    """A question that was ended."""


class Busy(PrivacyError):
    """A server that is asked more than it can answer."""


class Worker:
    """One process, started when it is first asked."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None

    async def ask(self, question: list[Any], limit: float) -> dict[str, Any]:
        """The answer, or the end of the process: after the limit, or whenever this call ends without an answer."""
        process = await self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            line = await asyncio.wait_for(process.stdout.readline(), limit)
            if not line:
                raise ConnectionError
        except TimeoutError:
            await self.end()
            raise OutOfTime(
                f"this takes longer than the {limit:g} seconds that a question to the page is given. "
                "The command and the library have no such limit."
            ) from None
        except (OSError, ValueError):
            await self.end()
            raise OutOfTime("the process that computed this ended early, probably for lack of memory.") from None
        except BaseException:
            await self.end()
            raise
        found: dict[str, Any] = json.loads(line)
        return found

    async def start(self) -> asyncio.subprocess.Process:
        """The process, started if need be."""
        if self._process is not None and self._process.returncode is None:
            return self._process
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_ANSWER,
            env={**os.environ, **_ONE_THREAD},
        )
        self._process = process
        try:
            assert process.stdout is not None
            if await asyncio.wait_for(process.stdout.readline(), _START) != b"ready\n":
                raise OutOfTime("the process that computes answers did not start: see the messages of the server.")
        except BaseException:
            await self.end()
            raise
        return process

    async def end(self) -> None:
        """End the process now."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


COMMAND = (sys.executable, "-P", "-m", "renyi.web.working")
"""Starts a worker; -P keeps files of the current folder from being imported."""


class Lane:
    """Some workers with one limit of seconds; ``waiting`` questions may wait for them.

    A visitor who leaves gives up the place in the queue; a question that is being answered then has ``grace`` seconds to end.
    """

    def __init__(
        self, workers: int, limit: float, *, waiting: int = 50, grace: float = _GRACE, command: Sequence[str] = COMMAND
    ) -> None:
        self._limit, self._grace = limit, grace
        # A worker that is still being started is waited for like one that answers.
        self._patience = max(2.0 * limit, _START)
        self._waiting = waiting
        self._free: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        self._workers = [Worker(command) for _ in range(workers)]
        self._present = 0
        for worker in self._workers:
            self._free.put_nowait(worker)

    async def ask(self, question: list[Any]) -> dict[str, Any]:
        """The answer of the first worker that is free."""
        if self._present >= len(self._workers) + self._waiting:
            raise Busy("too many questions are waiting to be answered. Try again in some seconds.")
        self._present += 1
        try:
            worker = await self._next()
            answering = asyncio.ensure_future(worker.ask(question, self._limit))
            answering.add_done_callback(lambda done: self._freed(worker, done))
            try:
                return await asyncio.shield(answering)
            except asyncio.CancelledError:
                asyncio.get_running_loop().call_later(self._grace, answering.cancel)
                raise
        finally:
            self._present -= 1

    def _freed(self, worker: Worker, done: asyncio.Future[dict[str, Any]]) -> None:
        self._free.put_nowait(worker)
        if not done.cancelled():
            done.exception()  # seen, although the visitor may have left

    async def _next(self) -> Worker:
        try:
            return await asyncio.wait_for(self._free.get(), self._patience)
        except TimeoutError:
            raise Busy("other questions take all the time there is. Try again in some seconds.") from None

    async def warm(self) -> None:
        """Start a worker before it is asked; one that does not start says so when it is."""
        worker = await self._free.get()
        try:
            with suppress(OutOfTime, TimeoutError):
                await worker.start()
        finally:
            self._free.put_nowait(worker)

    async def end(self) -> None:
        """End all workers."""
        for worker in self._workers:
            await worker.end()


_BUSY_LEDGER = 30.0
"""Seconds beyond the limit of a question about a ledger: its database tries for 20 before it says that it is busy."""


class Workers:
    """All lanes; that of the ledger where there is one."""

    def __init__(self, quick: Lane, patient: Lane, ledger: Lane | None = None) -> None:
        self._quick, self._patient, self._ledger = quick, patient, ledger

    @classmethod
    def of(cls, *, workers: int, seconds: float, ledger: bool = False) -> Workers:
        """As many workers in each lane; patient ones have ``seconds``, quick ones a tenth."""
        book = Lane(workers, seconds + _BUSY_LEDGER, command=(*COMMAND, "ledger")) if ledger else None
        return cls(Lane(workers, seconds / 10.0), Lane(workers, seconds), book)

    async def ask(self, name: str, *arguments: Any, quick: bool = False) -> dict[str, Any]:
        """The answer to a question; ``Refused`` carries what the library said."""
        question = [name, *arguments]
        try:
            found = await (self._quick if quick else self._patient).ask(question)
        except OutOfTime:
            if not quick:
                raise
            found = await self._patient.ask(question)
        return _answer(found)

    async def ask_ledger(self, name: str, *arguments: Any) -> dict[str, Any]:
        """The answer to a question about the ledger; it is asked once, as it may write."""
        assert self._ledger is not None
        return _answer(await self._ledger.ask([name, *arguments]))

    @property
    def _lanes(self) -> tuple[Lane, ...]:
        return tuple(lane for lane in (self._quick, self._patient, self._ledger) if lane is not None)

    async def warm(self) -> None:
        """Start one worker of each lane."""
        # Exceptions are returned so that a server that is stopped meanwhile waits for all of these to end their processes.
        await asyncio.gather(*(lane.warm() for lane in self._lanes), return_exceptions=True)

    async def end(self) -> None:
        """End all workers."""
        for lane in self._lanes:
            await lane.end()


def _answer(found: dict[str, Any]) -> dict[str, Any]:
    """What a worker found, or the refusal that it wrote."""
    if "refused" in found:
        raise Refused(found["refused"], found["kind"])
    answer: dict[str, Any] = found["answer"]
    return answer
