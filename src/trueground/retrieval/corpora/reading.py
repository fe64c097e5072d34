"""A corpus from the files it comes in: which files, in which format, and all their passages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueground.errors import InputError, UsageError
from trueground.options import Note, no_note
from trueground.records.files import KINDS, PACKINGS, data_files, files_below, inner_ending
from trueground.records.reading import plain_rows
from trueground.retrieval.corpora.corpus import PassageEntry, row_entries
from trueground.retrieval.corpora.formats.dpr import dpr_rows, found_rows, is_dpr, is_results
from trueground.retrieval.corpora.formats.wikipedia import bz2_rows, is_map, map_rows
from trueground.retrieval.cutting import cut
from trueground.retrieval.documents import ENDINGS, read_documents

_BZ2 = ".bz2"
_VERSION = 1  # of the way documents are read and cut
_SIGNATURE = re.compile(
    r"reading-\d+:words=([1-9]\d*),overlap=(\d+)(,skip_unreadable)?(,follow_links)?"
)
Row = tuple[str, dict[str, Any]]


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


def reading_of(signature: str) -> CorpusReading | None:
    """The reading with this signature; None where this version has none."""
    match = _SIGNATURE.fullmatch(signature)
    if match is None:
        return None
    skip, follow = match[3] is not None, match[4] is not None
    reading = CorpusReading(int(match[1]), int(match[2]), skip, follow)
    return reading if reading.signature == signature else None


def read_entries(
    path: Path,
    reading: CorpusReading = CorpusReading(),
    note: Note = no_note,
) -> Iterator[PassageEntry]:
    """The passages of a file, or of all files of a folder and below it, in name order.

    `note` is told what was left out: pages of Wikipedia without text, documents without text or,
    if `reading` says so, unreadable ones. Kept in memory are one document or row at a time, and 8
    bytes a row. InputError names file and place; MissingExtraError: PDF and HTML need packages.
    """
    left_out: list[Path] = []
    files = corpus_files(path, reading, left_out)
    if left_out:
        note(_told(path, left_out))
    if _kind(files[0]) == "document":
        root = path if path.is_dir() else path.parent
        yield from _document_entries(files, root, reading, note)
        return
    bare = _DataRows()
    yield from row_entries(lambda: bare.rows(files))
    if bare.count:
        note(f"{path}: {bare.count} pages without text were left out, first {bare.first}")


def corpus_files(
    path: Path, reading: CorpusReading = CorpusReading(), left_out: list[Path] | None = None
) -> list[Path]:
    """All files that hold the corpus, in the order in which they are read.

    Hidden files and folders, and files of other kinds, are left out of a folder; so are links that
    lead out of it, unless `reading` says otherwise. These are added to `left_out`. InputError: no
    such path, no file that can be read, both data files and documents.
    """
    if not path.is_dir():
        return data_files(path)
    first: dict[str, Path] = {}
    found = []
    links = [] if left_out is None else left_out

    def out(link: Path) -> bool:
        # Of files only those are told that would have been read.
        if not reading.follow_links and link.exists() and (link.is_dir() or _kind(link)):
            links.append(link)
        return reading.follow_links

    for file in sorted(files_below(path, out)):
        kind = _kind(file)
        if kind and file.is_file():
            found.append(file)
            first.setdefault(kind, file)
    if not found:
        beside = f". {_told(path, links)}" if links else ""
        raise InputError(
            f"{path} holds no file of a corpus; expected names that end in {_ENDINGS}{beside}"
        )
    if "document" in first and len(first) > 1:
        data = first.get("data") or first["bz2"]
        raise InputError(
            f"{path} holds both documents ({first['document']}) and data files ({data}); put them "
            "in folders of their own, or name one file"
        )
    return found


def _document_entries(
    files: Iterable[Path], root: Path, reading: CorpusReading, note: Note
) -> Iterator[PassageEntry]:
    found = False
    skip = (lambda _file, error: note(f"left out: {error}")) if reading.skip_unreadable else None
    for page, file, document in read_documents(files, root, skip):
        for said in document.notes:
            note(said)
        number = -1
        for number, (title, text) in enumerate(
            cut(document, file.stem, reading.words, reading.overlap)
        ):
            yield PassageEntry(text, f"{page}#{number}", title, page)
        found = found or number >= 0
        if number < 0:
            note(f"{file} holds no text")
    if not found:
        raise InputError(f"{root}: no document in it holds any text; name others")


class _DataRows:
    """The rows of data files. Pages of Wikipedia without text are left out and counted."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def rows(self, files: Iterable[Path]) -> Iterator[Row]:
        """All rows of all files in turn."""
        self.count = 0
        for file in files:
            if _kind(file) == "bz2":
                yield from self._with_text(bz2_rows(file))
            elif is_dpr(file):
                yield from dpr_rows(file)
            elif is_results(file):
                yield from found_rows(file)
            elif is_map(file):
                yield from self._with_text(map_rows(file))
            else:
                if _kind(file) is None:
                    _check_json(file)
                yield from plain_rows(file)

    def _with_text(self, rows: Iterable[Row]) -> Iterator[Row]:
        for place, row in rows:
            if row["text"] is not None:
                yield place, row
                continue
            self.first = self.first if self.count else place
            self.count += 1


def _check_json(file: Path) -> None:
    """InputError unless a file with an unknown ending begins as JSON does."""
    with file.open("rb") as stream:
        start = stream.read(4_096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start not in (b"[", b"{"):
        raise InputError(f"{file}: cannot tell its format; expected a name that ends in {_ENDINGS}")


def _kind(file: Path) -> str | None:
    """What a file's ending says: "document", "data", "bz2", None for others."""
    ending = file.suffix.lower()
    if ending in ENDINGS:
        return "document"
    if ending == _BZ2:
        return "bz2"
    return "data" if inner_ending(file) in KINDS else None


def _told(path: Path, links: list[Path]) -> str:
    return (
        f"links that lead out of {path} were left out: {len(links)}, first {min(links)}; "
        "trueground index build follows them with --follow-links"
    )


_ENDINGS = (
    f"{', '.join(ENDINGS)} (documents) or {', '.join(KINDS)} (passages, each also with "
    f"{' or '.join(PACKINGS)}) or {_BZ2}"
)
