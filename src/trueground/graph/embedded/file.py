"""graph.json: what a graph on disk was made from, and where its store is."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any

import msgspec

from trueground._version import __version__
from trueground.errors import GraphError, WriteError
from trueground.net.files import is_state, write_state

GRAPH = "graph.json"
STORE = "store-"  # and a number: the folder of a store
_FORMAT = 2


class LoadedFile(msgspec.Struct, frozen=True):
    """A file that was loaded: its content, how it was read, and what it gave."""

    path: str
    sha256: str
    bytes: int
    reading: dict[str, Any] = {}
    format: str = ""
    triples: int = 0
    entities: int = 0
    left_out: dict[str, int] = {}
    examples: list[str] = []  # places of the first odd things that were left out

    @property
    def read_as(self) -> str:
        """Equal for what gives the same triples."""
        return msgspec.json.encode([self.sha256, self.reading], order="sorted").decode()


class GraphFile(msgspec.Struct, kw_only=True):
    """`store` is the folder of the triples, None until something was loaded as a whole."""

    trueground_graph: int = _FORMAT
    trueground: str = __version__
    lang: str = "en"
    store: Annotated[str, msgspec.Meta(pattern=rf"^{STORE}[1-9]\d*\Z")] | None = None
    names: int = 0
    sources: list[LoadedFile] = []

    @property
    def triples(self) -> int:
        """How many were loaded, repeated ones counted again."""
        return sum(one.triples for one in self.sources)

    @property
    def signature(self) -> str:
        """A checksum of all that decides what the graph answers."""
        read = (_FORMAT, self.lang, sorted(one.read_as for one in self.sources))
        return "embedded:" + hashlib.sha256(msgspec.json.encode(read)).hexdigest()

    def write(self, folder: Path) -> None:
        """Replace the file as a whole. WriteError."""
        path = folder / GRAPH
        try:
            write_state(path, self)
        except OSError as error:
            raise WriteError(
                f"writing {path} failed: {error.strerror or error}; make room there or allow "
                "writing, then run again: what is loaded stays"
            ) from error


def is_graph(folder: Path) -> bool:
    """Whether the folder is a graph of ours, of whatever version, finished or not."""
    return is_state(folder / GRAPH, "trueground_graph")


def read_graph_file(folder: Path) -> GraphFile:
    """GraphError: no graph of ours, or one of another version."""
    path = folder / GRAPH
    try:
        content = path.read_bytes()
    except OSError as error:
        raise GraphError(
            f"{folder} is no knowledge graph: {GRAPH}: {error.strerror or error}. Make one with: "
            "trueground graph load SOURCE… --out DIR"
        ) from error
    try:
        version = msgspec.json.decode(content, type=_GraphVersion).trueground_graph
        if version != _FORMAT:
            raise GraphError(
                f"{path}: found a graph of format {version}; this trueground reads format "
                f"{_FORMAT}. Load it again into another folder"
            )
        return msgspec.json.decode(content, type=GraphFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise GraphError(
            f"{path} cannot be read: {error}; expected the file that `graph load` wrote. Load the "
            "graph again into another folder"
        ) from error


class _GraphVersion(msgspec.Struct):
    trueground_graph: int
