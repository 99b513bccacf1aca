"""Plants the faults of ``planted_faults`` one at a time in a copy of the repository, and demands that a test notices each.

The named test passes without the fault and fails with it. Writes docs/faults.json and the table in docs/tests.md.

Usage: python -m scripts.faults [words of a sentence]      only the faults whose sentence has these words; writes nothing
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

from scripts.planted_faults import FAULTS, Fault
from scripts.test import ROOT

RESULT = ROOT / "docs" / "faults.json"
PAGE = ROOT / "docs" / "tests.md"
BEGIN, END = "<!-- faults: written by `make faults` -->", "<!-- end of faults -->"
COPIES = 2
UNWANTED = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis")
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?::\w+)", re.MULTILINE)


class Copy:
    """A copy of the repository, whose tests see its own sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT, folder, ignore=UNWANTED)

    def failures(self, tests: Iterable[str]) -> set[str]:
        """Which of these tests fail, without their parameters."""
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=no", "-rfE", *tests]
        # Without bytecode: a source that changed within a second, at the same length, would not be compiled again.
        own = {"PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            command, cwd=self.folder, env=os.environ | own, capture_output=True, text=True, check=False
        )
        found = set(FAILED.findall(done.stdout))
        if done.returncode not in (0, 1) or bool(found) != bool(done.returncode):
            raise RuntimeError(done.stdout + done.stderr)
        return found

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        path = self.folder / fault.file
        text = path.read_text(encoding="utf-8")
        if text.count(fault.text) != 1:
            raise LookupError(f"{fault.file} has {text.count(fault.text)} times what was to be replaced: {fault.text}")
        path.write_text(text.replace(fault.text, fault.planted), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")


def caught(faults: list[Fault]) -> Iterator[tuple[Fault, bool]]:
    """Each fault, and whether its test noticed; raises where a test fails without any fault."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(COPIES) as workers:
        free: Queue[Copy] = Queue()
        for number in range(COPIES):
            free.put(Copy(Path(folder) / str(number)))

        def noticed(fault: Fault) -> bool:
            copy = free.get()
            try:
                with copy.planted(fault):
                    return fault.test in copy.failures([fault.test])
            finally:
                free.put(copy)

        copy = free.get()
        if wrong := copy.failures(sorted({fault.test for fault in faults})):
            raise RuntimeError(f"these fail without any fault: {sorted(wrong)}")
        free.put(copy)
        yield from zip(faults, workers.map(noticed, faults), strict=True)


def table(rows: list[dict[str, object]]) -> str:
    """The faults and their tests, for the page."""
    lines = ["| planted | in | caught by |", "|---|---|---|"]
    for row in rows:
        once = " (was ours)" if row["was ours"] else ""
        where = str(row["file"]).removeprefix("src/renyi/")
        lines.append(f"| {row['fault']}{once} | `{where}` | `{str(row['caught by']).removeprefix('tests/')}` |")
    return "\n".join(lines)


def with_table(page: str, rows: list[dict[str, object]]) -> str:
    """The page with today's table."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{rest.partition(END)[2]}"


def write(faults: list[Fault]) -> None:
    """The result of a run in which every fault was caught."""
    rows: list[dict[str, object]] = [
        {"fault": fault.sentence, "file": fault.file, "was ours": fault.was_ours, "caught by": fault.test}
        for fault in faults
    ]
    RESULT.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


def main() -> int:
    words = " ".join(sys.argv[1:])
    chosen = [fault for fault in FAULTS if words in fault.sentence]
    missed = []
    for number, (fault, noticed) in enumerate(caught(chosen), 1):
        print(f"{number}/{len(chosen)} {'caught' if noticed else 'MISSED'}: {fault.sentence}", flush=True)
        if not noticed:
            missed.append(fault)
    if not words and not missed:
        write(chosen)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
