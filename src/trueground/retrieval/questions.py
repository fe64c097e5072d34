"""Questions from a file, and the numbers of their gold passages in an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.records.plainrows import plain_rows
from trueground.records.problems import describe
from trueground.retrieval.store import PassageStore


@dataclass(frozen=True)
class GoldPassage:
    """What is known of a gold passage: any of its id, title and text."""

    id: str | None = None
    title: str | None = None
    text: str | None = None

    def __str__(self) -> str:
        named = {"id": self.id, "title": self.title, "text": self.text}
        return ", ".join(f"{name} {value[:60]!r}" for name, value in named.items() if value)


@dataclass(frozen=True)
class Question:
    """`place` is where it stands in its file; `gold` is empty where the file names none."""

    id: str
    query: str
    place: str
    gold: tuple[GoldPassage, ...] = ()


def read_questions(path: Path) -> list[Question]:
    """Rows of question (or query), id?, and gold? or contexts?; a .txt file has one query a line.

    JSON lines, a JSON array, CSV or Parquet, also packed. `gold` lists ids, or objects of id, title
    or text; without it the contexts with `gold: true` are taken. A row without an id has its number
    (from 0). InputError names the place: no question, a field of another type.
    """
    rows = _lines(path) if path.suffix.lower() == ".txt" else plain_rows(path)
    found = [_question(number, place, row) for number, (place, row) in enumerate(rows)]
    if not found:
        raise InputError(f"{path} holds no question; expected one a row, in the field 'question'")
    return found


def gold_numbers(
    store: PassageStore, questions: Sequence[Question]
) -> tuple[list[frozenset[int]], list[str]]:
    """The numbers of each question's gold passages, and what the index does not hold, in words.

    A gold passage is found by its id, else by its text (case and white space make no difference; of
    the passages with its title where it has one), and a title alone names all passages of its page.
    A question with a gold passage that is not in the index has no numbers.
    """
    by_text = _numbers_of_texts(store, questions)
    found, absent = [], []
    for question in questions:
        numbers: set[int] = set()
        for passage in question.gold:
            here = _numbers(store, passage, by_text)
            if not here:
                absent.append(f"{question.place}: {passage}")
                numbers = set()
                break
            numbers.update(here)
        found.append(frozenset(numbers))
    return found, absent


def _numbers(
    store: PassageStore, passage: GoldPassage, by_text: Mapping[str, Sequence[int]]
) -> Sequence[int]:
    number = None if passage.id is None else store.number(passage.id)
    if number is not None:
        return [number]
    if passage.text is None:
        return [] if passage.title is None else store.numbers_of_title(passage.title)
    same = by_text.get(_key(passage.text), ())
    if passage.title is None or not same:
        return same
    titled = set(store.numbers_of_title(passage.title))
    return [number for number in same if number in titled] or same


def _numbers_of_texts(store: PassageStore, questions: Sequence[Question]) -> dict[str, list[int]]:
    """The passages with each text that is looked for; all are read, once, where any is."""
    wanted: dict[str, list[int]] = {
        _key(passage.text): []
        for question in questions
        for passage in question.gold
        if passage.text is not None and (passage.id is None or store.number(passage.id) is None)
    }
    if wanted:
        for number, text in enumerate(store.texts):
            if (key := _key(text)) in wanted:
                wanted[key].append(number)
    return wanted


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read: {reason}; save it as UTF-8 text") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield f"{path}, line {number}", {"question": line.strip()}


def _question(number: int, place: str, row: Mapping[str, Any]) -> Question:
    name = "question" if "question" in row or "query" not in row else "query"
    query = row.get(name)
    if not isinstance(query, str) or not query.strip():
        raise InputError(
            f"{place}, field {name!r}: found {describe(query)}; expected the question as text"
        )
    id_ = row.get("id")
    if id_ is not None and (not isinstance(id_, str | int) or isinstance(id_, bool)):
        raise InputError(
            f"{place}, field 'id': found {describe(id_)}; expected a text or a whole number"
        )
    return Question(str(number if id_ is None else id_), query, place, _gold(place, row))


def _gold(place: str, row: Mapping[str, Any]) -> tuple[GoldPassage, ...]:
    field = "gold" if row.get("gold") is not None else "contexts"
    values = row.get(field)
    if values is None:
        return ()
    if not isinstance(values, list):
        raise InputError(
            f"{place}, field {field!r}: found {describe(values)}; expected a list of ids, or of "
            "objects with id, title or text"
        )
    if field == "contexts":
        values = [one for one in values if isinstance(one, dict) and one.get("gold") is True]
    return tuple(
        _passage(f"{place}, field '{field}[{number}]'", one) for number, one in enumerate(values)
    )


def _passage(place: str, value: Any) -> GoldPassage:
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return GoldPassage(id=str(value))
    named: dict[str, str] = {}
    for name in ("id", "title", "text") if isinstance(value, dict) else ():
        found = value.get(name)
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found).strip():
            named[name] = str(found)
    if not named:
        raise InputError(
            f"{place}: found {describe(value)}; expected a passage's id, or an object with its id, "
            "title or text"
        )
    return GoldPassage(**named)
