"""One training run: sampler, clipping, noise, optimizer call and record in one object, so that they cannot disagree."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any, Self

import torch
from torch import nn

from renyi import check
from renyi.accountants import Guarantee
from renyi.errors import InvalidInput
from renyi.ledger import Ledger, Payer
from renyi.signatures import Taught
from renyi.training.callbacks.moment import Callback, Moment
from renyi.training.callbacks.stopping import Stop, StopWithin
from renyi.training.checks.buffers import FrozenBuffers
from renyi.training.checks.guard import claim
from renyi.training.checks.looks import FINDINGS, Looks
from renyi.training.checks.method import Method
from renyi.training.checks.watch import WatchedParameters
from renyi.training.checks.wrappers import bare, expect_trainable
from renyi.training.clipping.accumulator import Accumulator, Statistics
from renyi.training.clipping.bounds import ClipBounds
from renyi.training.clipping.clipper import Clipper
from renyi.training.errors import ClippingError, TrainingError
from renyi.training.feeding.loading import Loader, Loaders
from renyi.training.feeding.offsets import Offsets
from renyi.training.feeding.placing import Losses, at_the_model
from renyi.training.feeding.tickets import Ticket, Turnstile
from renyi.training.feeding.units import Collate, expect_stated
from renyi.training.hiding.hidden import without_values
from renyi.training.parallel.joining import (
    expect_alike,
    expect_announced,
    expect_bare,
    of_run,
    opened_together,
    team_here,
    weights_of,
)
from renyi.training.parallel.team import Finding
from renyi.training.planning.clip import AdaptiveClip
from renyi.training.planning.plan import Plan
from renyi.training.randomness.entropy import Keys
from renyi.training.randomness.sampler import Indices, poisson_draw
from renyi.training.recording import checkpoint as saved
from renyi.training.recording import findings, reserving
from renyi.training.recording import record as lines
from renyi.training.recording.opening import Checkpoint, Opening, fresh, reopened
from renyi.training.recording.record import Record
from renyi.training.release import Releaser

Callbacks = Callback | Sequence[Callback]


class Run(metaclass=Taught):
    """Trains a model under a plan, and computes what it cost::

        run = Run(plan, model, optimizer, losses, journal="run.jsonl")
        for batch in run.batches(dataset, physical_batch=64):
            run.step(batch)
        print(run.guarantee())

    ``losses(model, batch)`` returns one loss per unit. The model and the optimizer are not modified, but until ``close`` the
    optimizer steps only through the run. ``losses`` gets its batch on the model's device. ``callback``, one or a list of them,
    is called with a ``Moment`` after every release: ``Progress()``, ``LogTo(logger)``, ``StopWithin(budget)`` or a function; a
    ``Stop`` that it returns ends the run. Errors inside a step, for instance in the loss, are reported without their message
    and their local variables, which may hold private values; ``reveal_errors=True`` shows them. ``also`` names what is saved
    and restored with the run: a learning-rate scheduler, averaged weights, anything with ``state_dict`` and
    ``load_state_dict``. ``ledger``, a ledger or a ``Payer``, reserves the whole plan before anything is drawn, or refuses, and
    settles it when the run has ended.
    """

    def __init__(
        self,
        plan: Plan,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        losses: Losses,
        *,
        journal: str | os.PathLike[str],
        ledger: Ledger | Payer | None = None,
        keys: Keys | None = None,
        callback: Callbacks | None = None,
        reveal_errors: bool = False,
        also: Mapping[str, saved.Stateful] | None = None,
    ) -> None:
        self._reveal_errors, self._also, self._team = reveal_errors, dict(also or {}), team_here()
        opening = opened_together(self._team, journal, lambda: fresh(journal))
        self._begin(plan, model, optimizer, losses, opening, ledger, keys, callback)

    @classmethod
    def resume(
        cls,
        plan: Plan,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        losses: Losses,
        *,
        journal: str | os.PathLike[str],
        checkpoint: Checkpoint | None = None,
        ledger: Ledger | Payer | None = None,
        keys: Keys | None = None,
        callback: Callbacks | None = None,
        reveal_errors: bool = False,
        also: Mapping[str, saved.Stateful] | None = None,
    ) -> Self:
        """Continue a run that ended or crashed, under its plan and with new keys.

        The journal is authoritative: what it records is charged, whether or not the checkpoint, or any checkpoint, contains it.
        Without a checkpoint, the model and the optimizer continue from the state in which they are given. A warning says how
        many steps an older checkpoint loses. A run that began with a ``ledger`` goes on under its reservation; of two copies of
        a journal, the second that goes on reserves what is left of the plan again.
        """
        _expect_plan(plan)
        run = cls.__new__(cls)
        run._reveal_errors, run._also, run._team = reveal_errors, dict(also or {}), team_here()
        opening = opened_together(run._team, journal, lambda: reopened(journal, plan, checkpoint))
        run._begin(plan, model, optimizer, losses, opening, ledger, keys, callback)
        return run

    def _begin(
        self,
        plan: Plan,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        losses: Losses,
        opening: Opening,
        ledger: Ledger | Payer | None,
        keys: Keys | None,
        callback: Callbacks | None,
    ) -> None:
        """Check everything, and only then write the first line; if anything fails, release all that was claimed."""
        keys = Keys() if keys is None else keys
        callbacks = _callbacks(callback)
        # Each claim is undone in reverse order, now if a later check fails, or by ``close``.
        with ExitStack() as held:
            held.callback(opening.journal.close)
            with self._team.reporting():
                _expect_plan(plan)
                expect_trainable(model, losses)
                expect_bare(model)
                optimizer, losses = bare(optimizer), at_the_model(losses)
                self._weights = weights = weights_of(model, self._team)
                self._parameters = weights.trainable()
                self._clipper = Clipper(model, losses)
                held.callback(self._clipper.close)
                self._groups = plan.clip.groups(self._parameters)
                self._releaser = Releaser(plan, weights, optimizer, opening=opening, keys=keys, team=self._team)
                held.callback(self._releaser.close)
                held.callback(claim(self, self._parameters))
                keys.bind()
                opening.restore(weights, optimizer, self._also)
            with self._team.meeting(plan_model_and_code=of_run(self._team, plan, model, self._groups)):
                pass
            keys.follow(lambda mine: self._team.led(lambda: mine))
            weights.spread()
            with weights.gathered():
                self._clipper.bind()
            self._open(plan, opening, ledger, private=keys.private)
            self._held = held.pop_all()
        self.plan = plan
        self._model, self._optimizer, self._keys, self._callbacks = model, optimizer, keys, callbacks
        self._buffers, self._watched = FrozenBuffers(model), WatchedParameters(weights)
        self._looks = Looks(model, losses, self._clipper)
        self._turnstile, self._loader, self._closed = Turnstile(), Loaders(), False
        self._loading: Loader | None = None
        self._drawn: dict[int, bytes | None] = {}
        self._chunks, self._seconds = 0, 0.0
        self._accumulator: Accumulator | None = None

    def _open(self, plan: Plan, opening: Opening, ledger: Ledger | Payer | None, *, private: bool) -> None:
        """Write what the journal begins with, or goes on with; the leader has reserved the plan in the ledger before."""
        self._reservation: reserving.Held | None = None
        looks = findings.Looks.at_model(self._parameters.values())
        with ExitStack() as begun:

            def lead() -> bytes:
                opened = lines.Opened.now()
                payer = None if ledger is None else Payer.of(ledger)
                self._reservation = reserving.held(payer, plan, opening.record, opened.id)
                if self._reservation is not None:
                    begun.enter_context(self._reservation.recorded())
                    opened = replace(opened, ledger=self._reservation.dataset)
                return json.dumps(asdict(opened)).encode()

            opened = lines.Opened(**json.loads(self._team.led(lead)))
            self._releaser.note(opening.first_line(plan, private=private, looks=looks, opened=opened))
        if self._team.size > 1:
            self._releaser.note(lines.shared(processes=self._team.size))

    @property
    def record(self) -> Record:
        """The contents of the journal."""
        return self._releaser.record

    @property
    def steps(self) -> int:
        """The number of recorded releases."""
        return self.record.steps

    def batches(
        self,
        dataset: Any,
        *,
        physical_batch: int = 64,
        steps: int | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        persistent_workers: bool = False,
        collate: Collate | None = None,
        owners: Sequence[Any] | Offsets | None = None,
        rows_are_units: bool = False,
        rows_per_unit: int | None = None,
        views: int = 1,
    ) -> Iterator[Ticket]:
        """The batches of the next ``steps`` steps (by default, all that are left), each for one call of ``step``.

        Each step's draw comes in chunks of at most ``physical_batch`` units. ``owners`` gives the id of the person behind each
        row, or ``Offsets``: then persons are drawn and clipped, with all their rows (or the first ``rows_per_unit``). If the
        plan's unit is not "example", give ``owners`` or ``rows_are_units=True``. ``views`` loads every row that many times, for
        random augmentations under one clip. Leaving the loop drops an incomplete draw. ``num_workers``, ``pin_memory`` and
        ``persistent_workers`` are those of a ``DataLoader``; persistent workers serve further calls with the same arguments.
        """
        self._expect_open()
        owned, before = owners is not None, self.record.rows_are_units
        expect_stated(self.plan.unit, owned=owned, rows_are_units=rows_are_units, before=before)
        with self._team.reporting():
            loader = self._loader(
                *(dataset, owners, collate),
                rows_per_unit=rows_per_unit,
                views=views,
                part=(self._team.rank, self._team.size),
                physical_batch=physical_batch,
                num_workers=num_workers,
                pin_memory=pin_memory,
                persistent_workers=persistent_workers,
            )
        expect_alike(self._team, loader, self._keys.key("probe", self.steps), physical_batch, self.steps)
        if before is None and self.plan.unit != "example" and not self.record.stopped:
            self._releaser.note(lines.stated(rows_are_units=not owned))
        over = self._heed([each.before(self.record) for each in self._callbacks if isinstance(each, StopWithin)])
        first, left = self.steps, 0 if over else self.plan.steps - self.steps
        count = left if steps is None else min(left, check.whole(0, steps=steps))
        self._accumulator = None
        self._drawn.clear()
        self._loading = loader
        return loader.tickets(self._draw, issue=self._turnstile.open(first), steps=range(first, first + count))

    def step(self, batch: Ticket) -> Statistics:
        """Clip one chunk and add it to the sum; with the last chunk of a draw, record, add noise and step the optimizer."""
        try:
            statistics, released = self._step(batch)
        except BaseException as error:
            if self._reveal_errors:
                raise
            hidden = without_values(error)
        else:
            if released:
                self._settle()
            if released:
                moment = Moment(self.record, statistics)
                self._heed([callback(moment) for callback in self._callbacks])
            return statistics
        raise hidden  # outside the except block, so that the original error is not its context

    def _heed(self, answers: Sequence[object]) -> bool:
        """End the run if a callback says so, and return whether it did."""
        stops = [answer for answer in answers if isinstance(answer, Stop)]
        if stops:
            # One that was fixed beforehand bounds the number of steps, whatever else stops at the same time.
            self.stop(data_independent=any(stop.data_independent for stop in stops))
        return bool(stops)

    def _step(self, batch: Ticket) -> tuple[Statistics, bool]:
        self._expect_open()
        with self._team.reporting():
            self._releaser.expect_open()
            self._releaser.expect_ready()
            self._watched.expect_untouched()
            ticket = self._turnstile.admit(batch)
        try:
            with self._weights.gathered(), self._team.reporting(self._finding):
                finished = self._added(ticket)
                statistics = finished.statistics()
            if ticket.last:
                self._release(ticket.step, finished)
        except BaseException:
            # A step that failed half-way must not be continued: its sum is incomplete.
            self._accumulator = None
            self._turnstile.shut()
            # What was released since the last look that found nothing cannot be taken back, so it is never forgotten.
            if (finding := self._team.finding) is not None:
                self._team.finding = None
                self._releaser.note(finding)
            raise
        return statistics, ticket.last

    def _added(self, ticket: Ticket) -> Accumulator:
        """The clipped sum of the draw so far, with this chunk; before the last one is used, a look at the weights."""
        if ticket.chunk == 0 or self._accumulator is None:
            self._accumulator = Accumulator(self._clipper.parameters)
        if ticket.units:
            self._accumulator.add(self._clipped(ticket), ticket.units)
        self._weights.expect_unwritten()
        if ticket.last:
            expect_announced(self._team.size)
            # Weights changed from outside would be released without noise.
            self._watched.expect_untouched(values=True)
        return self._accumulator

    def _release(self, step: int, finished: Accumulator) -> None:
        self._accumulator = None
        halves = finished.halves() if isinstance(self.plan.clip, AdaptiveClip) else 0.0
        drawn, weights = self._drawn.pop(step), self._watched.fingerprint
        try:
            self._releaser.release(finished.sums(), halves, draw=drawn, weights=weights)
        finally:
            self._watched.released()

    def _finding(self, error: BaseException) -> Finding | None:
        """The line of the leak that a look has found, if this is its error."""
        if not isinstance(error, FINDINGS):
            return None
        return lines.leaking(release=self.steps + 1, last_clean=self._looks.last_clean, what=str(error))

    def method(self) -> Method:
        """How each layer is clipped, whether the model fell back to a slower way, and what looks cost and saw."""
        looks, done = self._looks, self._chunks
        cost = looks.seconds / looks.taken / (self._seconds / done) if looks.taken and done and self._seconds else None
        units = findings.Looks.at_model(self._parameters.values()).units
        layers = self._clipper.layers()
        return Method(self._clipper.method, layers, looks.taken, units, cost, looks.doubts, tuple(looks.unexamined))

    def guarantee(self) -> Guarantee:
        """The guarantee of this run: for all planned steps, unless a stop was declared data-independent."""
        return self.record.guarantee()

    def spent(self) -> Guarantee:
        """The cost of what has been released so far, to show progress.

        It is a guarantee only if the moment of asking was fixed beforehand.
        """
        return self.record.spent()

    def remaining(self, *, epsilon: float) -> int:
        """How many further planned steps keep everything released within ``epsilon`` at the plan's delta."""
        return self.record.remaining(check.epsilon(epsilon=epsilon))

    def stop(self, *, data_independent: bool = False) -> Guarantee:
        """End the run before its plan does; loops over its batches end.

        Declare ``data_independent`` only if nothing computed from the data influenced the decision.
        """
        self._expect_open()
        if self.steps < self.plan.steps and not self.record.stopped:
            self._releaser.note(lines.stopped(data_independent=bool(data_independent)))
        self._settle()
        self._turnstile.shut()
        if self._loading is not None:
            self._loading.end()
        self._accumulator = None
        return self.guarantee()

    def rebut(self, *, who: str, why: str, leak: int | None = None) -> Guarantee:
        """Attest that a leak which a look has found, by default the last one, was none.

        The journal and every guarantee show who says so and why, beside the leak. It erases nothing: the upper end stays
        infinite. For a run that is closed there is ``renyi.training.rebut(journal, ...)``.
        """
        self._expect_open()
        self._releaser.note(lines.rebutting(self.record, who=who, why=why, leak=leak))
        return self.guarantee()

    def state_dict(self) -> dict[str, Any]:
        """Plan, weights, optimizer, place in the journal and the states of ``also``; no keys, nothing of an unfinished draw."""
        with self._weights.meeting():
            self._expect_open()
            self._watched.expect_untouched(values=True)
            releaser = self._releaser
            place = len(releaser.journal), releaser.journal.head
            model, optimizer, record = self._model, self._optimizer, self.record
            values = saved.state(self.plan, model, optimizer, self._also, record, place, releaser.bound)
        return self._weights.whole(values)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``state_dict()`` to a file, atomically; ``Run.resume(..., checkpoint=path)`` continues from it.

        Of several processes the one of rank 0 writes; on resuming it tells the others.
        """
        state = self.state_dict()
        if self._team.leads:
            saved.write(path, state)

    def close(self) -> None:
        """Release model, optimizer and journal; what was released stays recorded."""
        if not self._closed:
            self._closed = True
            self._turnstile.shut()
            self._loader.close()
            self._accumulator = None
            self._settle()
            self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _settle(self) -> None:
        """Settle the reservation, once, when the run has ended."""
        if self._reservation is not None and self._reservation.settled(self.record):
            self._reservation = None

    def _draw(self, step: int, units: int) -> Indices:
        drawn = poisson_draw(self._keys.key("draw", step), units=units, rate=self.plan.sampling.rate)
        self._drawn[step] = None if self._team.size == 1 else hashlib.sha256(drawn.tobytes()).digest()
        return drawn

    def _clipped(self, ticket: Ticket) -> Any:
        bounds = ClipBounds(self._groups)
        if isinstance(self.plan.clip, AdaptiveClip):
            bounds = ClipBounds.flat(self._parameters, self._releaser.bound)
        try:
            self._looks.before(ticket)
            started = time.process_time()
            sums = self._clipper.sums(ticket.data, ticket.units, bounds)
            self._chunks, self._seconds = self._chunks + 1, self._seconds + time.process_time() - started
            self._looks.after(ticket)
        except FINDINGS:
            raise
        except ClippingError:
            # Changed parameters may be the cause, and then they are the better message.
            self._watched.expect_untouched(values=True)
            raise
        finally:
            self._buffers.expect_untouched()
        return sums

    def _expect_open(self) -> None:
        if self._closed:
            raise TrainingError("this run is closed. Run.resume(...) goes on from its journal.")


def _callbacks(given: Callbacks | None) -> tuple[Callback, ...]:
    callbacks = () if given is None else (given,) if callable(given) else tuple(given)
    if not all(callable(callback) for callback in callbacks):
        raise InvalidInput(
            f"a callback is a function of a Moment, and callback is one or a list of them; got {given!r}."
        )
    return callbacks


def _expect_plan(plan: object) -> None:
    if not isinstance(plan, Plan):
        raise InvalidInput(f"a run needs a Plan; got {plan!r}.")
