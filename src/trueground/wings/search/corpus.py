"""A corpus from the files it comes in: which files, in which format, and all their passages.

Documents are cut on sentence boundaries, never across a heading.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from trueground.errors import InputError, UsageError
from trueground.options import do_nothing
from trueground.records import DataPath, SeenIds, describe
from trueground.wings.search import formats
from trueground.wings.search.documents import Document
from trueground.wings.search.store import PassageEntry, PassageStore

_BZ2 = ".bz2"
_VERSION = 1  # of the way documents are read and cut
_SIGNATURE = re.compile(
    r"reading-\d+:words=([1-9]\d*),overlap=(\d+)(,skip_unreadable)?(,follow_links)?"
)
# "Title: Lisztomania [https://en.wikipedia.org/wiki/Lisztomania]"
_TITLED = re.compile(r"\s*Title:\s*(.*?)\s*(?:\[(\w+://\S+)\])?\s*", re.DOTALL)
_SECTION = "[SEP]"  # TopiOCQA's titles: "Page [SEP] Section"
# What pyserini and BEIR call the field, where a row has it not under our name.
_OTHER_NAMES = {"text": ("contents",), "id": ("docid", "_id")}
_ENDINGS = (
    f"{', '.join(Document.ENDINGS)} (documents) or {', '.join(DataPath.ENDINGS)} "
    f"(passages, each also with {' or '.join(DataPath.PACKINGS)}) or {_BZ2}"
)


@dataclass(frozen=True)
class CorpusReading:
    """How documents become passages; data files, whose rows are passages, are read as they are.

    A passage has about `words` words and begins with the last `overlap` sentences of the one
    before. With `skip_unreadable` documents that cannot be read are noted and left out; with
    `follow_links` links that lead out of a folder are followed, also those to folders. UsageError:
    less than 1 word, less than 0 sentences.
    """

    words: int = 100
    overlap: int = 0
    skip_unreadable: bool = False
    follow_links: bool = False

    def __post_init__(self) -> None:
        if self.words < 1:
            raise UsageError(f"passages of {self.words} words; expected 1 or more, such as 100")
        if self.overlap < 0:
            raise UsageError(f"an overlap of {self.overlap} sentences; expected 0 or more")

    @property
    def signature(self) -> str:
        """What the passages of the same documents depend on."""
        flags = ",skip_unreadable" * self.skip_unreadable + ",follow_links" * self.follow_links
        return f"reading-{_VERSION}:words={self.words},overlap={self.overlap}{flags}"

    @staticmethod
    def parse(signature: str) -> CorpusReading | None:
        """The reading with this signature; None where this version has none."""
        match = _SIGNATURE.fullmatch(signature)
        if match is None:
            return None
        reading = CorpusReading(int(match[1]), int(match[2]), bool(match[3]), bool(match[4]))
        return reading if reading.signature == signature else None


def read_corpus(path: Path, titles: Path | None = None) -> PassageStore:
    """Passages in memory, from rows of text, title?, id? and page?.

    With `titles`, the corpus of Truly-Ground as it is published: files of texts and titles by id.

    JSON lines, a JSON array, CSV or Parquet, also packed, or a folder of such files. A row without
    an id has its number in the corpus (from 0), one without a page its title. InputError names the
    file and the row: no text, a field of another type, an id that came before; or a link that
    leads out of the folder.
    """
    if titles is not None:
        return PassageStore(None, _row_entries(lambda: formats.published_rows(path, titles)))
    files = DataPath(path).files(_refuse_link)
    entries = _row_entries(lambda: chain.from_iterable(DataPath(file).rows() for file in files))
    return PassageStore(None, entries)


def read_entries(
    path: Path,
    reading: CorpusReading = CorpusReading(),
    note: Callable[[str], None] = do_nothing,
) -> Iterator[PassageEntry]:
    """The passages of a file, or of all files of a folder and below it, in name order.

    `note` is told what was left out: pages of Wikipedia without text, documents without text or,
    if `reading` says so, unreadable ones. Kept in memory are one document or row at a time, and 8
    bytes a row. InputError names file and place; MissingExtraError: PDF and HTML need packages.
    """
    left_out: list[Path] = []
    files = corpus_files(path, reading, left_out)
    if left_out:
        note(_format_links(path, left_out))
    if _kind(files[0]) == "document":
        yield from _document_entries(files, path, reading, note)
        return
    bare: dict[str, None] = {}  # where pages without text stand; rows may be read twice
    yield from _row_entries(lambda: _data_rows(files, bare))
    if bare:
        note(f"{path}: {len(bare)} pages without text were left out, first {next(iter(bare))}")


def corpus_files(
    path: Path, reading: CorpusReading = CorpusReading(), left_out: list[Path] | None = None
) -> list[Path]:
    """All files that hold the corpus, in the order in which they are read.

    Hidden files and folders, and files of other kinds, are left out of a folder; so are links that
    lead out of it, unless `reading` says otherwise. These are added to `left_out`. InputError: no
    such path, no file that can be read, both data files and documents.
    """
    if not path.is_dir():
        return DataPath(path).files()
    links = [] if left_out is None else left_out

    def follow(link: Path) -> bool:
        # Of files only those are told that would have been read.
        if not reading.follow_links and link.exists() and (link.is_dir() or _kind(link)):
            links.append(link)
        return reading.follow_links

    found = [file for file in sorted(DataPath(path).walk(follow)) if _kind(file) and file.is_file()]
    if not found:
        beside = f". {_format_links(path, links)}" if links else ""
        raise InputError(
            f"{path} holds no file of a corpus; expected names that end in {_ENDINGS}{beside}"
        )
    first = {_kind(file): file for file in reversed(found)}
    if "document" in first and len(first) > 1:
        data = first.get("data") or first["bz2"]
        raise InputError(
            f"{path} holds both documents ({first['document']}) and data files ({data}); put them "
            "in folders of their own, or name one file"
        )
    return found


def _kind(file: Path) -> str | None:
    """What a file's ending says: "document", "data", "bz2", None for others."""
    ending = file.suffix.lower()
    if Document.is_document(file):
        return "document"
    if ending == _BZ2:
        return "bz2"
    return "data" if DataPath(file).is_data else None


def _refuse_link(link: Path) -> bool:
    """Follow no link that leads out of the folder. InputError for one to data or to a folder."""
    if not (link.is_dir() or (link.is_file() and DataPath(link).is_data)):
        return False
    raise InputError(
        f"{link} is a link that leads out of the folder; put a copy of {os.path.realpath(link)} in "
        "its place, or name that itself"
    )


def _format_links(path: Path, links: list[Path]) -> str:
    return (
        f"links that lead out of {path} were left out: {len(links)}, first {min(links)}; "
        "trueground index build follows them with --follow-links"
    )


def _document_entries(
    files: Iterable[Path], path: Path, reading: CorpusReading, note: Callable[[str], None]
) -> Iterator[PassageEntry]:
    found = False
    root = path if path.is_dir() else path.parent
    for file in files:
        try:
            document = Document.read(file)
        except InputError as error:
            if not reading.skip_unreadable:
                raise
            note(f"left out: {error}")
            continue
        page = file.relative_to(root).as_posix()
        for unread in document.notes:
            note(unread)
        number = -1
        for number, (title, text) in enumerate(
            document.cut(file.stem, reading.words, reading.overlap)
        ):
            yield PassageEntry(text, f"{page}#{number}", title, page)
        found = found or number >= 0
        if number < 0:
            note(f"{file} holds no text")
    if not found:
        raise InputError(f"{root}: no document in it holds any text; name others")


def _data_rows(files: Iterable[Path], bare: dict[str, None]) -> Iterator[formats.Row]:
    """The rows of data files; those of pages of Wikipedia without text go to `bare`."""
    for file in files:
        if _kind(file) == "bz2":
            rows = formats.bz2_rows(file)
        elif formats.is_dpr(file):
            rows = formats.dpr_rows(file)
        elif formats.is_results(file):
            rows = formats.results_rows(file)
        elif formats.is_map(file):
            rows = formats.map_rows(file)
        else:
            if _kind(file) is None:
                _check_json(file)
            yield from DataPath(file).rows()
            continue
        for place, row in rows:
            if row["text"] is None:
                bare[place] = None
            else:
                yield place, row


def _check_json(file: Path) -> None:
    """InputError unless a file with an unknown ending begins as JSON does."""
    with file.open("rb") as stream:
        start = stream.read(4_096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start not in (b"[", b"{"):
        raise InputError(f"{file}: cannot tell its format; expected a name that ends in {_ENDINGS}")


def _row_entries(rows: Callable[[], Iterable[formats.Row]]) -> Iterator[PassageEntry]:
    """The entries of rows of text (or contents), title?, id? (or docid, _id) and page?.

    `rows` gives (place, row) and is called again where an id occurs twice, to find the places.
    """
    seen = SeenIds()
    for _, entry in _placed_entries(rows()):
        seen.add(entry.id)
        yield entry
    if repeated := seen.repeated():
        for place, entry in _placed_entries(rows()):
            if first := repeated.first_place(entry.id, place):
                raise InputError(
                    f"{place}, field 'id': found {entry.id!r} as in {first}; "
                    "expected ids that differ"
                )


def _placed_entries(rows: Iterable[formats.Row]) -> Iterator[tuple[str, PassageEntry]]:
    for number, (place, row) in enumerate(rows):
        text = _field(place, row, "text")
        if text is None:
            raise InputError(f"{place}: found no field 'text'; expected the passage's text")
        id_ = _field(place, row, "id", (str, int))
        title, page = read_title(_field(place, row, "title") or "")
        page = _field(place, row, "page") or page
        yield place, PassageEntry(text, str(number) if id_ is None else id_, title, page)


def _field(
    place: str, row: Mapping[str, Any], field: str, types: tuple[type, ...] = (str,)
) -> str | None:
    names = (field, *_OTHER_NAMES.get(field, ()))
    name = next((one for one in names if row.get(one) is not None), None)
    if name is None:
        return None
    value = row[name]
    if type(value) is str and value and not value.isspace():
        return value
    if not isinstance(value, types) or isinstance(value, bool):
        expected = "a text or a whole number" if int in types else "a text"
        raise InputError(f"{place}, field {name!r}: found {describe(value)}; expected {expected}")
    if field in ("text", "id") and not str(value).strip():
        raise InputError(f"{place}, field {name!r}: found blank text; expected some characters")
    return str(value)


def read_title(text: str) -> tuple[str | None, str | None]:
    """(title, page) from "Title: NAME [ADDRESS]", or from a plain title, which is its page too."""
    match = _TITLED.fullmatch(text)
    title, page = (match[1], match[2]) if match else (text.strip(), None)
    return title or None, page or title.partition(_SECTION)[0].strip() or title or None
