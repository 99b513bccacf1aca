"""A statement as one HTML page: no script, nothing from elsewhere, light and dark, on screen and on paper."""

from __future__ import annotations

import html
import math

from renyi.accountants.risk import risk
from renyi.errors import PrivacyError
from renyi.events.words import group_of
from renyi.numerics.printing import rounded_up
from renyi.plots.chart import Panel
from renyi.plots.profile import profile_panel
from renyi.plots.rates import trade_off_panel
from renyi.report.forms.hundred import PEOPLE, hundred
from renyi.report.forms.svg import legend, svg
from renyi.report.forms.table import table, warned
from renyi.report.forms.text import TITLE
from renyi.report.odds import FPR, Odds, people
from renyi.report.said import Said

_NO_CURVES = (
    "No curves are drawn: they are shown where both ends of the privacy loss are finite and agree to a percent, and elsewhere "
    "would be those of a bound and not of the run."
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5b6068; --paper: #ffffff; --card: #f4f5f7; --line: #d5d8dd;
  --accent: #0b5cad; --warn: #9a3412; --warned: #fff4ec; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #a3a9b2; --paper: #16181b; --card: #212429;
  --line: #3a3f46; --accent: #7db8f5; --warn: #fdba74; --warned: #33231a; } }
@media print { :root { color-scheme: light; --ink: #000; --soft: #333; --paper: #fff; --card: #fff; --line: #999;
  --accent: #003f80; --warn: #7c2d12; --warned: #fff; } body { font-size: 10pt; } figure, tr { break-inside: avoid; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 2rem 1.25rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
h1 { font-size: 1.1rem; font-weight: 600; color: var(--soft); margin: 0 0 .5rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
.number { font-size: 2.1rem; line-height: 1.2; font-weight: 650; margin: 0; font-variant-numeric: tabular-nums; }
.whom { color: var(--soft); margin: .25rem 0 1rem; }
.sentence { margin: 0 0 1rem; max-width: 50rem; }
.warning { border: 2px solid var(--warn); background: var(--warned); border-radius: .5rem; padding: .75rem 1rem;
  margin: 0 0 1rem; }
.warning strong { color: var(--warn); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; margin: 1.5rem 0; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem;
  min-width: 0; }
.wide { grid-column: 1 / -1; }
figcaption { font-size: .875rem; color: var(--soft); margin-top: .5rem; }
figure h2 { margin: 0 0 .5rem; font-size: .95rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font-size: 14px; fill: var(--soft); }
svg text.label { fill: var(--ink); }
svg .grid { stroke: var(--line); stroke-width: .75; fill: none; }
svg .axis { stroke: var(--soft); stroke-width: 1; fill: none; }
svg .curve { stroke: var(--accent); stroke-width: 2; fill: none; }
svg .guess { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 2 4; fill: none; }
svg .mark { stroke: var(--accent); stroke-width: 2; fill: var(--paper); }
svg .person { fill: none; stroke: var(--soft); stroke-width: 1; }
svg .person.found { fill: var(--accent); stroke: var(--accent); }
.legend { list-style: none; padding: 0; margin: .5rem 0 0; font-size: .875rem; }
.legend .sign { display: inline-block; width: 26px; height: 12px; margin-right: .5rem; vertical-align: middle; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-top: 1px solid var(--line); }
th { width: 12rem; font-weight: 600; }
td { overflow-wrap: anywhere; }
td p { margin: 0 0 .35rem; }
td ul { margin: 0; padding-left: 1.1rem; }
tr.absent td { color: var(--soft); font-style: italic; }
footer { color: var(--soft); font-size: .875rem; margin-top: 1.5rem; }
@media (max-width: 40rem) { th, td { display: block; width: auto; padding-right: 0; } td { border-top: 0; padding-top: 0; }
  .number { font-size: 1.6rem; } }
"""


def page(said: Said, odds: Odds | None, *, curves: bool) -> str:
    """The page; ``curves`` says whether the curves of the event are known well enough to be drawn."""
    guarantee = said.guarantee
    finite = guarantee.epsilon.upper < math.inf
    number = f"ε ≤ {rounded_up(guarantee.epsilon.upper)}" if finite else "ε has no upper end"
    neighbours = guarantee.adjacency.change(guarantee.unit, group_of(guarantee.event))
    drawn = [] if odds is None else [_odds(said, odds)]
    drawn += [_figure(panel) for panel in _panels(said)] if curves else []
    shown = "\n".join(drawn) if curves else "\n".join([*drawn, f'<p class="wide">{_NO_CURVES}</p>'])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="renyi {html.escape(guarantee.version)}">
<title>{TITLE}</title>
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>{TITLE}</h1>
<p class="number">{number} at δ = {rounded_up(guarantee.delta)}</p>
<p class="whom">for {html.escape(neighbours)} ({guarantee.adjacency.value} neighbours)</p>
<p class="sentence">{html.escape(said.sentence)}</p>
{warned(said)}</header>
<main>
<div class="figures">
{shown}
</div>
<h2>What is stated</h2>
{table(said)}
</main>
<footer>Written by renyi {html.escape(guarantee.version)}; computed on {guarantee.date.isoformat()}. Upper ends are rounded up,
lower ends down.</footer>
</body>
</html>
"""


def _panels(said: Said) -> list[Panel]:
    """The curves of what ran; fewer where one is not known."""
    guarantee = said.guarantee
    found: list[Panel] = []
    try:
        found.append(trade_off_panel({"": risk(guarantee.event, adjacency=guarantee.adjacency)}, FPR))
        found.append(profile_panel({"": guarantee.event}, {"": guarantee}))
    except PrivacyError:
        pass
    return found


def _figure(panel: Panel) -> str:
    return f"<figure><h2>{html.escape(panel.title)}</h2>\n{svg(panel)}\n{legend(panel)}</figure>"


def _odds(said: Said, odds: Odds) -> str:
    """A hundred little figures, of which those are filled that the attacker finds."""
    found = PEOPLE * odds.found.upper
    return f"""<figure class="wide"><h2>What an attacker finds</h2>
{hundred(found)}
<figcaption>Of 100 {html.escape(people(said.guarantee))} in the data,
the best attacker who accuses 1 of 100 others wrongly finds at most
{rounded_up(found)} on average; blind guessing finds 1.</figcaption></figure>"""
