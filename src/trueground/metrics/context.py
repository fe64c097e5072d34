"""What metrics compute from: the texts of a batch, and what was said to the requests about them.

Everything here is a value, or arithmetic on values: nobody is asked. An evaluation asks judges,
decomposer, rater and comparers before a metric computes, and puts their answers into `Results`.
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

# Characters of texts that the claims of one item are compared with, summed over the claims: 500
# claims with a context of 1 MB. The labeled answers of docs/trust.md need at most 200,000.
MAX_CHARACTERS_COMPARED = 500_000_000
# The same counted in texts, of which a model reads each beside each claim: 1,000 claims with 1,000
# passages. The labeled answers need at most 1,000.
MAX_TEXTS_COMPARED = 1_000_000

ABSTENTION_PASSAGE = "I don't know."
NO_TEXT = Failure(Status.MISSING_FIELD, "no context to check against")
_NOT_JUDGED = "{} must be judged first: use trueground.score, or pass `supported`"
DECLINED = Failure(Status.ABSTAINED, "the response declines to answer")


class Role(NamedTuple):
    """Who answers: a decomposer, a judge by its number, the rater, or a comparer as written."""

    kind: str
    name: str | int = ""

    @classmethod
    def decomposer(cls) -> Role:
        """The decomposer."""
        return cls("decomposer")

    @classmethod
    def judge(cls, number: int) -> Role:
        """A judge by its number."""
        return cls("judge", number)

    @classmethod
    def rater(cls) -> Role:
        """The rater."""
        return cls("rater")

    @classmethod
    def comparer(cls, written: str) -> Role:
        """The comparer `NAME:MODEL(option=value)`."""
        return cls("comparer", written)


class ClaimRequest(NamedTuple):
    """A claim of an item, and either the request about it or the verdict that needs none.

    `claim` has its place in the response; `request` may be about another text, as in "is this
    triple in that sentence?". `texts` are the numbers of the request's texts among the contexts of
    the item; empty where they are no contexts.
    """

    claim: Claim
    request: JudgeRequest | None = None
    verdict: Verdict | None = None
    texts: Sequence[int] = ()


@dataclass(frozen=True)
class ClaimCheck:
    """One kind of check that metrics read: what is checked, against what, and how.

    `subject` is what is checked: claims, facts, references, response (as one claim), or alignment,
    missing and passages for citations. `scope` is "input" or "gold" where contexts are read,
    `variant` the option of that name where it is not the default. `requests` makes what is asked of
    each item: a list, or a Failure where nothing can be asked; checks with the same function and
    words share their verdicts.
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
        """Whether responses must be split into claims for it."""
        return self.subject == "claims"

    def roles(self, n_judges: int) -> list[Role]:
        """Who answers: every judge."""
        return [Role.judge(number) for number in range(n_judges)]

    def exceeds_limits(self, claims: int, characters: int, texts: int) -> Failure | None:
        """Return why an item is not judged whose claims are compared with so much.

        None if it is.
        """
        if characters > MAX_CHARACTERS_COMPARED:
            return too_much_work(characters, claims, MAX_CHARACTERS_COMPARED)
        if texts > MAX_TEXTS_COMPARED:
            return too_much_work(texts, claims, MAX_TEXTS_COMPARED, "texts")
        return None

    def list_requests(self, context: BatchContext) -> list[JudgeRequest]:
        """Return what judges are asked about a batch."""
        requests: list[JudgeRequest] = []
        for item in context.requests(self):
            if not isinstance(item, Failure):
                requests += [claim.request for claim in item if claim.request is not None]
        return requests


@dataclass(frozen=True)
class RatingQuery:
    """What a metric asks the rater of each item.

    Attributes:
        rubric: Returns the name or file of the rubric, and what the rater is shown. It may read the
            file, so it is called only if there is a rater.
        requests: Returns the request of each item; None for items that aren't rated.
    """

    rubric: Callable[[], tuple[str, str]]
    requests: Callable[[BatchContext], Sequence[RatingRequest | None]]

    def roles(self, _n_judges: int) -> list[Role]:
        """Who answers: the rater."""
        return [Role.rater()]

    def list_requests(self, context: BatchContext) -> list[RatingRequest]:
        """Return what the rater is asked about a batch."""
        return [request for request in self.requests(context) if request is not None]


@dataclass(frozen=True)
class ComparisonQuery:
    """What a metric asks a comparer of each item.

    Attributes:
        comparer: The comparer, `NAME:MODEL(option=value)`.
        requests: Returns the request of each item; None for items that it isn't asked about.
    """

    comparer: str
    requests: Callable[[BatchContext], Sequence[ComparisonRequest | None]]

    def roles(self, _n_judges: int) -> list[Role]:
        """Who answers: the comparer."""
        return [Role.comparer(self.comparer)]

    def list_requests(self, context: BatchContext) -> list[ComparisonRequest]:
        """Return what the comparer is asked about a batch."""
        return [request for request in self.requests(context) if request is not None]


Query = ClaimCheck | RatingQuery | ComparisonQuery


class Checked(NamedTuple):
    """The claims of one item with their verdicts, in order; `failure` says why there are none."""

    claims: Sequence[Claim] = ()
    verdicts: Sequence[Verdict] = ()
    failure: Failure | None = None

    @property
    def unanswered(self) -> Status | Failure | None:
        """Why verdicts are missing; None where all are there."""
        if self.failure is not None:
            return self.failure
        return next((v.status for v in self.verdicts if v.status is not Status.SCORED), None)

    def evidence(self, check: ClaimCheck) -> dict[str, Any]:
        """The evidence of the item for items.jsonl. Empty if nothing was checked."""
        if self.failure is not None:
            shown = self.failure not in (NO_TEXT, DECLINED)
            return {"reason": self.failure.reason} if shown else {}
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
        answers: For each role, its answers by request. Async functions of users are roles, too:
            their replies are kept by arguments.
        spare: Checks of which nothing is asked about responses that abstain.
        spare_claims: Whether responses that abstain aren't split into claims, either.
    """

    answers: defaultdict[Hashable, dict[Any, Any]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    spare: frozenset[ClaimCheck] = frozenset()
    spare_claims: bool = False


class Bundle(NamedTuple):
    """The tokens of a batch under one normalizer, with ids shared among the parts.

    `u`, `k`, `h` have one text per item; `r` one per (item, reference) pair.
    """

    u: Tokens
    k: Tokens
    h: Tokens
    r: Tokens


class BatchContext:
    """What metrics compute from: a batch, and the `results` of all requests about it.

    What is computed from them is kept and shared by all metrics. `checked` are checks whose
    verdicts a caller brought.
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
        self._cache: dict[object, object] = {
            (0, check): found for check, found in (checked or {}).items()
        }

    @classmethod
    def of(cls, records: Sequence[Record], results: Results) -> BatchContext:
        """Return the context of records; `results` gets the answers about them."""
        return cls(Batch.of(records), results)

    def of_judge(self, judge: int) -> BatchContext:
        """The same context with the verdicts of another judge."""
        if judge == self.judge:
            return self
        other = copy(self)  # whatever was computed is shared
        other.judge = judge
        return other

    def once(self, key: object, compute: Callable[[], T]) -> T:
        """The value under this key, computed at the first call."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]  # type: ignore[return-value]

    def once_judged(self, key: object, compute: Callable[[], T]) -> T:
        """The same for what depends on the verdicts: one value for each judge."""
        return self.once((self.judge, key), compute)

    # Requests and their answers.

    @property
    def texts_to_split(self) -> list[str | None]:
        """For each item the response that must be split into claims; None where none must.

        Claims are checked against contexts: without contexts, and where a record brings its facts,
        nothing is split.
        """
        batch = self.batch

        def compute() -> list[str | None]:
            wanted = batch.has("contexts")
            if self.results.spare_claims:
                wanted = wanted & ~self.abstained
            items = zip(batch.responses, batch.response_facts, wanted.tolist(), strict=True)
            return [text if facts is None and open_ else None for text, facts, open_ in items]

        return self.once("texts to split", compute)

    @property
    def claims(self) -> list[Claims]:
        """The claims of each response: the given facts where there are some, else as split."""

        def compute() -> list[Claims]:
            split = self.results.answers[Role.decomposer()]
            items = zip(
                self.texts_to_split, self.batch.response_facts, self.batch.responses, strict=True
            )
            try:
                return [
                    claims_of(facts, response) if text is None else split[text]
                    for text, facts, response in items
                ]
            except KeyError:
                raise UsageError(_NOT_JUDGED.format("claims")) from None

        return self.once("claims", compute)

    def requests(self, check: ClaimCheck) -> Sequence[list[ClaimRequest] | Failure]:
        """What a judge is asked of each item for this check."""

        def compute() -> Sequence[list[ClaimRequest] | Failure]:
            items = [_within_limit(check, item) for item in check.requests(self, check)]
            if check not in self.results.spare:
                return items
            pairs = zip(items, self.abstained.tolist(), strict=True)
            return [DECLINED if declined else item for item, declined in pairs]

        return self.once(("requests", check), compute)

    def checks(self, check: ClaimCheck) -> list[Checked]:
        """Claims and verdicts of each item, by the judge of this context."""
        return self.once_judged(
            check, lambda: [self._checked(check, item) for item in self.requests(check)]
        )

    def _checked(self, check: ClaimCheck, item: list[ClaimRequest] | Failure) -> Checked:
        if isinstance(item, Failure):
            return Checked(failure=item)
        known = self.results.answers[Role.judge(self.judge)]
        verdicts = []
        for _, request, verdict, texts in item:
            if request is not None:
                verdict = known.get(request)
            if verdict is None:
                raise UsageError(_NOT_JUDGED.format(check))
            if texts and verdict.text is not None and texts[verdict.text] != verdict.text:
                verdict = msgspec.structs.replace(verdict, text=texts[verdict.text])
            verdicts.append(verdict)
        return Checked([one.claim for one in item], verdicts)

    def ratings(self, requests: Sequence[RatingRequest | None]) -> list[Rating | None]:
        """The rating of each request; None where nothing is asked."""
        found = self.results.answers[Role.rater()]
        try:
            return [None if request is None else found[request] for request in requests]
        except KeyError:
            raise UsageError(
                "rated qualities need a language model that rates: use trueground.score with "
                'rater="llm:MODEL"'
            ) from None

    def comparisons(
        self, comparer: str, requests: Sequence[ComparisonRequest | None]
    ) -> list[Comparison | None]:
        """The comparison of each request by this comparer; None where nothing is asked."""
        found = self.results.answers[Role.comparer(comparer)]
        try:
            return [None if request is None else found[request] for request in requests]
        except KeyError:
            raise UsageError(
                f"{comparer} must be asked by an evaluation: use trueground.score"
            ) from None

    # Tokens, and how they overlap.

    def tokens(self, normalizer: str, lang: str = "en") -> Bundle:
        """All texts that lexical metrics compare, tokenized together."""
        return self.once(("tokens", normalizer, lang), lambda: self._tokens(normalizer, lang))

    def _tokens(self, normalizer: str, lang: str) -> Bundle:
        batch, n = self.batch, len(self.batch)
        # ROUGE compares with references only; the long contexts are left out for it.
        parts: list[Sequence[str]] = [batch.responses, batch.references_flat]
        if normalizer != "rouge":
            parts += [batch.knowledge, batch.prior_turns]
        tokens = tokenize([t for part in parts for t in part], Normalizer.named(normalizer, lang))
        cut = n + len(batch.references_flat)
        u, r, rest = tokens.part(0, n), tokens.part(n, cut), tokens.part(cut, len(tokens))
        if not len(rest):
            rest = tokens.part(0, 0)
            return Bundle(u, rest, rest, r)
        return Bundle(u, rest.part(0, n), rest.part(n, 2 * n), r)

    def knowledge_overlap(self, o: Options) -> Overlap:
        """u against K, also without the tokens of H."""
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
        """For each (item, reference) pair the number of its item."""
        counts = self.batch.reference_counts
        return self.once("pairs", lambda: np.repeat(np.arange(len(counts)), counts))

    def reference_overlap(self, o: Options) -> Overlap:
        """u against each reference: one row per (item, reference) pair."""
        name, lang = o["normalizer"], o["lang"]

        def compute() -> Overlap:
            bundle = self.tokens(name, lang)
            return bundle.u.overlap_with_each(bundle.r, self.pair_items)

        return self.once(("references", name, lang), compute)

    def best(self, pair_values: Floats) -> Floats:
        """Maximum over the references of each item, shape (n,); NaN where there are none."""
        counts = self.batch.reference_counts
        result = np.full(len(counts), np.nan)
        some = counts > 0
        if some.any():
            first = np.cumsum(counts) - counts
            result[some] = np.maximum.reduceat(pair_values, first[some])
        return result

    def references(self, o: Options) -> list[str]:
        """Normalized references (pairs)."""
        name, lang = o["normalizer"], o["lang"]
        return self.once(("r", name, lang), lambda: self.tokens(name, lang).r.strings())

    def responses(self, o: Options) -> list[str]:
        """Normalized responses (n); with `read=answer` of each only the part that answers."""
        name, lang, read = o["normalizer"], o["lang"], o.get("read")

        def compute() -> list[str]:
            if read != "answer":
                return self.tokens(name, lang).u.strings()
            from trueground.metrics.choices import answer_part

            parts = [answer_part(response) for response in self.batch.responses]
            return tokenize(parts, Normalizer.named(name, lang)).strings()

        return self.once(("u", name, lang, read == "answer"), compute)

    # Which responses decline.

    @property
    def refusals(self) -> list[str | None]:
        """For each item the phrase that declines to answer, if any."""
        pairs = zip(self.batch.responses, self.batch.references, strict=True)
        find = REFUSAL_RULES.find
        return self.once("refusals", lambda: [find(u, refs or ()) for u, refs in pairs])

    @property
    def abstained(self) -> Mask:
        """Which responses decline to answer, shape (n,)."""
        return self.once(
            "abstained", lambda: np.array([p is not None for p in self.refusals], np.bool_)
        )


def _describe_claim(claim: Claim, verdict: Verdict, check: ClaimCheck) -> dict[str, Any]:
    if check.subject == "response":
        return {"text_index": verdict.text}
    if check.subject in ("facts", "references"):
        return {"text": claim.text}
    place: dict[str, Any] = {"sentence": claim.sentence}
    if check.splits:
        place = {"text_index": verdict.text}
    return {"text": claim.text, "start": claim.start, "end": claim.end, **place}


def _describe_verdict(verdict: Verdict) -> dict[str, Any]:
    fields = {
        "supported": verdict.supported,
        "probability": verdict.probability,
        "status": verdict.status,
        "window": None if verdict.start is None else [verdict.start, verdict.end],
        "reasons": verdict.reasons,
    }
    more = {"kind": verdict.kind, "score": verdict.score, "reply": verdict.reply}
    return fields | {name: value for name, value in more.items() if value is not None}


def too_much_work(
    amount: int, claims: int, limit: int, unit: str = "characters of text"
) -> Failure:
    """Return why an item with so much to read is not judged."""
    return Failure(
        Status.TOO_LONG,
        f"{claims:,} claims are compared with {amount:,} {unit} in all; the limit for one item is "
        f"{limit:,}",
    )


def _within_limit(
    check: ClaimCheck, item: list[ClaimRequest] | Failure
) -> list[ClaimRequest] | Failure:
    """The item, or why it asks for more work than one item may."""
    if isinstance(item, Failure):
        return item
    characters, n_texts, texts, length = 0, 0, None, 0
    for claim in item:
        if claim.request is None:
            continue
        if claim.request.texts is not texts:  # the claims of an item share their texts
            texts = claim.request.texts
            length = sum(map(len, texts))
        characters += length
        n_texts += len(texts)
    return check.exceeds_limits(len(item), characters, n_texts) or item


def claims_of(facts: Sequence[str] | None, source: str = "") -> list[Claim]:
    """Facts as claims, each where it stands in the source; duplicates and blanks do not count."""
    unique: dict[str, str] = {}
    for fact in facts or ():
        unique.setdefault(fact_key(fact), fact.strip())
    claims = []
    for fact in filter(None, unique.values()):
        start = max(0, source.find(fact))
        found = source.startswith(fact, start)
        claims.append(Claim(fact, start, start + len(fact) if found else start))
    return claims
