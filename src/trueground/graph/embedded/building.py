"""Loading files into a graph on disk, or in memory.

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

from trueground.errors import GraphError, OutputError, TruegroundError
from trueground.graph.embedded.folder import (
    GRAPH,
    GraphFile,
    LoadedFile,
    copy_store,
    empty_store,
    fresh_store,
    is_graph,
    lock_store,
    read_graph_file,
    read_store,
    readable,
    remove_stores,
)
from trueground.graph.embedded.graph import EmbeddedGraph, index_names
from trueground.net.files import file_digest, locked, missing_folders, part_of, remove_empty
from trueground.options import Progress, no_progress

if TYPE_CHECKING:
    from trueground.graph.loading import Loading

# passed_over(path, source): a file is not loaded, because it was loaded before as that source.
PassedOver = Callable[[Path, LoadedFile], None]


def build_graph(
    sources: Sequence[Path],
    out: Path,
    loading: Loading,
    progress: Progress = no_progress,
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
    missing = missing_folders(out)
    _make_folder(out)
    busy = OutputError(
        f"another process is loading into {out}; wait until it is done, or choose another --out"
    )
    with locked(out, busy), _left_as_found(out, missing):
        used = _used(out, overwrite)
        state = used
        if overwrite or used.store is None:
            state = GraphFile(lang=loading.lang)
            if not is_graph(out):
                state.write(out)  # from now on the folder is ours, whatever happens
        elif used.lang.lower() != loading.lang.lower():
            raise GraphError(
                f"the graph {out} has names in {used.lang!r}, and the files are to be loaded with "
                f"{loading.lang!r}. Give --lang {used.lang}, or --overwrite to load all anew"
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
            f"nothing is loaded into the graph {folder} yet: loading was broken off. Run it again: "
            f"trueground graph load SOURCE… --out {folder}"
        )
    if lang is not None and lang.lower() != state.lang.lower():
        raise GraphError(
            f"the graph {folder} was loaded with names in {state.lang!r}, and {lang!r} is asked. "
            f"Leave that out, or load it into another folder with --lang {lang}"
        )
    try:
        lock = lock_store(folder / state.store)
    except OSError:
        if read_graph_file(folder).store != state.store:
            return open_folder(folder, lang)  # files were loaded in this moment
        lock = None
    return EmbeddedGraph(
        read_store(folder / state.store),
        name=str(folder),
        signature=state.signature,
        lang=state.lang,
        lock=lock,
    )


def open_file(path: Path, loading: Loading, progress: Progress = no_progress) -> EmbeddedGraph:
    """The triples of a file, in memory. GraphError: it cannot be read; MissingExtraError."""
    from trueground.graph.loading import load_into

    store = empty_store()
    state = GraphFile(lang=loading.lang, sources=[_source(path, loading)])
    load_into(store, path, loading, progress)
    index_names(store, loading.lang, progress)
    return EmbeddedGraph(store, name=str(path), signature=state.signature, lang=loading.lang)


def _source(path: Path, loading: Loading) -> LoadedFile:
    from trueground.graph.loading.files import require_file

    try:
        require_file(path)
        size, sha256 = path.stat().st_size, file_digest(path)
    except OSError as error:
        raise GraphError(
            f"{path} cannot be read: {error.strerror or error}; expected a file of triples or "
            "graphs. Name one that is there"
        ) from error
    reading = {**asdict(loading), "classes": sorted(loading.classes)}
    del reading["lang"]  # one for the whole graph
    return LoadedFile(str(path.resolve()), sha256, size, reading)


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


@contextmanager
def _left_as_found(out: Path, missing: Sequence[Path]) -> Iterator[None]:
    """Where a first load is refused, leave the folder as it was found."""
    first = not is_graph(out)
    try:
        yield
    except TruegroundError as error:
        if error.exit_code == TruegroundError.exit_code:
            if first and is_graph(out) and read_graph_file(out).store is None:
                (out / GRAPH).unlink()
            remove_empty(missing)
        raise


def _load(
    out: Path, state: GraphFile, sources: Sequence[LoadedFile], loading: Loading, progress: Progress
) -> None:
    from trueground.graph.loading import load_into

    folder = fresh_store(out)
    try:
        with readable(f"the store of {out}", writing=True):
            if state.store is not None:
                read_store(out / state.store)  # tells damage before anything is done
                copy_store(out / state.store, folder)
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
            del store  # gives its files back
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    state.store = folder.name
    state.write(out)
