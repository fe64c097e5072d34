"""Answered questions → tasks, by kind. Who answered is not shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from trueground.annotation.base import AnnotationTask, LabelDraw
from trueground.text.citations import Sentence
from trueground.types import Passage, Record

# which facts are looked for: the gold ones in the response, or the response's in what it was given
Pairing = Literal["gold", "response"]
Shown = dict[str, Any]
T = TypeVar("T")


class Skipped(NamedTuple):
    """A record of which no task can be made: what it lacks."""

    reason: str


class TaskPart(NamedTuple):
    """What a task asks about: the fields in which a record of its own differs from the whole one.

    In `claim` the response is a claim and the contexts are the texts that may support it, as a
    judge is asked; `fields` are the same where a metric reads it otherwise (a sentence with what it
    cites). Without them the task is about the whole record.
    """

    suffix: str
    shown: Shown
    claim: Shown | None = None
    fields: Shown | None = None


class _Lacks(Exception):  # noqa: N818 - one record's, never an error
    """The record lacks something; the first argument names it."""


def tasks_of(kind: str, record: Record, pairing: Pairing) -> Iterator[AnnotationTask | Skipped]:
    """The tasks of one record, or what it lacks. Ids are of its own and of what is shown."""
    try:
        for part in _MAKERS[kind](record, pairing):
            yield _task(kind, record, part)
    except _Lacks as lacks:
        yield Skipped(str(lacks))


def parts_of(
    kind: str, record: Record, pairing: Pairing, *, claims: bool
) -> Iterator[tuple[str, Record]]:
    """The id of each task of a record, with a record that holds what it asks about and no more.

    With `claims` a claim and the texts for it, as judges are asked.
    """
    try:
        for part in _MAKERS[kind](record, pairing):
            task = _task(kind, record, part)
            fields = part.claim if claims else part.fields or part.claim
            yield task.id, _part(record, task.item, fields) if fields else record
    except _Lacks:
        return


def _task(kind: str, record: Record, part: TaskPart) -> AnnotationTask:
    drawn = LabelDraw.of((record.meta or {}).get("drawn"))
    return AnnotationTask.of(kind, f"{record.id}{part.suffix}", part.shown, drawn)


def _part(record: Record, item: str, fields: Shown) -> Record:
    """A record of its own, which tells of whose part it is."""
    own = {
        name: getattr(record, name) for name in ("question", "history", "human", "model", "meta")
    }
    return Record(id=item, group=record.group or record.id, **{**own, **fields})


def _claim(claim: str, texts: Sequence[str]) -> Shown:
    """A claim that is not cut up any more, and the texts that may support it."""
    return {
        "response": claim,
        "response_facts": [claim],
        "contexts": [Passage(text) for text in texts],
    }


def _contains(record: Record, pairing: Pairing) -> Iterator[TaskPart]:
    """Tasks 1 and 2 of Lee et al. 2024, figure 10: is a fact in a text?"""
    if pairing == "gold":
        text = _some("response", record.response.strip())
    else:
        text = "\n\n".join(_titled(passage) for passage in _some("contexts", record.contexts))
    for number, fact in _looked_for(record, pairing):
        shown = {"text": text, "fact": fact}
        yield TaskPart(f"#{pairing}-{number}", shown, _claim(fact, [text]))


def _contains_list(record: Record, pairing: Pairing) -> Iterator[TaskPart]:
    """Tasks 3 and 4 of the same figure: is a fact among others?"""
    facts = _response_facts(record) if pairing == "gold" else _gold_facts(record)
    for number, fact in _looked_for(record, pairing):
        shown = {"facts": facts, "fact": fact}
        yield TaskPart(f"#{pairing}-{number}", shown, _claim(fact, facts))


def _relevance(record: Record, _pairing: Pairing) -> Iterator[TaskPart]:
    question = _question(record)
    for number, passage in enumerate(_some("contexts", record.contexts), 1):
        yield TaskPart(f"#context-{number}", {"question": question, "passage": _titled(passage)})


def _correctness(record: Record, _pairing: Pairing) -> Iterator[TaskPart]:
    references = _some("references", record.references)
    yield TaskPart(
        "",
        {
            "question": _question(record),
            "references": references,
            "response": _some("response", record.response.strip()),
        },
    )


def _support(record: Record, _pairing: Pairing) -> Iterator[TaskPart]:
    contexts = [_titled(passage) for passage in _some("contexts", record.contexts)]
    yield TaskPart(
        "",
        {
            "question": _question(record),
            "contexts": contexts,
            "response": _some("response", record.response.strip()),
        },
    )


def _alignment(record: Record, _pairing: Pairing) -> Iterator[TaskPart]:
    """Each sentence with each piece of knowledge, or passage, that it cites."""
    from trueground.text.citations import read_numbers, read_triples

    graphs = record.knowledge
    found = read_triples(record.response, graphs) if graphs else read_numbers(record.response)
    any_cited = False
    for place, sentence in enumerate(found, 1):
        cited = _triples(record, sentence) if graphs else _passages(record, sentence)
        for number, (citation, claim, fields) in enumerate(cited.values(), 1):
            any_cited = True
            shown = {"sentence": sentence.text, "citation": citation}
            yield TaskPart(f"#sentence-{place}-citation-{number}", shown, claim, fields)
    if not any_cited:
        raise _Lacks("a citation of its knowledge or contexts")


def _triples(record: Record, sentence: Sentence) -> dict[str, tuple[str, Shown, Shown]]:
    """Each triple that a sentence cites, as people read it: does the sentence say it?"""
    from trueground.metrics.entailment import hypothesis

    graphs = {str(graph.get("qid")): graph for graph in record.knowledge or ()}
    found: dict[str, tuple[str, Shown, Shown]] = {}
    for one in sentence.citations:
        if not (one.property and one.value):
            continue
        graph = graphs.get(one.qid, {})
        pair = f"{one.property}: {one.value}"
        citation = ": ".join(filter(None, (graph.get("name") or one.qid or one.name, pair)))
        claim = _claim(hypothesis(one.property, one.value), [sentence.text])
        cited = ", ".join(filter(None, (f"qid: {one.qid}" if one.qid else one.name, pair)))
        response = f"{sentence.text} [{cited}]"
        fields = {"response": response, "knowledge": [graph] if graph else record.knowledge}
        found.setdefault(citation, (citation, claim, fields))
    return found


def _passages(record: Record, sentence: Sentence) -> dict[str, tuple[str, Shown, Shown]]:
    """Each passage that a sentence cites: does the passage say the sentence?"""
    passages = record.contexts or []
    found: dict[str, tuple[str, Shown, Shown]] = {}
    for passage in (passages[n - 1] for n in sentence.passages if 0 < n <= len(passages)):
        claim = _claim(sentence.text, [passage.text]) | {"contexts": [passage]}
        fields = {**claim, "response": f"{sentence.text} [1]"}
        found.setdefault(_titled(passage), (_titled(passage), claim, fields))
    return found


def _looked_for(record: Record, pairing: Pairing) -> Iterator[tuple[int, str]]:
    return enumerate(_gold_facts(record) if pairing == "gold" else _response_facts(record), 1)


def _gold_facts(record: Record) -> list[str]:
    return _some("gold_facts", record.gold_facts)


def _response_facts(record: Record) -> list[str]:
    """Those in the record, else those that the rules find."""
    if record.response_facts is not None:
        return _some("response_facts", record.response_facts)
    from trueground.claims.rules import RuleDecomposer

    claims = RuleDecomposer().decompose([record.response])[0]
    return _some("facts in its response", [claim.text for claim in claims])


def _question(record: Record) -> str:
    """The last question, with what was said before it, one line a turn."""
    question = _some("question", record.question)
    turns = [
        f"{turn.role}: {turn.content}" if turn.role else turn.content
        for turn in record.history or ()
    ]
    return "\n".join([*turns, question])


def _titled(passage: Passage) -> str:
    return f"{passage.title}: {passage.text}" if passage.title else passage.text


def _some(name: str, value: T | None) -> T:
    """The value, which must be there and not empty."""
    if not value:
        raise _Lacks(name)
    return value


_MAKERS: dict[str, Callable[[Record, Pairing], Iterator[TaskPart]]] = {
    "contains": _contains,
    "contains-list": _contains_list,
    "relevance": _relevance,
    "correctness": _correctness,
    "support": _support,
    "alignment": _alignment,
}
