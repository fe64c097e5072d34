"""Questions with their gold passages, and finding these passages in a corpus."""

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

# A shorter passage can be part of a gold text by chance.
_MIN_PASSAGE_WORDS = 8
_FIELDS = ("id", "title", "text")
# Passages that are sampled to estimate how rare a word is.
_SAMPLED_PASSAGES = 2_000


@dataclass(frozen=True)
class GoldPassage:
    """A gold passage: its text, or what identifies it in a corpus.

    Attributes:
        text: The text, if the data have it.
        id: The id in the corpus.
        title: The title of its page.
        name: An id or a title, as a user writes it.
        page: Whether every passage of the page `title` is this gold passage. That is the case if
            whole pages are passages, as HotpotQA's abstracts.
    """

    text: str | None = None
    id: str | None = None
    title: str | None = None
    name: str | None = None
    page: bool = False

    def __str__(self) -> str:
        return repr(self.name or self.id or self.title or (self.text or "")[:60])

    def is_passage(self, corpus: PassageStore, number: int) -> bool:
        """Return whether this is the passage with that number.

        The id is compared, else the title or page. If it has neither, the text is compared with
        `same_text`.
        """
        if self.page and self.title is not None:
            return page_key(self.title) in corpus.page_keys(number)
        if self.name is not None:
            match = corpus.number(self.name)
            if match is not None:
                return match == number
            return page_key(self.name) in corpus.page_keys(number)
        if self.id is not None and bare_id(self.id) == bare_id(str(corpus[number].id)):
            return True
        if self.text is not None:
            return same_text(self.text, corpus.texts[number])
        if self.title is None or (self.id is not None and corpus.number(self.id) is not None):
            return False
        return page_key(self.title) in corpus.page_keys(number)

    @staticmethod
    def read(location: str, row: Mapping[str, Any]) -> tuple[GoldPassage, ...]:
        """Return the gold passages of a row: its field `gold`, and `contexts` with `gold: true`.

        `gold` is a passage or a list of passages. A passage is an id, a title, the name of a page
        or document, or an object with id, title or text. In a CSV cell, the list is JSON. A
        context is identified by its text and title, because its id is that of the row's list.

        Args:
            location: The file and row, for errors.
            row: The row.

        Raises:
            InputError: A value isn't valid.
        """
        golds = []
        for field, value in _each("contexts", row.get("contexts")):
            if isinstance(value, dict) and value.get("gold") is True:
                golds.append(_gold(f"{location}, field '{field}'", value, of_corpus=False))
        for field, value in _each("gold", row.get("gold")):
            golds.append(_gold(f"{location}, field '{field}'", value, of_corpus=True))
        return tuple(golds)

    @staticmethod
    def find(
        store: PassageStore, golds: Iterable[GoldPassage]
    ) -> dict[GoldPassage, frozenset[int]]:
        """Return the numbers of the passages that match each gold passage; empty if none does.

        A name matches the passage with that id, else all passages of the page with that title. An
        id matches before a text. If a text matches several passages, those with its title are
        kept, if there are any. A title alone matches all passages of that page. If texts are
        needed, all passages are read once.
        """
        matches: dict[GoldPassage, frozenset[int]] = {}
        by_text: list[GoldPassage] = []
        for gold in dict.fromkeys(golds):
            identified = _find_by_name(store, gold)
            if identified is None:
                by_text.append(gold)
            else:
                matches[gold] = frozenset(identified)
        texts = {gold.text for gold in by_text if gold.text is not None}
        numbers_of_text = _find_texts(store, texts)
        for gold in by_text:
            numbers = numbers_of_text.get(gold.text or "", set())
            titled = set(store.numbers_of_title(gold.title)) if gold.title is not None else set()
            matches[gold] = frozenset(numbers & titled or numbers)
        return matches


@dataclass(frozen=True)
class RetrievalQuestion:
    """A question of a file, with its location there and its gold passages, if it has any."""

    id: str
    query: SearchQuery
    place: str
    gold: tuple[GoldPassage, ...] = ()


def read_questions(path: Path, form: str = "auto") -> list[RetrievalQuestion]:
    """Read rows of question (or query), history?, retrieval_query?, id?, gold? and contexts?.

    If a row has no id, its id is its number, from 0. `GoldPassage.read` reads gold passages.

    Args:
        path: JSON lines, a JSON array, CSV or Parquet, also compressed. A .txt file has one query
            per line.
        form: The part of a conversation that is the query, one of `base.FORMS`.

    Raises:
        InputError: A row has no question or a field of the wrong type. The message names it.
    """
    rows = DataPath(path).rows(text_field="question")
    questions = [_question(number, *row, form) for number, row in enumerate(rows)]
    if not questions:
        raise InputError(f"{path} has no questions; expected one per row, in the field 'question'")
    return questions


def _question(number: int, location: str, row: Mapping[str, Any], form: str) -> RetrievalQuestion:
    name = "question" if "question" in row or "query" not in row else "query"
    query = row.get(name)
    if not isinstance(query, str) or not query.strip():
        value = describe(query) if name in row else f"no such field in {describe(dict(row))}"
        raise InputError(
            f"{location}, field {name!r}: found {value}; expected the question as text"
        )
    id_ = row.get("id")
    if id_ is not None and (not isinstance(id_, str | int) or isinstance(id_, bool)):
        raise InputError(
            f"{location}, field 'id': found {describe(id_)}; expected a text or a whole number"
        )
    id_ = str(number if id_ is None else id_)
    try:
        record = to_record({"response": "", "history": row.get("history")}, None, 0)
    except Problem as problem:
        raise InputError(
            f"{location}, field {problem.field!r}: found {problem.found}; "
            f"expected {problem.expected}"
        ) from None
    turns = [*(turn.content for turn in record.history or ()), query]
    return RetrievalQuestion(
        id_,
        SearchQuery.of_turns(turns, SearchQuery.read_declared(location, row), form, id_),
        location,
        GoldPassage.read(location, row),
    )


def _each(field: str, value: Any) -> list[tuple[str, Any]]:
    """Return (field, value) of each value in a list, or of a single value."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(value)
    if isinstance(value, list):
        return [(f"{field}[{i}]", item) for i, item in enumerate(value)]
    return [] if value is None else [(field, value)]


def _gold(location: str, value: Any, *, of_corpus: bool) -> GoldPassage:
    if _is_name(value):
        return GoldPassage(name=str(value).strip())
    fields = value if isinstance(value, dict) else {}
    names = {name: str(fields[name]) for name in _FIELDS if _is_name(fields.get(name))}
    if not of_corpus and len(names) > 1:
        names.pop("id", None)
    if not names:
        raise InputError(
            f"{location}: found {describe(value)}; expected a passage's id or title, or an object "
            "with its id, title or text"
        )
    return GoldPassage(names.get("text"), names.get("id"), names.get("title"))


def _is_name(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(str(value).strip())


def same_text(gold: str, passage: str) -> bool:
    """Return whether one text contains the other; case and punctuation are ignored.

    The passage must contain the gold text, or be part of it and have at least 8 words.
    """
    return _same(_plain(gold), _plain(passage))


def gold_numbers(
    store: PassageStore, questions: Sequence[RetrievalQuestion]
) -> tuple[list[tuple[frozenset[int], ...]], list[str]]:
    """Return the numbers of the gold passages of each question in the index.

    Returns:
        For each question, the numbers that match each of its gold passages. If a gold passage is
        missing, the question has none. Second, a text about each missing gold passage.
    """
    golds: list[GoldPassage] = []
    for question in questions:
        golds += question.gold
    matches = GoldPassage.find(store, golds)
    numbers: list[tuple[frozenset[int], ...]] = []
    absent = []
    for question in questions:
        missing = next((gold for gold in question.gold if not matches[gold]), None)
        if missing is None:
            numbers.append(tuple(dict.fromkeys(matches[gold] for gold in question.gold)))
        else:
            numbers.append(())
            absent.append(f"{question.place}: {_describe_gold(missing)}")
    return numbers, absent


def _describe_gold(gold: GoldPassage) -> str:
    fields = {"id": gold.id, "id or title": gold.name, "title": gold.title, "text": gold.text}
    return ", ".join(f"{name} {value[:60]!r}" for name, value in fields.items() if value)


def _find_by_name(store: PassageStore, gold: GoldPassage) -> Sequence[int] | None:
    """Return the passages with this id, name or title; None if the text has to be compared."""
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


def _find_texts(store: PassageStore, texts: Iterable[str]) -> Mapping[str, set[int]]:
    """Return the numbers of the passages that match each text."""
    plain_texts = {text: _plain(text) for text in texts}
    matches: dict[str, set[int]] = {text: set() for text in plain_texts}
    if not plain_texts:
        return matches
    frequencies = _word_frequencies(store, plain_texts.values())
    # Few texts share their rarest word, or the eight words at the start of a passage.
    by_word: dict[str, list[str]] = {}
    by_start: dict[tuple[str, ...], list[str]] = {}
    for text, plain in plain_texts.items():
        split = plain.split()
        if split:
            rarest = min(split, key=lambda word: (frequencies[word], -len(word)))
            by_word.setdefault(rarest, []).append(text)
        for i in range(len(split) - _MIN_PASSAGE_WORDS + 1):
            start = by_start.setdefault(tuple(split[i : i + _MIN_PASSAGE_WORDS]), [])
            if start[-1:] != [text]:
                start.append(text)
    for number, passage in enumerate(store.texts):
        split = words(passage)
        candidates: list[str] = []
        for word in by_word.keys() & set(split):
            candidates += by_word[word]
        candidates += by_start.get(tuple(split[:_MIN_PASSAGE_WORDS]), ())
        if candidates:
            plain = _spaced(split)
            for text in candidates:
                if _same(plain_texts[text], plain):
                    matches[text].add(number)
    return matches


def _word_frequencies(store: PassageStore, plain_texts: Iterable[str]) -> Counter[str]:
    """Count the texts, and the sampled passages of the store, that have each word."""
    frequencies: Counter[str] = Counter()
    for plain in plain_texts:
        frequencies.update(set(plain.split()))
    for number in range(0, len(store), max(1, len(store) // _SAMPLED_PASSAGES)):
        frequencies.update(set(words(store.texts[number])))
    return frequencies


def _same(gold: str, passage: str) -> bool:
    if gold.strip() and gold in passage:
        return True
    return passage in gold and len(passage.split()) >= _MIN_PASSAGE_WORDS


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return _spaced(words(text))


def _spaced(split: Sequence[str]) -> str:
    """Return the words with a space around each."""
    return f" {' '.join(split)} "
