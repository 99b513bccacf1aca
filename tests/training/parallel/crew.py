"""Real processes joined by gloo on this machine, each of which runs the same function."""

from __future__ import annotations

import os
import pickle
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def crew(size, work, folder: Path, *arguments, timeout=120.0):
    """What ``work(rank, folder, *arguments)`` returns, or raises, in every rank; None of one that died."""
    folder.mkdir(parents=True, exist_ok=True)
    context = mp.get_context("spawn")
    processes = [
        context.Process(target=_member, args=(rank, size, work, folder, arguments, timeout)) for rank in range(size)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [_told(folder / f"{rank}.pickle") for rank in range(size)]


def _told(path: Path):
    return pickle.loads(path.read_bytes()) if path.exists() else None


def _member(rank, size, work, folder, arguments, timeout):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    meeting = f"file://{folder / 'meeting'}"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size, timeout=timedelta(seconds=timeout))
    try:
        found = work(rank, folder, *arguments)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    (folder / f"{rank}.part").write_bytes(pickle.dumps(found))
    (folder / f"{rank}.part").rename(folder / f"{rank}.pickle")
    dist.destroy_process_group()
