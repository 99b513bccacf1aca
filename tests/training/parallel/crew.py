"""Real processes joined by gloo on this machine, each of which runs the same function.

They are forked from a process that has made a step of training: what torch loads for it takes longer than what most of them do.
"""

from __future__ import annotations

import os
import pickle
import socket
import time
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

EVERYBODY_GONE = 300.0
"""Seconds after which processes that still run are ended, and the test fails: nobody may wait for ever."""


class Kill(NamedTuple):
    """SIGKILL of a process, some seconds after a file of the folder has appeared."""

    rank: int
    after: str
    seconds: float


def crew(size, work, folder: Path, *arguments, timeout=120.0, store="file", kill: Kill | None = None):
    """What ``work(rank, folder, *arguments)`` returns, or raises, in every rank; None of one that died."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob("*.pickle"), folder / "meeting"):
        old.unlink(missing_ok=True)
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["tests.training.parallel.warm"])
    meeting = f"file://{folder / 'meeting'}" if store == "file" else f"tcp://127.0.0.1:{_free_port()}"
    processes = [
        context.Process(target=_member, args=(rank, size, work, folder, arguments, timeout, meeting))
        for rank in range(size)
    ]
    for process in processes:
        process.start()
    if kill is not None:
        while not (folder / kill.after).exists() and all(process.is_alive() for process in processes):
            time.sleep(0.002)
        time.sleep(kill.seconds)
        processes[kill.rank].kill()
    for process in processes:
        process.join(EVERYBODY_GONE)
        if process.is_alive():
            process.kill()
            raise AssertionError(f"a process of {folder} did not end")
    return [_told(folder / f"{rank}.pickle") for rank in range(size)]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _told(path: Path):
    return pickle.loads(path.read_bytes()) if path.exists() else None


def _member(rank, size, work, folder, arguments, timeout, meeting):
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size, timeout=timedelta(seconds=timeout))
    try:
        found = work(rank, folder, *arguments)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    (folder / f"{rank}.part").write_bytes(pickle.dumps(found))
    (folder / f"{rank}.part").rename(folder / f"{rank}.pickle")
    dist.destroy_process_group()
