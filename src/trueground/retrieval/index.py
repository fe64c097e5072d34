"""An index: passages and the files of retrievers over them, in one folder.

    index.json   what it was made from, and what of it is whole
    passages/    the passages
    …/           one folder for each retriever that keeps files

Building goes on where it was broken off, and another retriever can be added later. One process
builds at a time; any number search.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from trueground.errors import InputError, OutputError, UsageError
from trueground.net.cache import ResponseCache, searches_path
from trueground.net.home import home
from trueground.net.locks import LOCK, locked
from trueground.plugins import Given, read_given
from trueground.retrieval.base import Kind, Opened, Progress, no_progress
from trueground.retrieval.index_file import (
    PASSAGES,
    IndexFile,
    PartMade,
    PassagesMade,
    is_index,
    read_index_file,
)
from trueground.retrieval.kept import Kept
from trueground.retrieval.kinds import Shown, bases, compose, kind_of
from trueground.retrieval.reading import Note, Reading, no_note, read_entries
from trueground.retrieval.sources import SourceFile, content_key, difference, source_files
from trueground.retrieval.store import PassageStore
from trueground.retrieval.written import as_written

__all__ = ["Index", "add_retrievers", "build_index", "is_index", "open_index", "ready_index"]

_USUAL = Reading()


class Index:
    """A folder of passages that can be searched.

    `signature` stands for the passages, wherever the index lies. `retrievers` are those whose files
    are whole, as they were written when they were added.
    """

    def __init__(self, path: Path) -> None:
        """InputError: no index, passages that are not whole."""
        self.path = path
        state = read_index_file(path)
        if state.passages is None:
            raise InputError(
                f"the index {path} is not finished: its passages are not whole. Go on with: "
                f"trueground index build {state.corpus} --out {path}"
            )
        self.passages = PassageStore(path / PASSAGES)
        if self.passages.sha256 != state.passages.sha256:
            raise InputError(
                f"{path / PASSAGES} holds other passages than {path} was made with; build the "
                "index again with --rebuild"
            )
        self.signature = f"passages:{self.passages.sha256}"
        self.retrievers = [part.written for part in state.retrievers.values() if part.complete]
        self._whole = {folder for folder, part in state.retrievers.items() if part.complete}
        self._caches: list[ResponseCache] = []

    @property
    def problem(self) -> str | None:
        """Why hits are no longer kept on disk; None where they are."""
        return next((cache.problem for cache in self._caches if cache.problem), None)

    def missing(self, retrievers: Iterable[str]) -> list[str]:
        """The parts of these retrievers whose files are not here, or not whole. UsageError."""
        return [part.written for part in _parts(retrievers) if part.folder not in self._whole]

    def see(self, written: str) -> None:
        """See that a retriever can be opened. UsageError; InputError: no files for it here."""
        if missing := self.missing([written]):
            named = " ".join(f"--retriever '{part}'" for part in missing)
            raise InputError(
                f"the index {self.path} holds nothing for {', '.join(missing)}; there is "
                f"{', '.join(self.retrievers) or 'no retriever'}. Add it with: trueground index "
                f"build {self.path} {named}"
            )

    def open(self, written: str, *, cache: bool = True, progress: Progress = no_progress) -> Opened:
        """A retriever over the passages; with `cache` its hits are kept, query by query.

        What is put together from others is computed anew from the kept hits of its parts.
        UsageError, MissingExtraError; InputError where the index holds no files for it.
        """
        self.see(written)
        with ExitStack() as stack:
            kept = None
            if cache:
                kept = stack.enter_context(ResponseCache(searches_path()))
                self._caches.append(kept)

            def open_base(given: Given) -> Opened:
                kind = kind_of(given)
                opened = kind.open(self.path / kind.folder(given), self.passages, given)
                label = given.name if given.model is None else f"{given.name}:{given.model}"
                inner, sha256 = opened.retriever, self.passages.sha256
                wrapped = Kept(inner, sha256, kept, label=label, progress=progress)
                return Opened(wrapped, opened.close)

            shown = Shown(self.passages.texts, self.passages.searched)
            made = compose(written, open_base, shown)
            stack.callback(made.close)
            return Opened(made.retriever, stack.pop_all().close)


class _Part(NamedTuple):
    folder: str
    written: str
    kind: Kind
    given: Given


def build_index(
    source: Path,
    out: Path,
    retrievers: Sequence[str],
    reading: Reading = _USUAL,
    progress: Progress = no_progress,
    *,
    rebuild: bool = False,
    note: Note = no_note,
) -> Index:
    """Make the index of a corpus, go on with it, or add retrievers to it.

    With `rebuild` an index that is there is made anew; `note` is told what of the corpus was left
    out. InputError: the corpus cannot be read, or is
    another than the index was made from; OutputError: `out` holds something else, or another
    process builds there; UsageError, MissingExtraError, WriteError.
    """
    _parts(retrievers)
    files = source_files(source, progress)
    _see_usable(source, out)
    with _building(out):
        state = _begun(source, out, files, reading, rebuild)
        if state.passages is None:
            store = _passages(source, out / PASSAGES, reading, progress, state.left_out.append)
            state.passages = PassagesMade(len(store), store.sha256)
            state.write(out)
        for left_out in state.left_out:
            note(left_out)
    return add_retrievers(out, retrievers, progress)


def add_retrievers(
    path: Path, retrievers: Iterable[str], progress: Progress = no_progress
) -> Index:
    """Build the files of these retrievers into an index; what is whole stays. Errors as above."""
    retrievers = list(retrievers)
    index = Index(path)
    if not index.missing(retrievers):
        return index
    with _building(path):
        state = read_index_file(path)
        for part in _parts(retrievers):
            made = state.retrievers.setdefault(part.folder, PartMade(part.written))
            if not made.complete:
                # Noted before it is begun, so that `rebuild` knows whose folder it is.
                state.write(path)
                part.kind.build(path / part.folder, index.passages, part.given, progress)
                made.complete = True
                state.write(path)
    return Index(path)


def open_index(path: Path) -> Index:
    """The index in a folder. InputError: none, not whole, or its corpus has changed since.

    A corpus that is no longer there is no error: the index holds all that is needed.
    """
    state = read_index_file(path)
    changed = difference(Path(state.corpus), state.files)
    if changed is not None:
        raise InputError(
            f"the index {path} is out of date: {changed}. Make it anew with: trueground index "
            f"build {state.corpus} --out {path} --rebuild"
        )
    return Index(path)


def ready_index(
    source: Path,
    retrievers: Sequence[str],
    reading: Reading = _USUAL,
    progress: Progress = no_progress,
    *,
    note: Note = no_note,
) -> Index:
    """The index that `source` is, or one of the corpus `source` that is kept under home()/indexes.

    What is missing for the retrievers is built. A corpus that has changed, or is read otherwise,
    has another index. Errors as of `build_index` and `open_index`.
    """
    if is_index(source):
        state = read_index_file(source)
        if reading != _USUAL and reading.signature != state.reading:
            raise _read_otherwise(source, state, reading)
        open_index(source)
        return add_retrievers(source, retrievers, progress)
    place = usual_place(source, reading)
    return build_index(source, place, retrievers, reading, progress, note=note)


def usual_place(source: Path, reading: Reading = _USUAL) -> Path:
    """Where the index of a corpus is kept unless told otherwise: home()/indexes/KEY."""
    what = [content_key(source_files(source)), reading.signature]
    return home() / "indexes" / hashlib.sha256(msgspec.json.encode(what)).hexdigest()[:32]


def _passages(
    source: Path, folder: Path, reading: Reading, progress: Progress, note: Note
) -> PassageStore:
    if folder.is_dir():
        # It appears when it is whole: the process ended before index.json could say so.
        return PassageStore(folder)
    for unfinished in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(unfinished, ignore_errors=True)
    return PassageStore.write(folder, read_entries(source, reading, note), progress)


def _parts(retrievers: Iterable[str]) -> list[_Part]:
    found: dict[str, _Part] = {}
    for retriever in retrievers:
        for written in bases(retriever):
            given = read_given("retriever", written)
            kind = kind_of(given)
            folder = kind.folder(given)
            found.setdefault(folder, _Part(folder, as_written(given), kind, given))
    return list(found.values())


def _see_usable(source: Path, out: Path) -> None:
    """OutputError where an index cannot be made in `out`."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out must name a folder")
    if out.resolve().is_relative_to(source.resolve()):
        raise OutputError(
            f"{out} lies in the corpus {source}, and would be read as a part of it; choose another "
            "--out"
        )
    if out.is_dir() and not is_index(out):
        names = {entry.name for entry in out.iterdir()} - {LOCK}
        if names:
            raise OutputError(f"{out} holds files but no index; choose another --out")


@contextmanager
def _building(out: Path) -> Iterator[None]:
    """Hold the folder, which is made if need be. OutputError."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot use {out} as an index: {error.strerror or error}; choose another --out"
        ) from error
    busy = OutputError(
        f"another process builds the index {out}; wait until it has finished, or choose another "
        "--out"
    )
    with locked(out, busy):
        yield


def _begun(
    source: Path, out: Path, files: list[SourceFile], reading: Reading, rebuild: bool
) -> IndexFile:
    """What the index holds so far; a new one where there is none."""
    fresh = IndexFile(corpus=str(source.resolve()), files=files, reading=reading.signature)
    if is_index(out):
        if not rebuild:
            return _as_before(source, out, fresh, reading)
        for name in _folders(out):
            shutil.rmtree(out / name, ignore_errors=True)
    fresh.write(out)
    return fresh


def _folders(out: Path) -> list[str]:
    """The folders that an index has written: what its file names, and what lies beside that."""
    made = read_index_file(out).retrievers
    kinds = {read_given("retriever", part.written).name for part in made.values()}
    here = [entry.name for entry in out.iterdir() if entry.is_dir()]
    return [
        name
        for name in here
        if name in (PASSAGES, *made) or any(name.startswith(f"{kind}-") for kind in kinds)
    ]


def _as_before(source: Path, out: Path, fresh: IndexFile, reading: Reading) -> IndexFile:
    """The state of an index that is there. InputError where it is one of another corpus."""
    state = read_index_file(out)
    if content_key(state.files) != content_key(fresh.files):
        changed = difference(source, state.files)
        raise InputError(
            f"the index {out} was made from {state.corpus}, and {changed or 'that is another'}. "
            "Make it anew with --rebuild, or choose another --out"
        )
    if state.reading != fresh.reading:
        raise _read_otherwise(out, state, reading)
    return state


def _read_otherwise(path: Path, state: IndexFile, reading: Reading) -> UsageError:
    return UsageError(
        f"the index {path} was made with {state.reading}, and {reading.signature} is asked. Build "
        "from the corpus with --rebuild, or choose another --out"
    )
