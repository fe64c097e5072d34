"""Checks of a conflicting version that need no model: what changed, and that all else did not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trueground.builders.checks import count, other_language, same_text, says, words_without
from trueground.builders.grounding.instances import (
    Conflict,
    KnowledgeChange,
    OriginalInstance,
    is_yes_or_no,
)
from trueground.builders.rejected import Rejected
from trueground.text.sentences import split_sentences

# Words beside the changed phrases that may come or go in a sentence with one, such as articles.
FEW = 2
REASONS = {
    "unchanged": "nothing was changed",
    "not_in_original": "a phrase that is said to be changed does not stand in the original",
    "other_language": "the new contexts are in another language",
    "gold_unchanged": "no gold fact was changed together with its context",
    "old_left": "the old knowledge still stands somewhere",
    "new_missing": "the new knowledge does not stand where the old one stood",
    "other_changed": "more was changed than the sentences with the changed knowledge",
    "same_answer": "the new answer is the old one",
    "answer_not_in_context": "the old answer stood in the contexts, the new one does not",
}
Part = tuple[str, str, str]  # what it is, its old text, its new text


def check_changes(original: OriginalInstance, made: Conflict) -> None:
    """See that the new version is what it must be, as far as can be seen without a model.

    Raises Rejected with one of REASONS.
    """
    checks: Sequence[Callable[[OriginalInstance, Conflict], None]] = (
        _check_changed,
        _check_language,
        _check_gold,
        _check_phrases,
        _check_kept,
        _check_answer,
    )
    for check in checks:
        check(original, made)


def _check_changed(original: OriginalInstance, made: Conflict) -> None:
    texts = (*original.context_texts, *original.gold_texts)
    others = (*(context.text for context in made.contexts), *made.gold)
    if all(map(same_text, texts, others)):
        raise Rejected("unchanged", "contexts and gold facts are as they were")
    for change in made.changes:
        if same_text(change.old, change.new):
            raise Rejected("unchanged", f"{change.old!r} was to become {change.new!r}")
        if not any(count(old, change.old) for _, old, _ in _parts(original, made)):
            raise Rejected("not_in_original", change.old)


def _check_language(original: OriginalInstance, made: Conflict) -> None:
    new = "\n".join(context.text for context in made.contexts)
    found = other_language(new, "\n".join(original.context_texts))
    if found is not None:
        raise Rejected("other_language", f"found {found}")


def _check_gold(original: OriginalInstance, made: Conflict) -> None:
    for number, new in zip(original.gold, made.gold, strict=True):
        fact = original.facts[number]
        at = fact.context
        if not same_text(fact.text, new) and not same_text(
            original.context_texts[at], made.contexts[at].text
        ):
            return
    raise Rejected("gold_unchanged", f"{len(made.gold)} gold facts")


def _check_phrases(original: OriginalInstance, made: Conflict) -> None:
    """Old phrases are gone, new ones stand in their place: in every part, title and answer too."""
    for what, old, new in _parts(original, made):
        for change in made.changes:
            stood = count(old, change.old)
            if count(new, change.old) > _allowed(change.old, old, made.changes):
                raise Rejected("old_left", f"{what}: {change.old}")
            if stood and not count(new, change.new):
                raise Rejected("new_missing", f"{what}: {change.new}")
    for context in made.contexts:
        for change in made.changes:
            if count(context.title, change.old):
                raise Rejected("old_left", f"the title {context.title!r}: {change.old}")
    for answer in (made.answer, *made.answers):
        for change in made.changes:
            old_answers = " / ".join((original.pair.answer, *original.pair.answers))
            if count(answer, change.old) > _allowed(change.old, old_answers, made.changes):
                raise Rejected("old_left", f"the answer {answer!r}: {change.old}")


def _allowed(phrase: str, original: str, changes: Sequence[KnowledgeChange]) -> int:
    """How often new phrases bring an old one back: "not killed" for "killed", and swaps."""
    return sum(count(original, one.old) * count(one.new, phrase) for one in changes)


def _check_kept(original: OriginalInstance, made: Conflict) -> None:
    """Sentences without a changed phrase are as they were, and the others but for a few words."""
    for what, old, new in _parts(original, made):
        touched = 0
        for sentence in _sentences(old):
            if _touched(sentence, made.changes):
                touched += 1
            elif not says(new, sentence):
                raise Rejected("other_changed", f"{what}: {sentence}")
        before = words_without(old, [change.old for change in made.changes])
        after = words_without(new, [change.new for change in made.changes])
        for words, how in ((after - before, "added"), (before - after, "lost")):
            if words.total() > FEW * touched:
                raise Rejected("other_changed", f"{what}: {how} {' '.join(words)}")


def _check_answer(original: OriginalInstance, made: Conflict) -> None:
    pair = original.pair
    definite = pair.form == "definite"
    olds, news = (pair.answers, made.answers) if definite else ((pair.answer,), (made.answer,))
    for new in news:
        if any(same_text(new, old) for old in olds):
            raise Rejected("same_answer", new)
    if not definite:
        return
    before = "\n".join(original.context_texts)
    after = "\n".join(context.text for context in made.contexts)
    stood = [old for old in olds if says(before, old) and not is_yes_or_no(old)]
    if stood and not any(says(after, new) for new in news):
        raise Rejected("answer_not_in_context", " / ".join(news))
    titles = "\n".join((pair.question, *(context.title for context in pair.contexts)))
    # "Which of both is older?": both names stand in the contexts before and after.
    chosen = any(says(before, new) for new in news)
    for old in stood:
        allowed = _allowed(old, before, made.changes)
        if not chosen and not says(titles, old) and count(after, old) > allowed:
            raise Rejected("old_left", f"the old answer {old!r} stands in the new contexts")


def _parts(original: OriginalInstance, made: Conflict) -> Iterator[Part]:
    yield "the question", original.pair.question, made.question
    for number, (old, new) in enumerate(zip(original.context_texts, made.contexts, strict=True), 1):
        yield f"context {number}", old, new.text
    for number, (fact, now) in enumerate(zip(original.gold_texts, made.gold, strict=True), 1):
        yield f"fact {number}", fact, now


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def _touched(sentence: str, changes: Sequence[KnowledgeChange]) -> bool:
    return any(count(sentence, change.old) for change in changes)
