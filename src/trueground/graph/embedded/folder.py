"""The folder of a graph: what it was made from, and its stores (pyoxigraph).

    graph.json   what was loaded, and which store is whole
    store-N/     the triples and the index of names

One store is in use, others are being filled or still read.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from trueground._version import __version__
from trueground.errors import GraphError, MissingExtraError, WriteError
from trueground.net.files import is_state, write_state

if TYPE_CHECKING:
    from pyoxigraph import Store

GRAPH = "graph.json"
STORE = "store-"  # and a number: the folder of a store
_FORMAT = 2
_UNCHANGING = ".sst"  # RocksDB never changes these once they are written


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


class _GraphVersion(msgspec.Struct):
    trueground_graph: int


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


def empty_store(path: Path | None = None) -> Store:
    """A store that can be written, in memory or in a folder.

    MissingExtraError; OSError; RuntimeError: what is in the folder is damaged.
    """
    try:
        from pyoxigraph import Store
    except ImportError:
        raise MissingExtraError("the embedded knowledge graph", "graph") from None
    return Store() if path is None else Store(str(path))


def read_store(path: Path) -> Store:
    """A store on disk that any number of processes may read at once. GraphError."""
    try:
        from pyoxigraph import Store
    except ImportError:
        raise MissingExtraError("the embedded knowledge graph", "graph") from None
    with readable(f"the store {path}"):
        return Store.read_only(str(path))


@contextmanager
def readable(what: str, *, writing: bool = False) -> Iterator[None]:
    """GraphError where a store cannot be read: pyoxigraph tells damage by a RuntimeError.

    With `writing` an OSError is a WriteError: the store is being filled.
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        if writing and isinstance(error, OSError):
            raise WriteError(
                f"loading into {what} failed: {error}; make room there or allow writing, then run "
                "again: the graph is as it was"
            ) from error
        raise GraphError(
            f"{what} cannot be read: {error}; expected it as it was loaded. Load the graph again "
            "with: trueground graph load SOURCE… --out DIR --overwrite"
        ) from error


def fresh_store(folder: Path) -> Path:
    """A name for a store that nothing has yet."""
    number = 1
    while (store := folder / f"{STORE}{number}").exists():
        number += 1
    return store


def copy_store(old: Path, new: Path) -> None:
    """A copy of a store that shares the files that never change. OSError."""
    new.mkdir()
    for one in old.iterdir():
        if one.name in ("LOCK", "LOG"):
            continue
        if one.suffix == _UNCHANGING:
            with suppress(OSError):  # a file system without links
                os.link(one, new / one.name)
                continue
        shutil.copyfile(one, new / one.name)


def remove_stores(folder: Path, but: str | None) -> None:
    """Remove stores that graph.json does not name: broken off, or replaced and no longer read."""
    for one in folder.glob(f"{STORE}*"):
        if one.name != but:
            with suppress(OSError):  # somebody reads it
                number = lock_store(one, shared=False)
                shutil.rmtree(one, ignore_errors=True)
                os.close(number)


def lock_store(store: Path, *, shared: bool = True) -> int:
    """A file descriptor that, until it is closed, keeps the store from being removed.

    RocksDB opens its files when it needs them, so a reader fails once they are gone. Where folders
    have no locks it does nothing. BlockingIOError: it is being removed; FileNotFoundError: it is
    gone.
    """
    number = os.open(store, os.O_RDONLY)
    try:
        fcntl.flock(number, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(number)
        raise
    except OSError:
        pass
    return number
