"""Rounds 2 and on: the next triple is chosen, and a sentence says it (Li et al. 2024, A.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import Stage, Usual
from trueground.builders.fallen import Fallen
from trueground.builders.kalma.annotate import REASONS as ANNOTATE_REASONS
from trueground.builders.kalma.asking import checked, see_language
from trueground.builders.kalma.citing import added, bare, facts_of, see_cited
from trueground.builders.kalma.items import Draft, Fact, grown
from trueground.builders.kalma.pool import name_by_id, pool, told
from trueground.builders.kalma.selection import order, scored, specificity
from trueground.builders.kalma.settings import Settings
from trueground.builders.kalma.wording import Wording
from trueground.judges.marks import block, mark_for
from trueground.models.base import Message
from trueground.models.prompts import Prompt
from trueground.text.citations.reading import read_triples
from trueground.text.citations.triples import citation, plain, plain_property

PLACES = ("paragraph", "knowledge", "citation")
REASONS = {
    **{
        name: ANNOTATE_REASONS[name]
        for name in ("paragraph_changed", "citation_not_in_pool", "value_not_said")
    },
    "not_one_sentence": "the reply adds no sentence to the paragraph, or several",
    "knowledge_not_cited": "the new sentence does not cite the knowledge that was chosen",
    "other_knowledge": "the new sentence cites knowledge that was not chosen",
    "unrated": "no perplexity could be had of the paragraph with one of the candidates",
    "other_language": "the new sentence is in another language",
}


class Extended(msgspec.Struct, frozen=True):
    """The old paragraph, and one sentence behind it."""

    paragraph: str


@dataclass(frozen=True)
class Chooser:
    """How the next triple is chosen; `scorer` is what `identity` calls the scorer."""

    settings: Settings
    wording: Wording
    scorer: str | None

    def candidates(self, draft: Draft) -> list[Fact]:
        """What is not said yet; of very many those with the rarest relations."""
        said = set(draft.facts)
        left = [fact for fact in pool(draft, self.settings.skipped) if fact not in said]
        left.sort(key=lambda fact: (-self._rare(draft, fact), order(fact)))
        return left[: self.settings.candidates]

    async def choose(self, draft: Draft, ask: Ask) -> Fact | None:
        """The best candidate; None where the pool is exhausted."""
        candidates = self.candidates(draft)
        if not candidates:
            return None
        rare = [self._rare(draft, fact) for fact in candidates]
        alpha = self.settings.alpha
        perplexities = None if alpha == 1.0 else await self._perplexities(draft, candidates, ask)
        return scored(candidates, rare, perplexities, alpha)[0].fact

    def _rare(self, draft: Draft, fact: Fact) -> float:
        return specificity(draft.entries, draft.counts[plain_property(fact[1])])

    async def _perplexities(
        self, draft: Draft, candidates: Sequence[Fact], ask: Ask
    ) -> list[float]:
        from trueground.models.perplexity import Unscored, cached_logprobs, perplexity

        names, paragraph = name_by_id(draft), bare(draft.text, draft.graphs)
        texts = [
            f"{paragraph} {self.wording.sentence(names[qid], name, value)}"
            for qid, name, value in candidates
        ]
        work = (cached_logprobs(ask.scorer, ask.cache, text) for text in texts)
        found = await asyncio.gather(*work, return_exceptions=True)  # so that all have ended
        rated = []
        for one in found:
            if isinstance(one, Unscored):
                raise Fallen("unrated", str(one), passing=one.passing) from one
            if isinstance(one, BaseException):
                raise one
            rated.append(perplexity(one))
        return rated


def make_extending(number: int, prompt: Prompt, chooser: Chooser) -> Stage[Draft, Draft]:
    """One round. An item whose pool is exhausted goes through as it is."""

    async def work(draft: Draft, ask: Ask) -> Sequence[Draft]:
        fact = await chooser.choose(draft, ask)
        return [draft if fact is None else await _extended(draft, fact, ask)]

    async def _extended(draft: Draft, fact: Fact, ask: Ask) -> Draft:
        facts = pool(draft, chooser.settings.skipped)

        def see(made: Extended) -> None:
            rest = added(made.paragraph, draft.text, draft.graphs)
            sentences = read_triples(rest, draft.graphs)
            see_cited(facts_of(sentences, facts, draft.graphs), fact, draft.facts)
            words = " ".join(one.text for one in sentences)
            see_language(words, draft.paragraph, chooser.settings.language)

        made = await checked(ask, "writer", _messages(prompt, draft, fact), Extended, see)
        return grown(
            draft, Draft, text=plain(made.paragraph), knowledge=(*draft.knowledge, (fact,))
        )

    settings = chooser.settings
    return Stage(
        f"round-{number}",
        "Choose a triple and add a sentence",
        Draft,
        Draft,
        work,
        REASONS,
        {
            "skipped": sorted(settings.skipped),
            "alpha": settings.alpha,
            "candidates": settings.candidates,
            "wording": chooser.wording.sha256,
            "scorer": chooser.scorer,
            "language": settings.language,
        },
        [prompt.file],
        ("writer",),
        lambda tokens: [
            Usual("writer", 1, 2 * tokens + 50 * number + 300, 2 * tokens + 50 * number + 50)
        ],
    )


def _messages(prompt: Prompt, draft: Draft, fact: Fact) -> tuple[Message, ...]:
    knowledge, cited = told([fact], draft), citation(fact[0], [fact[1:]])
    mark = mark_for([draft.text, knowledge, cited])
    return prompt.fill(
        {
            "paragraph": block("PARAGRAPH", draft.text, mark),
            "knowledge": block("KNOWLEDGE", knowledge, mark),
            "citation": block("CITATION", cited, mark),
        }
    )
