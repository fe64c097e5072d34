"""What a judge is asked about citations of passages.

Of each sentence: whether all its passages together support it, then whether each alone does, then
whether all but each do; equal questions are one.
"""

from __future__ import annotations

from collections.abc import Iterator

from trueground.metrics.batch import Batch
from trueground.metrics.citations.asked import Asked
from trueground.types import Claim, JudgeRequest, Passage

# The number of a sentence, and which passages it is read against.
Question = tuple[int, tuple[int, ...]]


def there(batch: Batch, item: int) -> list[tuple[int, ...]]:
    """For each sentence those of the cited numbers that a passage has which is not blank.

    Each once, ascending.
    """
    kept = {i + 1 for i in batch.kept(item)}
    return [tuple(sorted(kept.intersection(s.passages))) for s in batch.numbered[item]]


def questions(batch: Batch, item: int) -> Iterator[Question]:
    """What is asked about one item, in order."""
    pairs = zip(batch.numbered[item], there(batch, item), strict=True)
    for i, (sentence, cited) in enumerate(pairs):
        if not sentence.text or not cited:
            continue
        yield i, cited
        if len(cited) > 1:
            yield from ((i, (n,)) for n in cited)
        if len(cited) > 2:  # of two, each is all but the other
            yield from ((i, but(cited, n)) for n in cited)


def but(cited: tuple[int, ...], number: int) -> tuple[int, ...]:
    """The passages without this one."""
    return tuple(n for n in cited if n != number)


def asked(batch: Batch, _variant: str) -> list[list[Asked]]:
    """The questions about each item; the passages of one are one text, each under its title."""
    return [[_asked(batch, item, q) for q in questions(batch, item)] for item in range(len(batch))]


def _asked(batch: Batch, item: int, question: Question) -> Asked:
    number, cited = question
    sentence = batch.numbered[item][number]
    passages = batch.contexts[item] or ()
    text = "\n".join(_shown(passages[n - 1]) for n in cited)
    claim = Claim(sentence.text, sentence.start, sentence.end, number)
    return Asked(claim, JudgeRequest(sentence.text, (text,)))


def _shown(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
