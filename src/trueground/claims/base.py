"""What a decomposer is, and the rules that every decomposer's facts pass: what counts as a fact.

Source of the rules: Truly-Ground, appendix A.3, and its evaluation code (as FActScore before it).
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from trueground.components import Component, check_struct, describe_value
from trueground.errors import ProtocolError
from trueground.text import fact_key
from trueground.types import Claim, Failure, Status

_WORD = re.compile(r"\w+(?:['’.,-]\w+)*")
_SPACELESS = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")

Decomposed = list[Claim] | Failure
Span = tuple[int, int]


class SupportsDecompose(Protocol):
    """The least that an object needs to be used as a decomposer, see `Decomposer`."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    @property
    def signature(self) -> str:
        """Everything that fixes its claims."""
        ...

    def decompose(self, texts: Sequence[str]) -> Sequence[Decomposed]:
        """Return the claims of each text, in text order."""
        ...


class Decomposer(Component[str, Decomposed]):
    """Turns texts into the statements that can be checked by themselves.

    A subclass has `name`, `signature` and `decompose`. Its `signature` names the decomposer and the
    version of its rules: equal signatures, equal claims.
    """

    kind = "decomposer"
    answers = "lists of claims"
    members: ClassVar[Mapping[str, str]] = {
        "name": "text",
        "signature": "text",
        "decompose": "method",
    }

    @abstractmethod
    def decompose(self, texts: Sequence[str]) -> Sequence[Decomposed]:
        """Return the claims of each text, in text order.

        A text without statements has no claims. If its claims can't be had, return a Failure.
        """

    def answer(self, requests: Sequence[str]) -> Sequence[Decomposed]:
        """See `Component.answer`."""
        return self.decompose(requests)

    def failed(self, reason: str) -> Decomposed:
        """See `Component.failed`."""
        return Failure(Status.ERROR, reason)

    def check(self, requests: Sequence[str], answers: object) -> Sequence[Decomposed]:
        """Return the answers if each is a list of claims, or a Failure."""
        n = len(requests)
        checked: Sequence[Any] = super().check(requests, answers)
        for number, answer in enumerate(checked, 1):
            location = f"{self.label}, answer {number} of {n}"
            if isinstance(answer, Failure):
                continue
            if not isinstance(answer, list | tuple):
                actual = describe_value(answer)
                raise ProtocolError(
                    f"{location}: found {actual}; expected a list of trueground.Claim"
                )
            for claim in answer:
                check_struct(location, claim, Claim)
        return checked


class Fact(NamedTuple):
    """One statement as a decomposer made it, and the span of the text that it came from."""

    text: str
    start: int
    end: int


def clean(sentence_spans: Sequence[Span], text: str, facts: Sequence[Sequence[str]]) -> list[Claim]:
    """Return the claims of `text` from the facts of each of its sentences.

    `sentence_spans` are character offsets into `text` (end exclusive), `facts[i]` the facts of
    sentence i; both have one entry for each sentence. A claim carries its sentence's span and
    number. Blank facts are left out, and:

    - a fact with more words than its sentence is replaced by that sentence;
    - a one-word sentence is dropped if the text has other sentences;
    - a sole sentence without facts is its own fact;
    - a fact that was already stated counts once (case, white space and end marks apart).
    """
    return clean_facts(
        sentence_spans,
        text,
        [
            [Fact(fact, *span) for fact in sentence_facts]
            for span, sentence_facts in zip(sentence_spans, facts, strict=True)
        ],
    )


def clean_facts(
    sentence_spans: Sequence[Span], text: str, facts: Sequence[Sequence[Fact]]
) -> list[Claim]:
    """As `clean`, for facts that know which part of their sentence they came from."""
    claims: list[Claim] = []
    seen: set[str] = set()
    sole = len(sentence_spans) == 1
    for number, (span, sentence_facts) in enumerate(zip(sentence_spans, facts, strict=True)):
        for fact in _of_sentence(text, span, sentence_facts, sole):
            key = fact_key(fact.text)
            if key not in seen:
                seen.add(key)
                claims.append(Claim(fact.text, fact.start, fact.end, number))
    return claims


def is_one_word(sentence: str) -> bool:
    """Whether there is one word at most; in scripts without spaces one run is many words."""
    first = _WORD.search(sentence)
    if first is None:
        return True
    if _WORD.search(sentence, first.end()) is not None:
        return False
    return len(first.group()) <= 2 or _SPACELESS.search(first.group()) is None


def _of_sentence(text: str, span: Span, facts: Iterable[Fact], sole: bool) -> Iterator[Fact]:
    sentence = text[span[0] : span[1]]
    if not sole and is_one_word(sentence):
        return
    most = len(sentence.split())
    none = True
    for fact in facts:
        stated = fact.text.strip()
        if not stated:
            continue
        none = False
        if stated != sentence and len(stated.split()) > most:
            yield Fact(sentence, *span)
        else:
            yield fact if stated == fact.text else Fact(stated, fact.start, fact.end)
    if none and sole and sentence.strip():
        yield Fact(sentence, *span)
