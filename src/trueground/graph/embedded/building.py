"""Loading files into a graph on disk.

    graph.json   what was loaded, and which store is whole
    store-N/     the triples and the index of names

A store is filled beside the one in use, and graph.json then names it: a load that is broken off
leaves the graph as it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trueground.errors import GraphError, OutputError, WriteError
from trueground.graph.base import Progress, no_progress
from trueground.graph.embedded.bulk import load_lines
from trueground.graph.embedded.file import GraphFile, Source, is_graph, read_graph_file
from trueground.graph.embedded.graph import EmbeddedGraph
from trueground.graph.embedded.lines import NameLines
from trueground.graph.embedded.names import index_names, leave_out
from trueground.graph.embedded.store import empty_store, read_store
from trueground.net.digests import file_digest
from trueground.net.locks import LOCK, locked

if TYPE_CHECKING:
    from pyoxigraph import Store

    from trueground.graph.loading import Counts, Loading

_STORE = "store-"
# RocksDB never changes these once they are written.
_UNCHANGING = ".sst"


def build_graph(
    sources: Sequence[Path],
    out: Path,
    loading: Loading,
    progress: Progress = no_progress,
    *,
    overwrite: bool = False,
) -> EmbeddedGraph:
    """Load files into the graph in the folder `out`; one that is there is added to.

    A file whose content is loaded already is passed over, and with `overwrite` all is loaded anew.
    GraphError: a file cannot be read, or the graph is in another language; OutputError: `out` holds
    something else or is being loaded into; WriteError; MissingExtraError.
    """
    read = [_source(path, loading) for path in sources]
    _make_folder(out)
    busy = OutputError(
        f"another process is loading into {out}; wait until it is done, or choose another --out"
    )
    with locked(out, busy):
        used = _used(out, overwrite)
        state = _begun(out, used, loading, overwrite)
        have = {one.read_as for one in state.sources}
        wanted = {one.read_as: one for one in reversed(read) if one.read_as not in have}
        new = [one for one in read if wanted.get(one.read_as) is one]
        if new or state.store is None:
            _remove_stores(out, used.store)
            _load(out, state, new, loading, progress)
            _remove_stores(out, state.store)
    return open_folder(out)


def open_folder(folder: Path, lang: str | None = None) -> EmbeddedGraph:
    """The graph in a folder, for reading. GraphError: none, unfinished, or in another language."""
    state = read_graph_file(folder)
    if state.store is None:
        raise GraphError(
            f"nothing is loaded into the graph {folder} yet: loading was broken off. Run it again: "
            f"trueground graph load SOURCE… --out {folder}"
        )
    if lang is not None and lang != state.lang:
        raise GraphError(
            f"the graph {folder} was loaded with names in {state.lang!r}, and {lang!r} is asked. "
            f"Leave that out, or load it into another folder with --lang {lang}"
        )
    return EmbeddedGraph(
        read_store(folder / state.store),
        name=str(folder),
        signature=state.signature,
        lang=state.lang,
    )


def _source(path: Path, loading: Loading) -> Source:
    try:
        size, sha256 = path.stat().st_size, file_digest(path)
    except OSError as error:
        raise GraphError(
            f"{path} cannot be read: {error.strerror or error}; expected a file of triples or "
            "graphs. Name one that is there"
        ) from error
    place = str(path.resolve())
    reading = {**asdict(loading), "classes": sorted(loading.classes)}
    del reading["lang"]  # one for the whole graph
    return Source(place, sha256, size, reading)


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
    others = sorted(one.name for one in out.iterdir() if one.name != LOCK)
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
    if used.lang != loading.lang:
        raise GraphError(
            f"the graph {out} has names in {used.lang!r}, and the files are to be loaded with "
            f"{loading.lang!r}. Give --lang {used.lang}, or --overwrite to load all anew"
        )
    return used


def _load(
    out: Path, state: GraphFile, sources: Sequence[Source], loading: Loading, progress: Progress
) -> None:
    folder = _fresh(out)
    try:
        if state.store is not None:
            _copy(out / state.store, folder)
        store = empty_store(folder)
        loaded = []
        names = NameLines(state.lang)
        for source in sources:
            counts = _loaded(store, Path(source.path), loading, names, progress)
            loaded.append(
                msgspec.structs.replace(
                    source,
                    format=counts.format,
                    triples=counts.triples,
                    entities=counts.entities,
                    left_out=counts.left_out,
                )
            )
        state.names = _indexed(store, names, state, progress)
        # Many small files become few: reading is several times as fast.
        store.optimize()
        store.flush()
        del store  # gives its files back
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise WriteError(
            f"loading into {out} failed: {error}; make room there or allow writing, then run "
            "again: the graph is as it was"
        ) from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    state.sources = [*state.sources, *loaded]
    state.store = folder.name
    state.write(out)


def _loaded(
    store: Store, path: Path, loading: Loading, names: NameLines, progress: Progress
) -> Counts:
    """Load one file, in the quickest way that it allows; where that gives no names, say so."""
    from trueground.graph.loading import Counts, load_into
    from trueground.graph.loading.formats import format_of, rdf_format

    if format_of(path, loading) == "rdf" and rdf_format(path) == "N_TRIPLES":
        count = load_lines(store, path, names, progress)
        if count:
            return Counts("rdf", count)
    names.whole = False
    return load_into(store, path, loading, progress)


def _indexed(store: Store, names: NameLines, state: GraphFile, progress: Progress) -> int:
    """The index of names, where the lines did not give all of it; how many names there are."""
    if not names.whole:
        count = index_names(store, state.lang, progress)
        leave_out(store)
        return count
    count = state.names + names.count - leave_out(store)
    progress("names", count, count)
    return count


def _fresh(out: Path) -> Path:
    """A name for a store that nothing has yet."""
    taken = {one.name for one in out.iterdir()}
    number = 1
    while f"{_STORE}{number}" in taken:
        number += 1
    return out / f"{_STORE}{number}"


def _copy(old: Path, new: Path) -> None:
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


def _remove_stores(out: Path, but: str | None) -> None:
    """Remove stores that graph.json does not name: broken off, or replaced."""
    for one in out.glob(f"{_STORE}*"):
        if one.name != but:
            shutil.rmtree(one, ignore_errors=True)


def open_file(path: Path, lang: str = "en", progress: Progress = no_progress) -> EmbeddedGraph:
    """The triples of a file, in memory. GraphError: it cannot be read; MissingExtraError."""
    from trueground.graph.loading import Loading

    store = empty_store()
    loading = Loading(lang=lang)
    source = _source(path, loading)
    names = NameLines(lang)
    state = GraphFile(lang=lang, sources=[source])
    _loaded(store, path, loading, names, progress)
    _indexed(store, names, state, progress)
    return EmbeddedGraph(store, name=str(path), signature=state.signature, lang=lang)
