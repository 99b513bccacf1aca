"""The numbers of the page "What was checked", read from the results of the campaigns whenever the site is built.

``docs/checked.md`` names a number in double square brackets; a name that is not known here fails the build.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
NAMED = re.compile(r"\[\[([^\[\]]+)\]\]")


def filled(text: str) -> str:
    """The text with each name replaced by its number."""
    known = numbers()
    return NAMED.sub(lambda name: known[name[1]], text)


def numbers() -> dict[str, str]:
    """Every number that the page may name, as it is printed there."""
    soundness, hostile, noise = _result("soundness"), _result("hostile"), _result("noise")
    faults, frozen, full = _result("faults"), _result("frozen"), _result("full-tests")
    kills, interrupts, alarms = _result("kill-campaign"), _result("interrupts"), _result("false-alarms")
    soak, proofs, audits = _result("soak-ledger"), _result("certificates"), _result("audit")
    agreement, together = _result("page-agreement"), _result("kill-parallel")
    points, gaussians = soundness["accountants"]["points"], soundness["accountants"]["Gaussian compositions"]
    exact = [kind for kind in soundness["kinds"].values() if kind["exact"]]
    asked = (hostile["documents"], hostile["events"])
    killed = [part for name, part in soak["found"].items() if "kills" in name]
    changed = [part for part in soak["found"].values() if "unnoticed" in part]
    return {
        "ball points": f"{soundness['points']:,}",
        "ball failures": _none(len(soundness["failures"])),
        "ball farthest": f"{max(kind['farthest above'] for kind in exact):.0e}",
        "accountant points": f"{points['points']:,}",
        "accountant failures": _none(points["failed"]),
        "accountant trivial": f"{points['trivial lower ends'].get('although attained', 0)}",
        "closed form points": f"{gaussians['points']:,}",
        "closed form failures": _none(gaussians["failed"]),
        "closed form farthest": f"{gaussians['ratios']['epsilon above the truth']['largest']:.0e}",
        "hostile documents": f"{asked[0]['asked']:,}",
        "hostile events": f"{asked[1]['asked']:,}",
        "hostile failures": _none(sum(part["failed"] for part in asked)),
        "hostile seconds": f"{max(part['seconds of CPU']['largest'] for part in asked):.1f}",
        "hostile megabytes": f"{max(part['peak memory in MB']['largest'] for part in asked):.0f}",
        "hostile refused": f"{100 * asked[1]['refused for want of means']:.2f} %",
        "faults": f"{len(faults)}",
        "faults of ours": f"{sum(fault['was ours'] for fault in faults)}",
        "faults missed": _none(sum(not fault["caught by"] for fault in faults)),
        "frozen points": f"{frozen['points']:,}",
        "frozen worse": f"{len(frozen['list'])}",
        "full tests": f"{full['tests']:,}",
        "full failures": _none(full["failed"]),
        "noise values": f"{noise['law']['values']:,}",
        "noise failures": _none(len(noise["law"]["failed"])),
        "noise p": f"{min(noise['law']['p-values'].values()):.2f}",
        "noise cells": f"{noise['cells']['cells compared']:,}",
        "noise wrong": _none(noise["cells"]["wrong"]),
        "kills": f"{kills['kills']:,}",
        "kill steps done": f"{kills['steps_done']:,}",
        "kill steps recorded": f"{kills['steps_recorded']:,}",
        "interrupts": f"{interrupts['interrupts']:,}",
        "interrupted statements": f"{interrupts['of_which_interrupted_at']:,}",
        "looks": f"{alarms['looks']:,}",
        "families": f"{len(alarms['looks by family'])}",
        "alarms": _none(alarms["alarms"]),
        "couplings": f"{alarms['planted']:,}",
        "couplings caught": f"{alarms['caught']:,}",
        **_of_certificates(proofs),
        **_of_audits(audits),
        "agreement runs": f"{agreement['runs']:,}",
        "agreement programs": f"{agreement['of which as programs']}",
        "agreement failures": _none(len(agreement["disagreements"])),
        "soak done": soak["chunks done"],
        "kills together": f"{together['kills']:,}",
        "kills named": f"{together['survivors that ended with an error naming the rank']:,}",
        "kills gone on": f"{together['runs that went on']:,}",
        "soak kills": f"{sum(part['kills'] for part in killed):,}",
        "soak lost": _none(sum(part["lost"] for part in killed)),
        "soak changes": f"{sum(part['changes'] for part in changed):,}",
        "soak unnoticed": _none(sum(len(part["unnoticed"]) for part in changed)),
    }


def _of_certificates(proofs: Any) -> dict[str, str]:
    rows = proofs["certificates"]
    times = [row["seconds"]["made"] + row["seconds"]["verified"] for row in rows]
    return {
        "certificates": f"{len(rows)}",
        "certificates wrong": _none(sum(not row["holds"] for row in rows)),
        "certificates farthest": f"{max(row.get('relatively above', 0.0) for row in rows):.0e}",
        "certificates seconds": f"{max(times):.1f}",
        "certificates false": f"{proofs['false']['texts']}",
        "certificates hostile": f"{proofs['hostile']['texts']}",
        "certificates accepted": _none(len(proofs["false"]["accepted"] + proofs["hostile"]["accepted"])),
        "certificates refusal": f"{proofs['hostile']['seconds of the slowest']:.2f}",
        "certificates mutants": f"{proofs['mutants']['checkers']}",
        "certificates idle": _none(len(proofs["mutants"]["that accept nothing false"])),
    }


def _of_audits(audits: Any) -> dict[str, str]:
    shares, found = audits["shares of the claim"].values(), audits["faults found"].values()
    asked = [row["trials"] * row.get("audits", 1) for row in audits["rows"] if "trials" in row]
    alone = audits["one run"]
    return {
        "audit done": audits["tasks"],
        "audit trials": f"{sum(asked):,}",
        "audit shares": f"{min(shares):.3f} to {max(shares):.3f}",
        "audit faults": f"{len(found)}",
        "audit missed": _none(sum(not one for one in found)),
        "audit honest": f"{audits['honest audits']:,}",
        "audit runs": f"{alone['of honest code']:,}",
        "audit refuted": _none(audits["of which refuted the claim"] + alone["of which refuted the claim"]),
    }


def _none(count: int) -> str:
    return f"{count:,}" if count else "none"


def _result(name: str) -> Any:
    return json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))
