"""Questions with their gold passages, and which passages of a corpus these are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from trueground.errors import InputError
from trueground.records import DataPath, Problem, describe, to_record
from trueground.wings.search.base import SearchQuery
from trueground.wings.search.search_words import words
from trueground.wings.search.store import PassageStore, bare_id, page_key

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

    def is_passage(self, corpus: PassageStore, number: int) -> bool:
        """Return whether it is the passage of that number.

        Compare its id, or else its title or page, if it has these; else its text (`same_text`).
        """
        if self.page and self.title is not None:
            return page_key(self.title) in corpus.page_keys(number)
        if self.name is not None:
            at = corpus.number(self.name)
            return at == number or (at is None and page_key(self.name) in corpus.page_keys(number))
        if self.id is not None and bare_id(self.id) == bare_id(str(corpus[number].id)):
            return True
        if self.text is not None:
            return same_text(self.text, corpus.texts[number])
        if self.title is None or (self.id is not None and corpus.number(self.id) is not None):
            return False
        return page_key(self.title) in corpus.page_keys(number)

    @staticmethod
    def read(place: str, row: Mapping[str, Any]) -> tuple[GoldPassage, ...]:
        """Return what a row names as gold: its field `gold`, and `contexts` with `gold: true`.

        `gold` is one or a list of: an id, or else a title or the name of a page or document, as
        text or whole number; an object with id, title or text. In a cell of CSV, the list is JSON.
        A context is known by its text and title, because its id is that of the row's own list.

        Raises:
            InputError: A value has another form.
        """
        found = []
        for field, value in _each("contexts", row.get("contexts")):
            if isinstance(value, dict) and value.get("gold") is True:
                found.append(_gold(f"{place}, field '{field}'", value, of_corpus=False))
        for field, value in _each("gold", row.get("gold")):
            found.append(_gold(f"{place}, field '{field}'", value, of_corpus=True))
        return tuple(found)

    @staticmethod
    def find(
        store: PassageStore, golds: Iterable[GoldPassage]
    ) -> dict[GoldPassage, frozenset[int]]:
        """Return the passages that each gold passage is; none if the store doesn't hold it.

        By its name, the passage with that id, else all of the page of that title. By its id, else
        by its text as `is_passage` compares it, and of several such passages those of its title if
        there are any. By its title alone, all of that page. If texts count, all passages are read
        once.
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


@dataclass(frozen=True)
class RetrievalQuestion:
    """`place` is where it stands in its file; `gold` is empty where the file names none."""

    id: str
    query: SearchQuery
    place: str
    gold: tuple[GoldPassage, ...] = ()


def read_questions(path: Path, form: str = "auto") -> list[RetrievalQuestion]:
    """Rows of question (or query), history?, retrieval_query?, id?, gold? and contexts?.

    JSON lines, a JSON array, CSV or Parquet; a .txt file has one query a line; also packed. `form`
    is one of `base.FORMS`. Gold passages are read by `GoldPassage.read`. A row without an id has
    its number (from 0). InputError names the place: no question, a field of another type.
    """
    rows = DataPath(path).rows(text_field="question")
    found = [_question(number, place, row, form) for number, (place, row) in enumerate(rows)]
    if not found:
        raise InputError(f"{path} holds no question; expected one a row, in the field 'question'")
    return found


def _question(number: int, place: str, row: Mapping[str, Any], form: str) -> RetrievalQuestion:
    name = "question" if "question" in row or "query" not in row else "query"
    query = row.get(name)
    if not isinstance(query, str) or not query.strip():
        found = describe(query) if name in row else f"no such field in {describe(dict(row))}"
        raise InputError(f"{place}, field {name!r}: found {found}; expected the question as text")
    id_ = row.get("id")
    if id_ is not None and (not isinstance(id_, str | int) or isinstance(id_, bool)):
        raise InputError(
            f"{place}, field 'id': found {describe(id_)}; expected a text or a whole number"
        )
    id_ = str(number if id_ is None else id_)
    try:
        record = to_record({"response": "", "history": row.get("history")}, None, 0)
    except Problem as problem:
        raise InputError(
            f"{place}, field {problem.field!r}: found {problem.found}; expected {problem.expected}"
        ) from None
    turns = [*(turn.content for turn in record.history or ()), query]
    return RetrievalQuestion(
        id_,
        SearchQuery.of_turns(turns, SearchQuery.read_declared(place, row), form, id_),
        place,
        GoldPassage.read(place, row),
    )


def _each(field: str, value: Any) -> list[tuple[str, Any]]:
    """(field, value) of each that is given, be it a list or one."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(value)
    if isinstance(value, list):
        return [(f"{field}[{i}]", one) for i, one in enumerate(value)]
    return [] if value is None else [(field, value)]


def _gold(place: str, value: Any, *, of_corpus: bool) -> GoldPassage:
    def is_name(one: Any) -> bool:
        return isinstance(one, str | int) and not isinstance(one, bool) and bool(str(one).strip())

    if is_name(value):
        return GoldPassage(name=str(value).strip())
    fields = value if isinstance(value, dict) else {}
    named = {name: str(fields[name]) for name in _FIELDS if is_name(fields.get(name))}
    if not of_corpus and len(named) > 1:
        named.pop("id", None)
    if not named:
        raise InputError(
            f"{place}: found {describe(value)}; expected a passage's id or title, or an object "
            "with its id, title or text"
        )
    return GoldPassage(named.get("text"), named.get("id"), named.get("title"))


def same_text(gold: str, passage: str) -> bool:
    """Whether one of the two stands whole in the other; case and punctuation do not count.

    That is the gold text in the passage, or a passage of at least 8 words in a longer gold text.
    """
    return _same(_plain(gold), _plain(passage))


def gold_numbers(
    store: PassageStore, questions: Sequence[RetrievalQuestion]
) -> tuple[list[tuple[frozenset[int], ...]], list[str]]:
    """For each question the numbers that each of its gold passages has in the index.

    Several where a text stands in several passages: any of them is that gold passage. Besides, what
    the index does not hold, in words: a question with a gold passage that is not there has none.
    """
    known = GoldPassage.find(store, (gold for question in questions for gold in question.gold))
    found: list[tuple[frozenset[int], ...]] = []
    absent = []
    for question in questions:
        lacking = next((gold for gold in question.gold if not known[gold]), None)
        if lacking is None:
            found.append(tuple(dict.fromkeys(known[gold] for gold in question.gold)))
            continue
        named = {"id": lacking.id, "id or title": lacking.name, "title": lacking.title}
        named["text"] = lacking.text
        shown = ", ".join(f"{name} {value[:60]!r}" for name, value in named.items() if value)
        absent.append(f"{question.place}: {shown}")
        found.append(())
    return found, absent


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
    # In how many of the texts, and of some passages from all over the store, each word stands.
    some = range(0, len(store), max(1, len(store) // _SAMPLE))
    splits = [*map(str.split, wanted.values()), *(words(store.texts[number]) for number in some)]
    common = Counter(word for split in splits for word in set(split))
    # Few texts share their rarest word, or the eight words with which a passage begins.
    by_word: dict[str, list[str]] = {}
    by_start: dict[tuple[str, ...], list[str]] = {}
    for text, plain in wanted.items():
        split = plain.split()
        if split:
            rarest = min(split, key=lambda word: (common[word], -len(word)))
            by_word.setdefault(rarest, []).append(text)
        for i in range(len(split) - _LEAST_WORDS + 1):
            start = by_start.setdefault(tuple(split[i : i + _LEAST_WORDS]), [])
            if start[-1:] != [text]:
                start.append(text)
    for number, passage in enumerate(store.texts):
        split = words(passage)
        near = [text for word in by_word.keys() & set(split) for text in by_word[word]]
        near += by_start.get(tuple(split[:_LEAST_WORDS]), ())
        if near:
            plain = _spaced(split)
            for text in near:
                if _same(wanted[text], plain):
                    found[text].add(number)
    return found


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
