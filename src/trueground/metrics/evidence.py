"""The evidence of one batch: computed once, on demand, and shared by all metrics of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.metrics.batch import Batch
from trueground.metrics.column import Floats, Mask, Options
from trueground.metrics.overlap import Overlap, overlap
from trueground.text.intern import Ids
from trueground.text.normalize import get_normalizer
from trueground.text.refusal import refusal
from trueground.text.tokens import Tokens, tokenise
from trueground.types import Claim, Verdict

T = TypeVar("T")

ABSTENTION_PASSAGE = "I don't know."


@dataclass(frozen=True)
class Checked:
    """The claims of one item with their verdicts, in order."""

    claims: Sequence[Claim]
    verdicts: Sequence[Verdict]


CheckProvider = Callable[[Batch, str], list[Checked]]


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


class Evidence:
    """What metrics compute from. `provide(batch, kind)` supplies the claim checks."""

    def __init__(self, batch: Batch, provide: CheckProvider = no_checks) -> None:
        self.batch = batch
        self._provide = provide
        self._cache: dict[object, object] = {}

    def once(self, key: object, make: Callable[[], T]) -> T:
        """The value kept under this key, made at the first call."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]  # type: ignore[return-value]

    def tokens(self, normalizer: str, lang: str = "en") -> Bundle:
        """All texts that lexical metrics compare, tokenised together."""
        return self.once(("tokens", normalizer, lang), lambda: self._tokens(normalizer, lang))

    def _tokens(self, normalizer: str, lang: str) -> Bundle:
        batch, n = self.batch, len(self.batch)
        # ROUGE compares with references only; the long contexts are left out for it.
        parts: list[Sequence[str]] = [batch.responses, batch.references_flat]
        if normalizer != "rouge":
            parts += [batch.knowledge, batch.heard]
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

        Kinds: `claims:input` and `claims:gold` (response claims against all, or the gold contexts)
        and `facts` (gold facts against the response).
        """
        return self.once(("checks", kind), lambda: self._provide(self.batch, kind))


def ratio(a: NDArray[np.int64], b: NDArray[np.int64], empty: float) -> Floats:
    """a / b, and `empty` where b is 0."""
    return np.where(b > 0, a / np.maximum(b, 1), empty)
