"""How files of graphs are read: the format, what is counted, their bytes unpacked."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.errors import (
    GraphError,
    InputError,
    UsageError,
)
from trueground.records import DataPath, DataStream
from trueground.wings.graphs.sparql import is_language

if TYPE_CHECKING:
    pass


FORMATS = ("rdf", "wikidata-rdf", "wikidata-json", "kalma", "graphs", "csv")
RDF_ENDINGS = {  # ending → name of pyoxigraph's RdfFormat
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".ttl": "TURTLE",
    ".turtle": "TURTLE",
    ".trig": "TRIG",
    ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
    ".xml": "RDF_XML",
}
LONGEST_LINE = 1 << 28
_JSON = (".json", ".jsonl", ".ndjson")
_TABLES = (".csv", ".tsv")
_PACKINGS = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".zst": b"\x28\xb5\x2f\xfd"}
_HEAD = 1 << 16
_CLASS = re.compile(r"Q[1-9]\d{0,17}")
_ITEM = re.compile(rb'\s*\[?\s*\{\s*"type"\s*:\s*"(?:item|property|lexeme)"')
_EXAMPLES = 5


@dataclass(frozen=True)
class Loading:
    """How files are read.

    `lang` is the language of names taken from Wikidata dumps; a thing without a name in it is
    called as its `mul` or English label says. `classes` (ids such as "Q5") keep the entities of a
    Wikidata dump that are direct instances of one of them; none keep all. `format` is one of
    FORMATS, None finds it out. `identifiers` keeps values that only computers use: external ids,
    web addresses, names of media files. UsageError: a value that cannot be meant.
    """

    lang: str = "en"
    classes: tuple[str, ...] = ()
    format: str | None = None
    identifiers: bool = False

    def __post_init__(self) -> None:
        if not is_language(self.lang):
            raise UsageError(f"language {self.lang!r}; expected a tag such as 'en' or 'pt-br'")
        # Tags have no case (BCP 47); stores and Wikidata write them small.
        object.__setattr__(self, "lang", self.lang.lower())
        for one in self.classes:
            if not _CLASS.fullmatch(one):
                raise UsageError(
                    f"class {one!r}; expected the id of a Wikidata class, such as 'Q5' for humans"
                )
        if self.format is not None and self.format not in FORMATS:
            raise UsageError.unknown_name("graph format", self.format, FORMATS)


@dataclass
class LoadCounts:
    """What came of loading.

    `triples` were handed to the store, repeated ones included; `entities` have a graph of their
    own (0 for plain RDF, where nobody says what an entity is). `left_out` counts by reason what the
    file holds and the store does not; `examples` are the places of the first odd ones, and what is
    odd there.
    """

    format: str = ""
    triples: int = 0
    entities: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    def leave(self, reason: str, place: str | None = None, why: str = "") -> None:
        """Count something that is left out; for the first few the `place` and `why` are kept."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        if place is not None and len(self.examples) < _EXAMPLES:
            self.examples.append(f"{place}: {reason}{f' ({why})' if why else ''}")


@contextmanager
def reading(path: Path) -> Iterator[DataStream]:
    """The bytes of a file, unpacked if it begins as gzip, bzip2 or Zstandard files do.

    What an archive begins with is trusted, not its name. GraphError: no such file, a folder, a
    pipe, nothing in it, an archive that is damaged or cut off, UTF-16.
    """
    try:
        require_file(path)
        DataPath(path).require_readable()
        try:
            with path.open("rb") as opened:
                start = opened.read(4)
        except OSError as error:
            raise InputError(f"can't read {path}: {error.strerror or error}") from error
        packing = next((p for p, magic in _PACKINGS.items() if start.startswith(magic)), "")
        with DataPath(path).open(packing) as stream:
            yield stream
    except InputError as error:
        end = "" if str(error).endswith(("?", ".")) else "."
        raise GraphError(f"{error}{end} Download the file again, or name another one.") from error


def require_file(path: Path) -> None:
    """GraphError where there is a pipe or a device: files are read more than once, to their end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise GraphError(
            f"{path} isn't a regular file; expected a file of triples or graphs. Save its content "
            "to a file first"
        )


def lines(stream: io.BufferedReader, name: str) -> Iterator[bytes]:
    """All lines with their ends. GraphError: one so long that a line end must be missing."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise GraphError(
                f"{name}: found a line of more than {LONGEST_LINE >> 20} MiB; expected one triple "
                "or entity on each line. Name the right format with --format."
            )
        yield line


def bare_ending(path: Path) -> str:
    """The ending of the file's name in lower case, without that of a packing."""
    name = path.name.lower()
    packing = next((one for one in _PACKINGS if name.endswith(one)), "")
    return Path(name.removesuffix(packing)).suffix


def rdf_format(path: Path) -> str:
    """The name of pyoxigraph's format of an RDF file. GraphError: its name does not tell."""
    ending = bare_ending(path)
    if ending not in RDF_ENDINGS:
        raise GraphError(
            f"{path}: found the ending {ending!r}; expected an RDF file to end in "
            f"{', '.join(RDF_ENDINGS)}. Rename it to match its format."
        )
    return RDF_ENDINGS[ending]


def format_of(path: Path, loading: Loading) -> str:
    """One of FORMATS. UsageError: classes for a file that has none; GraphError: cannot tell."""
    found = loading.format or _detect(path, loading)
    if loading.classes and not found.startswith("wikidata-"):
        raise UsageError(
            f"{path} has the format {found!r}, which doesn't support classes; leave the classes "
            "out, or choose a Wikidata format: 'wikidata-rdf' or 'wikidata-json'"
        )
    return found


def _detect(path: Path, loading: Loading) -> str:
    ending = bare_ending(path)
    if ending == ".nt" and (loading.classes or "truthy" in path.name):
        return "wikidata-rdf"
    if ending in RDF_ENDINGS:
        return "rdf"
    if ending in _TABLES:
        return "csv"
    with reading(path) as stream:
        start = stream.read(_HEAD).lstrip()
    if re.match(rb"\[\s*\[", start):
        return "kalma"
    if start[:1] in (b"[", b"{"):
        if _ITEM.match(start):
            return "wikidata-json"
        is_dump = b'"qid"' not in start and b'"claims"' in start and b'"labels"' in start
        return "wikidata-json" if is_dump else "graphs"
    if ending in _JSON:
        return "graphs"  # whose reader tells what is wrong
    endings = ", ".join((*RDF_ENDINGS, *_JSON, *_TABLES))
    raise GraphError(
        f"{path}: unknown format; expected a name that ends in {endings}, also with "
        f"{', '.join(_PACKINGS)}. Rename it, or set the format: trueground graph load "
        f"{path} --out DIR --format {'|'.join(FORMATS)}"
    )


def no_entity(path: Path, loading: Loading, expected: str) -> GraphError:
    """The error for a dump of Wikidata in which nothing is wanted."""
    wanted = f"no entity of {', '.join(loading.classes)}" if loading.classes else "no entity"
    return GraphError(f"{path}: found {wanted}; expected {expected}")
