"""Wikipedia as HotpotQA's authors publish it, and as multi-hop dense retrieval does.

HotpotQA: a tree of wiki_NN.bz2 files of JSON lines {id, url, title, text}, where text is the list
of sentences of the introductory paragraph. MDR: wiki_id2doc.json, one object id → {title, text}.
Both hold pages without any text, which no retriever can find: they are left out.
"""

from __future__ import annotations

import bz2
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.records.files import inner_ending, open_unpacked, require_readable
from trueground.records.jsonl import decode_row, read_lines, read_members
from trueground.records.problems import Problem, describe

Row = tuple[str, dict[str, Any]]


def bz2_rows(path: Path) -> Iterator[Row]:
    """(place, row) of a bz2 file of JSON lines; sentences joined. Blank text is None. InputError.

    Of a text that is a list of paragraphs, whose first is the title, the first other paragraph
    that holds something is taken: the introduction.
    """
    name = str(path)
    require_readable(path, name)
    try:
        with bz2.open(path) as stream:
            for number, line in read_lines(io.BufferedReader(stream), name):
                place = f"{name}, line {number}"
                row = _decoded(place, line)
                if "text" not in row:
                    raise InputError(
                        f"{place}: found {describe(row)}; expected id, title and text as in "
                        "HotpotQA's Wikipedia (unpack other files first)"
                    )
                kept: dict[str, Any] = {name: row[name] for name in ("id", "title") if name in row}
                yield place, {**kept, "text": _text(place, row["text"], row.get("title"))}
    except EOFError as error:
        raise InputError(f"{name} is cut off: the compressed data ends too early") from error
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{name} is not a sound bzip2 archive: {reason}") from error


def is_map(path: Path) -> bool:
    """Is a .json file, maybe packed, one object from id to {title, text} or [title, text]?"""
    if inner_ending(path) != ".json":
        return False
    require_readable(path, str(path))
    with open_unpacked(path) as stream:
        start = stream.peek(1)[:1]
        while start.isspace():
            stream.read(1)
            start = stream.peek(1)[:1]
        if start != b"{":
            return False
        try:
            _, member = next(read_members(stream, str(path)), ("", None))
        except InputError:
            return False
    return _page(member) is not None


def map_rows(path: Path) -> Iterator[Row]:
    """(place, row) of an object from id to page, one page in memory at a time. InputError."""
    name = str(path)
    with open_unpacked(path) as stream:
        for id_, value in read_members(stream, name):
            place = f"{name}, entry {id_!r}"
            page = _page(value)
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


def _decoded(place: str, line: bytes | Problem) -> dict[str, Any]:
    try:
        if isinstance(line, Problem):
            raise line
        return decode_row(line)
    except Problem as problem:
        raise InputError(
            f"{place}: found {problem.found}; expected one JSON object of title and text"
        ) from None


def _text(place: str, value: Any, title: Any) -> str | None:
    if value is None or isinstance(value, str):
        return _or_none(value)
    if isinstance(value, list) and all(isinstance(part, list) for part in value):
        paragraphs = (_joined(place, part) for part in value)
        return next((text for text in paragraphs if text and text != title), None)
    return _joined(place, value)


def _joined(place: str, sentences: Any) -> str | None:
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
