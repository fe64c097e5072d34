"""What there is, for `trueground list`."""

from __future__ import annotations

from typing import Any

from trueground import claims, judges
from trueground.benchmarks.base import all_benchmarks
from trueground.benchmarks.datasets import all_datasets, is_fetched
from trueground.metrics.registry import all_metrics
from trueground.models.registry import kinds
from trueground.retrieval import kinds as retrievers
from trueground.text.normalize import NORMALIZERS, get_normalizer

_FIELD = {"given_references": "references", "gold_contexts": "contexts"}


def catalogue(kind: str) -> list[dict[str, Any]]:
    """Entries of one kind: name, doc, and for metrics needs, options, source."""
    if kind == "metrics":
        return [
            {
                "name": m.name,
                "family": m.family,
                "doc": m.doc,
                "needs": [_FIELD.get(need, need) for need in m.needs],
                "default": m.in_default_set,
                "extra": m.extra,
                "higher_is_better": m.higher_is_better,
                "options": {
                    name: {"default": o.default, "allowed": list(o.allowed)}
                    for name, o in m.options.items()
                },
                "source": m.source,
            }
            for m in all_metrics().values()
        ]
    if kind == "benchmarks":
        return [
            {
                "name": b.name,
                "doc": b.doc,
                "tasks": list(b.tasks),
                "default_tasks": list(b.default_tasks),
                "options": {
                    o.name: {"default": o.default, "allowed": list(o.allowed), "doc": o.doc}
                    for o in b.declared
                },
                "source": b.source,
            }
            for b in all_benchmarks().values()
        ]
    if kind == "models":
        return kinds()
    if kind == "datasets":
        return [
            {
                "name": d.name,
                "doc": d.doc,
                "licence": d.licence,
                "fetched": is_fetched(d.name),
                "from_only": d.from_only,
            }
            for d in all_datasets().values()
        ]
    if kind == "judges":
        return judges.kinds()
    if kind == "retrievers":
        return retrievers.kinds()
    if kind == "decomposers":
        return claims.kinds()
    return [{"name": name, "doc": get_normalizer(name).doc} for name in NORMALIZERS]
