"""Metrics as functions over lists: `k_precision(responses=[…], contexts=[[…], …])`.

A thin wrapper over the same code that scores files. Items are worked off in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from trueground.errors import UsageError
from trueground.metrics.base import Spec, make_spec
from trueground.metrics.batch import Batch, Floats
from trueground.metrics.context import BatchContext, Checked, ClaimCheck
from trueground.metrics.registry import METRICS
from trueground.metrics.signatures import (
    ARGUMENTS,
    VERDICTS,
    docstring_of,
    signature_of,
    stand_ins,
)
from trueground.types import Choice, Claim, Graph, Passage, Triple, Turn, Verdict

S = TypeVar("S", bound=msgspec.Struct)
_BATCH = 1024
_CONVERT: dict[str, Callable[[Any], Any]] = {
    "questions": lambda x: x,
    "histories": lambda turns: [t if isinstance(t, Turn) else Turn(t) for t in turns],
    "contexts": lambda texts: [
        _struct(Passage, t) for t in ([texts] if isinstance(texts, str) else texts)
    ],
    "references": lambda refs: [refs] if isinstance(refs, str) else list(refs),
    "gold_facts": list,
    "response_facts": list,
    "answerable": bool,
    "choices": lambda options: [  # a dict from label to text is as good as a list
        _struct(Choice, o) for o in (options.items() if isinstance(options, dict) else options)
    ],
    "knowledge": lambda graphs: [_graph(g) for g in graphs],
    "gold_knowledge": lambda triples: [_triple("gold_knowledge", t) for t in triples],
    "absent_knowledge": lambda triples: [_triple("absent_knowledge", t) for t in triples],
    "metas": dict,
}
# Where the batch has another name than the argument.
_COLUMNS = {"knowledge": "graphs"}


def metric_function(name: str) -> Callable[..., Floats]:
    """Return a metric as a function over lists, with its own signature and docstring.

    The function takes all columns that records have, so that one call fits several metrics; those
    that the metric doesn't read change nothing.

    Args:
        name: Name of the metric, also as other tools call it.

    Raises:
        UsageError: There is no such metric.

    Example:
        >>> f1 = metric_function("f1")
        >>> f1(["It is tall."], references=[["It is tall."]])
        array([1.])
    """
    metric = METRICS.resolve(name)

    def function(responses: Sequence[str], **columns: Any) -> Floats:
        return _compute(name, responses, columns)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "trueground.metrics"
    function.__doc__ = docstring_of(metric)
    function.__signature__ = signature_of(metric)  # type: ignore[attr-defined]
    return function


def _compute(name: str, responses: Sequence[str], columns: Mapping[str, Any]) -> Floats:
    """Return the values of a metric, shape (n,). Raises UsageError."""
    if isinstance(responses, str):
        raise UsageError("responses must be a list of texts; write [response] for one")
    wrong = next((i for i, u in enumerate(responses) if not isinstance(u, str)), None)
    if wrong is not None:
        raise UsageError(
            f"responses[{wrong}] is {type(responses[wrong]).__name__}; expected a text, and an "
            "empty one for an empty answer"
        )
    inputs = {n: columns[n] for n in [*_CONVERT, *VERDICTS.values()] if columns.get(n) is not None}
    chosen = {n: v for n, v in columns.items() if n not in _CONVERT and n not in VERDICTS.values()}
    options = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in chosen.items()}
    spec = make_spec(METRICS.resolve(name), options)
    _check_columns(spec, inputs, len(responses))
    values = [np.empty(0)]
    for low in range(0, len(responses), _BATCH):
        part = slice(low, low + _BATCH)
        some = {name: column[part] for name, column in inputs.items()}
        values.append(spec.column(_context(spec, list(responses[part]), some)).values)
    return np.concatenate(values)


def _check_columns(spec: Spec, inputs: Mapping[str, Any], n: int) -> None:
    """UsageError for a column that is too short, missing, or of no use."""
    for name, column in inputs.items():
        if len(column) != n:
            raise UsageError(f"{name} has {len(column)} entries, responses {n}")
    cites = any(check.subject not in VERDICTS for check in spec.checks)
    for need in spec.needs:
        argument = ARGUMENTS.get(need, need)
        if not any(name in inputs for name in (argument, *stand_ins(need, cites=cites))):
            raise UsageError(f"{spec.metric.name} needs {argument}=[…], one per response")
    unread = [name for name in VERDICTS.values() if name in inputs]
    if unread and not spec.checks:
        raise UsageError(f"{spec.metric.name} does not read {unread[0]}; give it texts")


def _context(spec: Spec, responses: list[str], inputs: Mapping[str, Any]) -> BatchContext:
    """The batch with the verdicts that were handed in, and a mark for texts that they spare."""
    texts: dict[str, Any] = {
        _COLUMNS.get(name, name): [None if x is None else _CONVERT[name](x) for x in column]
        for name, column in inputs.items()
        if name in _CONVERT
    }
    batch, n = Batch(responses=responses, **texts), len(responses)
    if ("supported" in inputs or "entailed" in inputs) and not any(batch.contexts):
        batch.contexts = [[Passage("(judged)")] for _ in range(n)]
    if "facts_stated" in inputs and not any(batch.gold_facts):
        batch.gold_facts = [[] for _ in range(n)]
    if "references_stated" in inputs and not any(batch.references):
        batch.references = [["(judged)"] for _ in range(n)]
    return BatchContext(batch, checked={check: _checked(check, inputs) for check in spec.checks})


def _checked(check: ClaimCheck, inputs: Mapping[str, Any]) -> list[Checked]:
    argument = VERDICTS.get(check.subject, "supported")
    if inputs.get(argument) is None:
        raise UsageError(
            f"pass {argument}=[[True, False, …], …], one list of verdicts per response, "
            "or use trueground.score, which asks a judge"
        )
    return [
        Checked(
            [Claim("", 0, 0)] * len(flags),
            [Verdict(supported=bool(f > 0.5), probability=float(f)) for f in flags],
        )
        for flags in inputs[argument]
    ]


def _struct(kind: type[S], value: Any) -> S:
    """A passage or a choice: as it is, of a dict, of a text, or of (label, text)."""
    if isinstance(value, kind):
        return value
    if isinstance(value, dict):
        return msgspec.convert(value, kind)
    return kind(value) if isinstance(value, str) else kind(*value)


def _graph(graph: Any) -> Graph:
    if isinstance(graph, dict) and isinstance(graph.get("qid"), str):
        return graph
    raise UsageError(
        f"knowledge has {graph!r:.80}; expected graphs that are dicts with a qid, such as "
        '{"qid": "Q90", "country": "France"}'
    )


def _triple(name: str, triple: Any) -> Triple:
    if isinstance(triple, list | tuple) and len(triple) == 3:
        return [str(part) for part in triple]
    raise UsageError(f"{name} has {triple!r:.80}; expected [qid, property, value]")
