"""The files that the page loads: a fixed list, read once; no path of a request ever becomes a path of a file."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "txt": "text/plain"}

NAMES = (
    "page.css",
    "page.js",
    "plots.js",
    "icon.svg",
    "vendor/htmx-2.0.11.min.js",
    "vendor/htmx-LICENSE.txt",
    "vendor/uplot-1.6.32.iife.min.js",
    "vendor/uplot-1.6.32.min.css",
    "vendor/uplot-LICENSE.txt",
)
"""Every file; those in ``vendor`` are of htmx (Zero-Clause BSD) and uPlot (MIT), as their packages on npm hold them."""


@dataclass(frozen=True, slots=True)
class Static:
    """A file's contents, and what to say of them."""

    body: bytes
    media: str
    tag: str


def statics() -> dict[str, Static]:
    """The files by name."""
    return {name: _static(name) for name in NAMES}


def _static(name: str) -> Static:
    body = files("renyi.web").joinpath("static", *name.split("/")).read_bytes()
    return Static(body, f"{_TYPES[name.rpartition('.')[2]]}; charset=utf-8", f'"{sha256(body).hexdigest()[:16]}"')
