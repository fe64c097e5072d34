"""Round 1: the paragraph is annotated with the knowledge that it holds (Li et al. 2024, A.3)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import CallEstimate, Stage
from trueground.builders.checks import FORM_REASONS as FORM_REASONS
from trueground.builders.kalma.asking import RULES, check_form, checked
from trueground.builders.kalma.citing import check_same_words, facts_of
from trueground.builders.kalma.items import CountedPair, Draft, Fact, grown
from trueground.builders.kalma.pool import pool, told
from trueground.builders.rejected import Rejected
from trueground.models.marks import block, mark_for
from trueground.models.prompts import Prompt
from trueground.text.citations import read_triples
from trueground.text.triples import plain

PLACES = ("paragraph", "knowledge")
REASONS = {
    **FORM_REASONS,
    "no_knowledge": "the two graphs hold nothing that may be cited",
    "paragraph_changed": "the reply changed the words of the paragraph",
    "citation_not_in_pool": "the reply cites what the graphs do not hold",
    "value_not_said": "a sentence does not speak of what it cites",
    "nothing_cited": "the reply cites nothing",
}
KNOWLEDGE_TOKENS = 1_200.0  # of two graphs: a rule of thumb, as they are not read in a dry run


class Annotated(msgspec.Struct, frozen=True):
    """The paragraph with its citations."""

    paragraph: str


def make_annotating(prompt: Prompt, skipped: Collection[str]) -> Stage[CountedPair, Draft]:
    """The writer puts citations into the paragraph and changes nothing else."""

    async def work(item: CountedPair, ask: Ask) -> Sequence[Draft]:
        facts = pool(item, skipped)
        if not facts:
            raise Rejected("no_knowledge", f"{item.qids[0]} and {item.qids[1]}")
        knowledge = told(facts, item)
        mark = mark_for([item.paragraph, knowledge])
        messages = prompt.fill(
            {
                "paragraph": block("PARAGRAPH", item.paragraph, mark),
                "knowledge": block("KNOWLEDGE", knowledge, mark),
            }
        )
        made = await checked(
            ask, "writer", messages, Annotated, lambda made: _check(made, item, facts)
        )
        found = facts_of(read_triples(made.paragraph, item.graphs), facts, item.graphs)
        return [grown(item, Draft, text=plain(made.paragraph), knowledge=(tuple(found),))]

    return Stage(
        "round-1",
        "Annotate the paragraph",
        CountedPair,
        Draft,
        work,
        REASONS,
        {"rules": RULES, "skipped": sorted(skipped)},
        [prompt.file],
        ("writer",),
        [
            CallEstimate(
                "writer",
                lambda tokens: tokens + KNOWLEDGE_TOKENS,
                lambda tokens: 2 * tokens + 40,
                1,
                prompt,
            )
        ],
    )


def _check(made: Annotated, item: CountedPair, facts: Sequence[Fact]) -> None:
    check_form(made.paragraph, item.paragraph + told(facts, item))
    check_same_words(made.paragraph, item.paragraph, item.graphs)
    if not facts_of(read_triples(made.paragraph, item.graphs), facts, item.graphs):
        raise Rejected("nothing_cited", "no citation of the knowledge stands in the paragraph")
