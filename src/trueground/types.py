"""The one vocabulary: what a record is, what a claim, a verdict and a status are.

Everything here is a plain, immutable-by-habit structure without behavior that needs another room.
Field meanings follow the record table of the contract (docs/records.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

import msgspec

Graph = dict[str, Any]
Triple = list[str]


class Status(StrEnum):
    """Why an item has, or has not, a score. The set is closed."""

    SCORED = "scored"
    ABSTAINED = "abstained"
    NO_CLAIMS = "no_claims"
    MISSING_FIELD = "missing_field"
    TOO_LONG = "too_long"
    UNPARSEABLE = "unparseable"
    TRUNCATED = "truncated"
    ERROR = "error"
    NOT_APPLICABLE = "not_applicable"

    @cached_property
    def code(self) -> int:
        """The number of the status in arrays; 0 is scored."""
        return list(Status).index(self)

    @property
    def description(self) -> str:
        """What pages call it."""
        return _STATUS_DESCRIPTIONS[self]


_STATUS_DESCRIPTIONS = {
    Status.SCORED: "scored",
    Status.ABSTAINED: "declined to answer",
    Status.NO_CLAIMS: "nothing to check",
    Status.MISSING_FIELD: "a needed field is missing",
    Status.TOO_LONG: "too long for the window",
    Status.UNPARSEABLE: "no verdict in the judge's reply",
    Status.TRUNCATED: "reply cut at the token limit",
    Status.ERROR: "the call failed",
    Status.NOT_APPLICABLE: "does not apply",
}


class ReasonKind(StrEnum):
    """Why a claim is called unsupported, for counts and filters. The set is closed."""

    NUMBER = "number"
    NAME = "name"
    CONTRADICTED = "contradicted"
    WORDS = "words"
    LOW_OVERLAP = "low_overlap"
    APART = "apart"
    BELOW_THRESHOLD = "below_threshold"
    DECLINES = "declines"
    NO_WORDS = "no_words"
    NO_CONTEXT = "no_context"

    @property
    def description(self) -> str:
        """The same in words for people."""
        return _REASON_DESCRIPTIONS[self]


_REASON_DESCRIPTIONS = {
    ReasonKind.NUMBER: "number or date not in the context",
    ReasonKind.NAME: "name not in the context",
    ReasonKind.CONTRADICTED: "contradicts the context",
    ReasonKind.WORDS: "words not in the context",
    ReasonKind.LOW_OVERLAP: "less than half of it is in the context",
    ReasonKind.APART: "its words are in the context, but not said together",
    ReasonKind.BELOW_THRESHOLD: "less likely than the threshold asks",
    ReasonKind.DECLINES: "declines to answer",
    ReasonKind.NO_WORDS: "has no words to check",
    ReasonKind.NO_CONTEXT: "no context to check against",
}


class Passage(msgspec.Struct, omit_defaults=True):
    """One text that the model was given. `gold` says whether it holds needed knowledge."""

    text: str
    id: str | int | None = None
    title: str | None = None
    gold: bool | None = None
    source: str | None = None


class Turn(msgspec.Struct, omit_defaults=True):
    """One earlier turn of a conversation; `role` is absent where the file does not say."""

    content: str
    role: str | None = None


class Choice(msgspec.Struct):
    """One option of a multiple-choice question."""

    label: str
    text: str


class Record(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One answered question, checked and in canonical form. `None` means: not given.

    `MAX_RESPONSE_CHARS` limits `response`: a row with a longer one is bad.
    """

    MAX_RESPONSE_CHARS: ClassVar[int] = 10_000_000

    id: str
    response: str
    question: str | None = None
    history: list[Turn] | None = None
    contexts: list[Passage] | None = None
    references: list[str] | None = None
    gold_facts: list[str] | None = None
    response_facts: list[str] | None = None
    choices: list[Choice] | None = None
    answerable: bool | None = None
    knowledge: list[Graph] | None = None
    gold_knowledge: list[Triple] | None = None
    absent_knowledge: list[Triple] | None = None
    human: dict[str, float] | None = None
    model: str | None = None
    group: str | None = None
    meta: dict[str, Any] | None = None


class Failure(msgspec.Struct, frozen=True):
    """Why a model that was asked gave no answer that can be scored."""

    status: Status
    reason: str


class Answered(Record, omit_defaults=True, kw_only=True):
    """A record whose response a model was asked for. With `failure` no metric is scored."""

    failure: Failure | None = None


class Claim(msgspec.Struct, frozen=True):
    """A statement that can be checked by itself, and where it stands in its source.

    `start` and `end` are character offsets into the source text (end exclusive); `sentence` is the
    0-based number of the sentence that it came from.
    """

    text: str
    start: int
    end: int
    sentence: int = 0


class JudgeRequest(msgspec.Struct, frozen=True):
    """Does any of these texts support this claim?

    `asked` is the question that a text answers, where the text is a response: what it names need
    not be said again ("Marie Curie was born in Warsaw" / "She was born in Warsaw"). `variant` is
    "reference-code" where texts are to be read as the papers' own code reads them. `source` is what
    the texts are, for the words of reasons: the context, or the response or a sentence of it.
    """

    claim: str
    texts: tuple[str, ...]
    asked: str = ""
    variant: str = ""
    source: str = "context"


class Verdict(msgspec.Struct, omit_defaults=True):
    """A judge's answer to one request.

    `supported` is None exactly when `status` is not `scored`. `probability` is None for a judge
    that gives none, `score` is the judge's own number (a cosine, a logit), which its threshold is
    compared with. `text` is the index of the deciding text in the request, and `start`/`end` the
    character offsets of the deciding window in it. `reasons` are short sentences for people,
    `kind` sorts them where the claim is not supported and the judge can tell why, else it is None.
    `reply` is the raw reply of a language model in which no verdict could be read.
    """

    supported: bool | None = None
    probability: float | None = None
    status: Status = Status.SCORED
    text: int | None = None
    start: int | None = None
    end: int | None = None
    reasons: tuple[str, ...] = ()
    score: float | None = None
    reply: str | None = None
    kind: ReasonKind | None = None


class RatingRequest(msgspec.Struct, frozen=True):
    """How good is this response, from 1 to 5, under a rubric?

    `rubric` is the name of one that ships with the package, or the path of a user's file. `shown`
    says what the rater sees: "response", "question" (with the response) or "knowledge" (with both).
    `scoring` is "integer" or "weighted". `samples` is how often to ask: with weighted scoring where
    there are no log-probabilities, with integer scoring always; the rating is the mean.
    """

    rubric: str
    response: str
    question: str = ""
    knowledge: tuple[str, ...] = ()
    shown: str = "response"
    scoring: str = "integer"
    samples: int = 1


class Rating(msgspec.Struct, omit_defaults=True):
    """A rater's answer: `value` is None exactly when `status` is not `scored`.

    `reply` is the raw reply where no rating could be read in it, `reason` says what went wrong.
    `replies` are all raw replies, in order, where integer scoring asked several times.
    """

    value: float | None = None
    status: Status = Status.SCORED
    reply: str | None = None
    reason: str | None = None
    replies: tuple[str, ...] = ()


class ComparisonRequest(msgspec.Struct, frozen=True):
    """How does a response compare with these texts?

    `texts` are a response's references or its contexts; which of the two, and whether they are read
    one by one or together, is the comparer's to know. `question` is the last user turn, `history`
    what was said before it, one line a turn.
    """

    response: str
    texts: tuple[str, ...]
    question: str = ""
    history: str = ""


class Comparison(msgspec.Struct, omit_defaults=True):
    """A comparer's answer: its values by name, empty exactly when `status` is not `scored`.

    `reply` is the raw reply of a language model in which nothing could be read, `reason` says what
    went wrong, and `detail` is what else people should see (the questions that were asked).
    """

    values: dict[str, float] = {}
    status: Status = Status.SCORED
    reply: str | None = None
    reason: str | None = None
    detail: dict[str, Any] | None = None


@dataclass(frozen=True)
class PromptFile:
    """A prompt as the manifest names it: its id and the SHA-256 of its text."""

    id: str
    sha256: str

    @property
    def signature(self) -> str:
        """The id and the first digits of the hash, as signatures of parts name it."""
        return f"{self.id}:{self.sha256[:12]}"


@dataclass(frozen=True)
class Usage:
    """What requests to models have cost: calls, tokens, cache hits, and requests without a reply.

    Every attempt is a call.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cache_hits: int = 0
    failed: int = 0

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Usage:
        """Return the usage in an entry of a manifest; 0 for a count that it lacks."""
        counts = {field.name: entry.get(field.name) for field in fields(cls)}
        return cls(**{name: n for name, n in counts.items() if isinstance(n, int)})

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cache_hits + other.cache_hits,
            self.failed + other.failed,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.calls - other.calls,
            self.tokens_in - other.tokens_in,
            self.tokens_out - other.tokens_out,
            self.cache_hits - other.cache_hits,
            self.failed - other.failed,
        )
