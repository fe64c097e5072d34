"""Who said what of an item's claims and gold facts: the views between which the page switches."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from trueground.plugins import split_key

CHECKED = ("claims", "facts", "references", "response", "alignment", "missing", "passages")


def views(evidence: Mapping[str, Any], judge: str | None) -> list[dict[str, Any]]:
    """One view for each judge, and for each way in which it was asked about the claims.

    `evidence` is that of one line of items.jsonl; `judge` names the judge of the metrics without
    `@LABEL`. A view has a `name`, and under each of CHECKED a list, maybe an empty one.
    What does not depend on how the claims were asked about stands in all views of a judge.
    """
    found: dict[str | None, dict[str, dict[str, Any]]] = {}
    for metric, told in evidence.items():
        if not isinstance(told, dict):
            continue
        label, options = _who(metric)
        for kind in CHECKED:
            if isinstance(told.get(kind), list):
                own = found.setdefault(label or judge, {})
                own.setdefault(kind, {}).setdefault(options, told[kind])
    return [
        {"name": _name(label, way if len(_ways(kinds)) > 1 else "")}
        | {kind: _fitting(kinds.get(kind, {}), way) for kind in CHECKED}
        for label, kinds in found.items()
        for way in _ways(kinds)
    ]


def judges(manifest: Mapping[str, Any]) -> list[str]:
    """The names of the judges of a run, the first of them that of the metrics without `@LABEL`."""
    told = manifest.get("judges") or [manifest.get("judge")]
    return [str(judge["name"]) for judge in told if judge]


def first_judge(manifest: Mapping[str, Any]) -> str | None:
    """What the first judge is called beside the others, which are numbered if they share a name."""
    names = judges(manifest)
    if not names:
        return None
    return f"{names[0]}#1" if names.count(names[0]) > 1 else names[0]


@lru_cache(1024)  # asked for every answer
def _who(metric: str) -> tuple[str, str]:
    """`support(scope=gold)@nli` → its judge and its options."""
    key = split_key(metric)
    return key.judge, key.options


def _ways(kinds: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The options under which the claims were checked, else those of whatever was."""
    most = next(kinds[kind] for kind in CHECKED if kind in kinds)
    return list(most)


def _fitting(found: Mapping[str, Any], way: str) -> Any:
    """What was checked in this way; else what was checked first."""
    return found.get(way, next(iter(found.values()), []))


def _name(label: str | None, way: str) -> str:
    return " ".join(filter(None, (label or "the judge", f"({way})" if way else "")))
