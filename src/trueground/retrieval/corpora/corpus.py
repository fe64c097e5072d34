"""Corpora of passages: where they are read from, and which page each one belongs to."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, overload

import msgspec
import orjson

from trueground.errors import InputError
from trueground.records.checks import SeenIds
from trueground.records.files import data_files, refuse_link
from trueground.records.problems import describe
from trueground.records.reading import plain_rows
from trueground.types import Passage

# "Title: Lisztomania [https://en.wikipedia.org/wiki/Lisztomania]"
_TITLED = re.compile(r"\s*Title:\s*(.*?)\s*(?:\[(\w+://\S+)\])?\s*", re.DOTALL)
_ID_PREFIX = "wiki:"  # DPR's and TopiOCQA's gold ids have it, the ids in their corpora do not
_SECTION = "[SEP]"  # TopiOCQA's titles: "Page [SEP] Section"
# What pyserini and BEIR call the field, where a row has it not under our name.
_OTHER_NAMES = {"text": ("contents",), "id": ("docid", "_id")}
_NEEDED = ("text", "id")

Rows = Iterable[tuple[str, Mapping[str, Any]]]


class PassageEntry(NamedTuple):
    """One passage of a corpus, before it has a number. `page` names what it is a part of."""

    text: str
    id: str
    title: str | None = None
    page: str | None = None


class StoredPassage(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An entry as it is kept, one JSON object a line."""

    id: str
    title: str | None = None
    page: str | None = None
    text: str


def entry_line(entry: PassageEntry) -> bytes:
    """The entry's JSON line, of which a corpus' SHA-256 is made. InputError: a lone surrogate."""
    try:
        return _encode(
            StoredPassage(id=entry.id, title=entry.title, page=entry.page, text=entry.text)
        ) + (b"\n")
    except UnicodeEncodeError as error:
        raise InputError(
            f"the passage with the id {entry.id!r} holds a lone surrogate "
            f"(\\u{ord(error.object[error.start]):04x}); expected whole characters, saved as UTF-8"
        ) from None


_encode = msgspec.json.Encoder().encode


def searched_text(title: str | None, text: str) -> str:
    """What retrievers compare: title and text with one space between, or the text alone."""
    return f"{title} {text}" if title else text


def names_of(title: str | None, page: str | None) -> frozenset[str]:
    """By which names a passage's page is known: its page's and its title's `page_key`."""
    return frozenset(page_key(name) for name in (page, title) if name)


class Corpus:
    """Passages in a fixed order; `corpus[i]` is passage i, with its page as its source.

    `texts`, `ids`, `titles` and `pages` are parallel lists. Titles and pages, which many passages
    share, are kept once.
    """

    def __init__(self, entries: Iterable[PassageEntry]) -> None:
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
        return names_of(self.titles[index], self.pages[index])

    @property
    def searched(self) -> Sequence[str]:
        """Title and text of each passage; made at each access."""
        return _Searched(self)

    @cached_property
    def sha256(self) -> str:
        """That of all passages, in order: the same as a PassageStore's of the same entries."""
        digest = hashlib.sha256()
        for entry in zip(self.texts, self.ids, self.titles, self.pages, strict=True):
            digest.update(entry_line(PassageEntry(*entry)))
        return digest.hexdigest()


class _Searched(Sequence[str]):
    """`searched_text` of a corpus' passages."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __len__(self) -> int:
        return len(self._corpus)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        corpus = self._corpus
        if isinstance(index, slice):
            return list(map(searched_text, corpus.titles[index], corpus.texts[index]))
        return searched_text(corpus.titles[index], corpus.texts[index])


def page_key(name: str) -> str:
    """A page's name or address as it is compared: case, `_` and white space make no difference."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().replace("_", " ").split())


def bare_id(id_: str) -> str:
    """A gold passage's id as corpora write it: "7" for "wiki:7"."""
    return id_.removeprefix(_ID_PREFIX)


def read_title(text: str) -> tuple[str | None, str | None]:
    """(title, page) from "Title: NAME [ADDRESS]", or from a plain title, which is its page too."""
    match = _TITLED.fullmatch(text)
    title, page = (match[1], match[2]) if match else (text.strip(), None)
    return title or None, page or title.partition(_SECTION)[0].strip() or title or None


def read_corpus(path: Path) -> Corpus:
    """Passages from rows of text, title?, id? and page?.

    JSON lines, a JSON array, CSV or Parquet, also packed, or a folder of such files. A row without
    an id has its number in the corpus (from 0), one without a page its title. InputError names the
    file and the row: no text, a field of another type, an id that came before; or a link that
    leads out of the folder.
    """
    files = data_files(path, refuse_link)
    return Corpus(row_entries(lambda: chain.from_iterable(map(plain_rows, files))))


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
    return Corpus(
        PassageEntry(text, id_, *read_title(title_of[id_])) for id_, text in text_of.items()
    )


def row_entries(rows: Callable[[], Rows]) -> Iterator[PassageEntry]:
    """The entries of rows of text (or contents), title?, id? (or docid, _id) and page?.

    `rows` gives (place, row) and is called again where an id occurs twice, to find the places.
    Kept in memory are 8 bytes a row. InputError as `read_corpus`.
    """
    seen = SeenIds()
    for _place, entry in _placed(rows()):
        seen.add(entry.id)
        yield entry
    if repeated := seen.repeated():
        for place, entry in _placed(rows()):
            if first := repeated.first_place(entry.id, place):
                raise InputError(
                    f"{place}, field 'id': found {entry.id!r} as in {first}; "
                    "expected ids that differ"
                )


def _placed(rows: Rows) -> Iterator[tuple[str, PassageEntry]]:
    for number, (place, row) in enumerate(rows):
        text = _field(place, row, "text")
        if text is None:
            raise InputError(f"{place}: found no field 'text'; expected the passage's text")
        id_ = _field(place, row, "id", (str, int))
        id_ = str(number) if id_ is None else id_
        title, page = read_title(_field(place, row, "title") or "")
        yield place, PassageEntry(text, id_, title, _field(place, row, "page") or page)


def _field(
    place: str, row: Mapping[str, Any], kind: str, kinds: tuple[type, ...] = (str,)
) -> str | None:
    name, value = kind, row.get(kind)
    if value is None:
        for name in _OTHER_NAMES.get(kind, ()):
            if (value := row.get(name)) is not None:
                break
        else:
            return None
    if type(value) is str and value and not value.isspace():
        return value
    if not isinstance(value, kinds) or isinstance(value, bool):
        expected = "a text or a whole number" if int in kinds else "a text"
        raise InputError(f"{place}, field {name!r}: found {describe(value)}; expected {expected}")
    if kind in _NEEDED and not str(value).strip():
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
