"""Reading the passages of a corpus from its files, in any supported format.

Documents are split into passages at sentence boundaries. A passage doesn't cross a heading.
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
from trueground.text import several
from trueground.wings.search import formats
from trueground.wings.search.documents import Document
from trueground.wings.search.store import PassageEntry, PassageStore

_BZ2 = ".bz2"
_VERSION = 1  # Changes if documents are read or split differently.
_SIGNATURE = re.compile(
    r"reading-\d+:words=([1-9]\d*),overlap=(\d+)(,skip_unreadable)?(,follow_links)?"
)
# "Title: Lisztomania [https://en.wikipedia.org/wiki/Lisztomania]"
_TITLED = re.compile(r"\s*Title:\s*(.*?)\s*(?:\[(\w+://\S+)\])?\s*", re.DOTALL)
_SECTION = "[SEP]"  # TopiOCQA's titles: "Page [SEP] Section"
# The names of these fields in files of pyserini and BEIR.
_OTHER_NAMES = {"text": ("contents",), "id": ("docid", "_id")}
_ENDINGS = (
    f"{', '.join(Document.ENDINGS)} (documents) or {', '.join(DataPath.ENDINGS)} "
    f"(passages, each also with {' or '.join(DataPath.PACKINGS)}) or {_BZ2}"
)


@dataclass(frozen=True)
class CorpusReading:
    """How documents are split into passages. The rows of data files are passages already.

    Attributes:
        words: The approximate number of words per passage.
        overlap: The number of sentences that a passage repeats from the one before.
        skip_unreadable: Leave out documents that can't be read, with a warning.
        follow_links: Follow links that lead out of a folder, to files and folders.
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
        """Everything that determines the passages of the same documents."""
        signature = f"reading-{_VERSION}:words={self.words},overlap={self.overlap}"
        if self.skip_unreadable:
            signature += ",skip_unreadable"
        if self.follow_links:
            signature += ",follow_links"
        return signature

    @staticmethod
    def parse(signature: str) -> CorpusReading | None:
        """Return the reading with this signature, None if this version doesn't know it."""
        match = _SIGNATURE.fullmatch(signature)
        if match is None:
            return None
        reading = CorpusReading(int(match[1]), int(match[2]), bool(match[3]), bool(match[4]))
        return reading if reading.signature == signature else None


def read_corpus(path: Path, titles: Path | None = None) -> PassageStore:
    """Read passages into memory, from rows of text, title?, id? and page?.

    If a row has no id, its id is its number in the corpus, from 0. If it has no page, its page is
    its title.

    Args:
        path: JSON lines, a JSON array, CSV or Parquet, also compressed, or a folder of such files.
        titles: The file of titles, if `path` has the texts of the published corpus of
            Truly-Ground. Both are objects by id.

    Raises:
        InputError: A row has no text, a field of the wrong type or a repeated id, or a link leads
            out of the folder. The message names the file and the row.
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
    """Yield the passages of a file, or of all files in a folder and below it, in name order.

    One document or row is in memory at a time, and 8 bytes per row.

    Args:
        path: The file or folder.
        reading: How documents are split.
        note: Called with warnings about what was left out: pages or documents without text, and
            unreadable documents if they are skipped.

    Raises:
        InputError: A file can't be read. The message names the file and the location.
        MissingExtraError: PDF or HTML needs an optional package.
    """
    left_out: list[Path] = []
    files = corpus_files(path, reading, left_out)
    if left_out:
        note(_format_links(path, left_out))
    if _kind(files[0]) == "document":
        yield from _document_entries(files, path, reading, note)
        return
    # The locations are the keys of a dictionary because rows may be read twice.
    empty_pages: dict[str, None] = {}
    yield from _row_entries(lambda: _data_rows(files, empty_pages))
    if empty_pages:
        first = next(iter(empty_pages))
        pages = several(len(empty_pages), "page")
        note(f"{path}: left out {pages} without text, first {first}")


def corpus_files(
    path: Path, reading: CorpusReading = CorpusReading(), left_out: list[Path] | None = None
) -> list[Path]:
    """Return the files of a corpus, in reading order.

    Hidden files and folders are skipped, and so are files of other kinds.

    Args:
        path: The file or folder.
        reading: How documents are read. It decides whether links out of the folder are followed.
        left_out: Links that aren't followed are added to this list.

    Raises:
        InputError: The path doesn't exist, has no readable file, or has both data files and
            documents.
    """
    if not path.is_dir():
        return DataPath(path).files()
    links = [] if left_out is None else left_out

    def follow(link: Path) -> bool:
        # Links to files that wouldn't have been read aren't reported.
        if not reading.follow_links and link.exists() and (link.is_dir() or _kind(link)):
            links.append(link)
        return reading.follow_links

    files = [file for file in sorted(DataPath(path).walk(follow)) if _kind(file) and file.is_file()]
    if not files:
        hint = f". {_format_links(path, links)}" if links else ""
        raise InputError(
            f"{path} has no files of a corpus; expected names that end in {_ENDINGS}{hint}"
        )
    first = {_kind(file): file for file in reversed(files)}
    if "document" in first and len(first) > 1:
        data = first.get("data") or first["bz2"]
        raise InputError(
            f"{path} has both documents ({first['document']}) and data files ({data}); put them "
            "in separate folders, or name one file"
        )
    return files


def _kind(file: Path) -> str | None:
    """Return the kind of a file by its ending: "document", "data", "bz2" or None."""
    ending = file.suffix.lower()
    if Document.is_document(file):
        return "document"
    if ending == _BZ2:
        return "bz2"
    return "data" if DataPath(file).is_data else None


def _refuse_link(link: Path) -> bool:
    """Return False; raise InputError for a link out of the folder to data or another folder."""
    if not (link.is_dir() or (link.is_file() and DataPath(link).is_data)):
        return False
    raise InputError(
        f"{link} is a link that leads out of the folder; replace it with a copy of "
        f"{os.path.realpath(link)}, or name that path instead"
    )


def _format_links(path: Path, links: list[Path]) -> str:
    return (
        f"left out {several(len(links), 'link')} out of {path}, first {min(links)}; to follow "
        "links, run trueground index build with --follow-links"
    )


def _document_entries(
    files: Iterable[Path], path: Path, reading: CorpusReading, note: Callable[[str], None]
) -> Iterator[PassageEntry]:
    has_text = False
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
        for warning in document.notes:
            note(warning)
        n_passages = 0
        for title, text in document.cut(file.stem, reading.words, reading.overlap):
            yield PassageEntry(text, f"{page}#{n_passages}", title, page)
            n_passages += 1
        if n_passages:
            has_text = True
        else:
            note(f"{file} has no text")
    if not has_text:
        raise InputError(f"{root}: none of its documents has text; name other documents")


def _data_rows(files: Iterable[Path], empty_pages: dict[str, None]) -> Iterator[formats.Row]:
    """Yield the rows of data files; locations of pages without text go to `empty_pages`."""
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
        for location, row in rows:
            if row["text"] is None:
                empty_pages[location] = None
            else:
                yield location, row


def _check_json(file: Path) -> None:
    """Raise InputError unless a file with an unknown ending starts like JSON."""
    with file.open("rb") as stream:
        start = stream.read(4_096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start not in (b"[", b"{"):
        raise InputError(f"{file}: unknown format; expected a name that ends in {_ENDINGS}")


def _row_entries(rows: Callable[[], Iterable[formats.Row]]) -> Iterator[PassageEntry]:
    """Yield the entries of rows of text (or contents), title?, id? (or docid, _id) and page?.

    `rows` returns (location, row). If an id is repeated, it is called again to find the locations.
    """
    seen = SeenIds()
    for _, entry in _located_entries(rows()):
        seen.add(entry.id)
        yield entry
    repeated = seen.repeated()
    if not repeated:
        return
    for location, entry in _located_entries(rows()):
        first = repeated.first_place(entry.id, location)
        if first:
            raise InputError(
                f"{location}, field 'id': found {entry.id!r} as in {first}; expected unique ids"
            )


def _located_entries(rows: Iterable[formats.Row]) -> Iterator[tuple[str, PassageEntry]]:
    for number, (location, row) in enumerate(rows):
        text = _field(location, row, "text")
        if text is None:
            raise InputError(f"{location}: found no field 'text'; expected the passage's text")
        id_ = _field(location, row, "id", (str, int))
        title, page = read_title(_field(location, row, "title") or "")
        page = _field(location, row, "page") or page
        yield location, PassageEntry(text, str(number) if id_ is None else id_, title, page)


def _field(
    location: str, row: Mapping[str, Any], field: str, types: tuple[type, ...] = (str,)
) -> str | None:
    names = (field, *_OTHER_NAMES.get(field, ()))
    name = next((candidate for candidate in names if row.get(candidate) is not None), None)
    if name is None:
        return None
    value = row[name]
    if type(value) is str and value and not value.isspace():
        return value
    if not isinstance(value, types) or isinstance(value, bool):
        expected = "a text or a whole number" if int in types else "a text"
        raise InputError(
            f"{location}, field {name!r}: found {describe(value)}; expected {expected}"
        )
    if field in ("text", "id") and not str(value).strip():
        raise InputError(f"{location}, field {name!r}: found blank text; expected some text")
    return str(value)


def read_title(text: str) -> tuple[str | None, str | None]:
    """Return (title, page) of "Title: NAME [ADDRESS]", or of a plain title, which is the page."""
    match = _TITLED.fullmatch(text)
    title, page = (match[1], match[2]) if match else (text.strip(), None)
    return title or None, page or title.partition(_SECTION)[0].strip() or title or None
