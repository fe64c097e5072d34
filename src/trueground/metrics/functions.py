"""Metrics as functions over lists: `k_precision(responses=[…], contexts=[[…], …])`.

The functions call the code that scores files, in batches of items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
BATCH_SIZE = 1024
# How one entry of an argument becomes an entry of a batch.
_CONVERT: dict[str, Callable[[Any], Any]] = {
    "questions": lambda question: question,
    "histories": lambda turns: [t if isinstance(t, Turn) else Turn(t) for t in turns],
    "contexts": lambda texts: _structs(Passage, [texts] if isinstance(texts, str) else texts),
    "references": lambda refs: [refs] if isinstance(refs, str) else list(refs),
    "gold_facts": list,
    "response_facts": list,
    "answerable": bool,
    # A dict from label to text counts as a list of pairs.
    "choices": lambda options: _structs(
        Choice, options.items() if isinstance(options, dict) else options
    ),
    "knowledge": lambda graphs: [_graph(g) for g in graphs],
    "gold_knowledge": lambda triples: [_triple("gold_knowledge", t) for t in triples],
    "absent_knowledge": lambda triples: [_triple("absent_knowledge", t) for t in triples],
    "metas": dict,
}
# Arguments whose column of a batch has another name.
_COLUMNS = {"knowledge": "graphs"}
# Stands in for a context or reference if the caller passes verdicts instead of texts.
_JUDGED = "(judged)"


def metric_function(name: str) -> Callable[..., Floats]:
    """Return a metric as a function over lists, with its own signature and docstring.

    The function accepts all columns of records, so you can call several metrics with the same
    arguments. Columns that the metric doesn't read have no effect.

    Args:
        name: Name of the metric, or its name in another tool.

    Returns:
        The function. Its first parameter is `responses`, a list of n texts. It returns an array of
        n floats, NaN for a response without a score.

    Raises:
        UsageError: The metric doesn't exist.

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
    _check_responses(responses)
    inputs = {}
    options = {}
    for column_name, column in columns.items():
        if column_name not in _CONVERT and column_name not in VERDICTS.values():
            options[column_name] = str(column).lower() if isinstance(column, bool) else str(column)
        elif column is not None:
            inputs[column_name] = column
    spec = make_spec(METRICS.resolve(name), options)
    _check_columns(spec, inputs, len(responses))
    values = [np.empty(0)]
    for start in range(0, len(responses), BATCH_SIZE):
        rows = slice(start, start + BATCH_SIZE)
        batch_inputs = {name: column[rows] for name, column in inputs.items()}
        context = _build_context(spec, list(responses[rows]), batch_inputs)
        values.append(spec.column(context).values)
    return np.concatenate(values)


def _check_responses(responses: Sequence[str]) -> None:
    if isinstance(responses, str):
        raise UsageError("responses must be a list of texts. For one response, write [response]")
    for i, response in enumerate(responses):
        if not isinstance(response, str):
            raise UsageError(
                f"responses[{i}] is {type(response).__name__}; expected a text. If the answer is "
                'empty, pass ""'
            )


def _check_columns(spec: Spec, inputs: Mapping[str, Any], n: int) -> None:
    """Raise UsageError if a column has the wrong length, is missing, or is of no use."""
    for name, column in inputs.items():
        if len(column) != n:
            raise UsageError(
                f"{name} has {len(column)} entries, but there are {n} responses. Pass one entry "
                "per response"
            )
    cites = any(check.subject not in VERDICTS for check in spec.checks)
    for need in spec.needs:
        argument = ARGUMENTS.get(need, need)
        if not any(name in inputs for name in (argument, *stand_ins(need, cites=cites))):
            raise UsageError(
                f"{spec.metric.name} needs {argument}=[…], a list with one entry per response"
            )
    unread = [name for name in VERDICTS.values() if name in inputs]
    if unread and not spec.checks:
        raise UsageError(
            f"{spec.metric.name} doesn't use verdicts such as {unread[0]}=. Pass texts instead"
        )


def _build_context(spec: Spec, responses: list[str], inputs: Mapping[str, Any]) -> BatchContext:
    """Return a batch with the caller's verdicts, and placeholders for texts that they replace."""
    columns: dict[str, Any] = {}
    for name, column in inputs.items():
        if name in _CONVERT:
            convert = _CONVERT[name]
            entries = [None if entry is None else convert(entry) for entry in column]
            columns[_COLUMNS.get(name, name)] = entries
    batch, n = Batch(responses=responses, **columns), len(responses)
    if ("supported" in inputs or "entailed" in inputs) and not any(batch.contexts):
        batch.contexts = [[Passage(_JUDGED)] for _ in range(n)]
    if "facts_stated" in inputs and not any(batch.gold_facts):
        batch.gold_facts = [[] for _ in range(n)]
    if "references_stated" in inputs and not any(batch.references):
        batch.references = [[_JUDGED] for _ in range(n)]
    checked = {check: _read_verdicts(check, inputs) for check in spec.checks}
    return BatchContext(batch, checked=checked)


def _read_verdicts(check: ClaimCheck, inputs: Mapping[str, Any]) -> list[Checked]:
    argument = VERDICTS.get(check.subject, "supported")
    if inputs.get(argument) is None:
        raise UsageError(
            f"pass {argument}=[[True, False, …], …], one list of verdicts per response, or let a "
            "judge decide: use trueground.score"
        )
    checked = []
    for flags in inputs[argument]:
        verdicts = [Verdict(supported=bool(f > 0.5), probability=float(f)) for f in flags]
        checked.append(Checked([Claim("", 0, 0)] * len(flags), verdicts))
    return checked


def _structs(kind: type[S], values: Iterable[Any]) -> list[S]:
    return [_struct(kind, value) for value in values]


def _struct(kind: type[S], value: Any) -> S:
    """Return a passage or a choice from one itself, a dict, a text, or (label, text)."""
    if isinstance(value, kind):
        return value
    if isinstance(value, dict):
        return msgspec.convert(value, kind)
    return kind(value) if isinstance(value, str) else kind(*value)


def _graph(graph: Any) -> Graph:
    if isinstance(graph, dict) and isinstance(graph.get("qid"), str):
        return graph
    raise UsageError(
        f"knowledge has {graph!r:.80}; expected a graph: a dict with a qid, such as "
        '{"qid": "Q90", "country": "France"}'
    )


def _triple(name: str, triple: Any) -> Triple:
    if isinstance(triple, list | tuple) and len(triple) == 3:
        return [str(part) for part in triple]
    raise UsageError(f"{name} has {triple!r:.80}; expected [qid, property, value]")
