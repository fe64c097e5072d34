"""Passages in the layouts of their publishers, as rows of id, title and text.

DPR, TopiOCQA     tab-separated: id, text, title
DPR's retriever   rows with `ctxs`, the passages that it found
HotpotQA          wiki_NN.bz2, JSON lines {id, url, title, text}, the text a list of sentences
MDR               wiki_id2doc.json, one object id → {title, text}
Truly-Ground      one object id → text, and one id → title

The Wikipedias hold pages without any text, which no retriever can find: their text is None here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from trueground.errors import InputError
from trueground.records import DataPath, Problem, clean, decode, describe

Row = tuple[str, dict[str, Any]]
_DPR = ["id", "text", "title"]
_PAGE = "one JSON object of title and text"


def is_dpr(path: Path) -> bool:
    """Does a .tsv file, maybe packed, begin with the header id, text, title? InputError."""
    if DataPath(path).ending != ".tsv":
        return False
    DataPath(path).require_readable()
    with DataPath(path).open() as stream:
        header = stream.readline(1_000).decode("utf-8", "replace")
    return header.rstrip("\r\n").replace('"', "").split("\t") == _DPR


def dpr_rows(path: Path) -> Iterator[Row]:
    """(place, row) of psgs_w100.tsv, full_wiki_segments.tsv and files of that shape.

    Quoted cells are read as the publishers' own code does (Python's csv with its defaults): what
    stands after a closing quotation mark still belongs to the cell. InputError names the row.
    """
    with DataPath(path).open() as stream, closing(stream.cells("\t")) as rows:
        for number, cells in enumerate(rows):
            if number and cells:
                place = f"{path}, row {number}"
                yield place, _dpr_row(cells, place)


def _dpr_row(cells: list[str], place: str) -> dict[str, Any]:
    if len(cells) != len(_DPR):
        raise InputError(
            f"{place}: found {len(cells)} cells; expected 3: id, text and title, with tabs between "
            "(is the file cut off, or a quotation mark not closed?)"
        )
    for column, cell in zip(_DPR, cells, strict=True):
        if not cell.isascii() or "\0" in cell:
            try:
                clean(cell, column)
            except Problem as problem:
                raise InputError(
                    f"{place}, field {column!r}: found {problem.found} or broken UTF-8; expected "
                    "UTF-8 text"
                ) from None
    return dict(zip(_DPR, cells, strict=True))


def is_results(path: Path) -> bool:
    """Is it what DPR's retriever writes: rows with `ctxs`, the passages that it found?"""
    if DataPath(path).ending not in (".json", ".jsonl"):
        return False
    try:
        with closing(DataPath(path).rows()) as rows:
            _, row = next(rows, ("", {}))
    except InputError:
        return False
    ctxs = row.get("ctxs")
    return isinstance(ctxs, list) and all(isinstance(one, dict) for one in ctxs)


def results_rows(path: Path) -> Iterator[Row]:
    """(place, row) of each passage that was found for any question, once.

    Kept in memory are the ids. InputError: no text, or another one under the same id.
    """
    seen: dict[str, int] = {}
    for place, row in DataPath(path).rows():
        ctxs = row.get("ctxs")
        if not isinstance(ctxs, list):
            raise InputError(f"{place}, field 'ctxs': found {describe(ctxs)}; expected a list")
        for number, one in enumerate(ctxs):
            here = f"{place}, field 'ctxs[{number}]'"
            if not isinstance(one, dict) or not one.get("text"):
                raise InputError(
                    f"{here}: found {describe(one)}; expected a passage with its text. Where the "
                    "results have ids alone, name the passages themselves"
                )
            id_, text = str(one.get("id", one["text"])), hash(one["text"])
            if seen.get(id_, text) != text:
                raise InputError(f"{here}: found another text than before with the id {id_!r}")
            if id_ not in seen:
                seen[id_] = text
                yield here, {"id": id_, "title": one.get("title"), "text": one["text"]}


def bz2_rows(path: Path) -> Iterator[Row]:
    """(place, row) of a bz2 file of JSON lines; sentences joined. InputError.

    Of a text that is a list of paragraphs, whose first is the title, the first other paragraph
    that holds something is taken: the introduction.
    """
    name = str(path)
    DataPath(path, name).require_readable()
    with DataPath(path).open(".bz2") as stream:
        for number, line in stream.values(in_array=False):
            place = f"{name}, line {number}"
            row = _decode_line(place, line)
            if "text" not in row:
                raise InputError(
                    f"{place}: found {describe(row)}; expected id, title and text as in "
                    "HotpotQA's Wikipedia (unpack other files first)"
                )
            text = _page_text(place, row["text"], row.get("title"))
            yield place, {**{k: row[k] for k in ("id", "title") if k in row}, "text": text}


def _decode_line(place: str, line: bytes | Problem) -> dict[str, Any]:
    try:
        if isinstance(line, Problem):
            raise line
        row = decode(line)
    except Problem as problem:
        raise InputError(f"{place}: found {problem.found}; expected {_PAGE}") from None
    if not isinstance(row, dict):
        raise InputError(f"{place}: found {describe(row)}; expected {_PAGE}")
    return row


def _page_text(place: str, value: Any, title: Any) -> str | None:
    if value is None or isinstance(value, str):
        return _or_none(value)
    if isinstance(value, list) and all(isinstance(part, list) for part in value):
        paragraphs = (_join_sentences(place, part) for part in value)
        return next((text for text in paragraphs if text and text != title), None)
    return _join_sentences(place, value)


def _join_sentences(place: str, sentences: Any) -> str | None:
    """The paragraph of these sentences, which as a rule bring the blank before them along."""
    if not isinstance(sentences, list) or not all(isinstance(part, str) for part in sentences):
        raise InputError(
            f"{place}, field 'text': found {describe(sentences)}, {json.dumps(sentences)[:60]}; "
            "expected a text or a list of sentences"
        )
    text = ""
    for sentence in sentences:
        apart = text and not text[-1].isspace() and not sentence[:1].isspace()
        text += f" {sentence}" if apart and sentence else sentence
    return _or_none(text.strip())


def _or_none(text: str | None) -> str | None:
    return text if text and not text.isspace() else None


def is_map(path: Path) -> bool:
    """Is a .json file, maybe packed, one object from id to {title, text} or [title, text]?"""
    if DataPath(path).ending != ".json":
        return False
    DataPath(path).require_readable()
    with DataPath(path).open() as stream:
        while (start := stream.peek(1)[:1]).isspace():
            stream.read(1)
        if start != b"{":
            return False
        try:
            _, member = next(stream.members(), ("", None))
        except InputError:
            return False
    return _page(member) is not None


def map_rows(path: Path) -> Iterator[Row]:
    """(place, row) of an object from id to page, one page in memory at a time. InputError."""
    with DataPath(path).open() as stream:
        for id_, value in stream.members():
            place, page = f"{path}, entry {id_!r}", _page(value)
            if page is None:
                raise InputError(
                    f"{place}: found {describe(value)}; expected an object of title and text"
                )
            text = page["text"]
            if text is not None and not isinstance(text, str):
                raise InputError(f"{place}, field 'text': found {describe(text)}; expected a text")
            yield place, {"id": id_, "title": page.get("title"), "text": _or_none(text)}


def _page(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, dict) and "text" in value:
        return value
    if isinstance(value, list) and len(value) == 2:
        return {"title": value[0], "text": value[1]}
    return None


def published_rows(texts: Path, titles: Path) -> Iterator[Row]:
    """(place, row) of Truly-Ground's corpus. InputError names the file and the id: no text, no
    title, a title without a text.
    """
    text_of, title_of = _read_map(texts), _read_map(titles)
    for ours, other, file in ((text_of, title_of, titles), (title_of, text_of, texts)):
        if absent := next((id_ for id_ in ours if id_ not in other), None):
            raise InputError(
                f"{file} has no entry {absent!r}; {texts} and {titles} must have the same ids"
            )
    for id_, text in text_of.items():
        yield f"{texts}, entry {id_!r}", {"id": id_, "title": title_of[id_], "text": text}


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
