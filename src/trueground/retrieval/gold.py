"""Gold passages: by what they are known, and which passages of a corpus they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from trueground.errors import InputError
from trueground.records.problems import describe
from trueground.retrieval.base import Passages
from trueground.retrieval.bm25.memory import words
from trueground.retrieval.corpora.corpus import bare_id, page_key
from trueground.retrieval.corpora.store import PassageStore

# A shorter passage may stand within a gold text by chance.
_LEAST_WORDS = 8
_FIELDS = ("id", "title", "text")
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


def read_gold(place: str, row: Mapping[str, Any]) -> tuple[GoldPassage, ...]:
    """What a user's row names as gold: its field `gold`, and the `contexts` with `gold: true`.

    `gold` is one or a list of: an id, or else a title or the name of a page or document, as text or
    whole number; an object with id, title or text. In a cell of CSV the list is JSON. A context is
    known by its text and title: its id is that of the row's own list. InputError names the place.
    """
    flagged = (
        _read(f"{place}, field '{field}'", one, of_corpus=False)
        for field, one in _each("contexts", row.get("contexts"))
        if isinstance(one, dict) and one.get("gold") is True
    )
    named = (
        _read(f"{place}, field '{field}'", one) for field, one in _each("gold", row.get("gold"))
    )
    return (*flagged, *named)


def _each(field: str, value: Any) -> list[tuple[str, Any]]:
    """(field, value) of each that is given, be it a list or one."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(value)
    if isinstance(value, list):
        return [(f"{field}[{i}]", one) for i, one in enumerate(value)]
    return [] if value is None else [(field, value)]


def _read(place: str, value: Any, *, of_corpus: bool = True) -> GoldPassage:
    if _named(value):
        return GoldPassage(name=str(value).strip())
    given = value if isinstance(value, dict) else {}
    named = {name: str(given[name]) for name in _FIELDS if _named(given.get(name))}
    if not of_corpus and len(named) > 1:
        named.pop("id", None)
    if not named:
        raise InputError(
            f"{place}: found {describe(value)}; expected a passage's id or title, or an object "
            "with its id, title or text"
        )
    return GoldPassage(named.get("text"), named.get("id"), named.get("title"))


def _named(value: Any) -> bool:
    """Whether it is a text that is not blank, or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(str(value).strip())


def matches(
    passages: Sequence[int], corpus: Passages, golds: Sequence[GoldPassage]
) -> list[list[int]]:
    """For each of the passages, by their numbers, which of the gold passages it is."""
    return [[i for i, gold in enumerate(golds) if is_gold(corpus, n, gold)] for n in passages]


def is_gold(corpus: Passages, number: int, gold: GoldPassage) -> bool:
    """By its id, or else its title or page, where it is known by these; by text (`same_text`)."""
    if gold.page and gold.title is not None:
        return page_key(gold.title) in corpus.page_keys(number)
    passage = corpus[number]
    known = None if passage.id is None else str(passage.id)
    if gold.name is not None:
        at = corpus.number(gold.name) if isinstance(corpus, PassageStore) else None
        if at is not None:
            return at == number
        return gold.name == known or page_key(gold.name) in corpus.page_keys(number)
    if gold.id is not None and known is not None and bare_id(gold.id) == bare_id(known):
        return True
    if gold.text is not None:
        return same_text(gold.text, passage.text)
    if gold.title is None:
        return False
    elsewhere = (
        gold.id is not None
        and isinstance(corpus, PassageStore)
        and corpus.number(gold.id) is not None
    )
    return not elsewhere and page_key(gold.title) in corpus.page_keys(number)


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
