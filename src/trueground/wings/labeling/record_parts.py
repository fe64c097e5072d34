"""What tasks show of a record: its claims, facts, sentences, contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from trueground.types import Failure, Passage, Record

# which facts are looked for: the gold ones in the response, or the response's in what it was given
Pairing = Literal["gold", "response"]
Shown = dict[str, Any]
T = TypeVar("T")


class MissingPart(Exception):  # noqa: N818 - one record's, never an error
    """A record has nothing of this kind to ask about; the first argument names what it lacks."""


class TaskPart(NamedTuple):
    """What a task asks about: the fields in which a record of its own differs from the whole one.

    In `claim` the response is a claim and the contexts are the texts that may support it, as a
    judge is asked; `fields` are the same where a metric reads it otherwise (a sentence with what it
    cites). Without them the task is about the whole record. `suffix` tells the parts' ids apart.
    """

    suffix: str
    shown: Shown
    claim: Shown | None = None
    fields: Shown | None = None

    def record(self, whole: Record, item: str, *, claims: bool) -> Record:
        """A record `item` with what is asked about and no more, which tells of whose part it is."""
        fields = self.claim if claims else self.fields or self.claim
        if not fields:
            return whole
        names = ("question", "history", "human", "model", "meta")
        own = {name: getattr(whole, name) for name in names}
        return Record(id=item, group=whole.group or whole.id, **{**own, **fields})


def _contains(record: Record, pairing: Pairing) -> Iterator[TaskPart]:
    """Tasks 1 and 2 of Lee et al. 2024, figure 10: is a fact in a text?"""
    if pairing == "gold":
        text = _need("response", record.response.strip())
    else:
        text = "\n\n".join(_titled(passage) for passage in _need("contexts", record.contexts))
    for number, fact in enumerate(_facts(record, pairing), 1):
        shown = {"text": text, "fact": fact}
        yield TaskPart(f"#{pairing}-{number}", shown, _claim(fact, [text]))


def _contains_list(record: Record, pairing: Pairing) -> Iterator[TaskPart]:
    """Tasks 3 and 4 of the same figure: is a fact among others?"""
    facts = _facts(record, "response" if pairing == "gold" else "gold")
    for number, fact in enumerate(_facts(record, pairing), 1):
        shown = {"facts": facts, "fact": fact}
        yield TaskPart(f"#{pairing}-{number}", shown, _claim(fact, facts))


def _relevance(record: Record, _pairing: Pairing) -> Iterator[TaskPart]:
    question = _question(record)
    for number, passage in enumerate(_need("contexts", record.contexts), 1):
        yield TaskPart(f"#context-{number}", {"question": question, "passage": _titled(passage)})


def _correctness(record: Record, _pairing: Pairing) -> Iterator[TaskPart]:
    references = _need("references", record.references)
    question = _question(record)
    response = _need("response", record.response.strip())
    yield TaskPart("", {"question": question, "references": references, "response": response})


def _support(record: Record, _pairing: Pairing, *, span: bool = False) -> Iterator[TaskPart]:
    """A claim or a summary has no question. For a `span` positions are the record's own."""
    contexts = [_titled(passage) for passage in _need("contexts", record.contexts)]
    response = _need("response", record.response.strip())
    shown: Shown = {"question": _question(record)} if record.question else {}
    response = record.response if span else response
    yield TaskPart("", {**shown, "contexts": contexts, "response": response})


def _alignment(record: Record, _pairing: Pairing) -> Iterator[TaskPart]:
    """Each sentence with each piece of knowledge, or else each passage, that it cites."""
    from trueground.text import CitedText

    graphs, passages = record.knowledge or [], record.contexts or []
    by_qid = {str(graph.get("qid")): graph for graph in graphs}
    response = CitedText(record.response, graphs)
    found = response.triple_sentences() if graphs else response.numbered_sentences()
    any_cited = False
    for place, sentence in enumerate(found, 1):
        text = sentence.text
        cited: dict[str, tuple[Shown, Shown]] = {}  # what is cited, each once → claim and fields
        if graphs:  # does the sentence say the triple?
            for one in sentence.citations:
                if not (one.property and one.value):
                    continue
                graph = by_qid.get(one.qid, {})
                pair = f"{one.property}: {one.value}"
                citation = ": ".join(filter(None, (graph.get("name") or one.qid or one.name, pair)))
                named = ", ".join(filter(None, (f"qid: {one.qid}" if one.qid else one.name, pair)))
                claim = _claim(one.triple.statement, [text])
                fields = {
                    "response": f"{text} [{named}]",
                    "knowledge": [graph] if graph else graphs,
                }
                cited.setdefault(citation, (claim, fields))
        else:  # does the passage say the sentence?
            for passage in (passages[n - 1] for n in sentence.passages if 0 < n <= len(passages)):
                claim = _claim(text, [passage.text]) | {"contexts": [passage]}
                fields = {**claim, "response": f"{text} [1]"}
                cited.setdefault(_titled(passage), (claim, fields))
        for number, (citation, (claim, fields)) in enumerate(cited.items(), 1):
            any_cited = True
            shown = {"sentence": text, "citation": citation}
            yield TaskPart(f"#sentence-{place}-citation-{number}", shown, claim, fields)
    if not any_cited:
        raise MissingPart("a citation of its knowledge or contexts")


def _claim(claim: str, texts: Sequence[str]) -> Shown:
    """A claim that is not cut up any more, and the texts that may support it."""
    contexts = [Passage(text) for text in texts]
    return {"response": claim, "response_facts": [claim], "contexts": contexts}


def _facts(record: Record, of: Pairing) -> list[str]:
    """The gold facts; or those of the response: the record's own, else those the rules find."""
    if of == "gold":
        return _need("gold_facts", record.gold_facts)
    if record.response_facts is not None:
        return _need("response_facts", record.response_facts)
    from trueground.claims import get_decomposer

    claims = get_decomposer("rules").decompose([record.response])[0]
    assert not isinstance(claims, Failure)  # rules always give claims
    return _need("facts in its response", [claim.text for claim in claims])


def _question(record: Record) -> str:
    """The last question, with what was said before it, one line a turn."""
    question = _need("question", record.question)
    turns = (
        f"{turn.role}: {turn.content}" if turn.role else turn.content
        for turn in record.history or ()
    )
    return "\n".join([*turns, question])


def _titled(passage: Passage) -> str:
    return f"{passage.title}: {passage.text}" if passage.title else passage.text


def _need(name: str, value: T | None) -> T:
    """The value, which must be there and not empty."""
    if not value:
        raise MissingPart(name)
    return value


PARTS: dict[str, Callable[[Record, Pairing], Iterator[TaskPart]]] = {
    "contains": _contains,
    "contains-list": _contains_list,
    "relevance": _relevance,
    "correctness": _correctness,
    "support": _support,
    "span": partial(_support, span=True),
    "alignment": _alignment,
}
