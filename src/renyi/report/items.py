"""The items of a statement: each from the values that it is about, with a sentence of its own where there are none."""

from __future__ import annotations

import math

from renyi.accountants.gdp import Gdp
from renyi.accountants.guarantee import Guarantee
from renyi.composing.question import EpsilonAt
from renyi.events.words import described, group_of
from renyi.numerics.printing import rounded_down, rounded_up
from renyi.report.odds import Odds, people
from renyi.report.parts import Parts
from renyi.report.said import Item

CLOSE = 0.01
"""Relative distance of the ends of epsilon up to which mu is given: beyond it, mu would describe our bound, not the run."""

ENDLESS = "none: epsilon has no upper end"
SEEDED = "none: the noise came from a public seed"


def unit(guarantee: Guarantee) -> Item:
    """Whose presence is hidden."""
    size = group_of(guarantee.event)
    said = f"one {guarantee.unit}" if size == 1 else f"a group of {size:,} {guarantee.unit}s"
    return Item.of("unit", "Unit of privacy", said)


def adjacency(guarantee: Guarantee) -> Item:
    """Which datasets count as neighbours."""
    change = guarantee.adjacency.change(guarantee.unit, group_of(guarantee.event))
    return Item.of(
        "adjacency",
        "Neighbouring datasets",
        f"{guarantee.adjacency.value}: they differ by {change}; the order that decides is {guarantee.relation.value}",
    )


def stated(name: str, title: str, text: str | None, otherwise: str) -> Item:
    """What the author of the statement says, or that they did not."""
    return Item.absent(name, title, otherwise) if text is None else Item.of(name, title, text)


def epsilon(guarantee: Guarantee) -> Item:
    """Both ends of epsilon at delta, for whom; or of delta at epsilon."""
    neighbours = guarantee.adjacency.change(guarantee.unit, group_of(guarantee.event))
    lower, upper = guarantee.answer.lower, guarantee.answer.upper
    if isinstance(guarantee.question, EpsilonAt):
        asked, given = "epsilon", f"at delta {rounded_up(guarantee.delta)}"
    else:
        asked, given = "delta", f"at epsilon {rounded_up(guarantee.epsilon.upper)}"
    level = "no finite upper end" if upper == math.inf else f"at most {rounded_up(upper)}"
    least = (
        f"the least {asked} that holds is at least {rounded_down(lower)}" if lower > 0.0 else "no lower end is known"
    )
    return Item.of("epsilon", "Privacy loss", f"{asked}: {level} {given}, for {neighbours}; {least}")


def is_close(guarantee: Guarantee) -> bool:
    """Whether the answer is known from both ends."""
    lower, upper = guarantee.answer.lower, guarantee.answer.upper
    return upper < math.inf and upper - lower <= CLOSE * upper


def gdp(found: Gdp | None, guarantee: Guarantee, private: bool) -> Item:
    """Mu of Gaussian differential privacy, with its regret."""
    name, title = "gdp", "Gaussian differential privacy"
    if found is not None:
        least = f", and no mu below {rounded_down(found.mu.lower)} holds" if found.mu.lower > 0.0 else ""
        return Item.of(
            name,
            title,
            f"mu at most {rounded_up(found.mu.upper)} wherever delta is at least {rounded_up(found.floor)}{least}; the "
            f"Gaussian overstates the run's trade-off curve by at most {rounded_up(found.regret)} (regret)",
        )
    if not private:
        return Item.absent(name, title, SEEDED)
    if guarantee.epsilon.upper == math.inf:
        return Item.absent(name, title, ENDLESS)
    if not is_close(guarantee):
        return Item.absent(
            name,
            title,
            "none: the ends of the privacy loss lie apart, so a mu would describe the bound and not the run",
        )
    return Item.absent(name, title, "none: no mu is known for this run at this delta")


def risk(odds: Odds | None, guarantee: Guarantee, private: bool) -> Item:
    """What an attacker can find out, in odds."""
    name, title = "risk", "Attack risk"
    if odds is not None:
        return Item.of(name, title, *odds.sentences(people(guarantee)))
    if not private:
        return Item.absent(name, title, SEEDED)
    why = ENDLESS if guarantee.epsilon.upper == math.inf else "none: no bound on attacks is known for this run"
    return Item.absent(name, title, why)


def sampler_run(guarantee: Guarantee, how: str | None) -> Item:
    """How records were drawn when it ran."""
    name, title = "sampler_run", "Sampler that ran"
    if how is None:
        return Item.absent(
            name,
            title,
            "not stated; if it was another than the one accounted for, the numbers here are not about that run",
        )
    return Item.of(name, title, f"{Parts.of(guarantee.event).sampler()} ({how})")


def sampler_accounted(guarantee: Guarantee, accounted: Guarantee | None) -> Item:
    """How records were drawn according to the number, and both numbers where that is not what ran."""
    name, title = "sampler_accounted", "Sampler accounted for"
    if accounted is None:
        return Item.of(name, title, Parts.of(guarantee.event).sampler())
    return Item.of(
        name,
        title,
        f"{Parts.of(accounted.event).sampler()}, which is not what ran",
        f"accounted for: {accounted}",
        f"ran: {guarantee}",
    )


def method(guarantee: Guarantee) -> Item:
    """Which accountant answered, of which release, when."""
    order = f" at order {guarantee.order:.6g}" if guarantee.order is not None else ""
    return Item.of(
        "method", "Method", f"{guarantee.method}{order}; renyi {guarantee.version}, {guarantee.date.isoformat()}"
    )


def composition(guarantee: Guarantee) -> Item:
    """What was composed."""
    return Item.of("composition", "Composition", f"{described(guarantee.event)}, all composed together")


def search(guarantee: Guarantee) -> Item:
    """What a search for hyper-parameters cost."""
    found = Parts.of(guarantee.event).search()
    if not found:
        return Item.absent(
            "search",
            "Search",
            "none is accounted for; hyper-parameters or checkpoints that were chosen by looking at the private data cost extra",
        )
    return Item.of("search", "Search", *(f"accounted for: {text}" for text in found))


def noise(guarantee: Guarantee) -> Item:
    """Every mechanism."""
    return Item.of("noise", "Noise", *(Parts.of(guarantee.event).noise() or ("none: nothing was released",)))


def clipping(text: str | None) -> Item:
    """How contributions were bounded."""
    return stated(
        "clipping",
        "Clipping",
        text,
        "not stated; noise multipliers are relative to the largest norm of one unit's contribution, whatever bounds it",
    )


def steps(guarantee: Guarantee) -> Item:
    """How often something was released."""
    return Item.of("steps", "Steps", Parts.of(guarantee.event).steps())


def assumptions(guarantee: Guarantee, record: tuple[str, ...]) -> Item:
    """What is taken for granted; what is on record stands there."""
    left = tuple(text for text in guarantee.assumptions if text not in record)
    if not left:
        return Item.absent("assumptions", "Assumptions", "none beyond the parameters stated here")
    return Item.of("assumptions", "Assumptions", *left)


def on_record(record: tuple[str, ...] | None) -> Item:
    """What was found, and what was said about it."""
    if record is None:
        return Item.absent(
            "record",
            "On record",
            "nothing: this was computed from a description of the run, not from a journal that it wrote",
        )
    return Item.of("record", "On record", *record)


def references(guarantee: Guarantee) -> Item:
    """The theorems behind the number."""
    if not guarantee.references:
        return Item.absent("references", "References", "none: the mechanisms name no theorem")
    return Item.of("references", "References", *guarantee.references)
