"""The worst disagreements of a set, to be read: each record once, with all that got it wrong.

The same record is often among the worst of several metrics. Its texts stand on the page once; what
each metric had before it and why it scored so stands below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

MOST = 600  # records with texts on a page, all sets together: about 1.5 MB at the very most
_FEWEST = 3  # of a set, however many sets there are
_QUESTION, _RESPONSE, _CONTEXT, _REASON = 300, 700, 900, 240  # characters shown
_REASONS = 4


@dataclass
class Verdicts:
    """Metrics that had the same context: (metric, score, reasons)."""

    context: str
    metrics: list[tuple[str, float, list[str]]] = field(default_factory=list)


@dataclass
class WorstRecord:
    """One record; `anchor` is its place on the page."""

    anchor: str
    id: str
    label: float
    question: str
    response: str
    references: list[str] = field(default_factory=list)
    votes: Mapping[str, float] = field(default_factory=dict)
    verdicts: list[Verdicts] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        """How many metrics have it among their worst."""
        return sum(len(one.metrics) for one in self.verdicts)

    def add(self, metric: str, item: Mapping[str, Any]) -> None:
        """One more metric that got it wrong."""
        context = cut(item.get("context"), _CONTEXT)
        said = [cut(why, _REASON) for why in (item.get("reasons") or ())[:_REASONS]]
        same = next((one for one in self.verdicts if one.context == context), None)
        if same is None:
            self.verdicts.append(same := Verdicts(context))
        same.metrics.append((metric, item["score"], said))


@dataclass(frozen=True)
class Worst:
    """What is shown of a set, worst of most metrics first, and of how many records."""

    readings: list[WorstRecord]
    of: int

    def anchors(self) -> dict[str, str]:
        """The place of each record that is shown, by its id."""
        return {one.id: one.anchor for one in self.readings}


def worst(of_set: Mapping[str, Any], number: int, sets: int) -> Worst:
    """The records to read of the set `number` of `sets`; each metric's worst come first.

    Where there are more than the page has room for, every metric keeps its first ones.
    """
    found: dict[str, WorstRecord] = {}
    lists = {m: e.get("worst") or [] for m, e in of_set["metrics"].items()}
    limit = max(_FEWEST, MOST // max(sets, 1))
    ids: dict[str, None] = {}
    for rank in zip_longest(*lists.values()):
        ids |= dict.fromkeys(str(item["id"]) for item in rank if item is not None)
    shown = {key: place for place, key in enumerate(list(ids)[:limit])}
    for metric, items in lists.items():
        for item in items:
            key = str(item["id"])
            if key not in shown:
                continue
            if key not in found:
                found[key] = _reading(f"s{number}-r{shown[key]}", item)
            found[key].add(metric, item)
    ordered = sorted(found.values(), key=lambda one: (-one.wrong, shown[one.id]))
    return Worst(ordered, len(ids))


def cut(text: str | None, most: int) -> str:
    """The text, ended by a mark where it is longer."""
    text = (text or "").strip()
    return text if len(text) <= most else f"{text[:most].rstrip()} […]"


def _reading(anchor: str, item: Mapping[str, Any]) -> WorstRecord:
    return WorstRecord(
        anchor=anchor,
        id=str(item["id"]),
        label=item["label"],
        question=cut(item.get("question"), _QUESTION),
        response=cut(item.get("response"), _RESPONSE),
        references=[cut(text, _QUESTION) for text in item.get("references") or ()],
        votes=item.get("votes") or {},
    )
