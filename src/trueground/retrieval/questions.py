"""Questions from a file, and the numbers of their gold passages in an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.records.problems import Problem, describe
from trueground.records.reading import plain_rows
from trueground.records.schema import to_record
from trueground.retrieval.base import SearchQuery
from trueground.retrieval.corpora.store import PassageStore
from trueground.retrieval.gold import GoldPassage, find_gold, read_gold


@dataclass(frozen=True)
class RetrievalQuestion:
    """`place` is where it stands in its file; `gold` is empty where the file names none."""

    id: str
    query: SearchQuery
    place: str
    gold: tuple[GoldPassage, ...] = ()


def make_query(
    turns: Sequence[str], own: str | None, form: str, id_: str | None = None
) -> SearchQuery:
    """The query of a question, the last of its turns; `own` is its row's `retrieval_query`.

    How the turns are joined is the retriever's to say.
    """
    if own is not None and form == "auto":
        turns = (own,)
    elif form == "last":
        turns = turns[-1:]
    return SearchQuery(*(turn for turn in map(str.strip, turns) if turn), id=id_)


def own_query(place: str, row: Mapping[str, Any]) -> str | None:
    """The `retrieval_query` of a row. InputError where it is no text, or blank."""
    own = row.get("retrieval_query")
    if own is None or (isinstance(own, str) and own.strip()):
        return own
    raise InputError(
        f"{place}, field 'retrieval_query': found {describe(own)}; expected what is searched for, "
        "as text"
    )


def read_questions(path: Path, form: str = "auto") -> list[RetrievalQuestion]:
    """Rows of question (or query), history?, retrieval_query?, id?, gold? and contexts?.

    JSON lines, a JSON array, CSV or Parquet, also packed; a .txt file has one query a line. `form`
    is one of `base.FORMS`. Gold passages are read by `read_gold`. A row without an id has its
    number (from 0). InputError names the place: no question, a field of another type.
    """
    rows = _lines(path) if path.suffix.lower() == ".txt" else plain_rows(path)
    found = [_question(number, place, row, form) for number, (place, row) in enumerate(rows)]
    if not found:
        raise InputError(f"{path} holds no question; expected one a row, in the field 'question'")
    return found


def gold_numbers(
    store: PassageStore, questions: Sequence[RetrievalQuestion]
) -> tuple[list[tuple[frozenset[int], ...]], list[str]]:
    """For each question the numbers that each of its gold passages has in the index (`find_gold`).

    Several where a text stands in several passages: any of them is that gold passage. Besides, what
    the index does not hold, in words: a question with a gold passage that is not there has none.
    """
    known = find_gold(store, (gold for question in questions for gold in question.gold))
    found, absent = [], []
    for question in questions:
        lacking = next((gold for gold in question.gold if not known[gold]), None)
        if lacking is not None:
            absent.append(f"{question.place}: {_told(lacking)}")
        here = () if lacking is not None else (known[gold] for gold in question.gold)
        found.append(tuple(dict.fromkeys(here)))
    return found, absent


def _told(gold: GoldPassage) -> str:
    named = {"id": gold.id, "id or title": gold.name, "title": gold.title, "text": gold.text}
    return ", ".join(f"{name} {value[:60]!r}" for name, value in named.items() if value)


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        # Not splitlines(): it also cuts at signs that may stand within a line, such as U+2028.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}; fix that, or name another file"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} cannot be read: {error}; save it as UTF-8 text") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield f"{path}, line {number}", {"question": line.strip()}


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
    asked = make_query([*_history(place, row), query], own_query(place, row), form, id_)
    return RetrievalQuestion(id_, asked, place, read_gold(place, row))


def _history(place: str, row: Mapping[str, Any]) -> list[str]:
    try:
        record = to_record({"response": "", "history": row.get("history")}, None, 0)
    except Problem as problem:
        raise InputError(
            f"{place}, field {problem.field!r}: found {problem.found}; expected {problem.expected}"
        ) from None
    return [turn.content for turn in record.history or ()]
