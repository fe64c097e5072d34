"""Passages in the file formats of their publishers, as rows of id, title and text.

DPR, TopiOCQA     tab-separated: id, text, title
DPR's retriever   rows with `ctxs`, the retrieved passages
HotpotQA          wiki_NN.bz2, JSON lines {id, url, title, text}; the text is a list of sentences
MDR               wiki_id2doc.json, one object id → {title, text}
Truly-Ground      one object id → text, and one id → title

The Wikipedias have pages without text, which no retriever can find. Their text is None here.
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
_EXPECTED_PAGE = "one JSON object of title and text"


def is_dpr(path: Path) -> bool:
    """Return whether a .tsv file starts with the header id, text, title. Raises InputError."""
    if DataPath(path).ending != ".tsv":
        return False
    DataPath(path).require_readable()
    with DataPath(path).open() as stream:
        header = stream.readline(1_000).decode("utf-8", "replace")
    return header.rstrip("\r\n").replace('"', "").split("\t") == _DPR


def dpr_rows(path: Path) -> Iterator[Row]:
    """Yield (location, row) of psgs_w100.tsv, full_wiki_segments.tsv and similar files.

    Quoted cells are read as by the publishers' code, Python's csv with its defaults: text after a
    closing quotation mark still belongs to the cell. Raises InputError, which names the row.
    """
    with DataPath(path).open() as stream, closing(stream.cells("\t")) as rows:
        for number, cells in enumerate(rows):
            if number and cells:
                location = f"{path}, row {number}"
                yield location, _dpr_row(cells, location)


def _dpr_row(cells: list[str], location: str) -> dict[str, Any]:
    if len(cells) != len(_DPR):
        raise InputError(
            f"{location}: found {len(cells)} cells; expected 3, separated by tabs: id, text and "
            "title (is the file truncated, or a quotation mark not closed?)"
        )
    for column, cell in zip(_DPR, cells, strict=True):
        if not cell.isascii() or "\0" in cell:
            try:
                clean(cell, column)
            except Problem as problem:
                raise InputError(
                    f"{location}, field {column!r}: found {problem.found} or broken UTF-8; "
                    "expected UTF-8 text"
                ) from None
    return dict(zip(_DPR, cells, strict=True))


def is_results(path: Path) -> bool:
    """Return whether a file is in the format of DPR's retriever: rows with `ctxs`."""
    if DataPath(path).ending not in (".json", ".jsonl"):
        return False
    try:
        with closing(DataPath(path).rows()) as rows:
            _, row = next(rows, ("", {}))
    except InputError:
        return False
    ctxs = row.get("ctxs")
    return isinstance(ctxs, list) and all(isinstance(passage, dict) for passage in ctxs)


def results_rows(path: Path) -> Iterator[Row]:
    """Yield (location, row) of each passage in the results of any question, once.

    The ids are kept in memory. Raises InputError if a passage has no text, or an id two texts.
    """
    seen: dict[str, int] = {}
    for location, row in DataPath(path).rows():
        ctxs = row.get("ctxs")
        if not isinstance(ctxs, list):
            raise InputError(f"{location}, field 'ctxs': found {describe(ctxs)}; expected a list")
        for number, passage in enumerate(ctxs):
            passage_location = f"{location}, field 'ctxs[{number}]'"
            if not isinstance(passage, dict) or not passage.get("text"):
                raise InputError(
                    f"{passage_location}: found {describe(passage)}; expected a passage with its "
                    "text. If the results have only ids, name the corpus instead"
                )
            text = passage["text"]
            id_, text_hash = str(passage.get("id", text)), hash(text)
            if seen.get(id_, text_hash) != text_hash:
                raise InputError(
                    f"{passage_location}: found a second text for the id {id_!r}; expected one "
                    "text per id"
                )
            if id_ not in seen:
                seen[id_] = text_hash
                yield (
                    passage_location,
                    {"id": id_, "title": passage.get("title"), "text": passage["text"]},
                )


def bz2_rows(path: Path) -> Iterator[Row]:
    """Yield (location, row) of a bz2 file of JSON lines, with sentences joined.

    If the text is a list of paragraphs, the first is the title. The first other paragraph that
    isn't empty is used: the introduction. Raises InputError.
    """
    name = str(path)
    DataPath(path, name).require_readable()
    with DataPath(path).open(".bz2") as stream:
        for number, line in stream.values(in_array=False):
            location = f"{name}, line {number}"
            row = _decode_line(location, line)
            if "text" not in row:
                raise InputError(
                    f"{location}: found {describe(row)}; expected id, title and text as in "
                    "HotpotQA's Wikipedia (unpack other files first)"
                )
            text = _page_text(location, row["text"], row.get("title"))
            fields: dict[str, Any] = {name: row[name] for name in ("id", "title") if name in row}
            yield location, {**fields, "text": text}


def _decode_line(location: str, line: bytes | Problem) -> dict[str, Any]:
    try:
        if isinstance(line, Problem):
            raise line
        row = decode(line)
    except Problem as problem:
        raise InputError(f"{location}: found {problem.found}; expected {_EXPECTED_PAGE}") from None
    if not isinstance(row, dict):
        raise InputError(f"{location}: found {describe(row)}; expected {_EXPECTED_PAGE}")
    return row


def _page_text(location: str, value: Any, title: Any) -> str | None:
    if value is None or isinstance(value, str):
        return _or_none(value)
    if isinstance(value, list) and all(isinstance(part, list) for part in value):
        paragraphs = (_join_sentences(location, part) for part in value)
        return next((text for text in paragraphs if text and text != title), None)
    return _join_sentences(location, value)


def _join_sentences(location: str, sentences: Any) -> str | None:
    """Return the paragraph of these sentences. Most of them start with a space."""
    if not isinstance(sentences, list) or not all(isinstance(part, str) for part in sentences):
        raise InputError(
            f"{location}, field 'text': found {describe(sentences)}, {json.dumps(sentences)[:60]}; "
            "expected a text or a list of sentences"
        )
    text = ""
    for sentence in sentences:
        needs_space = text and not text[-1].isspace() and not sentence[:1].isspace()
        text += f" {sentence}" if needs_space and sentence else sentence
    return _or_none(text.strip())


def _or_none(text: str | None) -> str | None:
    return text if text and not text.isspace() else None


def is_map(path: Path) -> bool:
    """Return whether a .json file is one object from id to {title, text} or [title, text]."""
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
    """Yield (location, row) of an object from id to page, one at a time. Raises InputError."""
    with DataPath(path).open() as stream:
        for id_, value in stream.members():
            location, page = f"{path}, entry {id_!r}", _page(value)
            if page is None:
                raise InputError(
                    f"{location}: found {describe(value)}; expected an object of title and text"
                )
            text = page["text"]
            if text is not None and not isinstance(text, str):
                raise InputError(
                    f"{location}, field 'text': found {describe(text)}; expected a text"
                )
            yield location, {"id": id_, "title": page.get("title"), "text": _or_none(text)}


def _page(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, dict) and "text" in value:
        return value
    if isinstance(value, list) and len(value) == 2:
        return {"title": value[0], "text": value[1]}
    return None


def published_rows(texts: Path, titles: Path) -> Iterator[Row]:
    """Yield (location, row) of Truly-Ground's corpus.

    Raises InputError, which names the file and the id, if a text or a title is missing.
    """
    text_of, title_of = _read_map(texts), _read_map(titles)
    for ids, checked, file in ((text_of, title_of, titles), (title_of, text_of, texts)):
        absent = next((id_ for id_ in ids if id_ not in checked), None)
        if absent:
            raise InputError(
                f"{file} has no entry {absent!r}; {texts} and {titles} must have the same ids"
            )
    for id_, text in text_of.items():
        yield f"{texts}, entry {id_!r}", {"id": id_, "title": title_of[id_], "text": text}


def _read_map(path: Path) -> dict[str, str]:
    try:
        value = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"can't read {path}: {error.strerror or error}") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path} isn't valid JSON: {error}; download it again") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: found {describe(value)}; expected a JSON object from id to text")
    for id_, text in value.items():
        if not isinstance(text, str) or not text.strip():
            description = "blank text" if isinstance(text, str) else describe(text)
            raise InputError(f"{path}, entry {id_!r}: found {description}; expected a text")
    return value
