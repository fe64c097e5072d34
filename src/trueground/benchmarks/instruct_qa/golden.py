"""Is a passage of the corpus a gold passage of a question?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from trueground.benchmarks.instruct_qa.items import Gold
from trueground.retrieval.base import Passages
from trueground.retrieval.corpus import page_key

# A shorter passage may stand within a gold text by chance.
_LEAST_WORDS = 8
_WORDS = re.compile(r"\w+")
_PREFIX = "wiki:"  # of TopiOCQA's ids, which its file of passages has without


def matches(passages: Sequence[int], corpus: Passages, golds: Sequence[Gold]) -> list[list[int]]:
    """For each of the passages, by their numbers, which of the gold passages it is."""
    return [[i for i, gold in enumerate(golds) if is_gold(corpus, n, gold)] for n in passages]


def is_gold(corpus: Passages, number: int, gold: Gold) -> bool:
    """By its id or title where the gold passage is known by these, and by its text.

    Texts are the same if their words are, or if the one of them stands whole in the other: the gold
    text in the passage, or a passage of at least 8 words in a longer gold text.
    """
    if gold.page and gold.title is not None:
        return page_key(gold.title) in corpus.page_keys(number)
    passage = corpus[number]
    known = None if passage.id is None else str(passage.id)
    if gold.name is not None:
        return gold.name == known or page_key(gold.name) in corpus.page_keys(number)
    if gold.id is not None and known is not None and _bare(gold.id) == _bare(known):
        return True
    return gold.text is not None and same_text(gold.text, passage.text)


def same_text(gold: str, passage: str) -> bool:
    """Whether one of the two stands whole in the other; case and punctuation do not count."""
    ours, theirs = _plain(gold), _plain(passage)
    if ours.strip() and ours in theirs:
        return True
    return theirs in ours and len(theirs.split()) >= _LEAST_WORDS


def _bare(id_: str) -> str:
    return id_.removeprefix(_PREFIX)


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """The words with a space around each."""
    return f" {' '.join(_WORDS.findall(text.casefold()))} "
