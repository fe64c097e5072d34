"""Corpora of passages: where they are read from, and which page each one belongs to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from trueground.errors import InputError
from trueground.records.plainrows import plain_rows
from trueground.records.problems import describe
from trueground.types import Passage

# "Title: Lisztomania [https://en.wikipedia.org/wiki/Lisztomania]"
_TITLED = re.compile(r"\s*Title:\s*(.*?)\s*(?:\[(\w+://\S+)\])?\s*", re.DOTALL)


class Entry(NamedTuple):
    """One passage of a corpus, before it has a number. `page` names what it is a part of."""

    text: str
    id: str
    title: str | None = None
    page: str | None = None


class Corpus:
    """Passages in a fixed order; `corpus[i]` is passage i, with its page as its source.

    `texts`, `ids`, `titles` and `pages` are parallel lists. Titles and pages, which many passages
    share, are kept once.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.titles: list[str | None] = []
        self.pages: list[str | None] = []
        once: dict[str | None, str | None] = {}
        for text, id_, title, page in entries:
            self.texts.append(text)
            self.ids.append(id_)
            self.titles.append(once.setdefault(title, title))
            self.pages.append(once.setdefault(page, page))

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> Passage:
        return Passage(
            self.texts[index],
            id=self.ids[index],
            title=self.titles[index],
            source=self.pages[index],
        )

    def page_keys(self, index: int) -> frozenset[str]:
        """By which names the passage's page is known: its page's and its title's `page_key`."""
        names = (self.pages[index], self.titles[index])
        return frozenset(page_key(name) for name in names if name)


def page_key(name: str) -> str:
    """A page's name or address as it is compared: case, `_` and white space make no difference."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().replace("_", " ").split())


def read_title(text: str) -> tuple[str | None, str | None]:
    """(title, page) from "Title: NAME [ADDRESS]", or from a plain title, which is its page too."""
    match = _TITLED.fullmatch(text)
    title, page = (match[1], match[2]) if match else (text.strip(), None)
    return title or None, page or title or None


def read_corpus(path: Path) -> Corpus:
    """Passages from rows of text, title?, id? and page?.

    JSON lines, a JSON array, CSV or Parquet, also packed, or a folder of such files. A row without
    an id has its number in the corpus (from 0), one without a page its title. InputError names the
    file and the row: no text, a field of another type, an id that came before.
    """
    return Corpus(_entries(plain_rows(path)))


def read_published(texts: Path, titles: Path) -> Corpus:
    """The corpus of Truly-Ground as it is published: a JSON map id → text, and one id → title.

    InputError names the file and the id: no text, no title, a title without a text.
    """
    text_of, title_of = _read_map(texts), _read_map(titles)
    for ours, other, file in ((text_of, title_of, titles), (title_of, text_of, texts)):
        for id_ in ours:
            if id_ not in other:
                raise InputError(
                    f"{file} has no entry {id_!r}; {texts} and {titles} must have the same ids"
                )
    return Corpus(Entry(text, id_, *read_title(title_of[id_])) for id_, text in text_of.items())


def _entries(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Entry]:
    first: dict[str, str] = {}
    for number, (place, row) in enumerate(rows):
        text = _field(place, row, "text")
        if text is None:
            raise InputError(f"{place}: found no field 'text'; expected the passage's text")
        id_ = _field(place, row, "id", (str, int))
        id_ = str(number) if id_ is None else id_
        if first.setdefault(id_, place) is not place:
            raise InputError(
                f"{place}, field 'id': found {id_!r} as in {first[id_]}; expected ids that differ"
            )
        title, page = read_title(_field(place, row, "title") or "")
        yield Entry(text, id_, title, _field(place, row, "page") or page)


def _field(
    place: str, row: Mapping[str, Any], name: str, kinds: tuple[type, ...] = (str,)
) -> str | None:
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, kinds) or isinstance(value, bool):
        expected = "a text or a whole number" if int in kinds else "a text"
        raise InputError(f"{place}, field {name!r}: found {describe(value)}; expected {expected}")
    if name in ("text", "id") and not str(value).strip():
        raise InputError(f"{place}, field {name!r}: found blank text; expected some characters")
    return str(value)


def _read_map(path: Path) -> dict[str, str]:
    try:
        value = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path} is no JSON file: {error}; fetch it again") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: found {describe(value)}; expected a JSON object from id to text")
    for id_, text in value.items():
        if not isinstance(text, str) or not text.strip():
            found = "blank text" if isinstance(text, str) else describe(text)
            raise InputError(f"{path}, entry {id_!r}: found {found}; expected a text")
    return value
