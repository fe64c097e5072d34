"""Loading files into a graph on disk.

    graph.json   what was loaded, and which store is whole
    store-N/     the triples and the index of names

A store is filled beside the one in use, and graph.json then names it: a load that is broken off
leaves the graph as it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trueground.errors import GraphError, OutputError, TruegroundError, WriteError
from trueground.graph.embedded.file import GRAPH, GraphFile, LoadedFile, is_graph, read_graph_file
from trueground.graph.embedded.filling import index_loaded, load_file
from trueground.graph.embedded.folder import HeldStore, copy_store, fresh_store, remove_stores
from trueground.graph.embedded.graph import EmbeddedGraph
from trueground.graph.embedded.lines import NameLines
from trueground.graph.embedded.store import empty_store, read_store, unreadable
from trueground.graph.loading.streams import require_file
from trueground.net.files import file_digest, locked, missing_folders, part_of, remove_empty
from trueground.options import Progress, no_progress

if TYPE_CHECKING:
    from trueground.graph.loading import Loading

# passed_over(path, source): a file is not loaded, because it was loaded before as that source.
PassedOver = Callable[[Path, LoadedFile], None]


def _say_nothing(_path: Path, _source: LoadedFile) -> None:
    """The default."""


def build_graph(
    sources: Sequence[Path],
    out: Path,
    loading: Loading,
    progress: Progress = no_progress,
    *,
    overwrite: bool = False,
    passed_over: PassedOver = _say_nothing,
) -> EmbeddedGraph:
    """Load files into the graph in the folder `out`; one that is there is added to.

    A file whose content is loaded already is passed over, which `passed_over` is told; with
    `overwrite` all is loaded anew. GraphError: a file cannot be read, the graph is damaged or in
    another language; OutputError: `out` holds something else or is being loaded into; WriteError;
    MissingExtraError.
    """
    read = [_source(path, loading) for path in sources]
    made = missing_folders(out)
    _make_folder(out)
    busy = OutputError(
        f"another process is loading into {out}; wait until it is done, or choose another --out"
    )
    with locked(out, busy), _undone(out, made):
        used = _used(out, overwrite)
        state = _begun(out, used, loading, overwrite)
        remove_stores(out, used.store)
        have = {one.read_as: one for one in state.sources}
        new = []
        for path, one in zip(sources, read, strict=True):
            if (known := have.setdefault(one.read_as, one)) is one:
                new.append(one)
            else:
                passed_over(path, known)
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
            f"nothing is loaded into the graph {folder} yet: loading was broken off. Run it again: "
            f"trueground graph load SOURCE… --out {folder}"
        )
    if lang is not None and lang.lower() != state.lang.lower():
        raise GraphError(
            f"the graph {folder} was loaded with names in {state.lang!r}, and {lang!r} is asked. "
            f"Leave that out, or load it into another folder with --lang {lang}"
        )
    try:
        held = HeldStore(folder / state.store)
    except OSError:
        if read_graph_file(folder).store != state.store:
            return open_folder(folder, lang)  # files were loaded in this moment
        held = None
    return EmbeddedGraph(
        read_store(folder / state.store),
        name=str(folder),
        signature=state.signature,
        lang=state.lang,
        held=held,
    )


def _source(path: Path, loading: Loading) -> LoadedFile:
    try:
        require_file(path)
        size, sha256 = path.stat().st_size, file_digest(path)
    except OSError as error:
        raise GraphError(
            f"{path} cannot be read: {error.strerror or error}; expected a file of triples or "
            "graphs. Name one that is there"
        ) from error
    place = str(path.resolve())
    reading = {**asdict(loading), "classes": sorted(loading.classes)}
    del reading["lang"]  # one for the whole graph
    return LoadedFile(place, sha256, size, reading)


def _make_folder(out: Path) -> None:
    try:
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out} is a file; --out must name a folder of its own for the graph")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{out} cannot be used: {error.strerror or error}; choose another --out"
        ) from error
    if not os.access(out, os.W_OK | os.X_OK | os.R_OK):
        raise OutputError(f"{out} is not writable; choose another --out")


def _used(out: Path, overwrite: bool) -> GraphFile:
    """What is in use there. OutputError: the folder is another's."""
    if is_graph(out):
        try:
            return read_graph_file(out)
        except GraphError:  # of another version
            if overwrite:
                return GraphFile()
            raise
    ours = part_of(out / GRAPH).name  # a load that was killed at once left no more
    others = sorted(one.name for one in out.iterdir() if one.name != ours)
    if others:
        raise OutputError(
            f"{out} holds {others[0]!r} and is no knowledge graph, so it stays as it is; choose an "
            "empty folder, or a graph to add to"
        )
    return GraphFile()


def _begun(out: Path, used: GraphFile, loading: Loading, overwrite: bool) -> GraphFile:
    """What is added to. With `overwrite` what is used stays until the new store is whole."""
    if overwrite or used.store is None:
        begun = GraphFile(lang=loading.lang)
        if not is_graph(out):
            begun.write(out)  # from now on the folder is ours, whatever happens
        return begun
    if used.lang.lower() != loading.lang.lower():
        raise GraphError(
            f"the graph {out} has names in {used.lang!r}, and the files are to be loaded with "
            f"{loading.lang!r}. Give --lang {used.lang}, or --overwrite to load all anew"
        )
    return used


@contextmanager
def _undone(out: Path, made: Sequence[Path]) -> Iterator[None]:
    """Leave a folder as it was found where a first load is refused."""
    first = not is_graph(out)
    try:
        yield
    except TruegroundError as error:
        if error.exit_code == TruegroundError.exit_code:
            if first and is_graph(out) and read_graph_file(out).store is None:
                (out / GRAPH).unlink()
            remove_empty(made)
        raise


def _load(
    out: Path, state: GraphFile, sources: Sequence[LoadedFile], loading: Loading, progress: Progress
) -> None:
    folder = fresh_store(out)
    with _unfinished(out, folder):
        if state.store is not None:
            read_store(out / state.store)  # tells damage before anything is done
            copy_store(out / state.store, folder)
        store = empty_store(folder)
        loaded = []
        names = NameLines(state.lang)
        for source in sources:
            counts = load_file(store, Path(source.path), loading, names, progress)
            loaded.append(
                msgspec.structs.replace(
                    source,
                    format=counts.format,
                    triples=counts.triples,
                    entities=counts.entities,
                    left_out=counts.left_out,
                    examples=counts.examples,
                )
            )
        with ThreadPoolExecutor(1) as pool:
            # Many small files become few: reading is faster by half.
            optimizing = pool.submit(store.optimize)
            state.names = index_loaded(store, names, state, progress)
            optimizing.result()
        store.flush()
        del store  # gives its files back
    state.sources = [*state.sources, *loaded]
    state.store = folder.name
    state.write(out)


@contextmanager
def _unfinished(out: Path, folder: Path) -> Iterator[None]:
    """Remove a store that does not become whole. WriteError; GraphError: it is damaged."""
    try:
        yield
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise WriteError(
                f"loading into {out} failed: {error}; make room there or allow writing, then run "
                "again: the graph is as it was"
            ) from error
        if isinstance(error, RuntimeError):
            raise unreadable(f"the store of {out}", error) from error
        raise


def open_file(path: Path, loading: Loading, progress: Progress = no_progress) -> EmbeddedGraph:
    """The triples of a file, in memory. GraphError: it cannot be read; MissingExtraError."""
    store = empty_store()
    source = _source(path, loading)
    names = NameLines(loading.lang)
    state = GraphFile(lang=loading.lang, sources=[source])
    load_file(store, path, loading, names, progress)
    index_loaded(store, names, state, progress)
    return EmbeddedGraph(store, name=str(path), signature=state.signature, lang=loading.lang)
