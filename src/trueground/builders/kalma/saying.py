"""A judge reads each new sentence beside its triple: does the sentence say so?

Checks without a model tell that a sentence speaks of the value. That it does not deny the triple,
or tell it of somebody else, needs a reader (Li et al. 2024, C.2, have people read).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import CallEstimate, Stage
from trueground.builders.kalma.asking import check_numbers
from trueground.builders.kalma.citing import bare
from trueground.builders.kalma.items import Draft
from trueground.builders.kalma.pool import for_people
from trueground.builders.rejected import Rejected
from trueground.models.base import Message
from trueground.models.marks import block, mark_for
from trueground.models.prompts import Prompt
from trueground.records.problems import shorten
from trueground.text.citations import read_triples
from trueground.text.triples import triple_key

PLACES = ("paragraph", "sentences")
REASONS = {"not_said": "the judge finds that a new sentence does not say what it cites"}
NOBODY = "No model has checked that the sentences say what they cite."


class Heard(msgspec.Struct, frozen=True):
    """What the judge replies: `said` are the numbers of the sentences that say their triple."""

    reason: str
    said: list[int]


def make_saying(prompt: Prompt, rounds: int) -> Stage[Draft, Draft]:
    """One call an item. An item falls where one of its new sentences does not say its triple."""

    async def work(draft: Draft, ask: Ask) -> Sequence[Draft]:
        told = list(new_sentences(draft))
        if told:
            heard = await ask.object(
                "judge",
                _messages(prompt, draft, told),
                Heard,
                check=lambda heard: check_numbers("said", heard.said, len(told)),
            )
            for number, (sentence, fact) in enumerate(told, 1):
                if number not in heard.said:
                    words = f'{fact} behind "{shorten(sentence)}": {shorten(heard.reason, 300)}'
                    raise Rejected("not_said", words, content=sentence)
        return [draft]

    return Stage(
        "said",
        "Ask a judge whether the new sentences say what they cite",
        Draft,
        Draft,
        work,
        REASONS,
        {},
        [prompt.file],
        ("judge",),
        [CallEstimate("judge", lambda tokens: tokens + 75 * rounds, 120, 1, prompt)],
    )


def new_sentences(draft: Draft) -> Iterator[tuple[str, str]]:
    """Each sentence that a round added, without its brackets, and the triple that it cites."""
    read = read_triples(draft.text, draft.graphs)
    for fact in (fact for one in draft.knowledge[1:] for fact in one):
        wanted = triple_key(fact)
        citing = [
            one.text
            for one in read
            if any(triple_key((c.qid, c.property, c.value)) == wanted for c in one.citations)
        ]
        yield citing[-1] if citing else "", for_people(fact, draft)


def _messages(prompt: Prompt, draft: Draft, told: Sequence[tuple[str, str]]) -> tuple[Message, ...]:
    paragraph = bare(draft.text, draft.graphs)
    lines = [
        f"[{number}] sentence: {' '.join(sentence.split())}\n[{number}] fact: {fact}"
        for number, (sentence, fact) in enumerate(told, 1)
    ]
    sentences = "\n".join(lines)
    mark = mark_for([paragraph, sentences])
    return prompt.fill(
        {
            "paragraph": block("PARAGRAPH", paragraph, mark),
            "sentences": block("SENTENCES", sentences, mark),
        }
    )
