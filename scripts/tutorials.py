"""The tutorials of the site: notebooks, each executed in a fresh kernel and a folder of its own.

Usage: python -m scripts.tutorials [names]    executes these, or all, and writes their outputs back

A notebook is its own source: edit its cells, in Jupyter or as text, and run this. Beside the outputs it writes a hash of the
cells that they came from, by which the tests notice outputs that are older than their cells.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "tutorials"

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""What every notebook says of its kernel: nothing of a machine, or of the release of Python that executed it."""

ENVIRONMENT = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # a test may have chosen another
    "OMP_NUM_THREADS": "1",  # sums of floats are the same every time
    "OPENBLAS_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # else the kernel's debugger writes to the terminal
}

QUIET = ["--log-level=ERROR"]
"""Of the kernel, which warns that what it exchanges with us, on this machine, is not encrypted."""

COLOURS = 64
"""Colours of a picture, which is a plot with few of them: its file is a third as large as with all."""

AGAIN = "run `make tutorials`, which executes the notebooks and writes their outputs"


def main(names: list[str]) -> int:
    for path in [FOLDER / f"{Path(name).stem}.ipynb" for name in names] or paths():
        written = executed(read(path))
        nbformat.write(written, path)
        print(path.name, flush=True)
    return 0


def paths() -> list[Path]:
    """The notebooks, in their order."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    """A notebook as it is committed."""
    return nbformat.read(path, as_version=4)


def executed(notebook: Any) -> Any:
    """A copy of the notebook with the outputs of its cells as they are now; an error in a cell is raised."""
    _warm_up()
    copy = nbformat.from_dict(json.loads(json.dumps(notebook)))
    copy.metadata = nbformat.from_dict(METADATA)
    # The interpreter that runs this, whatever kernels the user has installed.
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
    client = NotebookClient(
        copy, km=manager, timeout=600, record_timing=False, coalesce_streams=True, extra_arguments=QUIET
    )
    with tempfile.TemporaryDirectory() as folder:
        inherited = {**os.environ, "IPYTHONDIR": folder, **ENVIRONMENT}
        client.execute(cleanup_kc=True, env=inherited, cwd=folder)
    for data in pictures(copy):
        data["image/png"] = _with_few_colours(data["image/png"])
    copy.metadata = nbformat.from_dict({**METADATA, "renyi": {"sources": hash_of_sources(copy)}})
    return copy


def hash_of_sources(notebook: Any) -> str:
    """SHA-256 of the cells without their outputs."""
    cells = [[cell.cell_type, cell.metadata.get("tags", []), cell.source] for cell in notebook.cells]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def expect_current(notebook: Any, name: str) -> None:
    """Raise an error if the outputs belong to other cells than those that stand there."""
    if notebook.metadata.get("renyi", {}).get("sources") != hash_of_sources(notebook):
        raise ValueError(f"the outputs of {name} are not those of its cells: {AGAIN}.")


def code(notebook: Any) -> list[Any]:
    """The cells that are executed."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(notebook: Any) -> list[str]:
    """What each cell printed or showed, without pictures: a cell that shows one has its mark."""
    return ["".join(_shown(output) for output in cell.outputs) for cell in code(notebook)]


def _shown(output: Any) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return "<picture>" if "image/png" in output.data else str(output.data.get("text/plain", ""))


def pictures(notebook: Any) -> Iterator[Any]:
    """The data of every output that is a picture."""
    for cell in code(notebook):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                yield output.data


def _with_few_colours(encoded: str) -> str:
    few = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(encoded))) as image:
        image.convert("RGB").quantize(colors=COLOURS, dither=Image.Dither.NONE).save(few, "PNG", optimize=True)
    return base64.b64encode(few.getvalue()).decode()


def _warm_up() -> None:
    """Let matplotlib list the machine's fonts, of which it would tell in the first cell that ever draws there."""
    import matplotlib.font_manager  # noqa: F401


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
