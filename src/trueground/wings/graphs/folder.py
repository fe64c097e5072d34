"""The folder of a graph: what it was made from, its stores (pyoxigraph), and loading into it.

    graph.json   what was loaded, and which store is whole
    store-N/     the triples and the index of names

One store is in use, others are being filled or still read. A store is filled beside the one in use,
and graph.json then names it: a load that is broken off leaves the graph as it was.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from trueground._version import __version__
from trueground.errors import GraphError, OutputError, TruegroundError, WriteError
from trueground.files import FolderLock, NewFolders, OutputPath, StateFile, file_digest
from trueground.options import Progress, do_nothing
from trueground.wings.graphs.embedded import (
    EmbeddedGraph,
    empty_store,
    index_names,
    read_store,
    readable,
)
from trueground.wings.graphs.loading import LoadCounts, Loading, format_of, rdf_format, require_file
from trueground.wings.graphs.plain_rdf import load_lines, rdf_quads
from trueground.wings.graphs.tables import graph_quads, table_quads
from trueground.wings.graphs.wikidata_json import entity_quads
from trueground.wings.graphs.wikidata_rdf import truthy_quads

if TYPE_CHECKING:
    from pyoxigraph import Quad, Store

GRAPH = "graph.json"
STORE = "store-"  # and a number: the folder of a store
_FORMAT = 2
_BATCH = 200_000  # triples that the store sorts at once: about 200 MB
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
            StateFile(path).write(self)
        except OSError as error:
            raise WriteError(
                f"can't write {path}: {error.strerror or error}; free some disk space or allow "
                "writing, then run again. Loaded files are kept"
            ) from error


def is_graph(folder: Path) -> bool:
    """Whether the folder is a graph of ours, of whatever version, finished or not."""
    return StateFile(folder / GRAPH).has("trueground_graph")


def read_graph_file(folder: Path) -> GraphFile:
    """GraphError: no graph of ours, or one of another version."""
    try:
        return StateFile(folder / GRAPH).read(GraphFile, "trueground_graph", _FORMAT)
    except OSError as error:
        raise GraphError(
            f"{folder} isn't a knowledge graph: {GRAPH}: {error.strerror or error}. Make one "
            "with: trueground graph load SOURCE… --out DIR"
        ) from error
    except ValueError as error:
        raise GraphError(
            f"can't read {folder / GRAPH}: {error}; expected the file that `graph load` wrote. "
            "Load the graph again into another folder"
        ) from error


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


# passed_over(path, source): a file is not loaded, because it was loaded before as that source.
PassedOver = Callable[[Path, LoadedFile], None]


def build_graph(
    sources: Sequence[Path],
    out: Path,
    loading: Loading,
    progress: Progress = do_nothing,
    *,
    overwrite: bool = False,
    passed_over: PassedOver = lambda _path, _source: None,
) -> EmbeddedGraph:
    """Load files into the graph in the folder `out`; one that is there is added to.

    A file whose content is loaded already is passed over, which `passed_over` is told; with
    `overwrite` all is loaded anew. GraphError: a file cannot be read, the graph is damaged or in
    another language; OutputError: `out` holds something else or is being loaded into; WriteError;
    MissingExtraError.
    """
    read = [_source(path, loading) for path in sources]
    missing = NewFolders(out)
    reason = ""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK | os.X_OK | os.R_OK):
            reason = "it is not writable"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise OutputError(f"can't use {out}: {reason}; --out must name a folder for the graph")
    busy = OutputError(
        f"another process is loading into {out}; wait until it is done, or choose another --out"
    )
    with FolderLock(out).hold(busy), _left_as_found(out, missing):
        used = _used(out, overwrite)
        state = used
        if overwrite or used.store is None:
            state = GraphFile(lang=loading.lang)
            if not is_graph(out):
                state.write(out)  # from now on the folder is ours, whatever happens
        elif used.lang.lower() != loading.lang.lower():
            raise GraphError(
                f"the graph {out} has names in {used.lang!r}, not in the requested "
                f"{loading.lang!r}. Use --lang {used.lang}, or --overwrite to replace the graph"
            )
        remove_stores(out, used.store)  # that in use stays until the new one is whole
        known = {one.read_as: one for one in state.sources}
        new = []
        for path, one in zip(sources, read, strict=True):
            if (before := known.setdefault(one.read_as, one)) is one:
                new.append(one)
            else:
                passed_over(path, before)
        if new or state.store is None:
            _load(out, state, new, loading, progress)
            remove_stores(out, state.store)
    return open_folder(out)


def open_folder(folder: Path, lang: str | None = None) -> EmbeddedGraph:
    """The graph in a folder, for reading. GraphError: none, unfinished, or in another language.

    Its store stays until the graph is closed, also where files are loaded into the folder.
    """
    state = read_graph_file(folder)
    if state.store is None:
        raise GraphError(
            f"the graph {folder} is empty because loading was interrupted. Run it again: "
            f"trueground graph load SOURCE… --out {folder}"
        )
    if lang is not None and lang.lower() != state.lang.lower():
        raise GraphError(
            f"the graph {folder} was loaded with names in {state.lang!r}, not in the requested "
            f"{lang!r}. Leave --lang out, or load it into another folder with --lang {lang}"
        )
    try:
        lock = lock_store(folder / state.store)
    except OSError:
        if read_graph_file(folder).store != state.store:
            return open_folder(folder, lang)  # files were loaded in this moment
        lock = None
    try:
        store = read_store(folder / state.store)
    except BaseException:
        if lock is not None:
            os.close(lock)  # or the damaged store could not be removed by this process
        raise
    return EmbeddedGraph(
        store, name=str(folder), signature=state.signature, lang=state.lang, lock=lock
    )


def open_file(path: Path, loading: Loading, progress: Progress = do_nothing) -> EmbeddedGraph:
    """The triples of a file, in memory. GraphError: it cannot be read; MissingExtraError."""
    store = empty_store()
    state = GraphFile(lang=loading.lang, sources=[_source(path, loading)])
    load_into(store, path, loading, progress)
    index_names(store, loading.lang, progress)
    return EmbeddedGraph(store, name=str(path), signature=state.signature, lang=loading.lang)


def _source(path: Path, loading: Loading) -> LoadedFile:
    try:
        require_file(path)
        size, sha256 = path.stat().st_size, file_digest(path)
    except OSError as error:
        raise GraphError(
            f"can't read {path}: {error.strerror or error}; expected a file of triples or graphs"
        ) from error
    reading = {**asdict(loading), "classes": sorted(loading.classes)}
    del reading["lang"]  # one for the whole graph
    return LoadedFile(str(path.resolve()), sha256, size, reading)


def _used(out: Path, overwrite: bool) -> GraphFile:
    """What is in use there. OutputError: the folder is another's."""
    if is_graph(out):
        try:
            return read_graph_file(out)
        except GraphError:  # of another version
            if overwrite:
                return GraphFile()
            raise
    ours = OutputPath(out / GRAPH).part.name  # a load that was killed at once left no more
    others = sorted(one.name for one in out.iterdir() if one.name != ours)
    if others:
        raise OutputError(
            f"{out} contains {others[0]!r} and isn't a knowledge graph; choose an empty folder, or "
            "an existing graph"
        )
    return GraphFile()


@contextmanager
def _left_as_found(out: Path, missing: NewFolders) -> Iterator[None]:
    """Where a first load is refused, leave the folder as it was found."""
    first = not is_graph(out)
    try:
        yield
    except TruegroundError as error:
        if error.is_refusal:
            if first and is_graph(out) and read_graph_file(out).store is None:
                (out / GRAPH).unlink()
            missing.remove_empty()
        raise


def _load(
    out: Path, state: GraphFile, sources: Sequence[LoadedFile], loading: Loading, progress: Progress
) -> None:
    number = next(n for n in count(1) if not (out / f"{STORE}{n}").exists())
    folder = out / f"{STORE}{number}"
    try:
        with readable(f"the store of {out}", writing=True):
            if state.store is not None:
                read_store(out / state.store)  # tells damage before anything is done
                copy_store(out / state.store, folder)
            _fill_store(folder, state, sources, loading, progress)
    except BaseException as error:
        _release_locals(error)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    state.store = folder.name
    state.write(out)


def _fill_store(
    folder: Path,
    state: GraphFile,
    sources: Sequence[LoadedFile],
    loading: Loading,
    progress: Progress,
) -> None:
    """Load the sources into the store in a folder, and note them in `state`."""
    store = empty_store(folder)
    for source in sources:
        counts = load_into(store, Path(source.path), loading, progress)
        loaded = msgspec.structs.replace(source, **asdict(counts))
        state.sources = [*state.sources, loaded]
    with ThreadPoolExecutor(1) as pool:
        # Many small files become few: reading is faster by half.
        optimizing = pool.submit(store.optimize)
        state.names = index_names(store, state.lang, progress)
        optimizing.result()
    store.flush()


def _release_locals(error: BaseException) -> None:
    """Empty the frames that an error came through.

    A store has no method that closes it: it keeps its files and their lock as long as a local
    variable refers to it, which for a caller who keeps the error is forever.
    """
    released: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        chained = waiting.pop()
        if chained is not None and id(chained) not in released:
            released.add(id(chained))
            traceback.clear_frames(chained.__traceback__)
            waiting += [chained.__cause__, chained.__context__]


def load_into(
    store: Store,
    path: Path,
    loading: Loading | None = None,
    progress: Progress = do_nothing,
) -> LoadCounts:
    """Read a file into the default graph of a store that can be written.

    Triples are streamed: neither the file nor its triples are ever wholly in memory. `progress` is
    told `("first pass", lines, None)` and `("triples", triples, None)`. GraphError: a file that
    cannot be read, with its place; WriteError: the store cannot be written; MissingExtraError.
    After an error the store holds a part of the file and is best thrown away.
    """
    loading = loading or Loading()
    counts = LoadCounts(format_of(path, loading))
    try:
        if counts.format == "rdf" and rdf_format(path) == "N_TRIPLES":
            counts.triples = load_lines(store, path, progress)
        if not counts.triples:  # not made for that: its own parser says more
            quads = _quads(path, loading, counts, progress)
            while (first := next(quads, None)) is not None:
                batch = chain((first,), islice(quads, _BATCH - 1))
                store.bulk_extend(_checked(batch, path, counts))
                progress("triples", counts.triples, None)
    except OSError as error:
        raise WriteError(
            f"{path}: can't write the store of the graph: {error}. Free some disk space, and load "
            "again."
        ) from error
    if not counts.triples:
        raise GraphError(f"{path}: found no triple at all; expected some. Name another file.")
    return counts


def _quads(path: Path, loading: Loading, counts: LoadCounts, progress: Progress) -> Iterator[Quad]:
    match counts.format:
        case "rdf":
            return rdf_quads(path)
        case "wikidata-rdf":
            return truthy_quads(path, loading, counts, progress)
        case "wikidata-json":
            return entity_quads(path, loading, counts, progress)
        case "csv":
            return table_quads(path, counts)
    return graph_quads(path, counts)


def _checked(quads: Iterator[Quad], path: Path, counts: LoadCounts) -> Iterator[Quad]:
    """Those without NUL characters, which no record can hold. GraphError: a user's file has one."""
    from pyoxigraph import Literal

    for quad in quads:
        term = quad.object
        if isinstance(term, Literal) and "\0" in term.value:
            place = f"{path}, {quad.subject} {quad.predicate}"
            if not counts.format.startswith("wikidata-"):
                raise GraphError(
                    f"{place}: found a text with a NUL character; expected text. Fix the file"
                )
            counts.leave("a text with a NUL character", place)
            continue
        counts.triples += 1
        yield quad
