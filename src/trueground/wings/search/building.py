"""Building an index, resuming it, adding retrievers, and checking it against its corpus.

An interrupted build resumes, and retrievers can be added later. One process builds at a time; any
number of processes can search.
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
from trueground.wings.search.store import CorruptStoreError, PassageEntry, PassageStore, next_step

_SILENT_WAIT_SECONDS = 3.0  # Another process that builds is reported after this time.
_MTIME_STEP_NS = 2_000_000_000  # Some file systems store times in steps of two seconds.
_DEFAULT_READING = CorpusReading()


def open_index(path: Path) -> Index:
    """Return the index in a folder.

    It isn't an error if the corpus no longer exists: the index is complete without it.

    Raises:
        InputError: There is no index, it is damaged, or its corpus has changed.
    """
    _check_current(path)
    return Index(path)


def _check_current(path: Path) -> None:
    """Raise InputError if there is no index, or its corpus has changed."""
    state = read_index_file(path)
    changed = difference(Path(state.corpus), state.files, CorpusReading.parse(state.reading))
    if changed is not None:
        raise InputError(
            f"the index {path} is out of date: {changed}. Rebuild it with: trueground index "
            f"build {state.corpus} --out {path} --rebuild"
        )


def build_index(
    source: Path,
    out: Path | None,
    retrievers: Sequence[str],
    reading: CorpusReading = _DEFAULT_READING,
    progress: Progress = do_nothing,
    *,
    rebuild: bool = False,
    note: Callable[[str], None] = do_nothing,
) -> Index:
    """Build the index of a corpus, resume it, repair it, or add retrievers to it.

    The folder is locked only while something is built. If another process builds there, this one
    waits.

    Args:
        source: The corpus.
        out: The folder of the index. Default: a folder in home()/indexes.
        retrievers: The retrievers, as a user writes them.
        reading: How documents are read.
        progress: Called with the progress of the work.
        rebuild: Build the index again even if it exists.
        note: Called with warnings: parts of the corpus that were left out, a wait.

    Raises:
        InputError: The corpus can't be read, changes during the build, or isn't the one that the
            index was made from.
        OutputError: `out` contains something else.
        UsageError: A retriever isn't valid, or the source is an index.
        MissingExtraError: A retriever needs an optional package.
        WriteError: The index can't be written.
    """
    if is_index(source):
        raise UsageError(
            f"{source} is an index, not a corpus. Leave out --out to add retrievers to it, or "
            f"name the corpus that it was made from, {read_index_file(source).corpus}"
        )
    parts_of(retrievers)  # Raises early if a retriever isn't valid.
    now = time.time_ns()
    files = source_files(source, reading, progress)
    out = _default_path(_origin(files, reading)) if out is None else out
    _check_usable(source, out)
    store = None if rebuild else _load_passages(source, out, files, reading)
    if store is None:
        with _lock_for_build(out, progress, note):
            if rebuild:
                _remove(out, [RETRIEVERS, INDEX, PASSAGES])
            # Another process may have built the passages meanwhile.
            store = _load_passages(source, out, files, reading)
            if store is None:
                store = _write_passages(source, out, files, reading, progress, now)
    for warning in store.notes:
        note(warning)
    return _add(out, retrievers, progress, note, store.sha256)


def add_retrievers(
    path: Path,
    retrievers: Iterable[str],
    progress: Progress = do_nothing,
    *,
    note: Callable[[str], None] = do_nothing,
) -> Index:
    """Add the files of retrievers to an index; damaged files are rebuilt, complete ones kept.

    Raises:
        InputError: As `build_index`, or the passages are damaged and the corpus no longer exists.
        UsageError: A retriever isn't valid.
        MissingExtraError: A retriever needs an optional package.
        WriteError: The index can't be written.
    """
    state = read_index_file(path)
    store = _open_store(path)
    if store is None or store.sha256 != state.passages:
        corpus, reading = Path(state.corpus), CorpusReading.parse(state.reading)
        if reading is None or not corpus.exists():
            raise InputError(
                f"the passages of the index {path} are damaged or missing, and so is the corpus "
                f"{corpus} that they were made from. Restore the corpus, or rebuild the index from "
                f"another one: trueground index build CORPUS --out {path} --rebuild"
            )
        build_index(corpus, path, [], reading, progress, note=note)
    return _add(path, list(retrievers), progress, note, read_index_file(path).passages)


def ready_index(
    source: Path,
    retrievers: Sequence[str],
    reading: CorpusReading = _DEFAULT_READING,
    progress: Progress = do_nothing,
    *,
    note: Callable[[str], None] = do_nothing,
) -> Index:
    """Return an index with the files of these retrievers; missing or damaged files are built.

    Args:
        source: An index, or a corpus, whose index is in home()/indexes. A corpus that has changed,
            or is read differently, has another index.
        retrievers: The retrievers. If there are none and `source` is an index, nothing is written.
        reading: How documents are read.
        progress: Called with the progress of the work.
        note: Called with warnings.

    Raises:
        TruegroundError: As `build_index` and `open_index`.
    """
    if not is_index(source):
        return build_index(source, None, retrievers, reading, progress, note=note)
    state = read_index_file(source)
    if reading != _DEFAULT_READING and reading.signature != state.reading:
        raise UsageError(
            f"the index {source} was made with {state.reading}, not with the requested "
            f"{reading.signature}. Leave out these options, or name the corpus ({state.corpus}) "
            "instead of its index"
        )
    if not retrievers:
        return open_index(source)
    _check_current(source)
    return add_retrievers(source, retrievers, progress, note=note)


def default_index_path(
    source: Path, reading: CorpusReading = _DEFAULT_READING, progress: Progress = do_nothing
) -> Path:
    """Return the default path of the index of a corpus: home()/indexes/KEY."""
    return _default_path(_origin(source_files(source, reading, progress), reading))


def _default_path(origin: str) -> Path:
    return home() / "indexes" / origin[:32]


def _origin(files: Sequence[SourceFile], reading: CorpusReading) -> str:
    """Return a hash of the source of passages: names and content of files, and the reading."""
    key = [content_key(files), reading.signature, FORMAT]
    return hashlib.sha256(msgspec.json.encode(key)).hexdigest()


def _check_usable(source: Path, out: Path) -> None:
    """Raise OutputError if `out` can't become the folder of an index."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out must name a folder")
    if out.resolve().is_relative_to(source.resolve()):
        raise OutputError(
            f"{out} is inside the corpus {source} and would be read as a part of it; choose "
            "another --out"
        )
    unfinished = {PASSAGES, *(OutputPath(out / name).part.name for name in (INDEX, PASSAGES))}
    names = {entry.name for entry in out.iterdir()} - unfinished if out.is_dir() else set()
    # `is_index` is checked last because another process may be starting an index there.
    if names and not is_index(out):
        raise OutputError(f"{out} contains files but no index; choose another --out")


def _load_passages(
    source: Path, out: Path, files: list[SourceFile], reading: CorpusReading
) -> PassageStore | None:
    """Return the passages of an existing index; None if there are none, or they are damaged.

    Raises InputError if the index is of another corpus, UsageError if it was read differently.
    """
    if not is_index(out):
        return None
    state = read_index_file(out)
    if content_key(state.files) != content_key(files):
        changed = f"{source} is a different corpus"
        if source.resolve() == Path(state.corpus):
            reading_then = CorpusReading.parse(state.reading)
            changed = difference(source, state.files, reading_then) or changed
        raise InputError(
            f"the index {out} was made from {state.corpus}, and {changed}. Rebuild it with "
            "--rebuild, or choose another --out"
        )
    if state.reading != reading.signature:
        raise UsageError(
            f"the index {out} was made with {state.reading}, not with the requested "
            f"{reading.signature}. Rebuild it with --rebuild, or choose another --out"
        )
    store = _open_store(out)
    return store if store is not None and store.sha256 == state.passages else None


def _open_store(out: Path) -> PassageStore | None:
    """Return the passages; None if they are missing or damaged."""
    try:
        return PassageStore(out / PASSAGES)
    except CorruptStoreError:
        return None


def _write_passages(
    source: Path,
    out: Path,
    files: list[SourceFile],
    reading: CorpusReading,
    progress: Progress,
    listed_at_ns: int,
) -> PassageStore:
    """Write the passages and index.json. Passages of an interrupted build are kept.

    Raises InputError if a file has changed since `listed_at_ns`; then nothing is kept.
    """
    made_from = _origin(files, reading)
    store = _open_store(out)
    if store is None or store.made_from != made_from:
        _remove(out, [PASSAGES])
        notes: list[str] = []

        def entries() -> Iterator[PassageEntry]:
            yield from read_entries(source, reading, notes.append)
            if source.exists():
                changed = difference(source, files, reading, listed_at_ns)
            else:
                changed = f"{source} is gone"
            if changed:
                raise InputError(
                    f"the corpus was changed while it was read: {changed}. The index was not "
                    "built; run the command again when the corpus no longer changes"
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
    """Return the index with these retrievers. Raises OutputError if its passages have changed."""
    index = _reopen(path, passages)
    if not index.missing(retrievers):
        return index
    with _lock_for_build(path, progress, note):
        # Another process may have built or removed files before this one got the lock.
        index, state = _reopen(path, passages), read_index_file(path)
        order = list(state.retrievers)  # The first retriever is the default for searches.
        for part in parts_of(retrievers):
            if index.has(part):
                continue
            if state.retrievers.pop(part.folder, None) is not None:
                state.write(path)
                if part.spec.model is None:
                    _remove(path, [part.folder])
            (path / RETRIEVERS).mkdir(exist_ok=True)
            part.kind.build(path / part.folder, index.passages, part.spec, progress)
            state.retrievers[part.folder] = part.spec_text
            _restore_order(state.retrievers, order, part.folder)
            state.write(path)
    return _reopen(path, passages)


def _restore_order(retrievers: dict[str, str], order: Sequence[str], rebuilt: str) -> None:
    """Move the retrievers that came after a rebuilt one behind it again."""
    if rebuilt not in order:
        return
    for folder in order[order.index(rebuilt) + 1 :]:
        if folder in retrievers:
            retrievers[folder] = retrievers.pop(folder)


def _reopen(path: Path, passages: str) -> Index:
    """Open the index. Raises OutputError if its passages have another hash."""
    index = Index(path)
    if index.passages.sha256 != passages:
        raise OutputError(
            f"another process rebuilt the index {path} from other passages; run the command again "
            "to use the new index"
        )
    return index


@contextmanager
def _lock_for_build(out: Path, progress: Progress, note: Callable[[str], None]) -> Iterator[None]:
    """Create and lock the folder; if another process has the lock, wait and warn. OutputError."""
    busy = OutputError(f"another process is building the index {out}")
    last = -1

    def waiting(seconds: float) -> None:
        nonlocal last
        if int(seconds) > last:
            progress("wait for another", int(seconds), None)
        if last < _SILENT_WAIT_SECONDS <= seconds:
            note(f"{busy}; waiting until it has finished (Ctrl-C: don't wait)")
        last = max(last, int(seconds))

    with ExitStack() as stack:
        new = NewFolders(out)
        try:
            out.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FolderLock(out).hold(busy, math.inf, waiting))
        except OSError as error:
            raise OutputError(
                f"can't use {out} as an index: {error.strerror or error}; {next_step(error)}, or "
                "choose another --out"
            ) from error
        try:
            yield
        except TruegroundError:
            new.remove_empty()
            raise


def _remove(out: Path, names: Iterable[str]) -> None:
    """Remove files and folders. If it is interrupted, the rest is recognized as damaged."""
    for name in names:
        path = out / name
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise WriteError(
                f"can't remove {path}: {error.strerror or error}; {next_step(error)} and run the "
                "command again"
            ) from error


def source_files(
    source: Path, reading: CorpusReading, progress: Progress = do_nothing
) -> list[SourceFile]:
    """Return the files of a corpus in reading order. Raises InputError if one is unreadable."""
    paths = corpus_files(source, reading)
    files = []
    for number, path in enumerate(paths):
        progress("see", number, len(paths))
        try:
            stat = path.stat()
            digest = file_digest(path)
        except OSError as error:
            raise DataPath(path).unreadable(error) from error
        files.append(SourceFile(_name(source, path), stat.st_size, stat.st_mtime_ns, digest))
    progress("see", len(paths), len(paths))
    return files


def content_key(files: Sequence[SourceFile]) -> str:
    """Return a hash of the files' names and content, independent of their folder and times."""
    names = [(file.path, file.sha256) for file in files]
    return hashlib.sha256(msgspec.json.encode(names)).hexdigest()


def difference(
    source: Path,
    files: Sequence[SourceFile],
    reading: CorpusReading | None,
    listed_at_ns: int | None = None,
) -> str | None:
    """Return a text about the first file that has changed.

    A file with another modification time is compared by its content. So is a file that was written
    less than two seconds before `listed_at_ns`: a second change may not show in its time.

    Args:
        source: The corpus.
        files: The files as they were.
        reading: The reading of the index, None if this version doesn't know it.
        listed_at_ns: When `files` was listed.

    Returns:
        The text; None if no file has changed, or the corpus no longer exists.

    Raises:
        InputError: A file can't be read.
    """
    if not source.exists():
        return None
    before = {file.path: file for file in files}
    paths = corpus_files(source, reading or CorpusReading())
    now = {_name(source, path): path for path in paths}
    for name in sorted(before.keys() | now.keys()):
        if name not in now:
            return f"{source / name if source.is_dir() else source.parent / name} is gone"
        if name not in before:
            return f"{now[name]} is new"
        if _has_changed(now[name], before[name], listed_at_ns):
            return f"{now[name]} has changed"
    return None


def _has_changed(path: Path, before: SourceFile, listed_at_ns: int | None) -> bool:
    try:
        stat = path.stat()
        if stat.st_size != before.bytes:
            return True
        time_is_reliable = listed_at_ns is None or stat.st_mtime_ns < listed_at_ns - _MTIME_STEP_NS
        if time_is_reliable and stat.st_mtime_ns == before.mtime_ns:
            return False
        return file_digest(path) != before.sha256
    except OSError as error:
        raise DataPath(path).unreadable(error) from error


def _name(source: Path, path: Path) -> str:
    return path.name if path == source else path.relative_to(source).as_posix()
