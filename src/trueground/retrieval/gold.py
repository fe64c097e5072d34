"""Gold passages: by what they are known, and which passages of a corpus they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from trueground.retrieval.base import Passages
from trueground.retrieval.bm25 import words
from trueground.retrieval.corpus import bare_id, page_key
from trueground.retrieval.store import PassageStore

# A shorter passage may stand within a gold text by chance.
_LEAST_WORDS = 8
_SAMPLE = 2_000  # passages by which rare words are told


@dataclass(frozen=True)
class GoldPassage:
    """A gold passage: its text where the data have it, and by what it is known in a corpus.

    `name` is an id or a title, as a user writes it. `page`: every passage of the page `title` is
    this gold passage, which is so where passages are whole (HotpotQA's abstracts).
    """

    text: str | None = None
    id: str | None = None
    title: str | None = None
    name: str | None = None
    page: bool = False

    def __str__(self) -> str:
        return repr(self.name or self.id or self.title or (self.text or "")[:60])


def matches(
    passages: Sequence[int], corpus: Passages, golds: Sequence[GoldPassage]
) -> list[list[int]]:
    """For each of the passages, by their numbers, which of the gold passages it is."""
    return [[i for i, gold in enumerate(golds) if is_gold(corpus, n, gold)] for n in passages]


def is_gold(corpus: Passages, number: int, gold: GoldPassage) -> bool:
    """By id or title where the gold passage is known by these, and by text (`same_text`)."""
    if gold.page and gold.title is not None:
        return page_key(gold.title) in corpus.page_keys(number)
    passage = corpus[number]
    known = None if passage.id is None else str(passage.id)
    if gold.name is not None:
        return gold.name == known or page_key(gold.name) in corpus.page_keys(number)
    if gold.id is not None and known is not None and bare_id(gold.id) == bare_id(known):
        return True
    return gold.text is not None and same_text(gold.text, passage.text)


def same_text(gold: str, passage: str) -> bool:
    """Whether one of the two stands whole in the other; case and punctuation do not count.

    That is the gold text in the passage, or a passage of at least 8 words in a longer gold text.
    """
    return _same(_plain(gold), _plain(passage))


def find_gold(
    store: PassageStore, golds: Iterable[GoldPassage]
) -> dict[GoldPassage, frozenset[int]]:
    """The passages that each gold passage is; none for one that the store does not hold.

    Known by its name: the passage with that id, else all of the page so called. By its id, else by
    its text as `is_gold` compares it, and of several such passages those of its title where there
    are any; by its title alone all of that page. All passages are read, once, where texts count.
    """
    found: dict[GoldPassage, frozenset[int]] = {}
    by_text: list[GoldPassage] = []
    for gold in dict.fromkeys(golds):
        known = _known(store, gold)
        if known is None:
            by_text.append(gold)
        else:
            found[gold] = frozenset(known)
    places = _numbers_of_texts(store, {gold.text for gold in by_text if gold.text is not None})
    for gold in by_text:
        numbers = places.get(gold.text or "", set())
        titled = set(store.numbers_of_title(gold.title)) if gold.title is not None else set()
        found[gold] = frozenset(numbers & titled or numbers)
    return found


def _known(store: PassageStore, gold: GoldPassage) -> Sequence[int] | None:
    """The passages of one that is known by id, name or title; None where its text counts."""
    if gold.page and gold.title is not None:
        return store.numbers_of_title(gold.title)
    for id_ in (gold.name, gold.id):
        number = None if id_ is None else store.number(id_)
        if number is not None:
            return [number]
    if gold.name is not None:
        return store.numbers_of_title(gold.name)
    if gold.text is not None:
        return None
    return [] if gold.title is None else store.numbers_of_title(gold.title)


def _numbers_of_texts(store: PassageStore, texts: Iterable[str]) -> Mapping[str, set[int]]:
    """For each text the passages that have the same."""
    wanted = {text: _plain(text) for text in texts}
    found: dict[str, set[int]] = {text: set() for text in wanted}
    if not wanted:
        return found
    # Few texts share their rarest word, or the eight words with which a passage begins.
    common = _common(store, wanted.values())
    by_word: dict[str, list[str]] = {}
    by_start: dict[tuple[str, ...], list[str]] = {}
    for text, plain in wanted.items():
        split = plain.split()
        if split:
            rarest = min(split, key=lambda word: (common[word], -len(word)))
            by_word.setdefault(rarest, []).append(text)
        for start in {_start(split, i) for i in range(len(split) - _LEAST_WORDS + 1)}:
            by_start.setdefault(start, []).append(text)
    for number, passage in enumerate(store.texts):
        split = words(passage)
        near = [text for word in by_word.keys() & set(split) for text in by_word[word]]
        near += by_start.get(_start(split, 0), ())
        if near:
            plain = _spaced(split)
            for text in near:
                if _same(wanted[text], plain):
                    found[text].add(number)
    return found


def _common(store: PassageStore, plain: Iterable[str]) -> Counter[str]:
    """In how many of the texts, and of some passages from all over the store, each word stands."""
    some = range(0, len(store), max(1, len(store) // _SAMPLE))
    splits = [*(text.split() for text in plain), *(words(store.texts[number]) for number in some)]
    return Counter(word for split in splits for word in set(split))


def _start(split: Sequence[str], at: int) -> tuple[str, ...]:
    return tuple(split[at : at + _LEAST_WORDS])


def _same(gold: str, passage: str) -> bool:
    if gold.strip() and gold in passage:
        return True
    return passage in gold and len(passage.split()) >= _LEAST_WORDS


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return _spaced(words(text))


def _spaced(split: Sequence[str]) -> str:
    """The words with a space around each."""
    return f" {' '.join(split)} "
