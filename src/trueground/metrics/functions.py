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
from trueground.metrics.registry import get_metric
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
    "answerable": bool,
    "choices": lambda options: [  # a dict from label to text is as good as a list
        _struct(Choice, o) for o in (options.items() if isinstance(options, dict) else options)
    ],
    "knowledge": lambda graphs: [_graph(g) for g in graphs],
    "gold_knowledge": lambda triples: [_triple("gold_knowledge", t) for t in triples],
    "absent_knowledge": lambda triples: [_triple("absent_knowledge", t) for t in triples],
    "metas": dict,
}
# What a caller has judged, by the subject of a check; `supported` also stands for citations.
_VERDICTS = {
    "claims": "supported",
    "facts": "facts_stated",
    "response": "entailed",
    "references": "references_stated",
}
# Where the argument has another name than the needed field, and the batch than the argument.
_ARGUMENTS = {"question": "questions", "given_references": "references"}
_COLUMNS = {"knowledge": "graphs"}


class MetricFunction:
    """One metric as a function; `options` are the metric's own."""

    def __init__(self, name: str) -> None:
        metric = get_metric(name)
        self.__name__ = name
        self.__doc__ = (
            f"{metric.doc} ({metric.source}).\n\n"
            "Lists have one entry per response. Returns an array of shape (n,), NaN where the "
            "item has no score."
        )

    def __call__(self, responses: Sequence[str], **columns: Any) -> Floats:
        """Values of shape (n,). Columns: questions, histories, contexts, references, gold_facts,
        answerable, choices, knowledge, gold_knowledge, absent_knowledge, metas; for metrics that
        read verdicts `supported`, `facts_stated`, `entailed` and `references_stated`, a list of
        booleans or probabilities per item (in which order, docs/citations.md tells). All other
        names are options of the metric. Raises UsageError.
        """
        if isinstance(responses, str):
            raise UsageError("responses must be a list of texts; write [response] for one")
        wrong = next((i for i, u in enumerate(responses) if not isinstance(u, str)), None)
        if wrong is not None:
            raise UsageError(
                f"responses[{wrong}] is {type(responses[wrong]).__name__}; expected a text, and an "
                "empty one for an empty answer"
            )
        inputs = {n: columns.pop(n) for n in [*_CONVERT, *_VERDICTS.values()] if n in columns}
        options = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in columns.items()}
        spec = make_spec(get_metric(self.__name__), options)
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
    cites = any(check.subject not in _VERDICTS for check in spec.checks)
    stands_for = {
        "contexts": () if cites else ("supported", "entailed"),
        "gold_facts": ("facts_stated",),
        "references": ("references_stated",),
        "question": ("histories",),
    }
    for need in spec.needs:
        argument = _ARGUMENTS.get(need, need)
        if not any(name in inputs for name in (argument, *stands_for.get(need, ()))):
            raise UsageError(f"{spec.metric.name} needs {argument}=[…], one per response")
    unread = [name for name in _VERDICTS.values() if name in inputs]
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
    argument = _VERDICTS.get(check.subject, "supported")
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
