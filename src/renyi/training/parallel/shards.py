"""Weights that ``torch.distributed.fsdp.fully_shard`` has divided among the processes.

Between chunks each process holds its rows of every parameter; it adds noise to these, steps them, and keeps the optimizer's
state of them. For a chunk all weights are gathered in every process, by one meeting and one gathering: what clipping and looks
then decide by looking at data (where units lie, what is tried again in float64) stays in the process that has those data, and
no collective depends on it. Gathering layer by layer, as ``fully_shard`` does by itself, would need all processes to agree on
every pass through the model.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.utils._pytree import tree_map

from renyi.training.errors import TrainingError
from renyi.training.parallel.team import Team
from renyi.training.parallel.weights import Part, Weights
from renyi.training.parallel.workers import buckets

ONLY = (
    "Shard the model with torch.distributed.fsdp.fully_shard(module) over all processes, by rows, or leave it whole: then "
    "every process holds a copy."
)


class Shards(Weights):
    """Weights of which every process holds, noises and steps some rows."""

    def __init__(self, model: nn.Module, team: Team) -> None:
        super().__init__(model, team)
        modules: list[Any] = [module for module in model.modules() if isinstance(module, FSDPModule)]
        for module in modules:  # outer ones first: each makes those inside of it ready, too
            module._get_fsdp_state()._lazy_init()
        states = [module._get_fsdp_state() for module in modules]
        self._modules = modules
        self._roots = [module for module, state in zip(modules, states, strict=True) if state._is_root]
        self._groups = list({id(group): group for state in states for group in state._fsdp_param_groups}.values())
        self._versions: dict[str, int] = {}
        self._at_rest = self.parameters()
        managed = {id(one.sharded_param) for group in self._groups for one in group.fsdp_params if not one.is_dtensor}
        for name, parameter in self._at_rest.items():
            if isinstance(parameter, DTensor):
                _expect_rows(name, parameter, team, managed=id(parameter) in managed)

    def parameters(self) -> dict[str, nn.Parameter]:
        """See ``Weights``."""
        self._rest()
        return super().parameters()

    def is_whole(self, name: str) -> bool:
        """See ``Weights``."""
        return not isinstance(self._at_rest[name], DTensor)

    def own(self, parameter: torch.Tensor) -> torch.Tensor:
        """See ``Weights``."""
        with torch.no_grad():  # or it would be a view that autograd follows
            return parameter.to_local() if isinstance(parameter, DTensor) else parameter

    def meeting(self) -> AbstractContextManager[None]:
        """See ``Weights``."""
        return self._team.meeting()

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """See ``Weights``; all processes enter it together, also those that have nobody's data to compute with."""
        with self._team.meeting():
            self._rest()
        before = [(group, group.post_forward_mesh_info, group.reshard_after_backward) for group in self._groups]
        reducing = [group.reduce_grads for group in self._groups]
        try:
            for group in self._groups:  # no pass through the model gives weights away, gathers or reduces
                group.post_forward_mesh_info = None
                group.reshard_after_backward = group.reduce_grads = False
            self._team.together("gathering of weights", self._gather)
            self._versions = {name: parameter._version for name, parameter in self._model.named_parameters()}
            yield
        finally:
            for (group, mesh, reshard), reduce in zip(before, reducing, strict=True):
                group.post_forward_mesh_info, group.reshard_after_backward, group.reduce_grads = mesh, reshard, reduce
            self._rest()

    def expect_unwritten(self) -> None:
        """See ``Weights``."""
        now = list(self._model.named_parameters())
        graded = [name for name, parameter in now if parameter.grad is not None]
        if graded:
            for _, parameter in now:
                parameter.grad = None
            raise TrainingError(
                f"the gradient of {', '.join(graded)} was written by somebody else: such a gradient is neither clipped nor "
                "noised. Do not call backward() on the run's parameters; run.step(batch) computes the gradients."
            )
        written = [name for name, parameter in now if self._versions.get(name) != parameter._version]
        if written:
            raise TrainingError(
                f"the parameter {', '.join(written)} was replaced or written while a step computed with it: by the forward "
                "pass (an embedding's max_norm, a write under no_grad), perhaps. What it holds then comes from units that were "
                "drawn, and carries no noise. Take it out."
            )

    def spread(self) -> None:
        """See ``Weights``."""
        whole = [parameter for name, parameter in self.parameters().items() if self.is_whole(name)]
        self._team.spread([*whole, *self._model.buffers()])

    def added_up(self, sums: Mapping[str, torch.Tensor]) -> dict[str, Part]:
        """See ``Weights``."""
        parts = super().added_up({name: value for name, value in sums.items() if self.is_whole(name)})
        divided = {id(value): name for name, value in sums.items() if not self.is_whole(name)}
        for bucket in buckets([value for value in sums.values() if id(value) in divided]):
            pieces = [_by_process(value, self._team.size) for value in bucket]
            mine = self._team.add_up_own(torch.cat(pieces, dim=1).view(-1))
            for value, found in zip(bucket, torch.split(mine, [piece.shape[1] for piece in pieces]), strict=True):
                name = divided[id(value)]
                own = self.own(self._at_rest[name])
                first = self._team.rank * len(found)
                parts[name] = Part(found[: own.numel()].view(own.shape).to(own.device), min(first, value.numel()))
        return {name: parts[name] for name in sums}

    def gradient(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """See ``Weights``."""
        like = self._at_rest[name]
        if not isinstance(like, DTensor):
            return values
        mesh, rows = like.device_mesh, like.placements
        return DTensor.from_local(values, mesh, rows, run_check=False, shape=like.shape, stride=like.stride())

    def whole(self, values: dict[str, Any]) -> dict[str, Any]:
        """See ``Weights``; on the host, since no device may have room for it."""

        def gathered(value: Any) -> Any:
            if not isinstance(value, DTensor):
                return value
            return self._team.together("gathering of the state", partial(_full, value)).cpu()

        found: dict[str, Any] = tree_map(gathered, values)
        return found

    def load(self, model: Mapping[str, Any], optimizer: torch.optim.Optimizer, values: dict[str, Any]) -> None:
        """See ``Weights``."""
        like, taken = self._model.state_dict(), copy.copy(dict(model) if type(model) is dict else model)
        for name, value in model.items():
            taken[name] = _divided(value, like.get(name))  # type: ignore[index]
        held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        state = {
            number: {name: _divided(value, held[number]) for name, value in one.items()}
            for number, one in values["state"].items()
        }
        super().load(taken, optimizer, {**values, "state": state})

    def _gather(self) -> None:
        for module in self._modules:
            module.unshard()

    def _rest(self) -> None:
        """Give away the rows of others, whatever was under way: a pass that failed, an evaluation that kept some weights."""
        for root in self._roots:
            root.reset_iter_state()


def _expect_rows(name: str, parameter: DTensor, team: Team, *, managed: bool) -> None:
    """Refuse what is divided in any way but by rows among all processes."""
    mesh, placements = parameter.device_mesh, parameter.placements
    if not managed:
        raise TrainingError(
            f"the parameter {name} is divided among processes, but not, or not only, by fully_shard ({placements} on a mesh "
            f"of {tuple(mesh.shape)}): that is tensor parallel. There each process computes a part of every unit's gradient, "
            "so the norm by which it is clipped would have to be added up over processes in every layer, and all of them "
            f"would have to be given the same units. This is not built. {ONLY}"
        )
    rows = -(-parameter.shape[0] // team.size)
    mine = max(0, min(rows, parameter.shape[0] - team.rank * rows))
    whole_world = mesh.mesh.flatten().tolist() == list(range(team.size))
    if placements != (Shard(0),) or not whole_world or len(parameter.to_local()) != mine:
        raise TrainingError(
            f"the parameter {name} is held as {placements} on a mesh of {tuple(mesh.shape)}, and this run has {team.size} "
            f"processes: sharded along another axis, among some of the processes only, or both copied and sharded. {ONLY}"
        )


def _by_process(value: torch.Tensor, processes: int) -> torch.Tensor:
    """The rows of each process, one after the other, with zeros behind the last."""
    rows = -(-value.shape[0] // processes)
    flat = value.reshape(-1)
    lacking = rows * processes * (flat.numel() // max(value.shape[0], 1)) - flat.numel()
    return nn.functional.pad(flat, (0, lacking)).view(processes, -1)


def _full(value: DTensor) -> torch.Tensor:
    with torch.no_grad():
        return value.full_tensor()


def _divided(value: Any, like: Any) -> Any:
    """The rows of this process, if a tensor of the same size is divided by rows."""
    if not isinstance(like, DTensor) or not isinstance(value, torch.Tensor) or value.shape != like.shape:
        return value
    # Without a source all processes have the whole, and nothing is sent.
    return distribute_tensor(value.to(like.device), like.device_mesh, like.placements, src_data_rank=None)
