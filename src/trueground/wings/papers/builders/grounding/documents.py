"""Step 1: the user's documents, how popular they are, and what they link to (Truly-Ground, A.1)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from math import isfinite, nan
from pathlib import Path
from typing import Any

import regex

from trueground.errors import InputError
from trueground.records import DataPath, FileInfo, Problem, decode, describe
from trueground.wings.papers.builders.base import Rejected, SourceStep
from trueground.wings.papers.builders.grounding import LINKS, NUMBERS, GroundingBuildOptions
from trueground.wings.papers.builders.grounding.items import Context, SourceDocument
from trueground.wings.papers.builders.grounding.sets import (
    PARAGRAPHS,
    RawDocument,
    check_popularity,
    cut_passages,
    path_below,
    popularity_field,
    resolve_links,
    text_links,
    wiki_links,
)
from trueground.wings.papers.builders.rows import (
    CONTROL_CHARACTER,
    UnusableRow,
    check_rows,
    source_rows,
)
from trueground.wings.papers.builders.settings import Material
from trueground.wings.search import Document, page_key

REASONS: Mapping[str, str] = {
    "unreadable": "the file or row cannot be read",
    "binary": "what should be text is something else",
    "other_kind": "it is of a kind that holds no documents",
    "enormous": "the file is larger than 100 MiB",
    "bad_field": "a field of the row has a wrong value",
    "empty": "the document is empty, or has no word in it",
    "too_long": "the document has more words than --max-document-words",
    "duplicate_id": "another document before it has the same id",
    "duplicate_text": "another document before it has the same text",
}
_LARGEST = 100 << 20  # bytes
_BINARY = ("NUL", "invalid UTF", "bytes that are no text")
_ROW = 'one JSON object such as {"title": "…", "text": "…"}'
_OWN = ("id", "title", "text", "links", "url")
_OF_ROW = {"binary": "binary", "blank": "empty", "unreadable": "unreadable"}
_KNOWN = f"{', '.join(Document.ENDINGS)} (documents), or {', '.join(DataPath.ENDINGS)} (rows)"
_MOST_ODD = 0.02  # share of the characters
# In scripts without spaces every character counts as a word.
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}]|[^\W_]+")


class DocumentLibrary:
    """The user's documents, read once, when they are first asked for. All may raise InputError."""

    def __init__(self, material: Material, options: GroundingBuildOptions) -> None:
        self._material, self._options = material, options

    @property
    def source(self) -> SourceStep[SourceDocument]:
        """The first step of the plan: documents, and what is left out of them."""
        doc = "Read the documents, their popularity and their links"
        return SourceStep("documents", doc, SourceDocument, lambda: iter(self._read), REASONS)

    @property
    def files(self) -> list[FileInfo]:
        """All files that are read; those that cannot be are not among them."""
        meta = self._options.meta
        named = [one for path in self._material.paths for one in _found_files(path, meta)[0]]
        infos = []
        for path in dict.fromkeys([*named, meta] if meta else named):
            try:
                infos.append(FileInfo.of(str(path), path))
            except OSError:
                continue  # reading the documents names it
        return infos

    @cached_property
    def passages(self) -> dict[str, Context]:
        """The passages of all documents that are left, by the ids that the files give them."""
        documents = [one for one in self._read if isinstance(one, SourceDocument)]
        words = self._options.context_words
        found = (passage for one in documents for passage in cut_passages(one, words))
        return {f"L_DOC{number}": passage for number, passage in enumerate(found)}

    @cached_property
    def _read(self) -> list[SourceDocument | Rejected]:
        meta, paths = self._options.meta, self._material.paths
        asked = self._options.popularity_field
        found = list(_read_all(paths, meta, self._material.note))
        if meta is not None:
            fields = () if asked == LINKS else (asked,) if asked else NUMBERS
            _add_meta(meta, _raws(found), fields, self._material.note)
        checked, doubles = _without_useless(found, self._options.max_document_words)
        expected = "rows of title and text, or text, Markdown, HTML or PDF files"
        check_rows(paths, checked, (), expected, "document")
        return _linked(checked, doubles, asked)


def _raws(found: Iterable[RawDocument | Rejected]) -> list[RawDocument]:
    return [one for one in found if isinstance(one, RawDocument)]


# --- files and rows


def _read_all(
    paths: Sequence[Path], apart: Path | None, note: Callable[[str], None]
) -> Iterator[RawDocument | Rejected]:
    """The documents of all paths in turn, and what cannot be read. InputError: no such path."""
    for path in paths:
        files, rejected = _found_files(path, apart)
        prefix = f"{path.name}/" if len(paths) > 1 and path.is_dir() else ""
        root = path if path.is_dir() else path.parent
        for file in files:
            if Document.is_document(file):
                yield _read_file(file, prefix + file.relative_to(root).as_posix(), note)
            else:
                yield from _read_rows(file)
        for one in rejected:
            yield Rejected(one.reason, one.detail, id=prefix + one.id)


def _found_files(path: Path, apart: Path | None) -> tuple[list[Path], list[Rejected]]:
    """(the files of a path that are read, in name order; what stands beside them). InputError.

    In a folder with documents the data files are not read; `apart` is passed over in any folder.
    Links to files in the folder are read as those files; other links are named.
    """
    if not path.is_dir():
        return DataPath(path).files(), []
    rejected: list[Rejected] = []

    def printable(file: Path) -> str:
        return file.as_posix().encode("utf-8", "backslashreplace").decode()

    def reject(file: Path, reason: str, why: str) -> None:
        id_ = printable(file.relative_to(path))
        rejected.append(Rejected(reason, f"{printable(file)}: {why}", id=id_))

    def follow(link: Path) -> bool:
        what = "a link to a folder" if link.is_dir() else "a link out of the folder"
        reject(link, "other_kind", f"{what}; such links are not followed, name it itself")
        return False

    def is_file(file: Path) -> bool:  # also one that must not be looked at: reading it says so
        try:
            return file.is_file()
        except OSError:
            return True

    meta = None if apart is None else os.path.realpath(apart)
    files = sorted(one for one in DataPath(path).walk(follow) if os.path.realpath(one) != meta)
    documents = [one for one in files if Document.is_document(one) and is_file(one)]
    tables = [one for one in files if DataPath(one).is_data and is_file(one)]
    wanted, read = set(documents or tables), []
    for one in files:
        if printable(one) != one.as_posix():
            reject(one, "unreadable", "its name is not UTF-8")
        elif one in wanted:
            read.append(one)
        else:
            reject(one, "other_kind", f"expected a name that ends in {_KNOWN}")
    return read, rejected


def _read_file(file: Path, page: str, note: Callable[[str], None]) -> RawDocument | Rejected:
    """The document of a file, under its path `page` below its folder. MissingExtraError."""
    try:
        if file.stat().st_size > _LARGEST:
            return Rejected("enormous", f"{file}: {file.stat().st_size:,} bytes", id=page)
        document = Document.read(file)
        addresses = Document.read_links(file)
        whole = PARAGRAPHS.join(document.paragraphs)
        text, targets = text_links(whole) if addresses is None else wiki_links(whole)
        text = _tidied(text)
        for said in document.notes:
            note(said)
    except OSError as error:
        return Rejected("unreadable", f"{file}: {error.strerror or error}", id=page)
    except InputError as error:
        binary = any(word in str(error) for word in _BINARY)
        return Rejected("binary" if binary else "unreadable", str(error), id=page)
    except Rejected as rejected:
        return Rejected(rejected.reason, f"{file}: {rejected.detail}", id=page)
    title = " ".join((document.title or file.stem).split())
    linked = [*(addresses or ()), *targets]
    return RawDocument(
        place=str(file),
        id=page,
        title=_tidy_title(title),
        text=text,
        names=[page.rpartition(".")[0], file.stem, title],
        targets=[name for target in linked for name in (path_below(target, page), target)],
    )


def _read_rows(file: Path) -> Iterator[RawDocument | Rejected]:
    """The documents of a data file; rows that hold none are rejected, with their places."""
    try:
        for row in source_rows([file], _ROW):
            id_ = f"{file.name}:{row.number}"  # of a row that has neither id nor title
            if isinstance(row.value, UnusableRow):
                reason, found = _OF_ROW[row.value.kind], row.value.message
                yield Rejected(reason, found, id=row.value.id or id_)
                continue
            try:
                yield _document_of(row.value, row.location, id_)
            except Rejected as rejected:
                behind = "," if rejected.reason == "bad_field" else ":"
                detail = f"{row.location}{behind} {rejected.detail}"
                yield Rejected(rejected.reason, detail, id=id_)
    except InputError as error:
        yield Rejected("unreadable", str(error), id=file.name)


def _document_of(row: dict[str, Any], place: str, id_: str) -> RawDocument:
    """Raises Rejected: binary, bad_field."""
    title = " ".join((_name_in(row, "title") or "").split())
    id_ = (_name_in(row, "id") or "").strip() or title or id_
    text, url = _text_in(row, "text") or "", _text_in(row, "url")
    plain, targets = text_links(text)
    if row.get("links") is not None:
        targets = _targets_of(row["links"])
    return RawDocument(
        place=place,
        id=id_,
        title=_tidy_title(title or id_),
        text=_tidied(plain),
        names=[one for one in (title, url) if one],
        targets=targets,
        row={key: value for key, value in row.items() if key not in _OWN},
    )


def _wrong_field(name: str, found: Any, expected: str) -> Rejected:
    said = f"found {describe(found)}; expected {expected}"
    return Rejected("bad_field", f"field {name!r}: {said}")


def _text_in(row: dict[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is None or isinstance(value, str):
        return value
    raise _wrong_field(name, value, "a text")


def _name_in(row: dict[str, Any], name: str) -> str | None:
    """An id or a title; a cell of a table that looks like a number is one, and is written out."""
    value = row.get(name)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole else _text_in(row, name)


def _number_in(row: Mapping[str, Any], name: str) -> float | None:
    """A field's number, also of text such as "12,345"; None where it is absent. Rejected."""
    value = row.get(name)
    if value is None or value == "":
        return None
    plain = value.replace(",", "") if isinstance(value, str) else value
    try:
        found = nan if isinstance(plain, bool) else float(plain)
    except (TypeError, ValueError, OverflowError):
        found = nan
    if not isfinite(found):
        raise _wrong_field(name, value, "a number")
    return found


def _targets_of(value: Any) -> list[str]:
    """Links as a list of ids or titles: a list, a text with | between, a JSON list. Rejected."""
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return [one.strip() for one in value.split("|") if one.strip()]
    found = value
    if isinstance(value, str):
        with suppress(Problem):
            found = decode(value)
    if isinstance(found, list) and all(type(one) in (str, int) for one in found):
        return [str(one).strip() for one in found]
    raise _wrong_field("links", value, "a list of ids or titles")


def _add_meta(
    path: Path, raws: Sequence[RawDocument], fields: Sequence[str], note: Callable[[str], None]
) -> None:
    """Give each document the fields of its row in the file; links there replace those of its text.

    `fields` are those that must be numbers. InputError: a row that cannot be read, or names none.
    """
    keys = ("path", "id", "title")
    known: dict[str, RawDocument] = {}
    for raw in raws:
        for name in (raw.id, raw.title, *raw.names):
            known.setdefault(page_key(name), raw)
    strange: list[str] = []
    for place, row in DataPath(path).rows():
        try:
            names = list(filter(None, (_name_in(row, key) for key in keys)))
            targets = _targets_of(row["links"]) if "links" in row else None
            for one in fields:
                _number_in(row, one)
        except Rejected as rejected:
            raise InputError(f"{place}, {rejected.detail}") from None
        if not names:
            raise InputError(
                f"{place}: names no document; expected one of the fields {', '.join(keys)}"
            )
        found = next((known[key] for name in names if (key := page_key(name)) in known), None)
        if found is None:
            strange.append(place)
            continue
        found.row.update({k: value for k, value in row.items() if k not in (*keys, "links")})
        if targets is not None:
            found.targets = targets
    if strange:
        rows = "1 row is" if len(strange) == 1 else f"{len(strange):,} rows are"
        note(f"{path}: {rows} about no document that was read, first {strange[0]}")


def _tidied(text: str) -> str:
    """The text's paragraphs; lines that were only wrapped are joined. Rejected: it is no text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    odd = len(CONTROL_CHARACTER.findall(text))
    if odd > _MOST_ODD * len(text):
        raise Rejected("binary", f"found {odd} characters of {len(text)} that stand in no text")
    parts = Document.of_text(CONTROL_CHARACTER.sub(" ", text)).paragraphs
    return PARAGRAPHS.join(one for part in parts if (one := part.strip()))


def _tidy_title(title: str) -> str:
    """The title on one line, without what is unprintable; one that is very long is cut."""
    plain = " ".join(CONTROL_CHARACTER.sub(" ", title).split())
    return plain if len(plain) <= 200 else f"{plain[:199].rstrip()}…"


# --- words and passages


def _without_useless(
    found: Iterable[RawDocument | Rejected], most: int
) -> tuple[list[RawDocument | Rejected], dict[str, list[RawDocument]]]:
    """(all in order, those without use as what was rejected; by the id of the document to which
    they lend their names, its doubles)."""
    checked: list[RawDocument | Rejected] = []
    doubles: dict[str, list[RawDocument]] = {}
    texts: dict[bytes, str] = {}
    for one in found:
        if isinstance(one, Rejected):
            checked.append(one)
            continue
        text, why = sha256(" ".join(one.text.casefold().split()).encode()).digest(), None
        # Roughly: checks.words would be slow where a document is enormous.
        words = sum(1 for _ in _WORD.finditer(one.text))
        if not words:
            what = f"{len(one.text)} characters without a letter or digit"
            why = ("empty", f"{one.place}: found {what if one.text else 'no text'}")
        elif words > most:
            why = ("too_long", f"{one.place}: {words:,} words; {most:,} at most")
        elif one.id in doubles:
            why = ("duplicate_id", one.place)
        elif text in texts:
            doubles[texts[text]].append(one)
            why = ("duplicate_text", f"{one.place}: as {texts[text]}")
        else:
            doubles[one.id] = []
            texts[text] = one.id
        checked.append(one if why is None else Rejected(*why, id=one.id))
    return checked, doubles


# --- links
def _linked(
    found: Sequence[RawDocument | Rejected],
    doubles: Mapping[str, Sequence[RawDocument]],
    asked: str | None,
) -> list[SourceDocument | Rejected]:
    """Documents with links and numbers; those with a wrong number are rejected. InputError."""
    raws = _raws(found)
    field = popularity_field((raw.row for raw in raws), asked)
    links = resolve_links(raws, doubles)
    counts = Counter(to for some in links.values() for to in some)
    numbers: dict[str, float] = {}
    wrong: dict[str, Rejected] = {}
    for raw in raws:
        try:
            value = counts[raw.id] if field == LINKS else _number_in(raw.row, field)
        except Rejected as rejected:
            detail = f"{raw.place}, {rejected.detail}"
            wrong[raw.id] = Rejected(rejected.reason, detail, id=raw.id)
        else:
            numbers |= {} if value is None else {raw.id: float(value)}
    check_popularity(numbers)
    done: list[SourceDocument | Rejected] = []
    for one in found:
        if isinstance(one, Rejected) or one.id in wrong:
            done.append(one if isinstance(one, Rejected) else wrong[one.id])
        else:
            to = tuple(to for to in links[one.id] if to not in wrong)
            done.append(SourceDocument(one.id, one.title, one.text, numbers.get(one.id), to))
    return done
