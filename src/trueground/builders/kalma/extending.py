"""Rounds 2 and on: the next triple is chosen, and a sentence says it (Li et al. 2024, A.3)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from trueground.builders.ask import PERPLEXITY, Ask
from trueground.builders.base import CallEstimate, Stage
from trueground.builders.checks import FORM_REASONS as FORM_REASONS
from trueground.builders.kalma.annotate import REASONS as ANNOTATE_REASONS
from trueground.builders.kalma.asking import RULES, check_form, check_language, checked
from trueground.builders.kalma.citing import added, bare, check_cited, facts_of
from trueground.builders.kalma.items import Draft, Fact, grown
from trueground.builders.kalma.pool import name_by_id, pool, told
from trueground.builders.kalma.selection import near_ties, order, scored, specificity
from trueground.builders.kalma.settings import KalmaBuildSettings
from trueground.builders.kalma.wording import Wording
from trueground.builders.rejected import Rejected
from trueground.models.base import Message
from trueground.models.marks import block, mark_for
from trueground.models.perplexity import UnscoredText, perplexity
from trueground.models.prompts import Prompt
from trueground.text.citations import read_triples
from trueground.text.triples import format_citation, plain, plain_property

PLACES = ("paragraph", "knowledge", "citation")
REASONS = {
    **{
        name: ANNOTATE_REASONS[name]
        for name in (
            *FORM_REASONS,
            "paragraph_changed",
            "citation_not_in_pool",
            "value_not_said",
        )
    },
    "not_one_sentence": "the reply adds no sentence to the paragraph, or several",
    "knowledge_not_cited": "the new sentence does not cite the knowledge that was chosen",
    "other_knowledge": "the new sentence cites knowledge that was not chosen",
    "unrated": "the perplexities that choose the next triple could not be had",
    "other_language": "the new sentence is in another language",
}
_SENTENCE = 25.0  # tokens that a round adds, citation aside


class Extended(msgspec.Struct, frozen=True):
    """The old paragraph, and one sentence behind it."""

    paragraph: str


@dataclass(frozen=True)
class Chooser:
    """How the next triple is chosen; `scorer` is what `identity` calls the scorer."""

    settings: KalmaBuildSettings
    wording: Wording
    scorer: str | None

    def candidates(self, draft: Draft) -> list[Fact]:
        """What is not said yet; of very many those with the rarest relations."""
        said = set(draft.facts)
        left = [fact for fact in pool(draft, self.settings.skipped) if fact not in said]
        left.sort(key=lambda fact: (-self._rare(draft, fact), order(fact)))
        return left[: self.settings.candidates]

    @property
    def identity(self) -> dict[str, Any]:
        """All that the outcome of a round depends on, beside the item, the prompt and the model."""
        settings = self.settings
        return {
            "rules": RULES,
            "skipped": sorted(settings.skipped),
            "alpha": settings.alpha,
            "scaled": settings.scaled,
            "candidates": settings.candidates,
            "wording": self.wording.sha256,
            "scorer": self.scorer,
            "language": settings.language,
        }

    async def choose(self, draft: Draft, ask: Ask) -> Fact | None:
        """The best candidate; None where the pool is exhausted. Rejected: unrated."""
        candidates = self.candidates(draft)
        if not candidates:
            return None
        alpha, scaled = self.settings.alpha, self.settings.scaled
        rare = [self._rare(draft, fact) for fact in candidates]
        if alpha == 1.0:
            return scored(candidates, rare, None, alpha)[0].fact
        able = candidates if scaled else near_ties(candidates, rare, alpha)
        if len(able) == 1:
            return able[0]
        rated = await self._rated(draft, able, ask)
        # The softmax is over all candidates; those that cannot win count in it as 1/∞.
        known = {fact: math.inf for fact in candidates if fact not in able} | rated
        left = [(fact, one) for fact, one in zip(candidates, rare, strict=True) if fact in known]
        facts, kept = [fact for fact, _ in left], [one for _, one in left]
        found = scored(facts, kept, [known[fact] for fact in facts], alpha, scaled=scaled)
        return next(one.fact for one in found if one.fact in rated)

    def _rare(self, draft: Draft, fact: Fact) -> float:
        return specificity(draft.entries, draft.counts[plain_property(fact[1])])

    async def _rated(self, draft: Draft, candidates: Sequence[Fact], ask: Ask) -> dict[Fact, float]:
        """The perplexities; a candidate that can have none (too long) is none. Rejected: unrated.

        All are asked for whatever becomes of one, so that the next run pays for none again.
        """
        names, paragraph = name_by_id(draft), bare(draft.text, draft.graphs)
        texts = [
            f"{paragraph} {self.wording.sentence(names[qid], name, value)}"
            for qid, name, value in candidates
        ]
        found = await asyncio.gather(*map(ask.logprobs, texts), return_exceptions=True)
        rated, problems = {}, []
        for fact, one in zip(candidates, found, strict=True):
            if isinstance(one, UnscoredText):
                problems.append(one)
            elif isinstance(one, BaseException):
                raise one
            else:
                rated[fact] = perplexity(one)
        passing = [one for one in problems if one.passing]
        if passing or not rated:
            worst = (passing or problems)[0]
            words = f"{len(problems)} of {len(candidates)} candidates: {worst}"
            raise Rejected("unrated", words, transient=worst.passing) from worst
        return rated


def make_extending(number: int, prompt: Prompt, chooser: Chooser) -> Stage[Draft, Draft]:
    """One round. An item whose pool is exhausted goes through as it is."""
    settings = chooser.settings

    async def work(draft: Draft, ask: Ask) -> Sequence[Draft]:
        fact = await chooser.choose(draft, ask)
        return [draft if fact is None else await _extended(draft, fact, prompt, settings, ask)]

    return Stage(
        f"round-{number}",
        "Choose a triple and add a sentence",
        Draft,
        Draft,
        work,
        REASONS,
        chooser.identity,
        [prompt.file],
        ("writer",),
        _calls(number, prompt, settings),
    )


def _calls(number: int, prompt: Prompt, settings: KalmaBuildSettings) -> list[CallEstimate]:
    """The paragraph as it is in this round, with and without its citations."""
    more = _SENTENCE * number
    writer = CallEstimate(
        "writer",
        lambda tokens: 2 * (tokens + more),
        lambda tokens: 2 * (tokens + more) + 50,
        1,
        prompt,
    )
    if settings.perplexity is None:
        return [writer]
    return [writer, CallEstimate(PERPLEXITY, lambda tokens: tokens + more, 0, settings.candidates)]


async def _extended(
    draft: Draft, fact: Fact, prompt: Prompt, settings: KalmaBuildSettings, ask: Ask
) -> Draft:
    """The paragraph with one sentence more that cites the fact. Rejected."""
    facts = pool(draft, settings.skipped)

    def check(made: Extended) -> None:
        check_form(made.paragraph, draft.text + told([fact], draft))
        rest = added(made.paragraph, draft.text, draft.graphs)
        sentences = read_triples(rest, draft.graphs)
        check_cited(facts_of(sentences, facts, draft.graphs), fact, draft.facts)
        words = " ".join(one.text for one in sentences)
        check_language(words, draft.paragraph, settings.language)

    made = await checked(ask, "writer", _messages(prompt, draft, fact), Extended, check)
    return grown(draft, Draft, text=plain(made.paragraph), knowledge=(*draft.knowledge, (fact,)))


def _messages(prompt: Prompt, draft: Draft, fact: Fact) -> tuple[Message, ...]:
    knowledge, cited = told([fact], draft), format_citation(fact[0], [fact[1:]])
    mark = mark_for([draft.text, knowledge, cited])
    return prompt.fill(
        {
            "paragraph": block("PARAGRAPH", draft.text, mark),
            "knowledge": block("KNOWLEDGE", knowledge, mark),
            "citation": block("CITATION", cited, mark),
        }
    )
