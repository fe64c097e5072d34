"""`trueground list`: what there is, what it needs."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from trueground.cli._options import takes
from trueground.cli._output import Screen
from trueground.errors import unknown_name

# Where what there is of a kind is found; without a name it is listed here.
KINDS = {
    "metrics": "",
    "judges": "judges:kinds",
    "decomposers": "claims:kinds",
    "normalizers": "",
    "benchmarks": "",
    "retrievers": "retrieval.kinds:kinds",
    "models": "models.registry:kinds",
    "datasets": "",
    "builders": "builders.registry:catalogue",
}
_FIELD = {"given_references": "references", "gold_contexts": "contexts"}


@takes()
def list_(
    kind: Annotated[
        str, typer.Argument(help=f"One of: {', '.join(KINDS)}. Without it: all of them.")
    ] = "",
    *,
    screen: Screen,
) -> None:
    """Show metrics, judges, benchmarks, retrievers, models …, with what each needs."""
    from trueground.reports.listings import render_entry

    if kind and kind not in KINDS:
        raise unknown_name("kind of thing to list", kind, KINDS)
    listed = {name: _entries(name) for name in ([kind] if kind else KINDS)}
    lines = []
    for name, entries in listed.items():
        width = max((len(str(entry["name"])) for entry in entries), default=0)
        lines += [] if kind else [f"{name}:"]
        lines += [render_entry(entry, width) for entry in entries]
    screen.show(listed[kind] if kind else listed, lambda: "\n".join(lines))


def _entries(kind: str) -> list[dict[str, Any]]:
    """What there is of a kind."""
    if KINDS[kind]:
        module, _, function = KINDS[kind].partition(":")
        entries: list[dict[str, Any]] = getattr(import_module(f"trueground.{module}"), function)()
        return entries
    if kind == "metrics":
        from trueground.metrics.registry import METRICS

        metrics = METRICS.load()

        return [
            {
                "name": m.name,
                "family": m.family,
                "doc": m.doc,
                "needs": [_FIELD.get(need, need) for need in m.default_needs],
                "default": metrics.is_default(m.name),
                "extra": m.requires.extra,
                "higher_is_better": m.higher_is_better,
                "options": {
                    name: {"default": o.default, "allowed": list(o.allowed)}
                    for name, o in m.options.items()
                },
                "source": m.source,
            }
            for m in metrics.values()
        ]
    if kind == "benchmarks":
        from trueground.benchmarks.base import all_benchmarks
        from trueground.options import default_of

        return [
            {
                "name": b.name,
                "doc": b.doc,
                "tasks": list(b.tasks),
                "default_tasks": list(b.default_tasks),
                "options": {
                    o.name: {
                        "default": default_of(o),
                        "allowed": list(o.choices),
                        "doc": o.option.help,
                    }
                    for o in b.declared
                },
                "source": b.source,
            }
            for b in all_benchmarks().values()
        ]
    if kind == "datasets":
        from trueground.benchmarks.datasets import all_datasets, is_fetched

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
    from trueground.text.normalize import NORMALIZERS, get_normalizer

    return [{"name": name, "doc": get_normalizer(name).doc} for name in NORMALIZERS]
