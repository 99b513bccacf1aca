"""Every system call of a spend on SQLite fails once, in each way a disk can: nothing is acknowledged that is not recorded.

A library that is compiled here and preloaded makes the n-th call on the ledger's files fail: with EIO, with ENOSPC, or with a
write cut short. A spend is opening the ledger, charging, and closing it. Afterwards, without faults, the ledger must verify,
hold the key if it was acknowledged, and charge the key once when it is tried again.

Usage, by ``trial``: python -m tests.ledger.soak.faults DIRECTORY STRIDE, with the library preloaded.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

from renyi import Filter, Gaussian
from renyi.errors import PrivacyError
from renyi.ledger import Ledger
from tests.ledger.soak.processes import forked, result_of

SOURCE = Path(__file__).with_name("fault.c")
ROOT = Path(__file__).resolve().parents[3]
EVENT = Gaussian(1e6)
KINDS = {"EIO": (errno.EIO, 0), "ENOSPC": (errno.ENOSPC, 0), "short write": (errno.ENOSPC, 1)}
"""How a call fails: an error number, and whether a write is cut short before it."""


def trial(directory, stride=1):
    """Compile the library, and run all faults in a process that has it; ``stride``: only every n-th call fails."""
    library = directory / "fault.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.ledger.soak.faults", str(directory), str(stride)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main(directory, stride):
    where = directory / "faulty.db"
    with Ledger.open(where) as ledger:
        ledger.create("census", Filter(epsilon=1.0, delta=1e-6))
    calls = run(where, "counted", -1, "EIO")["seen"]
    found = {"calls of a spend": calls, "faults": 0, "acknowledged": 0, "refused": 0, "crashed": 0}
    for kind in KINDS:
        for at in range(0, calls, stride):
            key = f"{kind} {at}"
            outcome = run(where, key, at, kind)
            if outcome is None:
                found["crashed"] += 1
                outcome = {"acknowledged": False, "hit": True}
            found["faults"] += outcome["hit"]
            found["acknowledged" if outcome["acknowledged"] else "refused"] += 1
            check(where, key, outcome["acknowledged"])
    with Ledger.open(where) as ledger:
        found["entries"] = ledger.status().entries - 1
    assert found["entries"] == 1 + len(KINDS) * len(range(0, calls, stride)), "a key was charged twice, or not at all"
    print(json.dumps(found))


def run(where, key, at, kind):
    """Spend under a key in a process of its own, whose call number ``at`` fails; what became of it."""
    shim = ctypes.CDLL(None)
    number, cut = KINDS[kind]

    def body():
        acknowledged = False
        shim.renyi_arm(os.fsencode(where), ctypes.c_long(at), number, cut)
        try:
            with Ledger.open(where) as ledger:
                ledger.spend(EVENT, dataset="census", key=key)
                acknowledged = True
        except PrivacyError:
            pass
        seen, hit = shim.renyi_seen(), bool(shim.renyi_hit())
        shim.renyi_arm(b"", ctypes.c_long(-1), 0, 0)
        return {"acknowledged": acknowledged, "seen": seen, "hit": hit}

    return result_of(*forked(body))


def check(where, key, acknowledged):
    """What was acknowledged is there; what was not can be tried again; nothing is damaged."""
    with Ledger.open(where) as ledger:
        ledger.verify()
        again = ledger.spend(EVENT, dataset="census", key=key)
        assert again.replayed or not acknowledged, f"{key}: acknowledged, and not recorded"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
