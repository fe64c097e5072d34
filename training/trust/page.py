"""Putting what was made into a page: between markers, and into the last column of a table."""

from __future__ import annotations

import re
from collections.abc import Mapping

from training.offline_judge.sets import permissive, table
from training.trust import papers, tables
from training.trust.measuring import Found
from trueground.errors import InputError


def blocks(found: Found) -> dict[str, str]:
    """Name of a marker → what stands behind it."""
    faithful, correct = found.faithful, found.correct
    return {
        "how": _how(found),
        "sets": tables.sets_table(faithful, table()),
        "sets-correct": tables.sets_table(correct, table()),
        "ranking": tables.ranking(faithful, found.left_out, permissive("faithful")),
        "spread": tables.spread(faithful),
        "ranks": tables.ranks(faithful, found.left_out),
        "verdicts": tables.verdicts(faithful, found.left_out),
        "people": tables.people(found.verdicts),
        "calibration": tables.calibration(faithful, found.left_out),
        "correct": tables.correctness(correct),
        "paper-correct": papers.correct(correct),
        "paper-faithful": papers.faithful(faithful, found.left_out),
    }


def _how(found: Found) -> str:
    raw = found.faithful
    records = sum(one["n"] for one in (*raw["sets"], *found.correct["sets"]))
    return (
        f"Measured with trueground {raw['trueground']}, judge `{raw['judge']}`, decomposer "
        f"`{raw['decomposer']}`: {records:,} records. Intervals: {raw['ci_level']:.0%}, "
        f"{raw['resamples']:,} resamples of groups, seed {raw['seed']}."
    )


def filled(text: str, made: Mapping[str, str], place: str) -> str:
    """The page with each block between its markers, `<!-- made: NAME -->` and `<!-- end -->`.

    InputError where the page lacks a marker; `place` names the page.
    """
    for name, block in made.items():
        begin, end = f"<!-- made: {name} -->", "<!-- end -->"
        pattern = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.S)
        fresh = f"{begin}\n{block}\n{end}"
        text, count = pattern.subn(lambda _, fresh=fresh: fresh, text)  # type: ignore[misc]
        if count != 1:
            raise InputError(
                f"{place}: found the marker {begin!r} with its {end!r} {count} times; expected "
                "it once; put both on lines of their own where the table belongs"
            )
    return text


def weighed(text: str, weights: Mapping[str, float], place: str) -> str:
    """A page whose table has rows "| `FEATURE` | … | WEIGHT |", with these weights.

    InputError where a feature has no row, or more than one.
    """
    for name, weight in weights.items():
        text, count = re.subn(
            rf"(?m)^(\| `{name}` \|.*\|) [^|]* \|$", rf"\g<1> {weight:.3f} |", text
        )
        if count != 1:
            raise InputError(
                f"{place}: found {count} rows of a table for the feature {name!r}; expected one "
                f"of the form | `{name}` | … | weight |; write it"
            )
    return text
