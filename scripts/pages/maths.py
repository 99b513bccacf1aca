"""Formulas as MathML, which browsers draw by themselves: no script, no font and nothing from another machine.

docutils turns LaTeX into MathML. A formula in a line of text may be broken after a relation or an operator, as
text may, so that nothing sticks out of a narrow page; a displayed one scrolls. A command that docutils does not know is a
warning, and warnings are errors here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

_LOG = logging.getLogger(__name__)
_SPACE = "http://www.w3.org/1998/Math/MathML"
_MAY_END_A_LINE = frozenset("=<>≤≥≈∼→∈+−,;")
"""Operators after which a line of text may be broken."""


def inline(tex: str) -> str:
    """A formula in a line of text, as one ``math`` element or several between which the line may be broken."""
    pieces: list[list[ElementTree.Element]] = [[]]
    for part in _parsed(tex):
        pieces[-1].append(part)
        if part.tag == f"{{{_SPACE}}}mo" and part.text in _MAY_END_A_LINE:
            part.set("form", "infix")  # at the end of its element it would be taken for a sign behind a number
            pieces.append([])
    return "<wbr>".join(_written(piece) for piece in pieces if piece)


def block(tex: str) -> str:
    """A displayed formula. Lines that end with two backslashes stand below each other, aligned at ``&``."""
    return _mathml(tex, as_block=True)


def _mathml(tex: str, *, as_block: bool) -> str:
    # docutils writes the sign of a derivative as an apostrophe.
    return latex2mathml.tex2mathml(tex, as_block=as_block).replace("<mo>'</mo>", "<mo>\u2032</mo>")


def _parsed(tex: str) -> ElementTree.Element:
    # docutils writes some characters by the names that HTML has for them.
    return ElementTree.fromstring(_mathml(tex, as_block=False).replace("&ApplyFunction;", "\u2061"))


def _written(parts: list[ElementTree.Element]) -> str:
    element = ElementTree.Element(f"{{{_SPACE}}}math")
    element.extend(parts)
    ElementTree.indent(element, space="")
    ElementTree.register_namespace("", _SPACE)
    return ElementTree.tostring(element, encoding="unicode").replace("\n", "")


def _visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    # A word joiner keeps what follows, a comma say, on the formula's line.
    joined = "\u2060" if _goes_on(node) else ""
    self.body.append(f'<span class="math">{_drawn(inline, node)}</span>{joined}')
    raise nodes.SkipNode


def _visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{_drawn(block, node)}</div>\n')
    raise nodes.SkipNode


def _goes_on(node: nodes.math) -> bool:
    after = node.next_node(nodes.Text, descend=False, siblings=True)
    return after is not None and after.astext()[:1] not in ("", " ", "\n")


def _drawn(draw: Callable[[str], str], node: nodes.Element) -> str:
    try:
        return draw(node.astext())
    except MathError as error:
        _LOG.warning("%s in the formula %s", error, node.astext(), location=node)
        return ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
