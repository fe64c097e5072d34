"""Answered questions → tasks, by kind. Who answered is not shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, TypeVar

from trueground.annotation.base import Task
from trueground.types import Passage, Record

# which facts are looked for: the gold ones in the response, or the response's in what it was given
Pairing = Literal["gold", "response"]
Shown = dict[str, Any]
T = TypeVar("T")


class Skipped(NamedTuple):
    """A record of which no task can be made: what it lacks."""

    reason: str


class _Lacks(Exception):  # noqa: N818 - one record's, never an error
    """The record lacks something; the first argument names it."""


def tasks_of(kind: str, record: Record, pairing: Pairing) -> Iterator[Task | Skipped]:
    """The tasks of one record, or what it lacks. Ids are of its own and of what is shown."""
    try:
        for suffix, shown in _MAKERS[kind](record, pairing):
            yield Task.of(kind, f"{record.id}{suffix}", shown)
    except _Lacks as lacks:
        yield Skipped(str(lacks))


def _contains(record: Record, pairing: Pairing) -> Iterator[tuple[str, Shown]]:
    """Tasks 1 and 2 of Lee et al. 2024, figure 10: is a fact in a text?"""
    if pairing == "gold":
        text = _some("response", record.response.strip())
    else:
        text = "\n\n".join(_titled(passage) for passage in _some("contexts", record.contexts))
    for number, fact in _looked_for(record, pairing):
        yield f"#{pairing}-{number}", {"text": text, "fact": fact}


def _contains_list(record: Record, pairing: Pairing) -> Iterator[tuple[str, Shown]]:
    """Tasks 3 and 4 of the same figure: is a fact among others?"""
    facts = _response_facts(record) if pairing == "gold" else _gold_facts(record)
    for number, fact in _looked_for(record, pairing):
        yield f"#{pairing}-{number}", {"facts": facts, "fact": fact}


def _relevance(record: Record, _pairing: Pairing) -> Iterator[tuple[str, Shown]]:
    question = _question(record)
    for number, passage in enumerate(_some("contexts", record.contexts), 1):
        yield f"#context-{number}", {"question": question, "passage": _titled(passage)}


def _correctness(record: Record, _pairing: Pairing) -> Iterator[tuple[str, Shown]]:
    references = _some("references", record.references)
    yield (
        "",
        {
            "question": _question(record),
            "references": references,
            "response": _some("response", record.response.strip()),
        },
    )


def _support(record: Record, _pairing: Pairing) -> Iterator[tuple[str, Shown]]:
    contexts = [_titled(passage) for passage in _some("contexts", record.contexts)]
    yield (
        "",
        {
            "question": _question(record),
            "contexts": contexts,
            "response": _some("response", record.response.strip()),
        },
    )


def _alignment(record: Record, _pairing: Pairing) -> Iterator[tuple[str, Shown]]:
    """Each sentence with each piece of knowledge, or passage, that it cites."""
    from trueground.text.citations.reading import read_numbers, read_triples

    graphs = record.knowledge
    found = read_triples(record.response, graphs) if graphs else read_numbers(record.response)
    names = {str(graph.get("qid")): graph.get("name") for graph in graphs or ()}
    passages = [_titled(passage) for passage in record.contexts or ()]
    any_cited = False
    for place, sentence in enumerate(found, 1):
        if graphs:
            cited = [
                ": ".join(filter(None, (names.get(c.qid) or c.qid or c.name, c.property, c.value)))
                for c in sentence.citations
                if c.property and c.value
            ]
        else:
            cited = [passages[n - 1] for n in sentence.passages if 0 < n <= len(passages)]
        for number, citation in enumerate(dict.fromkeys(cited), 1):
            any_cited = True
            shown = {"sentence": sentence.text, "citation": citation}
            yield f"#sentence-{place}-citation-{number}", shown
    if not any_cited:
        raise _Lacks("a citation of its knowledge or contexts")


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


_MAKERS: dict[str, Callable[[Record, Pairing], Iterator[tuple[str, Shown]]]] = {
    "contains": _contains,
    "contains-list": _contains_list,
    "relevance": _relevance,
    "correctness": _correctness,
    "support": _support,
    "alignment": _alignment,
}
