"""Log-probabilities of texts within a stage, kept as the replies of models are."""

from __future__ import annotations

import asyncio

from trueground.builders.asking.replies import PaidReply, ReplyLog
from trueground.models.asker import Spent
from trueground.models.calls import InFlight
from trueground.models.perplexity import (
    PromptScorer,
    logprobs_key,
    recall_logprobs,
    remember_logprobs,
)
from trueground.net.cache import ResponseCache

PERPLEXITY = "perplexity"  # what stands for the scorer where models stand by their roles


class PaidScorer:
    """A scorer, and what it was paid for: in the build's own folder and in the response cache."""

    def __init__(
        self,
        scorer: PromptScorer,
        cache: ResponseCache | None,
        paid: ReplyLog | None,
        spent: Spent,
    ) -> None:
        self.scorer, self.spent = scorer, spent
        self._cache, self._paid = cache, paid
        self._in_flight = InFlight()

    async def logprobs(self, text: str) -> list[float]:
        """The numbers of a text (models.perplexity). Raises as the scorer does, and WriteError."""
        key = logprobs_key(self.scorer, text)
        async with self._in_flight.turn(key):
            kept = self._recalled(key)
            if kept:
                self.spent.cache_hits += 1
                await asyncio.sleep(0)  # many in a row must not keep all else from going on
                return kept
            self.spent.calls += 1
            self.spent.failed += 1  # until it has come to something
            found = await self.scorer.logprobs(text)
            self.spent.failed -= 1
            self.spent.tokens_in += len(found) + 1
            self._keep(key, found)
        return found

    def _recalled(self, key: str) -> list[float] | None:
        if not self.scorer.cacheable:
            return None
        paid = self._paid.get(key) if self._paid is not None else None
        if paid is not None and paid.logprobs:
            return paid.logprobs
        return recall_logprobs(self._cache, key) if self._cache is not None else None

    def _keep(self, key: str, found: list[float]) -> None:
        """In the build's folder first: a kill between the two costs nothing. WriteError."""
        if not self.scorer.cacheable:
            return
        if self._paid is not None:
            self._paid.put(PaidReply(key, PERPLEXITY, self.scorer.name, logprobs=found))
        if self._cache is not None:
            remember_logprobs(self._cache, key, self.scorer.name, found)
