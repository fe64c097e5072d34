"""Paragraphs that grow: annotated, then a sentence for each triple chosen (Li et al. 2024, A.3).

Replies are checked without a model first: what they cite must stand in the pool, and nothing that
was there may change. That a sentence does not deny its triple, or tell it of somebody else, needs a
reader: a judge reads each new sentence beside its triple (C.2 has people read).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence

import msgspec

from trueground.models import Prompt
from trueground.records import shorten
from trueground.text import CitedText, GraphTriple, Sentence, plain
from trueground.types import Graph
from trueground.wings.papers.builders.base import (
    CallEstimate,
    LLMStage,
    Rejected,
    Stage,
    mark_fields,
    rejected_content,
)
from trueground.wings.papers.builders.checks import (
    FORM_REASONS,
    check_numbers,
    find_form_error,
    other_language,
)
from trueground.wings.papers.builders.client import PERPLEXITY, ModelClient
from trueground.wings.papers.builders.kalma import KalmaBuildOptions
from trueground.wings.papers.builders.kalma.choosing import FactChooser
from trueground.wings.papers.builders.kalma.items import CountedPair, Draft, Fact, grown
from trueground.wings.papers.builders.kalma.knowledge import format_fact, format_knowledge, pool
from trueground.wings.papers.builders.kalma.wording import wording_sha256

RULES = 2  # part of what outcomes are kept under: a change of any check counts here
_REASONS = {
    **FORM_REASONS,
    "paragraph_changed": "the reply changed the words of the paragraph",
    "citation_not_in_pool": "the reply cites what the graphs do not hold",
    "value_not_said": "a sentence does not speak of what it cites",
}
_PART = re.compile(r"\d+|[^\W\d_]+")
_STEM = 4  # letters that two forms of a word have in common: Italy, Italian
_SMALL = 3  # words of fewer letters say little, unless a value has no others
_SPACE = re.compile(r"\s+")


# What writer and judge reply. Names and docstrings of these classes stand in the JSON schema that
# is sent, and so in the keys of replies that were paid for.
class Annotated(msgspec.Struct, frozen=True):
    """The paragraph with its citations."""

    paragraph: str


class Extended(msgspec.Struct, frozen=True):
    """The old paragraph, and one sentence behind it."""

    paragraph: str


class Heard(msgspec.Struct, frozen=True):
    """What the judge replies: `said` are the numbers of the sentences that say their triple."""

    reason: str
    said: list[int]


# --- round 1


def annotating_stage(prompt: Prompt, skipped: Collection[str]) -> LLMStage[CountedPair, Draft]:
    """The writer puts citations into the paragraph and changes nothing else."""

    def fields(item: CountedPair) -> dict[str, str]:
        facts = pool(item, skipped)
        if not facts:
            raise Rejected("no_knowledge", f"{item.qids[0]} and {item.qids[1]}")
        knowledge = format_knowledge(facts, item)
        return mark_fields({"paragraph": item.paragraph, "knowledge": knowledge})

    def cited(item: CountedPair, reply: Annotated) -> list[Fact]:
        read = CitedText(reply.paragraph, item.graphs).triple_sentences()
        return find_facts(read, pool(item, skipped), item.graphs)

    def check(item: CountedPair, reply: Annotated) -> None:
        facts = pool(item, skipped)
        check_form(reply.paragraph, item.paragraph + format_knowledge(facts, item))
        new = bare(reply.paragraph, item.graphs)
        if _letters(new) != _letters(item.paragraph):
            place = _first_difference(new, item.paragraph)
            detail = f"without its citations the paragraph differs at {place}"
            raise Rejected("paragraph_changed", detail)
        if not cited(item, reply):
            detail = "no citation of the knowledge stands in the paragraph"
            raise Rejected("nothing_cited", detail)

    def make(item: CountedPair, reply: Annotated) -> list[Draft]:
        knowledge = (tuple(cited(item, reply)),)
        return [grown(item, Draft, text=plain(reply.paragraph), knowledge=knowledge)]

    return LLMStage(
        name="round-1",
        doc="Annotate the paragraph",
        output_type=Draft,
        role="writer",
        prompt=prompt,
        reply=Annotated,
        fields=fields,
        check=check,
        make=make,
        show=lambda _, reply: reply,
        reasons={
            **_REASONS,
            "no_knowledge": "the two graphs hold nothing that may be cited",
            "nothing_cited": "the reply cites nothing",
        },
        identity={"rules": RULES, "skipped": sorted(skipped)},
        # Of two graphs: a rule of thumb, as they are not read in a dry run.
        tokens_in=lambda tokens: tokens + 1_200,
        tokens_out=lambda tokens: 2 * tokens + 40,
    )


# --- rounds 2 and on


def extending_stage(
    number: int,
    prompt: Prompt,
    options: KalmaBuildOptions,
    skipped: Collection[str],
    chooser: FactChooser,
    scorer: str | None,
) -> Stage[Draft, Draft]:
    """One round. An item whose pool is exhausted goes through as it is."""

    async def work(draft: Draft, client: ModelClient) -> Sequence[Draft]:
        facts = pool(draft, skipped)
        fact = await chooser.choose(draft, facts, bare(draft.text, draft.graphs), client)
        if fact is None:
            return [draft]
        knowledge = format_knowledge([fact], draft)
        citation = GraphTriple(*fact).citation
        fields = {"paragraph": draft.text, "knowledge": knowledge, "citation": citation}

        def check(reply: Extended) -> None:
            with rejected_content(lambda: reply):
                check_form(reply.paragraph, draft.text + knowledge)
                sentences = CitedText(
                    _added(reply.paragraph, draft), draft.graphs
                ).triple_sentences()
                found = find_facts(sentences, facts, draft.graphs)
                if fact not in found:
                    raise Rejected("knowledge_not_cited", f"{_written(*fact)} is not cited")
                for other in found:
                    if other != fact and other not in draft.facts:
                        detail = f"{_written(*other)} was not to be added"
                        raise Rejected("other_knowledge", detail)
                words = " ".join(one.text for one in sentences)
                check_language(words, draft.paragraph, options.language == "check")

        messages = prompt.fill(mark_fields(fields))
        reply = await client.ask("writer", messages, Extended, check=check)
        knowledge_of = (*draft.knowledge, (fact,))
        return [grown(draft, Draft, text=plain(reply.paragraph), knowledge=knowledge_of)]

    def read(tokens: float) -> float:
        return tokens + 25 * number  # tokens that a round adds, citation aside

    rated = options.weighs_fluency
    return Stage(
        name=f"round-{number}",
        doc="Choose a triple and add a sentence",
        output_type=Draft,
        work=work,
        reasons={
            **_REASONS,
            "not_one_sentence": "the reply adds no sentence to the paragraph, or several",
            "knowledge_not_cited": "the new sentence does not cite the knowledge that was chosen",
            "other_knowledge": "the new sentence cites knowledge that was not chosen",
            "unrated": "the perplexities that choose the next triple could not be had",
            "other_language": "the new sentence is in another language",
        },
        # All that an outcome depends on, beside the item, the prompt and the model.
        identity={
            "rules": RULES,
            "skipped": sorted(skipped),
            "alpha": chooser.alpha,
            "scaled": chooser.scaled,
            "candidates": chooser.most,
            "wording": wording_sha256(),
            "scorer": scorer,
            "language": options.language == "check",
        },
        prompts=[prompt.file],
        roles=("writer",),
        calls=[
            CallEstimate("writer", lambda t: 2 * read(t), lambda t: 2 * read(t) + 50, 1, prompt),
            *([CallEstimate(PERPLEXITY, read, 0, chooser.most)] if rated else ()),
        ],
    )


def _added(changed: str, draft: Draft) -> str:
    """What stands behind the old paragraph. Rejected: paragraph_changed, not_one_sentence."""
    new, old = plain(changed), plain(draft.text)
    if not new.startswith(old):
        place = _first_difference(new, old)
        raise Rejected("paragraph_changed", f"the old paragraph differs at {place}")
    rest = new[len(old) :].strip()
    if rest.startswith("["):  # behind the full stop it belongs to what stands before
        detail = "the citation stands before the new sentence, and so counts for the old one"
        raise Rejected("not_one_sentence", detail)
    said = [one for one in CitedText(rest, draft.graphs).triple_sentences() if one.text.strip()]
    if len(said) != 1:
        raise Rejected("not_one_sentence", f"found {len(said)} sentences behind the old paragraph")
    return rest


# --- do the new sentences say what they cite?


def saying_stage(prompt: Prompt, rounds: int) -> LLMStage[Draft, Draft]:
    """One call an item: rejected where one of its new sentences does not say its triple."""

    def fields(draft: Draft) -> dict[str, str]:
        sentences = "\n".join(
            f"[{number}] sentence: {' '.join(sentence.split())}\n[{number}] fact: {fact}"
            for number, (sentence, fact) in enumerate(_new_sentences(draft), 1)
        )
        paragraph = bare(draft.text, draft.graphs)
        return mark_fields({"paragraph": paragraph, "sentences": sentences})

    def check(draft: Draft, reply: Heard) -> str | None:
        return check_numbers("said", reply.said, len(list(_new_sentences(draft))))

    def make(draft: Draft, reply: Heard) -> list[Draft]:
        for number, (sentence, fact) in enumerate(_new_sentences(draft), 1):
            if number not in reply.said:
                why = shorten(reply.reason, 300)
                detail = f'{fact} behind "{shorten(sentence)}": {why}'
                raise Rejected("not_said", detail, sentence)
        return [draft]

    return LLMStage(
        name="said",
        doc="Ask a judge whether the new sentences say what they cite",
        output_type=Draft,
        role="judge",
        prompt=prompt,
        reply=Heard,
        fields=fields,
        check=check,
        make=make,
        skip=lambda draft: None if any(draft.knowledge[1:]) else [draft],
        reasons={"not_said": "the judge finds that a new sentence does not say what it cites"},
        tokens_in=lambda tokens: tokens + 75 * rounds,
        tokens_out=120,
    )


def _new_sentences(draft: Draft) -> Iterator[tuple[str, str]]:
    """Each sentence that a round added, without its brackets, and the triple that it cites."""
    read = CitedText(draft.text, draft.graphs).triple_sentences()
    for fact in (fact for one in draft.knowledge[1:] for fact in one):
        wanted = GraphTriple(*fact).key
        citing = [one.text for one in read if any(c.triple.key == wanted for c in one.citations)]
        yield citing[-1] if citing else "", format_fact(fact, draft)


# --- checks of what a model wrote: nothing of it is trusted


def bare(text: str, graphs: Sequence[Graph]) -> str:
    """The text without the triples that it cites, on one line."""
    return plain(CitedText(text, graphs).without_triples())


def check_form(text: str, shown: str) -> None:
    """The text holds nothing odd that was not shown. Rejected: one of checks.FORM_REASONS."""
    if odd := find_form_error(text, shown):
        raise Rejected(*odd)


def check_language(text: str, original: str, wanted: bool) -> None:
    """The text is in the original's language, as far as can be told. Rejected: other_language."""
    found = other_language(text, original) if wanted else None
    if found is not None:
        raise Rejected("other_language", f"found {found}")


def find_facts(
    sentences: Sequence[Sentence], pool: Sequence[Fact], graphs: Sequence[Graph]
) -> list[Fact]:
    """The facts that are cited, each once, as the pool spells them; names do not count.

    Rejected: citation_not_in_pool; value_not_said where a sentence does not speak of what it cites.
    """
    known = {GraphTriple(*fact).key: fact for fact in pool}
    names = {(plain(str(graph["qid"])), plain(str(graph.get("name", "")))) for graph in graphs}
    found: dict[Fact, None] = {}
    for sentence in sentences:
        if sentence.missing:
            raise Rejected("citation_not_in_pool", "[NA] cites nothing")
        for one in sentence.citations:
            if GraphTriple.plain_property(one.property).lower() == "name":
                if (plain(one.qid), plain(one.value)) not in names:
                    raise Rejected("citation_not_in_pool", _written(one.qid, "name", one.value))
                continue
            fact = known.get(one.triple.key)
            if fact is None:
                raise Rejected("citation_not_in_pool", _written(one.qid, one.property, one.value))
            if not speaks_of(sentence.text, fact[2]):
                detail = f'{_written(*fact)} behind "{shorten(sentence.text)}"'
                raise Rejected("value_not_said", detail)
            found[fact] = None
    return list(found)


def speaks_of(sentence: str, value: str) -> bool:
    """Does the sentence name the value, in whatever form? Any of its words will do.

    Words match that begin alike (Italy, Italian), numbers that are equal (1871-11-01, in 1871).
    What is sure to be wrong is told by this, and not that a sentence is right.
    """
    words, parts = _parts(sentence), _parts(value)
    telling = [one for one in parts if one.isdecimal() or len(one) > _SMALL] or parts
    if not telling:
        return True  # a value without a word, such as a sign
    if any(_alike(part, word) for part in telling for word in words):
        return True
    return plain(value).casefold() in plain(sentence).casefold()


def _parts(text: str) -> list[str]:
    letters = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in letters if not unicodedata.combining(c))
    return [one.lstrip("0") or one for one in _PART.findall(kept.casefold())]


def _alike(part: str, word: str) -> bool:
    if part.isdecimal() or word.isdecimal() or len(part) < _STEM:
        return part == word
    return part[:_STEM] == word[:_STEM]


def _letters(text: str) -> str:
    return _SPACE.sub("", unicodedata.normalize("NFC", text))


def _first_difference(new: str, old: str) -> str:
    place = next((i for i, (a, b) in enumerate(zip(new, old, strict=False)) if a != b), None)
    at = min(len(new), len(old)) if place is None else place
    return f'"{shorten(new[max(at - 15, 0) : at + 25], 40)}"'


def _written(qid: str, name: str, value: str) -> str:
    return shorten(GraphTriple(qid, name, value).citation, 120)
