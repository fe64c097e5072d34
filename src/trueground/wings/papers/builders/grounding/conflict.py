"""Step 4: key knowledge changed everywhere it stands (section 3.2, appendix A.5).

A writer makes the new version; what can be seen without a model is checked first, then a judge says
whether it is consistent and whether the new answer, and no other, follows from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

import msgspec

from trueground.models import Prompt
from trueground.text import split_sentences
from trueground.wings.papers.builders.base import (
    CallEstimate,
    Rejected,
    Stage,
    mark_fields,
    rejected_content,
)
from trueground.wings.papers.builders.checks import (
    contains_phrase,
    contains_quote,
    count_other_words,
    count_phrase,
    other_language,
    same_text,
)
from trueground.wings.papers.builders.client import ModelClient
from trueground.wings.papers.builders.grounding.facts import FactJudge
from trueground.wings.papers.builders.grounding.items import (
    PACKAGE,
    Conflict,
    Instance,
    KnowledgeChange,
    OriginalInstance,
    answer_forms,
    format_answer,
    is_answer,
    numbered,
    titled,
    tokens_of_contexts,
)
from trueground.wings.papers.builders.settings import Material

# Words beside the changed phrases that may come or go in a sentence with one, such as articles.
_FEW = 2
_REASONS = FactJudge.REASONS | {
    "unchanged": "nothing was changed",
    "not_in_original": "a phrase that is said to be changed does not stand in the original",
    "other_language": "the new contexts are in another language",
    "gold_unchanged": "no gold fact was changed together with its context",
    "old_left": "the old knowledge still stands somewhere",
    "new_missing": "the new knowledge does not stand where the old one stood",
    "other_changed": "more was changed than the sentences with the changed knowledge",
    "same_answer": "the new answer is the old one",
    "answer_not_in_context": "the old answer stood in the contexts, the new one does not",
    "contradiction": "something that was left unchanged contradicts the changed knowledge",
    "does_not_follow": "the judge does not find the new answer in the new contexts",
    "other_answer": "the new contexts support another answer too",
}


class _Change(msgspec.Struct):
    old: str
    new: str
    type: Literal["number", "date", "name", "place", "negation", "relation", "other"]


class _Revision(msgspec.Struct):
    changes: list[_Change]
    question: str
    answer: str
    answers: list[str]
    contexts: list[str]
    facts: list[str]


class _Contradiction(msgspec.Struct):
    quote: str
    why: str


class _Doubts(msgspec.Struct):
    contradictions: list[_Contradiction]


class _Follows(msgspec.Struct):
    answerable: bool
    answer: str
    others: list[str]


def conflict_stage(
    material: Material, facts: FactJudge, words_of_context: int = 250
) -> Stage[OriginalInstance, Instance]:
    """Original versions → both versions; what has no sound conflicting version is rejected."""
    places = ("question", "answer", "contexts", "facts")
    writing = material.prompt(PACKAGE, "conflict-1", places, ("form", "mark"))
    consistent = material.prompt(
        PACKAGE, "consistent-1", ("contexts", "changes"), ("facts", "mark")
    )
    follows = material.prompt(PACKAGE, "follows-1", ("question", "contexts"), ("reference", "mark"))

    read = partial(tokens_of_contexts, words=words_of_context)

    async def work(item: OriginalInstance, client: ModelClient) -> Sequence[Instance]:
        new = await _revise(item, client, writing)
        with rejected_content(lambda: new):
            check_changes(item, new)
            await facts.check_supported(new.gold, [one.text for one in new.contexts])
            await _check_consistent(new, client, consistent)
            await _check_follows(item, new, client, follows)
        return [Instance(item.id, item, new)]

    return Stage(
        name="conflict",
        doc="Change the key knowledge everywhere it stands",
        output_type=Instance,
        work=work,
        reasons=_REASONS,
        identity={"fact_judge": facts.signature},
        prompts=(writing.file, consistent.file, follows.file),
        roles=("writer", "judge"),
        calls=[
            CallEstimate("writer", read, lambda tokens: read(tokens) + 200, 1, writing),
            CallEstimate("judge", read, 80, 2, consistent),
            facts.calls(read),
        ],
    )


async def _revise(item: OriginalInstance, client: ModelClient, prompt: Prompt) -> Conflict:
    """The new version as the writer gave it, with the fields it must have. Raises Rejected."""
    pair, definite = item.pair, item.pair.form == "definite"
    texts = {"contexts": titled(pair.contexts), "facts": numbered(item.gold_texts)}
    own = {"question": pair.question, "answer": format_answer(pair.answer, pair.answers)}
    fields = mark_fields(texts, own, titles={"contexts": "CONTEXT", "facts": "STATEMENTS"})
    fields["form"] = (
        "several ways of writing it, each as a text of its own"
        if definite
        else "here it is a text in sentences, so this list is empty"
    )

    def untitled(text: str, title: str) -> str:  # the writer was shown it, and may have copied it
        first, _, rest = text.partition("\n")
        bare = first.strip().removeprefix("Title:").strip()
        return rest.strip() if rest.strip() and bare == title.strip() else text

    def check(new: _Revision) -> str | None:
        counts = (
            ("contexts", new.contexts, len(pair.contexts)),
            ("facts", new.facts, len(item.gold)),
        )
        for name, found, expected in counts:
            if len(found) != expected:
                return f"the field {name} has {len(found)} texts; expected {expected}, as shown"
            if not all(text.strip() for text in found):
                return f"a text of the field {name} is empty"
        if not new.changes or not all(one.old and one.new for one in new.changes):
            return (
                "the field changes is empty, or a phrase of it is; name what was replaced by what"
            )
        if not new.question or not new.answer:
            return "the question or the answer is empty"
        if definite and not answer_forms(new.answers or [new.answer]):
            return "no form of the answer can be used: leave `|` and ` & ` out of it"
        return None

    new = await client.ask("writer", prompt.fill(fields), _Revision, check=check)
    return Conflict(
        question=" ".join(new.question.split()),
        answer=new.answer,
        answers=answer_forms(new.answers or [new.answer]) if definite else (),
        contexts=tuple(
            msgspec.structs.replace(old, text=untitled(text, old.title))
            for old, text in zip(pair.contexts, new.contexts, strict=True)
        ),
        gold=tuple(" ".join(fact.split()) for fact in new.facts),
        changes=tuple(KnowledgeChange(one.old, one.new, one.type) for one in new.changes),
    )


# --- checks without a model

_YES_NO = ("yes", "no", "true", "false")  # words that stand in any text


def check_changes(original: OriginalInstance, new: Conflict) -> None:
    """See that the new version is what it must be, as far as can be seen without a model.

    Raises Rejected.
    """
    parts = list(_parts(original, new))
    if all(same_text(old, now) for _, old, now in parts[1:]):
        raise Rejected("unchanged", "contexts and gold facts are as they were")
    for change in new.changes:
        if same_text(change.old, change.new):
            raise Rejected("unchanged", f"{change.old!r} was to become {change.new!r}")
        if not any(count_phrase(old, change.old) for _, old, _ in parts):
            raise Rejected("not_in_original", change.old)
    before = "\n".join(original.context_texts)
    after = "\n".join(context.text for context in new.contexts)
    if (found := other_language(after, before)) is not None:
        raise Rejected("other_language", f"found {found}")
    if not any(
        not same_text(fact.text, now)
        and not same_text(original.context_texts[fact.context], new.contexts[fact.context].text)
        for fact, now in zip((original.facts[n] for n in original.gold), new.gold, strict=True)
    ):
        raise Rejected("gold_unchanged", f"{len(new.gold)} gold facts")
    _check_phrases(original, new, parts)
    _check_rest(new, parts)
    _check_answer(original, new, before, after)


def _parts(original: OriginalInstance, new: Conflict) -> Iterator[tuple[str, str, str]]:
    """What each part is, its old text, its new text; the question first."""
    yield "the question", original.pair.question, new.question
    for number, (old, now) in enumerate(zip(original.context_texts, new.contexts, strict=True), 1):
        yield f"context {number}", old, now.text
    for number, (fact, gold) in enumerate(zip(original.gold_texts, new.gold, strict=True), 1):
        yield f"fact {number}", fact, gold


def _check_phrases(
    original: OriginalInstance, new: Conflict, parts: Sequence[tuple[str, str, str]]
) -> None:
    """Old phrases are gone, new ones stand in their place: in every part, title and answer too."""
    for what, old, now in parts:
        for change in new.changes:
            if count_phrase(now, change.old) > _allowed(change.old, old, new.changes):
                raise Rejected("old_left", f"{what}: {change.old}")
            if count_phrase(old, change.old) and not count_phrase(now, change.new):
                raise Rejected("new_missing", f"{what}: {change.new}")
    for context in new.contexts:
        for change in new.changes:
            if count_phrase(context.title, change.old):
                raise Rejected("old_left", f"the title {context.title!r}: {change.old}")
    olds = " / ".join((original.pair.answer, *original.pair.answers))
    for answer in (new.answer, *new.answers):
        for change in new.changes:
            if count_phrase(answer, change.old) > _allowed(change.old, olds, new.changes):
                raise Rejected("old_left", f"the answer {answer!r}: {change.old}")


def _allowed(phrase: str, original: str, changes: Sequence[KnowledgeChange]) -> int:
    """How often new phrases bring an old one back: "not killed" for "killed", and swaps."""
    return sum(count_phrase(original, one.old) * count_phrase(one.new, phrase) for one in changes)


def _check_rest(new: Conflict, parts: Sequence[tuple[str, str, str]]) -> None:
    """Sentences without a changed phrase are as they were, and the others but for a few words."""
    for what, old, now in parts:
        touched = 0
        for sentence in (old[start:end] for start, end in split_sentences(old)):
            if any(count_phrase(sentence, change.old) for change in new.changes):
                touched += 1
            elif not contains_phrase(now, sentence):
                raise Rejected("other_changed", f"{what}: {sentence}")
        before = count_other_words(old, [change.old for change in new.changes])
        after = count_other_words(now, [change.new for change in new.changes])
        for words, how in ((after - before, "added"), (before - after, "lost")):
            if words.total() > _FEW * touched:
                raise Rejected("other_changed", f"{what}: {how} {' '.join(words)}")


def _check_answer(original: OriginalInstance, new: Conflict, before: str, after: str) -> None:
    pair = original.pair
    definite = pair.form == "definite"
    olds, news = (pair.answers, new.answers) if definite else ((pair.answer,), (new.answer,))
    for answer in news:
        if any(same_text(answer, old) for old in olds):
            raise Rejected("same_answer", answer)
    if not definite:
        return
    stood = [
        old
        for old in olds
        if contains_phrase(before, old) and not any(same_text(old, word) for word in _YES_NO)
    ]
    if stood and not any(contains_phrase(after, answer) for answer in news):
        raise Rejected("answer_not_in_context", " / ".join(news))
    titles = "\n".join((pair.question, *(context.title for context in pair.contexts)))
    # "Which of both is older?": both names stand in the contexts before and after.
    if any(contains_phrase(before, answer) for answer in news):
        return
    for old in stood:
        if not contains_phrase(titles, old) and count_phrase(after, old) > _allowed(
            old, before, new.changes
        ):
            raise Rejected("old_left", f"the old answer {old!r} stands in the new contexts")


# --- what a judge says


async def _check_consistent(new: Conflict, client: ModelClient, prompt: Prompt) -> None:
    """Nothing that stayed contradicts what is new: the judge must quote what does. Rejected.

    A quote that stands in no context is asked for again; twice so, and the item is rejected.
    """
    contexts = titled(new.contexts)
    changes = "\n".join(f"{one.old} -> {one.new}" for one in new.changes)
    fields = mark_fields(
        {"contexts": contexts, "changes": changes, "facts": numbered(new.gold)},
        titles={
            "contexts": "CONTEXT",
            "changes": "REPLACED",
            "facts": "STATEMENTS THAT HOLD NOW",
        },
    )

    def check(reply: _Doubts) -> str | None:
        for one in reply.contradictions:
            if not any(contains_quote(one.quote, text) for text in contexts):
                return f'"{one.quote}" does not stand in the contexts; quote them word for word'
        return None

    reply = await client.ask("judge", prompt.fill(fields), _Doubts, check=check)
    for one in reply.contradictions:
        raise Rejected("contradiction", f'"{one.quote}": {one.why}')


async def _check_follows(
    item: OriginalInstance, new: Conflict, client: ModelClient, prompt: Prompt
) -> None:
    """The new contexts lead to the new answer and to no other. Raises Rejected.

    For a definite answer the judge is not told which it is, and must find it.
    """
    definite = item.pair.form == "definite"
    fields = mark_fields(
        {"contexts": titled(new.contexts)},
        {"question": new.question, "reference": new.answer},
        titles={"contexts": "CONTEXT", "reference": "EXPECTED ANSWER"},
    )
    fields |= {"reference": ""} if definite else {}
    reply = await client.ask("judge", prompt.fill(fields), _Follows)
    if not reply.answerable:
        raise Rejected("does_not_follow", "the judge finds no answer in the new contexts")
    if definite:
        if not reply.answer or not is_answer(reply.answer, new.answers):
            raise Rejected("does_not_follow", f"expected {new.answer}, found {reply.answer}")
        if any(same_text(reply.answer, old) for old in item.pair.answers):
            raise Rejected("does_not_follow", f"the judge still finds {reply.answer}")
    news = new.answers if definite else (new.answer,)
    others = [one for one in reply.others if one and not is_answer(one, news)]
    if others:
        raise Rejected("other_answer", others[0])
