"""How an index is made, checked against its corpus, gone on with, and added to.

Building goes on where it was broken off, and another retriever can be added later. One process
builds at a time; any number search.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from trueground.errors import InputError, OutputError, TruegroundError, UsageError, WriteError
from trueground.files import FolderLock, NewFolders, OutputPath, file_digest, home
from trueground.options import Progress, do_nothing
from trueground.records import DataPath
from trueground.wings.search.corpus import CorpusReading, corpus_files, read_entries
from trueground.wings.search.index import (
    FORMAT,
    INDEX,
    PASSAGES,
    RETRIEVERS,
    Index,
    IndexFile,
    SourceFile,
    is_index,
    parts_of,
    read_index_file,
)
from trueground.wings.search.store import PassageEntry, PassageStore, TornError, next_step

_NOTED_AFTER = 3.0  # seconds for which another process is waited for without a word
_FRESH_NS = 2_000_000_000  # some file systems count in steps of two seconds
_DEFAULT = CorpusReading()


def open_index(path: Path) -> Index:
    """The index in a folder. InputError: none, not whole, or its corpus has changed since.

    A corpus that is no longer there is no error: the index holds all that is needed.
    """
    _check_current(path)
    return Index(path)


def _check_current(path: Path) -> None:
    """InputError: no index, or its corpus has changed since."""
    state = read_index_file(path)
    changed = difference(Path(state.corpus), state.files, CorpusReading.parse(state.reading))
    if changed is not None:
        raise InputError(
            f"the index {path} is out of date: {changed}. Make it anew with: trueground index "
            f"build {state.corpus} --out {path} --rebuild"
        )


def build_index(
    source: Path,
    out: Path | None,
    retrievers: Sequence[str],
    reading: CorpusReading = _DEFAULT,
    progress: Progress = do_nothing,
    *,
    rebuild: bool = False,
    note: Callable[[str], None] = do_nothing,
) -> Index:
    """Make the index of a corpus, go on with it, fix it, or add retrievers to it.

    Without `out` it lies under home()/indexes. With `rebuild` an index that is there is made anew.
    The folder is held only while something is made; another process that makes something there is
    waited for. `note` is told of that, and what of the corpus was left out. InputError: the corpus
    cannot be read, is changed meanwhile, or is another than the index was made from; OutputError:
    `out` holds something else; UsageError, MissingExtraError, WriteError.
    """
    if is_index(source):
        raise UsageError(
            f"{source} is an index, not a corpus: leave --out away to add retrievers to it, or "
            f"name the corpus that it was made from, {read_index_file(source).corpus}"
        )
    parts_of(retrievers)
    now = time.time_ns()
    files = source_files(source, reading, progress)
    out = _default_place(_origin(files, reading)) if out is None else out
    _check_usable(source, out)
    store = None if rebuild else _passages_of(source, out, files, reading)
    if store is None:
        with _building(out, progress, note):
            if rebuild:
                _remove(out, [RETRIEVERS, INDEX, PASSAGES])
            # What another process has made meanwhile counts.
            store = _passages_of(source, out, files, reading)
            if store is None:
                store = _write_passages(source, out, files, reading, progress, now)
    for left_out in store.notes:
        note(left_out)
    return _add(out, retrievers, progress, note, store.sha256)


def add_retrievers(
    path: Path,
    retrievers: Iterable[str],
    progress: Progress = do_nothing,
    *,
    note: Callable[[str], None] = do_nothing,
) -> Index:
    """Build the files of these retrievers into an index; what is whole stays, all else is fixed.

    Errors as above; InputError also where passages are damaged and their corpus is gone.
    """
    state = read_index_file(path)
    store = _store(path)
    if store is None or store.sha256 != state.passages:
        corpus, reading = Path(state.corpus), CorpusReading.parse(state.reading)
        if reading is None or not corpus.exists():
            raise InputError(
                f"the passages of the index {path} are damaged or gone, and the corpus {corpus} "
                "that they were made from is not there. Bring it back, or make the index anew with "
                f"--rebuild from another: trueground index build CORPUS --out {path} --rebuild"
            )
        build_index(corpus, path, [], reading, progress, note=note)
    return _add(path, list(retrievers), progress, note, read_index_file(path).passages)


def ready_index(
    source: Path,
    retrievers: Sequence[str],
    reading: CorpusReading = _DEFAULT,
    progress: Progress = do_nothing,
    *,
    note: Callable[[str], None] = do_nothing,
) -> Index:
    """The index that `source` is, or one of the corpus `source` that is kept under home()/indexes.

    What is missing for the retrievers, or damaged, is built; without retrievers nothing is written
    to an index that is named itself. A corpus that has changed, or is read otherwise, has another
    index. Errors as of `build_index` and `open_index`.
    """
    if not is_index(source):
        return build_index(source, None, retrievers, reading, progress, note=note)
    state = read_index_file(source)
    if reading != _DEFAULT and reading.signature != state.reading:
        raise UsageError(
            f"the index {source} was made with {state.reading}, and {reading.signature} is asked. "
            f"Leave that away, or name the corpus ({state.corpus}) in place of its index"
        )
    if not retrievers:
        return open_index(source)
    _check_current(source)
    return add_retrievers(source, retrievers, progress, note=note)


def default_place(
    source: Path, reading: CorpusReading = _DEFAULT, progress: Progress = do_nothing
) -> Path:
    """Where the index of a corpus is kept unless told otherwise: home()/indexes/KEY."""
    return _default_place(_origin(source_files(source, reading, progress), reading))


def _default_place(origin: str) -> Path:
    return home() / "indexes" / origin[:32]


def _origin(files: Sequence[SourceFile], reading: CorpusReading) -> str:
    """A hash of what the passages are made of: the files' names and content, and the reading."""
    what = [content_key(files), reading.signature, FORMAT]
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()


def _check_usable(source: Path, out: Path) -> None:
    """OutputError where an index cannot be made in `out`."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out must name a folder")
    if out.resolve().is_relative_to(source.resolve()):
        raise OutputError(
            f"{out} lies in the corpus {source}, and would be read as a part of it; choose another "
            "--out"
        )
    ours = {PASSAGES, *(OutputPath(out / name).part.name for name in (INDEX, PASSAGES))}
    names = {entry.name for entry in out.iterdir()} - ours if out.is_dir() else set()
    # Asked last: another process may just be beginning an index there.
    if names and not is_index(out):
        raise OutputError(f"{out} holds files but no index; choose another --out")


def _passages_of(
    source: Path, out: Path, files: list[SourceFile], reading: CorpusReading
) -> PassageStore | None:
    """The passages of an index that is there; None where there is none, or they are not whole.

    InputError where it is one of another corpus, UsageError of one that was read otherwise.
    """
    if not is_index(out):
        return None
    state = read_index_file(out)
    if content_key(state.files) != content_key(files):
        changed = f"{source} is another"
        if source.resolve() == Path(state.corpus):
            reading_then = CorpusReading.parse(state.reading)
            changed = difference(source, state.files, reading_then) or changed
        raise InputError(
            f"the index {out} was made from {state.corpus}, and {changed}. Make it anew with "
            "--rebuild, or choose another --out"
        )
    if state.reading != reading.signature:
        raise UsageError(
            f"the index {out} was made with {state.reading}, and {reading.signature} is asked. "
            "Build from the corpus with --rebuild, or choose another --out"
        )
    store = _store(out)
    return store if store is not None and store.sha256 == state.passages else None


def _store(out: Path) -> PassageStore | None:
    """The passages; None where they are not there, or not whole."""
    try:
        return PassageStore(out / PASSAGES)
    except TornError:
        return None


def _write_passages(
    source: Path,
    out: Path,
    files: list[SourceFile],
    reading: CorpusReading,
    progress: Progress,
    known_ns: int,
) -> PassageStore:
    """Write the passages and index.json, or take those that were whole before that could say so.

    InputError also where a file is another after it was read than it was at `known_ns`; then
    nothing is kept.
    """
    made_from = _origin(files, reading)
    store = _store(out)
    if store is None or store.made_from != made_from:
        _remove(out, [PASSAGES])
        notes: list[str] = []

        def entries() -> Iterator[PassageEntry]:
            yield from read_entries(source, reading, notes.append)
            changed = f"{source} is gone" if not source.exists() else None
            if changed := changed or difference(source, files, reading, known_ns):
                raise InputError(
                    f"the corpus was changed while it was read: {changed}. Nothing of it is kept; "
                    "run again when it is at rest"
                )

        store = PassageStore.write(
            out / PASSAGES, entries(), progress, made_from=made_from, notes=notes
        )
    if is_index(out):
        state = read_index_file(out)
        state.passages = store.sha256
    else:
        state = IndexFile(
            corpus=str(source.resolve()),
            files=files,
            reading=reading.signature,
            passages=store.sha256,
        )
    state.write(out)
    return store


def _add(
    path: Path,
    retrievers: Sequence[str],
    progress: Progress,
    note: Callable[[str], None],
    passages: str,
) -> Index:
    """The index with these retrievers. OutputError: it has other passages meanwhile."""
    index = _same(path, passages)
    if not index.missing(retrievers):
        return index
    with _building(path, progress, note):
        # What another process has made or removed before the folder was ours counts.
        index, state = _same(path, passages), read_index_file(path)
        order = list(state.retrievers)  # the first one searches where none is named
        for part in parts_of(retrievers):
            if index.has(part):
                continue
            if state.retrievers.pop(part.folder, None) is not None:
                state.write(path)
                if part.given.model is None:
                    _remove(path, [part.folder])
            (path / RETRIEVERS).mkdir(exist_ok=True)
            part.kind.build(path / part.folder, index.passages, part.given, progress)
            state.retrievers[part.folder] = part.written
            for later in order[order.index(part.folder) + 1 :] if part.folder in order else ():
                if later in state.retrievers:
                    state.retrievers[later] = state.retrievers.pop(later)
            state.write(path)
    return _same(path, passages)


def _same(path: Path, passages: str) -> Index:
    index = Index(path)
    if index.passages.sha256 != passages:
        raise OutputError(
            f"the index {path} was made anew by another process, from other passages; run again "
            "to use it as it is now"
        )
    return index


@contextmanager
def _building(out: Path, progress: Progress, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the folder, which is made if need be; another process is waited for.

    `note` is told so after some seconds. OutputError.
    """
    busy = OutputError(f"another process builds the index {out}")
    last = -1

    def waiting(seconds: float) -> None:
        nonlocal last
        if int(seconds) > last:
            progress("wait for another", int(seconds), None)
        if last < _NOTED_AFTER <= seconds:
            note(f"{busy}; this one goes on when that has finished (Ctrl-C: do not wait)")
        last = max(last, int(seconds))

    with ExitStack() as stack:
        new = NewFolders(out)
        try:
            out.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FolderLock(out).hold(busy, math.inf, waiting))
        except OSError as error:
            raise OutputError(
                f"cannot use {out} as an index: {error.strerror or error}; {next_step(error)}, or "
                "choose another --out"
            ) from error
        try:
            yield
        except TruegroundError:
            new.remove_empty()
            raise


def _remove(out: Path, names: Iterable[str]) -> None:
    """Remove what is there: broken off, it leaves what is seen not to be whole. WriteError."""
    for name in names:
        path = out / name
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise WriteError(
                f"{path} cannot be removed: {error.strerror or error}; {next_step(error)} and "
                "build again"
            ) from error


def source_files(
    source: Path, reading: CorpusReading, progress: Progress = do_nothing
) -> list[SourceFile]:
    """The files that a corpus is read from, in their order. InputError: none, one unreadable."""
    places = corpus_files(source, reading)
    found = []
    for number, place in enumerate(places):
        progress("see", number, len(places))
        try:
            stat = place.stat()
            digest = file_digest(place)
        except OSError as error:
            raise DataPath(place).unreadable(error) from error
        found.append(SourceFile(_name(source, place), stat.st_size, stat.st_mtime_ns, digest))
    progress("see", len(places), len(places))
    return found


def content_key(files: Sequence[SourceFile]) -> str:
    """A hash of the files' names and content, wherever they lie and however old they are."""
    names = [(file.path, file.sha256) for file in files]
    return hashlib.sha256(msgspec.json.encode(names)).hexdigest()


def difference(
    source: Path,
    known: Sequence[SourceFile],
    reading: CorpusReading | None,
    known_ns: int | None = None,
) -> str | None:
    """Which file is another than before, in words; None where all are the same, or all are gone.

    A file with another time is read, and is the same if its content is. So is one that was written
    less than two seconds before `known_ns`, the time when `known` was made: it may have been
    written again without another time. `reading` is that of the index, None where this version has
    none such. InputError.
    """
    if not source.exists():
        return None
    before = {file.path: file for file in known}
    here = {
        _name(source, place): place for place in corpus_files(source, reading or CorpusReading())
    }
    for name in sorted(before.keys() | here.keys()):
        if name not in here:
            return f"{source / name if source.is_dir() else source.parent / name} is gone"
        if name not in before:
            return f"{here[name]} is new"
        place, file = here[name], before[name]
        try:
            stat = place.stat()
            settled = known_ns is None or stat.st_mtime_ns < known_ns - _FRESH_NS
            same = stat.st_size == file.bytes and (
                (settled and stat.st_mtime_ns == file.mtime_ns) or file_digest(place) == file.sha256
            )
        except OSError as error:
            raise DataPath(place).unreadable(error) from error
        if not same:
            return f"{place} has changed"
    return None


def _name(source: Path, place: Path) -> str:
    return place.name if place == source else place.relative_to(source).as_posix()
