"""The evidence of one batch: computed once, on demand, and shared by all metrics of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.metrics.batch import Batch
from trueground.metrics.column import Floats, Mask, Options
from trueground.metrics.overlap import Overlap, overlap
from trueground.text.choices import answer_part
from trueground.text.normalize import get_normalizer
from trueground.text.refusal import refusal
from trueground.text.tokens import Ids, Tokens, tokenise
from trueground.types import (
    Claim,
    Comparison,
    ComparisonRequest,
    Failure,
    Rating,
    RatingRequest,
    Verdict,
)

T = TypeVar("T")

ABSTENTION_PASSAGE = "I don't know."


@dataclass(frozen=True)
class Checked:
    """The claims of one item with their verdicts, in order; `failure` says why there are none.

    `settled` are the numbers of the verdicts for which no judge was asked.
    """

    claims: Sequence[Claim]
    verdicts: Sequence[Verdict]
    failure: Failure | None = None
    settled: frozenset[int] = frozenset()


CheckProvider = Callable[[Batch, str], list[Checked]]
RatingProvider = Callable[[Sequence[RatingRequest]], list[Rating]]
# Given which comparer is asked (`NAME:MODEL(option=value)`), and what.
ComparisonProvider = Callable[[str, Sequence[ComparisonRequest]], list[Comparison]]


@dataclass(frozen=True)
class Bundle:
    """The tokens of a batch under one normaliser, with ids shared among the parts.

    `u`, `k`, `h` have one text per item; `r` one per (item, reference) pair.
    """

    u: Tokens
    k: Tokens
    h: Tokens
    r: Tokens


def no_checks(_batch: Batch, kind: str) -> list[Checked]:
    """The provider of a caller that brought no judge."""
    raise UsageError(f"{kind} must be judged first: use trueground.score, or pass `supported`")


def no_ratings(_requests: Sequence[RatingRequest]) -> list[Rating]:
    """The rating provider of a caller that brought no rater."""
    raise UsageError(
        "rated qualities need a language model that rates: use trueground.score with "
        'rater="llm:MODEL"'
    )


def no_comparisons(written: str, _requests: Sequence[ComparisonRequest]) -> list[Comparison]:
    """The comparison provider of a caller that brought no models."""
    raise UsageError(f"{written} must be asked by an evaluation: use trueground.score")


class BatchContext:
    """What metrics compute from.

    `provide(batch, kind)` supplies the claim checks, for each judge one; `rate` the ratings, and
    `compare` the comparisons with references and contexts.
    """

    def __init__(
        self,
        batch: Batch,
        provide: CheckProvider | Sequence[CheckProvider] = no_checks,
        rate: RatingProvider = no_ratings,
        compare: ComparisonProvider = no_comparisons,
    ) -> None:
        self.batch = batch
        self._judges = [provide] if callable(provide) else list(provide)
        self._judge = 0
        self._rate = rate
        self._compare = compare
        self._cache: dict[object, object] = {}

    def of_judge(self, judge: int) -> BatchContext:
        """The same evidence with the verdicts of another judge."""
        if judge == self._judge:
            return self
        other = copy(self)  # whatever was computed is shared
        other._judge = judge
        return other

    def once(self, key: object, make: Callable[[], T]) -> T:
        """The value kept under this key, made at the first call."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]  # type: ignore[return-value]

    def once_judged(self, key: object, make: Callable[[], T]) -> T:
        """The same for what depends on the verdicts: kept for each judge."""
        return self.once((self._judge, key), make)

    def tokens(self, normalizer: str, lang: str = "en") -> Bundle:
        """All texts that lexical metrics compare, tokenised together."""
        return self.once(("tokens", normalizer, lang), lambda: self._tokens(normalizer, lang))

    def _tokens(self, normalizer: str, lang: str) -> Bundle:
        batch, n = self.batch, len(self.batch)
        # ROUGE compares with references only; the long contexts are left out for it.
        parts: list[Sequence[str]] = [batch.responses, batch.references_flat]
        if normalizer != "rouge":
            parts += [batch.knowledge, batch.prior_turns]
        tokens = tokenise([t for part in parts for t in part], get_normalizer(normalizer, lang))
        cut = n + len(batch.references_flat)
        u, r, rest = tokens.part(0, n), tokens.part(n, cut), tokens.part(cut, len(tokens))
        if not len(rest):
            rest = tokens.take(np.empty(0, np.int64))
            return Bundle(u, rest, rest, r)
        return Bundle(u, rest.part(0, n), rest.part(n, 2 * n), r)

    def knowledge_overlap(self, o: Options) -> Overlap:
        """u against K, also without the tokens of H."""
        name, lang = o["normalizer"], o["lang"]
        if o.get("abstention_passage") == "true":
            return self.once(("passage", name, lang), lambda: self._with_passage(name, lang))

        def make() -> Overlap:
            bundle = self.tokens(name, lang)
            return overlap(bundle.u, bundle.k, bundle.h)

        return self.once(("knowledge", name, lang), make)

    def _with_passage(self, name: str, lang: str) -> Overlap:
        normalizer = get_normalizer(name, lang)
        texts = [f"{k} {ABSTENTION_PASSAGE}" for k in self.batch.knowledge]
        tokens = tokenise([*self.batch.responses, *texts], normalizer)
        n = len(self.batch)
        return overlap(tokens.part(0, n), tokens.part(n, 2 * n))

    @property
    def pair_items(self) -> Ids:
        """For each (item, reference) pair the number of its item."""
        counts = self.batch.reference_counts
        return self.once("pairs", lambda: np.repeat(np.arange(len(counts)), counts))

    def reference_overlap(self, o: Options) -> Overlap:
        """u against each reference: one row per (item, reference) pair."""
        name, lang = o["normalizer"], o["lang"]

        def make() -> Overlap:
            bundle = self.tokens(name, lang)
            return overlap(bundle.u.take(self.pair_items), bundle.r)

        return self.once(("references", name, lang), make)

    def best(self, pair_values: Floats) -> Floats:
        """Maximum over the references of each item, shape (n,); NaN where there are none."""
        counts = self.batch.reference_counts
        result = np.full(len(counts), np.nan)
        some = counts > 0
        if some.any():
            first = np.cumsum(counts) - counts
            result[some] = np.maximum.reduceat(pair_values, first[some])
        return result

    def strings(self, o: Options) -> tuple[list[str], list[str]]:
        """Normalised responses (n) and normalised references (pairs)."""
        name, lang = o["normalizer"], o["lang"]

        def make() -> tuple[list[str], list[str]]:
            bundle = self.tokens(name, lang)
            return bundle.u.strings(), bundle.r.strings()

        return self.once(("strings", name, lang), make)

    def said(self, o: Options) -> list[str]:
        """Normalised responses (n); with `read=answer` of each only the part that answers."""
        if o.get("read") != "answer":
            return self.strings(o)[0]
        name, lang = o["normalizer"], o["lang"]

        def make() -> list[str]:
            parts = [answer_part(response) for response in self.batch.responses]
            return tokenise(parts, get_normalizer(name, lang)).strings()

        return self.once(("said", name, lang), make)

    @property
    def refusals(self) -> list[str | None]:
        """For each item the phrase that declines to answer, if any."""
        pairs = zip(self.batch.responses, self.batch.references, strict=True)
        return self.once("refusals", lambda: [refusal(u, refs or ()) for u, refs in pairs])

    @property
    def abstained(self) -> Mask:
        """Which responses decline to answer, shape (n,)."""
        found = self.refusals
        return self.once("abstained", lambda: np.array([p is not None for p in found], np.bool_))

    def checks(self, kind: str) -> list[Checked]:
        """Claims and verdicts of each item.

        Kinds: `claims:input` and `claims:gold` (response claims against all, or the gold contexts),
        `facts` and `references` (gold facts, and references, against the response),
        `response:input` and `response:gold` (the whole response as one claim). A third word is the
        variant, as in `claims:gold:reference-code`.
        """
        provide = self._judges[self._judge]
        return self.once_judged(("checks", kind), lambda: provide(self.batch, kind))

    def ratings(self, key: object, requests: Sequence[RatingRequest | None]) -> list[Rating | None]:
        """One rating for each request; None where nothing is asked. `key` names what is rated."""

        def make() -> list[Rating | None]:
            asked = [request for request in requests if request is not None]
            given = iter(self._rate(asked) if asked else ())
            return [None if request is None else next(given) for request in requests]

        return self.once(("ratings", key), make)

    def comparisons(
        self, key: object, written: str, requests: Sequence[ComparisonRequest | None]
    ) -> list[Comparison | None]:
        """One comparison for each request, by the comparer named; None where nothing is asked.

        `key` names what is compared: metrics that ask the same have the same key.
        """

        def make() -> list[Comparison | None]:
            asked = [request for request in requests if request is not None]
            given = iter(self._compare(written, asked) if asked else ())
            return [None if request is None else next(given) for request in requests]

        return self.once(("comparisons", written, key), make)


def ratio(a: NDArray[np.int64], b: NDArray[np.int64], empty: float) -> Floats:
    """a / b, and `empty` where b is 0."""
    return np.where(b > 0, a / np.maximum(b, 1), empty)
