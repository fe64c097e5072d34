"""The registry of metrics, and the parsing of metric names with options.

To add a metric, declare it in its module and add its name to _MODULES. Another package decorates
functions with `metric`, or calls `register_metrics`, in a module that is an entry point of the
group `trueground.metrics`. These modules are loaded if a name isn't registered yet, or to list all
metrics. If an entry point has the name of a record field, the default set of `score` loads its
module for records with this field.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from trueground.components import ComponentSpec, Registry, ResultKey, describe_value
from trueground.errors import UsageError
from trueground.metrics.base import Compute, Metric, Spec, make_spec
from trueground.metrics.batch import NEEDS, harmonic_mean
from trueground.metrics.other_names import METRIC_ALIASES, SIMILAR_METRICS, plain_name

# Metrics in the order in which they are computed and displayed. A line has a module, a field, and
# metrics of the module. They are in the default set if records have the field. "any" is true for
# all records; metrics with "-" are never in the default set.
_MODULES = [
    line.split()
    for line in """
    lexical any exact_match precision recall f1 recall_strict answer_accuracy rouge_1 rouge_2
    lexical any rouge_l
    lexical - meteor
    lexical any k_precision k_recall k_f1 k_precision_pp k_recall_pp k_f1_pp
    compared - bertscore_precision bertscore_recall bertscore_f1 bem k_bertscore_precision
    compared - k_bertscore_recall k_bertscore_f1 faith_critic q2_f1 q2_nli
    grounding any grounding_precision grounding_recall grounding_f1 support support_min
    grounding - correct_support context_entails
    passages - passage_citation_recall passage_citation_precision passage_citation_f1
    ratings - fluency coherence consistency relevance rated
    abstention any abstained p_ir p_g
    compared - llm_correctness llm_faithfulness llm_abstained llm_p_ir llm_p_g
    abstention - phrase_match_strict phrase_match phrase_match_word
    lexical choices choice_accuracy
    """.strip().splitlines()
]
ItemFunction = TypeVar("ItemFunction", bound=Callable[..., float | Awaitable[float | None] | None])
_NEVER = "-"
_MODULE_OF: dict[str, str] = {}
_NEED_OF: dict[str, str] = {}
for _module, _need, *_metrics in _MODULES:
    _MODULE_OF.update(dict.fromkeys(_metrics, _module))
    _NEED_OF.update(dict.fromkeys(_metrics, _need))


class HarmonicParts(NamedTuple):
    """The two metrics of a harmonic mean."""

    precision: Spec
    recall: Spec

    def combine(
        self, precision: NDArray[np.float64], recall: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the harmonic mean of values of any shape; 0 if both are 0."""
        return harmonic_mean(precision, recall)


class MetricTable(Registry[Metric]):
    """Metrics by name. The module of a built-in metric is imported at the first lookup.

    Attributes:
        MICRO: Suffix of a metric's name for its value over all units of a run.
    """

    MICRO: ClassVar = "_micro"

    def __init__(self) -> None:
        super().__init__("metric")
        self._unloaded = dict(_MODULE_OF)
        self._names = dict.fromkeys(_MODULE_OF)

    def __getitem__(self, name: str) -> Metric:
        if name in self._unloaded:
            module = import_module(f"trueground.metrics.{_MODULE_OF[name]}")
            for metric in module.METRICS:
                if self._unloaded.pop(metric.name, None) is not None:
                    super().__setitem__(metric.name, metric)
        return super().__getitem__(name)

    def __setitem__(self, name: str, metric: Metric) -> None:
        self._names.setdefault(name)
        self._unloaded.pop(name, None)
        super().__setitem__(name, metric)

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        if self._unloaded.pop(name, None) is None:
            super().__delitem__(name)

    def is_default(self, name: str) -> bool:
        """Return whether a metric is in the default set, if records have its fields."""
        return _NEED_OF.get(name, _NEVER) != _NEVER

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def move(self, names: Sequence[str], before: str) -> None:
        """Move metrics before another metric, in the order of `names`."""
        order = [name for name in self._names if name not in names]
        index = order.index(before)
        self._names = dict.fromkeys([*order[:index], *names, *order[index:]])

    def resolve(self, name: str) -> Metric:
        """Return the metric with a name, which may be the name in another tool.

        Raises:
            UsageError: The metric doesn't exist. The message has similar names.
        """
        metrics = self.load() if name not in self else self
        plain = plain_name(name)
        if name in metrics:
            return metrics[name]
        if plain not in METRIC_ALIASES.keys() | SIMILAR_METRICS.keys():
            raise UsageError.unknown_name(
                "metric", name, metrics, (*METRIC_ALIASES, *SIMILAR_METRICS)
            )
        if plain in METRIC_ALIASES:
            return self[METRIC_ALIASES[plain]]
        nearest, definition = SIMILAR_METRICS[plain]
        raise UsageError(
            f"trueground has no metric {name!r}. The most similar is {nearest!r}: {definition}"
        )

    def of_key(self, key: str) -> Metric | None:
        """Return the metric of a key in results, `name(option=value)@judge`; None if unknown."""
        return self._find_first(ResultKey.parse(key).name)

    def micro_key(self, key: str) -> str:
        """Return `citation_precision_micro(variant=paper)` for the key without `_micro`."""
        return re.sub(r"^[^(@]*", rf"\g<0>{self.MICRO}", key, count=1)

    def macro_key(self, key: str) -> str:
        """Return the key without `_micro`; any other key unchanged."""
        return re.sub(rf"^([^(@]*){self.MICRO}(?=[(@]|$)", r"\1", key)

    def higher_is_better(self, key: str) -> bool | None:
        """Return whether higher values of a metric are better; None if it is unknown.

        Use it wherever results are called better or worse.

        Args:
            key: A key in results: `name(option=value)@judge`, or `name_micro…` of a whole run.
        """
        name = ResultKey.parse(key).name
        metric = self._find_first(name, name.removesuffix(self.MICRO))
        return None if metric is None else metric.higher_is_better

    def parse(self, text: str) -> Spec:
        """Parse `k_precision(normalizer=unicode-1,abstain=zero)`. Raises UsageError."""
        parsed = ComponentSpec.parse("metric", text)
        parsed.check_no_model()
        return make_spec(self.resolve(parsed.name), parsed.options)

    def parse_all(
        self, metrics: str | Sequence[str | Spec] | None, fields: Iterable[str] = ()
    ) -> list[Spec]:
        """Return the specs of metrics, without duplicates.

        Args:
            metrics: A comma-separated text or a list. None: the default set.
            fields: The record fields that are present, for the default set.

        Raises:
            UsageError: A metric or option doesn't exist, or the list is empty.
        """
        if metrics is None:
            return self.default_specs(fields)
        parts: Iterable[str | Spec] = [metrics] if isinstance(metrics, str) else metrics
        _check_names(parts)
        specs: dict[str, Spec] = {}
        for part in parts:
            if isinstance(part, Spec):
                specs.setdefault(part.key, part)
                continue
            for text in self.split(part):
                spec = self.parse(text)
                specs.setdefault(spec.key, spec)
        if not specs:
            raise UsageError("--metrics is empty. Name a metric, or omit it for the default set")
        return list(specs.values())

    def split(self, text: str) -> list[str]:
        """Split a list of metrics at the commas outside quotes and parentheses."""
        return [part for part in ComponentSpec.split(text) if part]

    def describe_renamed(self, metrics: str | Sequence[str | Spec]) -> str | None:
        """Return `metrics: grounding_precision ← faithfulness` for names of other tools.

        None if there are none. Raises UsageError.
        """
        parts = [metrics] if isinstance(metrics, str) else metrics
        _check_names(parts)
        names = {}
        for part in parts:
            if isinstance(part, str):
                for text in self.split(part):
                    names[ResultKey.parse(text).name] = self.parse(text).metric.name
        renamed = [f"{metric} ← {name}" for name, metric in names.items() if metric != name]
        return f"metrics: {', '.join(renamed)}" if renamed else None

    def default_specs(self, fields: Iterable[str]) -> list[Spec]:
        """Return the metrics of the default set whose fields are present in some record."""
        present = {"any", *fields}
        if "references" in present:
            present.add("given_references")
        for field in sorted(present):
            self.load_component(field)
        candidates = [self[name] for name in self if _NEED_OF.get(name) in present]
        chosen = [metric for metric in candidates if present.issuperset(metric.default_needs)]
        return [make_spec(metric, {}) for metric in chosen]

    def harmonic_parts(self, spec: Spec) -> HarmonicParts:
        """Return the two metrics of a harmonic mean, with the same options if they have them."""
        assert spec.metric.aggregation.harmonic is not None
        parts = []
        for name in spec.metric.aggregation.harmonic:
            metric = self.resolve(name)
            shared = {n: v for n, v in spec.options.items() if n in metric.options}
            part = make_spec(metric, shared)
            tail = spec.key[spec.key.rfind("@") :] if spec.judge else ""
            parts.append(replace(part, key=part.key + tail, judge=spec.judge))
        return HarmonicParts(*parts)

    def _find_first(self, *names: str) -> Metric | None:
        """Return the metric of the first name that exists; load other packages only if needed."""
        for name in names:
            if name in self:
                return self[name]
        metrics = self.load()
        return next((metrics[name] for name in names if name in metrics), None)


METRICS = MetricTable()


@overload
def metric(function: ItemFunction, /) -> ItemFunction: ...


@overload
def metric(
    *, name: str | None = None, higher_is_better: bool = True, version: int | str | None = None
) -> Callable[[ItemFunction], ItemFunction]: ...


@overload
def metric(
    name: str,
    /,
    *,
    doc: str,
    needs: tuple[str, ...] = (),
    family: str = "other",
    source: str = "",
    **rest: Any,
) -> Callable[[Compute], Metric]: ...


def metric(
    function: Callable[..., Any] | str | None = None,
    /,
    *,
    name: str | None = None,
    doc: str | None = None,
    needs: tuple[str, ...] = (),
    family: str = "other",
    source: str = "",
    **rest: Any,
) -> Any:
    """Register a function as a metric.

    The short form decorates a function of one item. Its parameters are fields of the record:
    response, question, history, contexts, references, gold_facts, response_facts, choices,
    answerable, knowledge, gold_knowledge, absent_knowledge, meta. If a parameter has no default,
    its field is required: an item without it is `missing_field`. `history` and `contexts` are lists
    of texts, and `choices` maps labels to texts. The function returns a number, True (1), False
    (0), or None if the metric doesn't apply to the item. It may be async. You can still call it.

    The long form, with `doc`, decorates a function that gets a batch's context and the options and
    returns a Column. A metric registered here is never in the default set.

    Args:
        function: The function to register, or the metric's name in the long form.
        name: Name of the metric. Default: the function's name.
        doc: The metric in one line (long form; the short form takes it from the docstring).
        needs: Record fields without which an item is `missing_field` (long form).
        family: Family of the metric, such as "faithfulness" (long form).
        source: Where the definition is published (long form).
        rest: `higher_is_better` (default True) and `version`, which is part of the signature. By
            default, the version of a short form is a hash of the function's source, so a run with
            an edited function isn't resumed. The hash doesn't cover other functions that it calls:
            if they change, pass another `version`. The long form takes all fields of `Metric`.

    Returns:
        In the short form the function itself, in the long form the `Metric`.

    Raises:
        UsageError: The name is taken, a parameter isn't a field of the record, or a need is
            unknown. If the function returns something else, scoring raises ProtocolError.

    Example:
        >>> @tg.metric
        ... def copied(response: str, contexts: list[str]) -> bool:
        ...     return any(response in context for context in contexts)
        >>> tg.score("answers.jsonl", metrics="copied")
    """
    if doc is not None:
        chosen = name if function is None else function
        if not isinstance(chosen, str):
            raise UsageError('a metric with doc= needs a name. Write @tg.metric("name", doc=...)')
        return _register_compute(chosen, doc=doc, needs=needs, family=family, source=source, **rest)
    unknown = rest.keys() - {"higher_is_better", "version"}
    long_form = {"needs": needs, "source": source, "family": family != "other" and family}
    unknown |= {option for option, value in long_form.items() if value}
    if unknown:
        raise UsageError(
            f"{min(unknown)}= works only with doc=, for a metric that computes a batch. For a "
            "function of one item, use only name=, higher_is_better= and version="
        )
    if isinstance(function, str):
        function, name = None, function

    def register(function: ItemFunction) -> ItemFunction:
        return _register_function(function, name=name, **rest)

    return register if function is None else register(function)


def _register_compute(
    name: str,
    *,
    doc: str,
    needs: tuple[str, ...],
    family: str,
    source: str,
    **rest: Any,
) -> Callable[[Compute], Metric]:
    def register(compute: Compute) -> Metric:
        unknown = set(needs) - set(NEEDS)
        if unknown:
            raise UsageError(
                f"{name}: needs= has {min(unknown)!r}, which isn't a field. Fields: "
                f"{', '.join(NEEDS)}"
            )
        new = Metric(
            name=name,
            family=family,
            needs=needs,
            compute=compute,
            doc=doc,
            source=source,
            **rest,
        )
        METRICS.register(name, new)
        return new

    return register


def _register_function(
    function: ItemFunction,
    *,
    name: str | None,
    higher_is_better: bool = True,
    version: int | str | None = None,
) -> ItemFunction:
    """Register a function of one item, or replace it if it is defined again."""
    from trueground.components import UserFunction
    from trueground.metrics.from_functions import FIELDS, ItemMetric

    user = UserFunction("metric", function, allowed=FIELDS, name=name, version=version)
    earlier = METRICS[user.name].compute if user.name in METRICS else None
    if isinstance(earlier, ItemMetric) and user.redefines(earlier.function):
        del METRICS[user.name]
    _register_compute(
        user.name,
        doc=user.summary,
        needs=tuple(field for field in user.required if field in NEEDS),
        family="other",
        source=user.origin,
        higher_is_better=higher_is_better,
        version=user.version,
    )(ItemMetric(user))
    return function


def register_metrics(
    metrics: Iterable[Metric], *, field: str | None = None, before: str | None = None
) -> None:
    """Register metrics of another package, in their order.

    Args:
        metrics: The metrics.
        field: Field of the record. If records have it, the metrics are in the default set. The
            module must then be an entry point of the group `trueground.metrics` with the name of
            the field. Default: the metrics are never in the default set.
        before: The metric before which they are computed and displayed. Default: after all others.

    Raises:
        UsageError: A name is taken, or `before` doesn't exist.
    """
    if before is not None and before not in METRICS:
        raise UsageError.unknown_name("metric", before, METRICS)
    names = []
    for new in metrics:
        METRICS.register(new.name, new)
        _NEED_OF[new.name] = field or _NEVER
        names.append(new.name)
    if before is not None:
        METRICS.move(names, before)


def _check_names(metrics: object) -> None:
    """Raise UsageError unless these are names of metrics."""
    parts = metrics if isinstance(metrics, Iterable) else (metrics,)
    for part in parts:
        if not isinstance(part, str | Spec):
            raise UsageError(
                f'metrics: got {describe_value(part)}; expected names such as "f1". For a function '
                "decorated with @tg.metric, pass its name"
            )
