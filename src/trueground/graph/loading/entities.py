"""Entities of Wikidata's JSON: their lines in a dump, and what of them is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from trueground.errors import GraphError
from trueground.graph.loading.streams import lines, reading
from trueground.options import Progress, no_progress
from trueground.records.jsonl import read_array
from trueground.records.problems import Problem

_ID = re.compile(rb'\{"type":"(?:item|property)","id":"([QP]\d{1,18})"')
_OFTEN = 100_000
_INSTANCE_OF = "P31"
T = TypeVar("T")


class Data(msgspec.Struct):
    """A value and its kind."""

    type: str = ""
    value: Any = None


class Snak(msgspec.Struct):
    """What a statement says."""

    snaktype: str = ""
    datatype: str = ""
    datavalue: Data | None = None


class EntityStatement(msgspec.Struct):
    """A statement; qualifiers and references are not read."""

    mainsnak: Snak
    rank: str = "normal"


class LabelText(msgspec.Struct):
    """A text in a language."""

    value: str
    language: str = ""


class EntityLabels(msgspec.Struct):
    """An entity's id and labels. Old dumps write `[]` for an empty object."""

    id: str
    type: str = "item"
    labels: dict[str, LabelText] | list[Any] = {}

    def name(self, lang: str) -> tuple[str, str | None] | None:
        """The label and its language: in `lang`, else `mul`, else English without a language."""
        if not isinstance(self.labels, dict):
            return None
        for tag in (lang, "mul", "en"):
            if (found := self.labels.get(tag)) and found.value.strip():
                return found.value, tag if tag in (lang, "mul") else None
        return None


class DumpEntity(EntityLabels):
    """An entity with its aliases and statements."""

    aliases: dict[str, list[LabelText]] | list[Any] = {}
    claims: dict[str, list[EntityStatement]] | list[Any] = {}

    def other_names(self, lang: str) -> Iterator[tuple[str, str]]:
        """The aliases in `lang` and those in all languages."""
        if isinstance(self.aliases, dict):
            for tag in dict.fromkeys((lang, "mul")):
                yield from ((a.value, tag) for a in self.aliases.get(tag, ()) if a.value.strip())

    def best(self) -> Iterator[tuple[str, EntityStatement]]:
        """(property, statement) of best rank: preferred ones, else normal; never deprecated."""
        if not isinstance(self.claims, dict):
            return
        for name, claims in self.claims.items():
            preferred = [claim for claim in claims if claim.rank == "preferred"]
            normal = (claim for claim in claims if claim.rank == "normal")
            yield from ((name, claim) for claim in preferred or normal)

    def classes(self) -> Iterator[str]:
        """The ids of the classes that it is a direct instance of."""
        for name, claim in self.best():
            data = claim.mainsnak.datavalue
            if name == _INSTANCE_OF and data is not None and isinstance(data.value, dict):
                yield str(data.value.get("id") or f"Q{data.value.get('numeric-id')}")


_WORDS, _ITEM = msgspec.json.Decoder(EntityLabels), msgspec.json.Decoder(DumpEntity)


@dataclass(frozen=True, slots=True)
class EntityLine:
    """One entity as it stands in the file; `place` names file and line."""

    place: str
    text: bytes

    def qid(self) -> str | None:
        """Its id; None for what is no item or property."""
        if match := _ID.match(self.text):
            return match[1].decode()
        found = self.words()
        return found.id if re.fullmatch(r"[QP]\d{1,18}", found.id) else None

    def words(self) -> EntityLabels:
        """Id and labels. GraphError."""
        return _decoded(_WORDS, self)

    def item(self) -> DumpEntity:
        """All that is read of it. GraphError."""
        return _decoded(_ITEM, self)


def entity_lines(
    path: Path, progress: Progress = no_progress, phase: str = "lines"
) -> Iterator[EntityLine]:
    """Every entity of a dump, or of JSON lines. GraphError: a file that is cut off."""
    by_lines, in_array = _layout(path)
    places = _of_lines(path, in_array) if by_lines else _of_array(path)
    for number, line in enumerate(places, 1):
        yield line
        if number % _OFTEN == 0:
            progress(phase, number, None)


def _layout(path: Path) -> tuple[bool, bool]:
    """Whether an entity stands on each line, and whether these are in an array."""
    with reading(path) as stream:
        first, second = stream.readline(64).strip(), stream.readline(64)
    in_array = first.startswith(b"[")
    return not in_array or (first == b"[" and second.startswith(b'{"')), in_array


def _of_lines(path: Path, in_array: bool) -> Iterator[EntityLine]:
    closed = not in_array
    with reading(path) as stream:
        for number, line in enumerate(lines(stream, str(path)), 1):
            text = line.strip().removesuffix(b",")
            if in_array and text == b"]":
                closed = True
            elif text and not (in_array and number == 1):
                yield EntityLine(f"{path}, line {number}", text)
    if not closed:
        raise GraphError(
            f"{path} is cut off: found the end of the file before the closing ]; expected a whole "
            "dump. Get the file again."
        )


def _of_array(path: Path) -> Iterator[EntityLine]:
    """An array laid out in another way."""
    with reading(path) as stream:
        for number, text in read_array(stream, str(path)):
            place = f"{path}, entry {number}"
            if isinstance(text, Problem):
                raise GraphError(
                    f"{place}: found {text.found}; expected {text.expected}. Get the file again."
                )
            yield EntityLine(place, text)


def _decoded(decoder: msgspec.json.Decoder[T], line: EntityLine) -> T:
    try:
        return decoder.decode(line.text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        shown = line.text[:60].decode(errors="backslashreplace")
        raise GraphError(
            f"{line.place}: found {shown!r} ({error}); expected one entity of Wikidata as JSON. "
            "Download the dump again, or write one entity on each line."
        ) from error


def needles(classes: Iterable[str]) -> tuple[bytes, ...]:
    """Bytes one of which stands in every entity that is an instance of one of the classes."""
    return tuple(
        part.encode()
        for one in classes
        for part in (f'"{one}"', f'"numeric-id":{one[1:]}', f'"numeric-id": {one[1:]}')
    )
