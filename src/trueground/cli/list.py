"""`trueground list`: what there is, what it needs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueground.cli._options import takes
from trueground.cli._output import Screen
from trueground.components import EntryPoint
from trueground.errors import UsageError

if TYPE_CHECKING:
    from trueground.benchmarks import Benchmark, Dataset
    from trueground.metrics import Metric
    from trueground.reports import Table


# Where the entries of each kind of the core are found; without a function they are made here. Other
# kinds are entry points: functions that return the entries.
KINDS = {
    "metrics": "",
    "judges": "judges.registry:kinds",
    "decomposers": "claims.registry:kinds",
    "normalizers": "",
    "benchmarks": "",
    "models": "models.registry:kinds",
    "datasets": "",
}
_FIELD = {"given_references": "references", "gold_contexts": "contexts"}


def _added_kinds() -> dict[str, EntryPoint]:
    """Kinds that aren't the core's, by name; of two with one name, the first."""
    added: dict[str, EntryPoint] = {}
    for entry in EntryPoint.of_group("trueground.lists"):
        if entry.name not in KINDS:
            added.setdefault(entry.name, entry)
    return added


def _kinds() -> list[str]:
    return [*KINDS, *_added_kinds()]


@takes()
def list_(
    kind: Annotated[str, typer.Argument(help=f"One of: {', '.join(_kinds())}. Default: all.")] = "",
    *,
    screen: Screen,
) -> None:
    """List metrics, judges, benchmarks and other components."""
    from trueground.reports import Part

    kinds = _kinds()
    if kind and kind not in kinds:
        raise UsageError.unknown_name("kind of thing to list", kind, kinds)
    listed = {name: _entries(name) for name in ([kind] if kind else kinds)}
    blocks = [Part("" if kind else f"{name}:", [_tabulate(listed[name])]) for name in listed]
    screen.show_page(listed[kind] if kind else listed, lambda: blocks)


def _tabulate(entries: list[dict[str, Any]]) -> Table:
    """Return a row for each entry with what it needs, and one for each of its options."""
    from trueground.reports import Cell, Head, Row, Table

    rows = []
    for entry in entries:
        notes = [entry["doc"]]
        if entry.get("needs"):
            notes.append(f"[needs {', '.join(entry['needs'])}]")
        if entry.get("extra"):
            notes.append(f"[extra: {entry['extra']}]")
        if entry.get("tasks"):
            notes.append(f"[tasks {', '.join(entry['tasks'])}]")
        if "fetched" in entry:
            source = " --from PATH" if entry["from_only"] else ""
            command = f"trueground data fetch {entry['name']}{source}"
            notes.append("[fetched]" if entry["fetched"] else f"[{command}]")
        rows.append(Row([f"  {entry['name']}", "  ".join(notes)]))
        for name, option in entry.get("options", {}).items():
            allowed = "|".join(option["allowed"]) or "…"
            default = option["default"]  # None: left out, or what the other options make it
            tail = "" if default is None else f", default {default!r}"
            cells: list[Cell] = ["", f"  {name}={allowed}{tail}"]
            rows.append(Row(cells))
    return Table([Head(""), Head("")], rows)


def _entries(kind: str) -> list[dict[str, Any]]:
    """What there is of a kind."""
    if kind not in KINDS:
        added: list[dict[str, Any]] = _added_kinds()[kind].load()()
        return added
    if KINDS[kind]:
        module, _, function = KINDS[kind].partition(":")
        entries: list[dict[str, Any]] = getattr(import_module(f"trueground.{module}"), function)()
        return entries
    if kind == "metrics":
        from trueground.metrics import METRICS

        return [describe_metric(metric) for metric in METRICS.load().values()]
    if kind == "benchmarks":
        from trueground.benchmarks import all_benchmarks

        return [describe_benchmark(benchmark) for benchmark in all_benchmarks().values()]
    if kind == "datasets":
        from trueground.benchmarks import all_datasets

        return [describe_dataset(dataset) for dataset in all_datasets().values()]
    from trueground.text import Normalizer

    return [{"name": name, "doc": Normalizer.named(name).doc} for name in Normalizer.NAMES]


def describe_metric(metric: Metric) -> dict[str, Any]:
    """Return the entry of a metric."""
    from trueground.metrics import METRICS

    options = {}
    for name, option in metric.options.items():
        options[name] = {"default": option.default, "allowed": list(option.allowed)}
    return {
        "name": metric.name,
        "family": metric.family,
        "doc": metric.doc,
        "needs": [_FIELD.get(need, need) for need in metric.default_needs],
        "default": METRICS.load().is_default(metric.name),
        "extra": metric.requires.extra,
        "higher_is_better": metric.higher_is_better,
        "options": options,
        "source": metric.source,
    }


def describe_benchmark(benchmark: Benchmark) -> dict[str, Any]:
    """Return the entry of a benchmark."""
    return {
        "name": benchmark.name,
        "doc": benchmark.doc,
        "tasks": list(benchmark.tasks),
        "default_tasks": list(benchmark.default_tasks),
        "options": {option.name: option.as_dict() for option in benchmark.declared},
        "source": benchmark.source,
    }


def describe_dataset(dataset: Dataset) -> dict[str, Any]:
    """Return the entry of a dataset."""
    return {
        "name": dataset.name,
        "doc": dataset.doc,
        "license": dataset.license,
        "fetched": dataset.is_fetched,
        "from_only": dataset.from_only,
    }
