"""Metrics as functions over lists: `k_precision(responses=[…], contexts=[[…], …])`.

A thin wrapper over the same code that scores files. Items are worked off in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from trueground.errors import UsageError
from trueground.metrics.base import make_spec
from trueground.metrics.batch import Batch
from trueground.metrics.citations.kinds import MAKERS
from trueground.metrics.column import Floats
from trueground.metrics.evidence import BatchContext, Checked, no_checks
from trueground.metrics.registry import get_metric
from trueground.types import Choice, Claim, Graph, Passage, Triple, Turn, Verdict

_STEP = 1024
_TEXTS: dict[str, Callable[[Any], Any]] = {
    "questions": lambda x: x,
    "histories": lambda turns: [t if isinstance(t, Turn) else Turn(t) for t in turns],
    "contexts": lambda texts: [_passage(t) for t in texts],
    "references": lambda refs: [refs] if isinstance(refs, str) else list(refs),
    "gold_facts": list,
    "answerable": bool,
    "choices": lambda options: [_choice(o) for o in _pairs(options)],
    "knowledge": lambda graphs: [_graph(g) for g in graphs],
    "gold_knowledge": lambda triples: [_triple("gold_knowledge", t) for t in triples],
    "absent_knowledge": lambda triples: [_triple("absent_knowledge", t) for t in triples],
    "metas": dict,
}
# What a caller has judged: claims or citations, gold facts, the response as a whole, references.
_VERDICTS = ("supported", "facts_stated", "entailed", "references_stated")


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
        given = {n: columns.pop(n) for n in [*_TEXTS, *_VERDICTS] if n in columns}
        metric = get_metric(self.__name__)
        spec = make_spec(metric, {n: _word(v) for n, v in columns.items()})
        for name, column in given.items():
            if len(column) != len(responses):
                raise UsageError(f"{name} has {len(column)} entries, responses {len(responses)}")
        judged = {kind.partition(":")[0] for kind in metric.checks(spec.options)}
        for need in spec.needs:
            if not _gives(need, given, judged):
                raise UsageError(f"{metric.name} needs {_ARGUMENTS[need]}=[…], one per response")
        unread = [n for n in _VERDICTS if n in given]
        if unread and not metric.checks(spec.options):
            raise UsageError(f"{metric.name} does not read {unread[0]}; give it texts")
        verdicts = [given.pop(name, None) for name in _VERDICTS]
        values = [np.empty(0)]
        for low in range(0, len(responses), _STEP):
            part = slice(low, low + _STEP)
            texts: dict[str, Any] = {
                _COLUMNS.get(n, n): [_cell(n, x) for x in column[part]]
                for n, column in given.items()
            }
            evidence = _Given(
                Batch(responses=list(responses[part]), **texts),
                *(None if column is None else column[part] for column in verdicts),
            )
            values.append(spec.column(evidence).values)
        return np.concatenate(values)


_ARGUMENTS = {
    "question": "questions",
    "given_references": "references",
    "references": "references",
    "contexts": "contexts",
    "gold_facts": "gold_facts",
    "answerable": "answerable",
    "choices": "choices",
    "knowledge": "knowledge",
    "gold_knowledge": "gold_knowledge",
    "absent_knowledge": "absent_knowledge",
}
_COLUMNS = {"knowledge": "graphs"}  # where a batch has another name


def _gives(need: str, given: dict[str, Any], judged: set[str]) -> bool:
    """Whether a needed column came, or the verdicts that stand for it."""
    stands_for = {
        "contexts": () if judged & MAKERS.keys() else ("supported", "entailed"),
        "gold_facts": ("facts_stated",),
        "references": ("references_stated",),
        "question": ("histories",),
    }
    return any(name in given for name in (_ARGUMENTS[need], *stands_for.get(need, ())))


def _pairs(options: Any) -> list[Any]:
    """A dict from label to text is as good as a list of choices."""
    return list(options.items()) if isinstance(options, dict) else list(options)


def _choice(option: Any) -> Choice:
    if isinstance(option, Choice):
        return option
    if isinstance(option, dict):
        return msgspec.convert(option, Choice)
    label, text = option
    return Choice(label, text)


def _passage(text: Any) -> Passage:
    if isinstance(text, Passage):
        return text
    return Passage(text) if isinstance(text, str) else msgspec.convert(text, Passage)


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


def _cell(name: str, value: Any) -> Any:
    if name == "contexts" and isinstance(value, str):
        value = [value]
    return None if value is None else _TEXTS[name](value)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Given(BatchContext):
    """Evidence whose verdicts were handed in."""

    def __init__(
        self, batch: Batch, claims: Any, facts: Any, response: Any, references: Any
    ) -> None:
        super().__init__(batch, no_checks)
        self._given = {
            "claims": claims,
            "facts": facts,
            "response": response,
            "references": references,
        }
        judged = claims is not None or response is not None
        if judged and not any(batch.contexts):
            batch.contexts = [[Passage("(judged)")] for _ in range(len(batch))]
        if facts is not None and not any(batch.gold_facts):
            batch.gold_facts = [[] for _ in range(len(batch))]
        if references is not None and not any(batch.references):
            batch.references = [["(judged)"] for _ in range(len(batch))]

    def checks(self, kind: str) -> list[Checked]:
        name = kind.partition(":")[0]
        name = "claims" if name in MAKERS else name
        given = self._given[name]
        if given is None:
            argument = dict(zip(self._given, _VERDICTS, strict=True))[name]
            raise UsageError(
                f"pass {argument}=[[True, False, …], …], one list of verdicts per response, "
                "or use trueground.score, which asks a judge"
            )
        return [_checked(flags) for flags in given]


def _checked(flags: Sequence[float]) -> Checked:
    verdicts = [Verdict(supported=bool(f > 0.5), probability=float(f)) for f in flags]
    return Checked([Claim("", 0, 0)] * len(verdicts), verdicts)
