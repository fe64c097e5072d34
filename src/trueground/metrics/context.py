"""The input of metrics: the texts of a batch, and the answers of models about them.

This module calls no model. Before a metric computes, an evaluation gets the answers of judges,
decomposer, rater and comparers and puts them into `Results`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from trueground.errors import UsageError
from trueground.metrics.batch import Batch, Floats, Mask, Options
from trueground.metrics.tokens import Ids, Overlap, Tokens, tokenize
from trueground.text import REFUSAL_RULES, Normalizer, fact_key
from trueground.types import (
    Claim,
    Comparison,
    ComparisonRequest,
    Failure,
    JudgeRequest,
    Rating,
    RatingRequest,
    Record,
    Status,
    Verdict,
)

T = TypeVar("T")
Claims = list[Claim] | Failure

# Limit for the characters of texts compared with the claims of one item, summed over the claims.
# 500 claims with a context of 1 MB reach it. The labeled answers of docs/trust.md need at most
# 200,000.
MAX_CHARACTERS_COMPARED = 500_000_000
# Limit for the texts compared with the claims of one item, summed over the claims. 1,000 claims
# with 1,000 passages reach it. The labeled answers need at most 1,000.
MAX_TEXTS_COMPARED = 1_000_000

ABSTENTION_PASSAGE = "I don't know."
NO_TEXT = Failure(Status.MISSING_FIELD, "no context to check against")
_NOT_JUDGED = "{} needs verdicts. Use trueground.score, which asks a judge, or pass `supported`"
DECLINED = Failure(Status.ABSTAINED, "the response declines to answer")


class Role(NamedTuple):
    """The component that answers: decomposer, judge, rater or comparer."""

    kind: str
    name: str | int = ""

    @classmethod
    def decomposer(cls) -> Role:
        """Return the role of the decomposer."""
        return cls("decomposer")

    @classmethod
    def judge(cls, number: int) -> Role:
        """Return the role of a judge by its number."""
        return cls("judge", number)

    @classmethod
    def rater(cls) -> Role:
        """Return the role of the rater."""
        return cls("rater")

    @classmethod
    def comparer(cls, spec: str) -> Role:
        """Return the role of a comparer by its spec, `NAME:MODEL(option=value)`."""
        return cls("comparer", spec)


class ClaimRequest(NamedTuple):
    """A claim of an item with the request about it, or with its verdict if it needs no judge.

    Attributes:
        claim: The claim, with its offsets in the response.
        request: The request to the judge. It may be about another text, such as "Is this triple in
            that sentence?".
        verdict: The verdict of a claim that needs no judge.
        texts: Indexes of the request's texts among the item's contexts; empty if the texts aren't
            contexts.
    """

    claim: Claim
    request: JudgeRequest | None = None
    verdict: Verdict | None = None
    texts: Sequence[int] = ()


@dataclass(frozen=True)
class ClaimCheck:
    """One kind of check that metrics read: what is checked, against what, and how.

    Checks with equal attributes share their verdicts.

    Attributes:
        subject: What is checked: claims, facts, references, response (as one claim), or alignment,
            missing and passages for citations.
        requests: Returns, for each item, a list of requests, or a Failure if there can't be any.
        scope: Which contexts are read, "input" or "gold"; "" if contexts aren't read.
        variant: The option `variant` of the metric; "" for its default.
    """

    subject: str
    requests: Callable[[BatchContext, ClaimCheck], Sequence[list[ClaimRequest] | Failure]] = field(
        repr=False
    )
    scope: str = ""
    variant: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.subject, self.scope, self.variant)))

    @property
    def splits(self) -> bool:
        """Whether responses must be split into claims."""
        return self.subject == "claims"

    def roles(self, n_judges: int) -> list[Role]:
        """Return the roles that answer: all judges."""
        return [Role.judge(number) for number in range(n_judges)]

    def exceeds_limits(self, claims: int, characters: int, texts: int) -> Failure | None:
        """Return a Failure if an item is too large to be judged, else None.

        Args:
            claims: Number of claims.
            characters: Characters of text compared with them, summed over the claims.
            texts: Number of texts compared with them, summed over the claims.
        """
        if characters > MAX_CHARACTERS_COMPARED:
            return too_much_work(characters, claims, MAX_CHARACTERS_COMPARED)
        if texts > MAX_TEXTS_COMPARED:
            return too_much_work(texts, claims, MAX_TEXTS_COMPARED, "texts")
        return None

    def list_requests(self, context: BatchContext) -> list[JudgeRequest]:
        """Return all requests to a judge about a batch."""
        requests: list[JudgeRequest] = []
        for item in context.requests(self):
            if not isinstance(item, Failure):
                requests += [claim.request for claim in item if claim.request is not None]
        return requests


@dataclass(frozen=True)
class RatingQuery:
    """Requests of a metric to the rater.

    Attributes:
        rubric: Returns the name or file of the rubric, and which fields the rater sees. It may read
            the file, so call it only if there is a rater.
        requests: Returns the request of each item; None for items that aren't rated.
    """

    rubric: Callable[[], tuple[str, str]]
    requests: Callable[[BatchContext], Sequence[RatingRequest | None]]

    def roles(self, _n_judges: int) -> list[Role]:
        """Return the role that answers: the rater."""
        return [Role.rater()]

    def list_requests(self, context: BatchContext) -> list[RatingRequest]:
        """Return all requests to the rater about a batch."""
        return [request for request in self.requests(context) if request is not None]


@dataclass(frozen=True)
class ComparisonQuery:
    """Requests of a metric to a comparer.

    Attributes:
        comparer: The spec of the comparer, `NAME:MODEL(option=value)`.
        requests: Returns the request of each item; None for items that aren't compared.
    """

    comparer: str
    requests: Callable[[BatchContext], Sequence[ComparisonRequest | None]]

    def roles(self, _n_judges: int) -> list[Role]:
        """Return the role that answers: the comparer."""
        return [Role.comparer(self.comparer)]

    def list_requests(self, context: BatchContext) -> list[ComparisonRequest]:
        """Return all requests to the comparer about a batch."""
        return [request for request in self.requests(context) if request is not None]


Query = ClaimCheck | RatingQuery | ComparisonQuery


class Checked(NamedTuple):
    """The claims of one item with their verdicts, or a failure if there are none."""

    claims: Sequence[Claim] = ()
    verdicts: Sequence[Verdict] = ()
    failure: Failure | None = None

    @property
    def unanswered(self) -> Status | Failure | None:
        """The reason if a verdict is missing, else None."""
        if self.failure is not None:
            return self.failure
        return next((v.status for v in self.verdicts if v.status is not Status.SCORED), None)

    def evidence(self, check: ClaimCheck) -> dict[str, Any]:
        """Return the evidence of the item for items.jsonl; empty if nothing was checked."""
        if self.failure in (NO_TEXT, DECLINED):
            return {}
        if self.failure is not None:
            return {"reason": self.failure.reason}
        if not self.claims:
            return {}
        lines = []
        for claim, verdict in zip(self.claims, self.verdicts, strict=True):
            lines.append(_describe_claim(claim, verdict, check) | _describe_verdict(verdict))
        return {check.subject: lines}


@dataclass
class Results:
    """All answers about a batch.

    Attributes:
        answers: For each role, its answers by request. An async function of a user is a role, too;
            its results are stored by its arguments.
        skip_when_abstained: Checks that send no requests about responses that abstain.
        skip_splitting_abstained: Whether responses that abstain aren't split into claims.
    """

    answers: defaultdict[Hashable, dict[Any, Any]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    skip_when_abstained: frozenset[ClaimCheck] = frozenset()
    skip_splitting_abstained: bool = False


class Bundle(NamedTuple):
    """The tokens of a batch under one normalizer, with ids shared among all texts.

    Attributes:
        u: The responses.
        k: The contexts, joined to one text per item.
        h: The question and history, joined to one text per item.
        r: The references, one text per (item, reference) pair.
    """

    u: Tokens
    k: Tokens
    h: Tokens
    r: Tokens


class BatchContext:
    """The input of metrics: a batch, and the answers to all requests about it.

    Computed values are cached and shared by all metrics.

    Attributes:
        batch: The batch.
        results: The answers.
        judge: Number of the judge whose verdicts are read.
    """

    def __init__(
        self,
        batch: Batch,
        results: Results | None = None,
        checked: Mapping[ClaimCheck, list[Checked]] | None = None,
    ) -> None:
        self.batch = batch
        self.results = results or Results()
        self.judge = 0
        self._cache: dict[object, object] = {}
        for check, items in (checked or {}).items():
            self._cache[0, check] = items  # Verdicts of the caller, used instead of judge 0.

    @classmethod
    def of(cls, records: Sequence[Record], results: Results) -> BatchContext:
        """Return the context of records, with the answers about them."""
        return cls(Batch.of(records), results)

    def of_judge(self, judge: int) -> BatchContext:
        """Return the same context with the verdicts of another judge."""
        if judge == self.judge:
            return self
        other = copy(self)  # The copy shares the cache.
        other.judge = judge
        return other

    def once(self, key: object, compute: Callable[[], T]) -> T:
        """Return the value of a key, computed at the first call."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]  # type: ignore[return-value]

    def once_judged(self, key: object, compute: Callable[[], T]) -> T:
        """Return the value of a key for the current judge, computed at the first call."""
        return self.once((self.judge, key), compute)

    # Requests and their answers.

    @property
    def texts_to_split(self) -> list[str | None]:
        """For each item, its response if it must be split into claims, else None.

        Claims are checked against contexts. A response isn't split if it has no contexts, or if
        its record has the field response_facts.
        """
        batch = self.batch

        def compute() -> list[str | None]:
            selected = batch.has("contexts")
            if self.results.skip_splitting_abstained:
                selected = selected & ~self.abstained
            items = zip(batch.responses, batch.response_facts, selected.tolist(), strict=True)
            return [text if facts is None and chosen else None for text, facts, chosen in items]

        return self.once("texts to split", compute)

    @property
    def claims(self) -> list[Claims]:
        """The claims of each response: its response_facts, or else those of the decomposer."""

        def compute() -> list[Claims]:
            batch = self.batch
            split = self.results.answers[Role.decomposer()]
            items = zip(self.texts_to_split, batch.response_facts, batch.responses, strict=True)
            claims = []
            for text, facts, response in items:
                if text is not None and text not in split:
                    raise UsageError(_NOT_JUDGED.format("a metric of claims"))
                claims.append(claims_of(facts, response) if text is None else split[text])
            return claims

        return self.once("claims", compute)

    def requests(self, check: ClaimCheck) -> Sequence[list[ClaimRequest] | Failure]:
        """Return the requests of each item to a judge; a Failure if it has none."""

        def compute() -> Sequence[list[ClaimRequest] | Failure]:
            items = [_within_limit(check, item) for item in check.requests(self, check)]
            if check not in self.results.skip_when_abstained:
                return items
            pairs = zip(items, self.abstained.tolist(), strict=True)
            return [DECLINED if declined else item for item, declined in pairs]

        return self.once(("requests", check), compute)

    def checks(self, check: ClaimCheck) -> list[Checked]:
        """Return claims and verdicts of each item, by the judge of this context."""
        return self.once_judged(
            check, lambda: [self._checked(check, item) for item in self.requests(check)]
        )

    def _checked(self, check: ClaimCheck, item: list[ClaimRequest] | Failure) -> Checked:
        if isinstance(item, Failure):
            return Checked(failure=item)
        answers = self.results.answers[Role.judge(self.judge)]
        verdicts = []
        for _, request, verdict, texts in item:
            if request is not None:
                verdict = answers.get(request)
            if verdict is None:
                raise UsageError(_NOT_JUDGED.format(check))
            if texts and verdict.text is not None and texts[verdict.text] != verdict.text:
                verdict = msgspec.structs.replace(verdict, text=texts[verdict.text])
            verdicts.append(verdict)
        return Checked([request.claim for request in item], verdicts)

    def ratings(self, requests: Sequence[RatingRequest | None]) -> list[Rating | None]:
        """Return the rating of each request; None for None."""
        ratings = self.results.answers[Role.rater()]
        try:
            return [None if request is None else ratings[request] for request in requests]
        except KeyError:
            raise UsageError(
                "this metric needs a language model as rater. Use trueground.score with "
                'rater="llm:MODEL"'
            ) from None

    def comparisons(
        self, comparer: str, requests: Sequence[ComparisonRequest | None]
    ) -> list[Comparison | None]:
        """Return the comparison of each request by a comparer; None for None."""
        comparisons = self.results.answers[Role.comparer(comparer)]
        try:
            return [None if request is None else comparisons[request] for request in requests]
        except KeyError:
            raise UsageError(
                f"this metric needs the model {comparer}. Use trueground.score, which runs it"
            ) from None

    # Tokens, and how they overlap.

    def tokens(self, normalizer: str, lang: str = "en") -> Bundle:
        """Return the tokens of all texts that lexical metrics compare."""
        return self.once(("tokens", normalizer, lang), lambda: self._tokens(normalizer, lang))

    def _tokens(self, normalizer: str, lang: str) -> Bundle:
        batch, n = self.batch, len(self.batch)
        texts = [*batch.responses, *batch.references_flat]
        if normalizer != "rouge":  # ROUGE compares with references only, so skip long contexts.
            texts += [*batch.knowledge, *batch.prior_turns]
        tokens = tokenize(texts, Normalizer.named(normalizer, lang))
        cut = n + len(batch.references_flat)
        u, r, rest = tokens.part(0, n), tokens.part(n, cut), tokens.part(cut, len(tokens))
        if not len(rest):
            rest = tokens.part(0, 0)
            return Bundle(u, rest, rest, r)
        return Bundle(u, rest.part(0, n), rest.part(n, 2 * n), r)

    def knowledge_overlap(self, o: Options) -> Overlap:
        """Return the overlap of responses and contexts, also without the tokens of H."""
        name, lang = o["normalizer"], o["lang"]
        with_passage = o.get("abstention_passage") == "true"

        def compute() -> Overlap:
            if not with_passage:
                bundle = self.tokens(name, lang)
                return bundle.u.overlap(bundle.k, bundle.h)
            texts = [f"{k} {ABSTENTION_PASSAGE}" for k in self.batch.knowledge]
            tokens = tokenize([*self.batch.responses, *texts], Normalizer.named(name, lang))
            n = len(self.batch)
            return tokens.part(0, n).overlap(tokens.part(n, 2 * n))

        return self.once(("knowledge", name, lang, with_passage), compute)

    @property
    def pair_items(self) -> Ids:
        """The index of the item of each (item, reference) pair."""
        counts = self.batch.reference_counts
        return self.once("pairs", lambda: np.repeat(np.arange(len(counts)), counts))

    def reference_overlap(self, o: Options) -> Overlap:
        """Return the overlap of responses and references, one row per (item, reference) pair."""
        name, lang = o["normalizer"], o["lang"]

        def compute() -> Overlap:
            bundle = self.tokens(name, lang)
            return bundle.u.overlap_with_each(bundle.r, self.pair_items)

        return self.once(("references", name, lang), compute)

    def best(self, pair_values: Floats) -> Floats:
        """Return the maximum over each item's references, shape (n,); NaN without references."""
        counts = self.batch.reference_counts
        result = np.full(len(counts), np.nan)
        has_references = counts > 0
        if has_references.any():
            first = np.cumsum(counts) - counts
            result[has_references] = np.maximum.reduceat(pair_values, first[has_references])
        return result

    def references(self, o: Options) -> list[str]:
        """Return the normalized references, one per (item, reference) pair."""
        name, lang = o["normalizer"], o["lang"]
        return self.once(("r", name, lang), lambda: self.tokens(name, lang).r.strings())

    def responses(self, o: Options) -> list[str]:
        """Return the n normalized responses; with `read=answer` only their final answers."""
        name, lang, read = o["normalizer"], o["lang"], o.get("read")

        def compute() -> list[str]:
            if read != "answer":
                return self.tokens(name, lang).u.strings()
            from trueground.metrics.choices import answer_part

            parts = [answer_part(response) for response in self.batch.responses]
            return tokenize(parts, Normalizer.named(name, lang)).strings()

        return self.once(("u", name, lang, read == "answer"), compute)

    # Responses that abstain.

    @property
    def refusals(self) -> list[str | None]:
        """For each item, the phrase by which its response declines to answer, or None."""
        pairs = zip(self.batch.responses, self.batch.references, strict=True)
        find = REFUSAL_RULES.find
        return self.once("refusals", lambda: [find(u, refs or ()) for u, refs in pairs])

    @property
    def abstained(self) -> Mask:
        """Whether each response abstains, shape (n,)."""
        return self.once(
            "abstained", lambda: np.array([p is not None for p in self.refusals], np.bool_)
        )


def _describe_claim(claim: Claim, verdict: Verdict, check: ClaimCheck) -> dict[str, Any]:
    if check.subject == "response":
        return {"text_index": verdict.text}
    if check.subject in ("facts", "references"):
        return {"text": claim.text}
    line = {"text": claim.text, "start": claim.start, "end": claim.end}
    if check.splits:
        return {**line, "text_index": verdict.text}
    return {**line, "sentence": claim.sentence}


def _describe_verdict(verdict: Verdict) -> dict[str, Any]:
    fields = {
        "supported": verdict.supported,
        "probability": verdict.probability,
        "status": verdict.status,
        "window": None if verdict.start is None else [verdict.start, verdict.end],
        "reasons": verdict.reasons,
    }
    optional = {"kind": verdict.kind, "score": verdict.score, "reply": verdict.reply}
    return fields | {name: value for name, value in optional.items() if value is not None}


def too_much_work(
    amount: int, claims: int, limit: int, unit: str = "characters of text"
) -> Failure:
    """Return the failure of an item that is too large to be judged."""
    return Failure(
        Status.TOO_LONG,
        f"{claims:,} claims are compared with {amount:,} {unit} in all; the limit for one item is "
        f"{limit:,}",
    )


def _within_limit(
    check: ClaimCheck, item: list[ClaimRequest] | Failure
) -> list[ClaimRequest] | Failure:
    """Return the requests of an item, or a Failure if they are too much work."""
    if isinstance(item, Failure):
        return item
    characters, n_texts, texts, length = 0, 0, None, 0
    for claim in item:
        if claim.request is None:
            continue
        if claim.request.texts is not texts:  # The claims of an item share their texts.
            texts = claim.request.texts
            length = sum(map(len, texts))
        characters += length
        n_texts += len(texts)
    return check.exceeds_limits(len(item), characters, n_texts) or item


def claims_of(facts: Sequence[str] | None, source: str = "") -> list[Claim]:
    """Return facts as claims with their offsets in a text, without duplicates and blanks.

    Args:
        facts: The facts.
        source: The text. A fact that isn't in it gets an empty span.
    """
    unique: dict[str, str] = {}
    for fact in facts or ():
        unique.setdefault(fact_key(fact), fact.strip())
    claims = []
    for fact in filter(None, unique.values()):
        start = source.find(fact)
        if start < 0:
            claims.append(Claim(fact, 0, 0))
        else:
            claims.append(Claim(fact, start, start + len(fact)))
    return claims
