"""The one dictionary of metrics, and the reading of metric names with options.

A new metric is one declaration in its own module and one line in _MODULES. A metric of another
package is decorated with `metric`, and its module is named as an entry point of the group
`trueground.metrics`; entry points are loaded when a name is not found here or all are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from trueground.errors import UsageError, unknown_name
from trueground.metrics.base import Compute, Metric, Spec, make_spec
from trueground.metrics.batch import NEEDS
from trueground.metrics.other_names import NEAREST, SAME, plain_name
from trueground.plugins import (
    bare_name,
    load_plugins,
    parse_part,
    register_part,
    split_outside,
)

# In this order they are computed and shown.
_MODULES = (
    "lexical",
    "compared",
    "grounding",
    "triples",
    "entailment",
    "passages",
    "ratings",
    "abstention",
    "llm",
    "faitheval",
)

METRICS: dict[str, Metric] = {
    metric.name: metric
    for module in _MODULES
    for metric in import_module(f"trueground.metrics.{module}").METRICS
}
_BUILT_IN = tuple(METRICS)

MICRO = "_micro"  # behind the name of a metric: its value over all units of a run


def metric(
    name: str,
    *,
    doc: str,
    needs: tuple[str, ...] = (),
    family: str = "other",
    source: str = "",
    **rest: Any,
) -> Callable[[Compute], Metric]:
    """Decorator: make a metric of a function from (evidence, options) to a Column.

    `rest` are the other fields of `Metric`. A metric from outside is never in the default set.
    Raises UsageError if the name is taken.
    """

    def register(compute: Compute) -> Metric:
        unknown = set(needs) - set(NEEDS)
        if unknown:
            raise UsageError(f"{name}: needs {min(unknown)!r}; it may need {', '.join(NEEDS)}")
        rest["in_default_set"] = False
        new = Metric(name, family, needs, compute, doc, source, **rest)
        register_part("metric", METRICS, name, new)
        return new

    return register


def all_metrics() -> dict[str, Metric]:
    """Every metric by name, those of other packages included."""
    load_plugins()
    return METRICS


def get_metric(name: str) -> Metric:
    """The metric of that name, also as other tools call it; else a UsageError with near names."""
    known = all_metrics() if name not in METRICS else METRICS
    plain = plain_name(name)
    if name in known:
        return known[name]
    if plain not in SAME.keys() | NEAREST.keys():
        raise unknown_name("metric", name, known, (*SAME, *NEAREST))
    if plain in SAME:
        return METRICS[SAME[plain]]
    nearest, instead = NEAREST[plain]
    raise UsageError(f"there is no metric {name!r} here. The nearest is {nearest!r}: {instead}")


def metric_of_key(key: str) -> Metric | None:
    """The metric behind a key of results, `name(option=value)@judge`; None: not known here."""
    return all_metrics().get(bare_name(key))


def higher_is_better(key: str) -> bool | None:
    """Whether more of it is better, as the metric's declaration has it; None: not known here.

    `key` is one of results: `name(option=value)@judge`, or `name_micro…` of a whole run. Every
    place that calls something best, worst, won or lost asks here.
    """
    name = bare_name(key)
    known = all_metrics()
    metric = known.get(name) or known.get(name.removesuffix(MICRO))  # its own name comes first
    return None if metric is None else metric.higher_is_better


def split_specs(text: str) -> list[str]:
    """Split at the commas that stand outside quotes and parentheses."""
    return [part for part in split_outside(text) if part]


def parse_spec(text: str) -> Spec:
    """`k_precision(normalizer=unicode-1,abstain=zero)` → Spec; raises UsageError."""
    part = parse_part("metric", text)
    part.check_no_model()
    return make_spec(get_metric(part.name), part.options)


def parse_specs(metrics: str | Sequence[str | Spec]) -> list[Spec]:
    """Specs of a comma-separated text or a list; the same metric twice counts once."""
    parts: Iterable[str | Spec] = [metrics] if isinstance(metrics, str) else metrics
    specs: dict[str, Spec] = {}
    for part in parts:
        found = [part] if isinstance(part, Spec) else [parse_spec(p) for p in split_specs(part)]
        for spec in found:
            specs.setdefault(spec.key, spec)
    if not specs:
        raise UsageError("no metric was named; leave --metrics out for the default set")
    return list(specs.values())


def describe_renamed(metrics: str | Sequence[str | Spec]) -> str | None:
    """`metrics: grounding_precision ← faithfulness` for names of other tools; None: there are none.

    Raises UsageError.
    """
    parts = [metrics] if isinstance(metrics, str) else metrics
    written = [w for part in parts if not isinstance(part, Spec) for w in split_specs(part)]
    pairs = {bare_name(word): parse_spec(word).metric.name for word in written}
    texts = [f"{ours} ← {name}" for name, ours in pairs.items() if ours != name]
    return f"metrics: {', '.join(texts)}" if texts else None


def default_specs(fields: Iterable[str]) -> list[Spec]:
    """Every metric of the default set whose fields are present somewhere in the records."""
    present = set(fields)
    if "references" in present:
        present.add("given_references")
    found = [METRICS[name] for name in _BUILT_IN]
    chosen = [m for m in found if m.in_default_set and present.issuperset(m.needs)]
    return [make_spec(metric, {}) for metric in chosen]
