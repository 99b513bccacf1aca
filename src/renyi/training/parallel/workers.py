"""A team over ``torch.distributed``: meetings by one small collective, sums by one reduction a step.

The network is trusted: the secret of the run and sums without noise pass over it. Neither is ever put into the store, where it
would outlive the moment, nor into the environment.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import torch
import torch.distributed as dist

from renyi.errors import PrivacyError
from renyi.training.errors import TrainingError
from renyi.training.parallel.team import Finding, Made, Team, nothing_found

DIGEST = 16
"""Bytes of a fact's digest: two facts that differ have the same one with a probability of 2^-128."""

MOST_FACTS = 4
"""Facts of one meeting. With them a message has 65 bytes."""

BUCKET = 25_000_000
"""Bytes that are reduced at a time: as many as DistributedDataParallel's buckets have."""

ROLL_CALL, LISTENING = 10.0, 0.02
"""Seconds that a process has to answer when a message was lost, before it counts as the one that is gone, and between two
looks at who has answered."""


class Workers(Team):
    """The processes of the default group of ``torch.distributed``; every method is called by all of them, in the same order."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        # Messages are bytes of the host; nccl has none.
        self._control: Any = dist.group.WORLD if dist.get_backend() == "gloo" else dist.new_group(backend="gloo")
        self._calls = 0
        self._broken = ""

    @contextmanager
    def meeting(self, **facts: object) -> Iterator[None]:
        """See ``Team``."""
        try:
            yield
        except BaseException as error:
            self._report(error, None)
            raise
        self._meet(facts, None, None)

    @contextmanager
    def reporting(self, finding: Callable[[BaseException], Finding | None] = nothing_found) -> Iterator[None]:
        """See ``Team``."""
        try:
            yield
        except BaseException as error:
            self._report(error, finding(error))
            raise

    def led(self, work: Callable[[], bytes]) -> bytes:
        """See ``Team``."""
        made, failure = b"", None
        if self.leads:
            try:
                made = work()
            except BaseException as error:
                made, failure = _told(error, None), error
        failed, made = self._passed(made, 0, failed=failure is not None)
        if failure is not None:
            raise failure
        if failed:
            raise _of_another(0, json.loads(made))
        return made

    def add_up(self, tensors: Sequence[torch.Tensor]) -> None:
        """See ``Team``."""
        for bucket in buckets(tensors):
            flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
            self._send("sum", dist.all_reduce, flat, group=self._group(flat))
            _put_back(flat, bucket)

    def add_up_own(self, parts: torch.Tensor) -> torch.Tensor:
        """See ``Team``."""
        mine = parts.new_empty(parts.numel() // self.size)
        self._send("sum", dist.reduce_scatter_single, mine, parts, group=self._group(parts))
        return mine

    def spread(self, tensors: Sequence[torch.Tensor]) -> None:
        """See ``Team``."""
        with torch.no_grad():
            for bucket in buckets([tensor.detach() for tensor in tensors]):
                flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
                self._send("broadcast", dist.broadcast, flat.view(torch.uint8), src=0, group=self._group(flat))
                _put_back(flat, bucket)

    def together(self, what: str, work: Callable[[], Made]) -> Made:
        """See ``Team``."""
        made: Made = self._send(what, work)
        return made

    def _report(self, error: BaseException, finding: Finding | None) -> None:
        self.finding = finding
        with suppress(TrainingError):  # who is gone matters less than the error
            self._meet({}, error, finding)

    def _meet(self, facts: Mapping[str, object], error: BaseException | None, finding: Finding | None) -> None:
        """Exchange who failed and what is known; raise if anybody else failed, or knows something else."""
        names = sorted(facts)
        digests = [hashlib.blake2b(repr(facts[name]).encode(), digest_size=DIGEST).digest() for name in names]
        sent = _as_tensor(b"".join([bytes([error is not None]), *digests]).ljust(1 + DIGEST * MOST_FACTS, b"\0"))
        got = [torch.empty_like(sent) for _ in range(self.size)]
        self._send("meeting", dist.all_gather, got, sent, group=self._control)
        rows = [row.numpy().tobytes() for row in got]
        if failed := [rank for rank, row in enumerate(rows) if row[0]]:
            mine = b"" if error is None else _told(error, finding)
            told = {rank: json.loads(self._passed(mine, rank)[1]) for rank in failed}
            self.finding = next((one["finding"] for one in told.values() if one["finding"]), None)
            if error is None:
                raise _of_another(failed[0], told[failed[0]])
            return
        for number, name in enumerate(names):
            place = slice(1 + DIGEST * number, 1 + DIGEST * (number + 1))
            if others := [rank for rank, row in enumerate(rows) if row[place] != rows[0][place]]:
                raise TrainingError(
                    f"rank {', '.join(map(str, others))} and rank 0 do not have the same {name.replace('_', ' ')}, so no "
                    "process goes on: together they must be one run. Start every rank with the same code, plan, model and "
                    "arguments, and the whole dataset; the run itself divides each draw among them."
                )

    def _passed(self, mine: bytes, source: int, *, failed: bool = False) -> tuple[bool, bytes]:
        """What one process passes, in all of them: whether it failed, and its bytes."""
        header = torch.tensor([failed, len(mine)], dtype=torch.int64)
        self._send("broadcast", dist.broadcast, header, src=source, group=self._control)
        failed, length = bool(header[0]), int(header[1])
        if not length:
            return failed, b""
        body = _as_tensor(mine) if source == self.rank else torch.empty(length, dtype=torch.uint8)
        self._send("broadcast", dist.broadcast, body, src=source, group=self._control)
        return failed, body.numpy().tobytes()

    def _group(self, tensor: torch.Tensor) -> Any:
        """Tensors of the host go the way of messages."""
        return self._control if tensor.device.type == "cpu" else dist.group.WORLD

    def _send(self, what: str, collective: Callable[..., Any], *tensors: Any, **options: Any) -> Any:
        """Run a collective, and return what it does; where it fails, find out who is gone."""
        if self._broken:
            raise TrainingError(self._broken)
        self._calls += 1
        try:
            return collective(*tensors, **options)
        except RuntimeError as error:
            self._lost(what, error)

    def _lost(self, what: str, error: RuntimeError) -> NoReturn:
        """Call the roll in the store: who does not answer died, or hangs."""
        silent = [rank for rank in range(self.size) if rank != self.rank]
        try:
            store = dist.distributed_c10d._get_default_store()
            store.set(self._answer(self.rank), "here")
            until = time.monotonic() + ROLL_CALL
            while silent := [rank for rank in silent if not store.check([self._answer(rank)])]:
                if time.monotonic() > until:
                    break
                time.sleep(LISTENING)
        except RuntimeError:  # the store has gone with the process that kept it
            silent = [0]
        who = (
            f"rank {', '.join(map(str, silent))} died or hangs"
            if silent
            else "the network failed, though every rank is there"
        )
        self._broken = (
            f"{who}: a {what} was not completed on rank {self.rank} ({str(error).splitlines()[0][:200]}). This run is over in "
            "every process. The journal of rank 0 covers every update that was released; Run.resume(...) goes on from it, with "
            "any number of processes."
        )
        raise TrainingError(self._broken) from None

    def _answer(self, rank: int) -> str:
        return f"renyi/here/{self._calls}/{rank}"


def buckets(tensors: Sequence[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """The tensors in groups of one kind and device, each as large as it takes to pass ``BUCKET``."""
    held: dict[Any, list[torch.Tensor]] = {}
    sizes: Counter[Any] = Counter()
    for tensor in tensors:
        kind = (tensor.device, tensor.dtype)
        held.setdefault(kind, []).append(tensor)
        sizes[kind] += tensor.numel() * tensor.element_size()
        if sizes[kind] >= BUCKET:
            del sizes[kind]
            yield held.pop(kind)
    yield from held.values()


def _put_back(flat: torch.Tensor, tensors: Sequence[torch.Tensor]) -> None:
    """Give each tensor its part of the concatenated values."""
    for tensor, part in zip(tensors, torch.split(flat, [tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(part.view(tensor.shape))


def _as_tensor(message: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(message), dtype=torch.uint8)


def _told(error: BaseException, finding: Finding | None) -> bytes:
    """What the others are told of an error: foreign messages may quote the data."""
    words = str(error) if isinstance(error, PrivacyError) else type(error).__name__
    return json.dumps({"words": words[:2000], "finding": finding}).encode()


def _of_another(rank: int, told: dict[str, Any]) -> TrainingError:
    return TrainingError(f"rank {rank} failed, so every process ends here. It says: {told['words']}")
