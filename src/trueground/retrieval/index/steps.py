"""How the folder of an index is begun, held, and filled with its passages."""

from __future__ import annotations

import hashlib
import math
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from trueground.errors import InputError, OutputError, TruegroundError, UsageError, WriteError
from trueground.net.files import locked, missing_folders, part_of, remove_empty
from trueground.options import Note, Progress, no_note, no_progress
from trueground.plugins import parse_part
from trueground.retrieval.corpora.corpus import PassageEntry
from trueground.retrieval.corpora.reading import (
    CorpusReading,
    read_entries,
    reading_of,
)
from trueground.retrieval.corpora.store import PassageStore
from trueground.retrieval.corpora.store_files import TornError
from trueground.retrieval.index.file import (
    INDEX,
    PASSAGES,
    IndexFile,
    PassagesMade,
    is_index,
    read_index_file,
)
from trueground.retrieval.index.sources import Seen, SourceFile, content_key, difference
from trueground.retrieval.writing import step

_GONE = ".gone-"  # what was moved away, and is removed
_UNFINISHED = f".{PASSAGES}-"  # what a process has left that was killed
_TOLD_AFTER = 3.0  # seconds for which another process is waited for without a word


def origin(files: Sequence[SourceFile], reading: CorpusReading) -> str:
    """A hash of what the passages are made of: the files' names and content, and the reading."""
    what = [content_key(files), reading.signature]
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()


def check_usable(source: Path, out: Path) -> None:
    """OutputError where an index cannot be made in `out`."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out must name a folder")
    if out.resolve().is_relative_to(source.resolve()):
        raise OutputError(
            f"{out} lies in the corpus {source}, and would be read as a part of it; choose another "
            "--out"
        )
    ours = {part_of(out / INDEX).name}
    names = {entry.name for entry in out.iterdir()} - ours if out.is_dir() else ()
    foreign = any(not name.startswith((_GONE, _UNFINISHED)) for name in names)
    # Asked last: another process may just be beginning an index there.
    if foreign and not is_index(out):
        raise OutputError(f"{out} holds files but no index; choose another --out")


@contextmanager
def building(out: Path, progress: Progress = no_progress, note: Note = no_note) -> Iterator[None]:
    """Hold the folder, which is made if need be; another process is waited for.

    `note` is told so after some seconds. OutputError.
    """
    busy = OutputError(f"another process builds the index {out}")
    told = -1

    def waiting(seconds: float) -> None:
        nonlocal told
        if int(seconds) > told:
            progress("wait for another", int(seconds), None)
        if told < _TOLD_AFTER <= seconds:
            note(f"{busy}; this one goes on when that has finished (Ctrl-C: do not wait)")
        told = max(told, int(seconds))

    with ExitStack() as stack:
        made = missing_folders(out)
        try:
            out.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(out, busy, math.inf, waiting))
        except OSError as error:
            raise OutputError(
                f"cannot use {out} as an index: {error.strerror or error}; {step(error)}, or "
                "choose another --out"
            ) from error
        try:
            yield
        except TruegroundError:
            remove_empty(made)
            raise


def there(
    source: Path, out: Path, files: list[SourceFile], reading: CorpusReading
) -> IndexFile | None:
    """The state of an index that is there; None also for one that holds nothing yet, of others.

    InputError where it is one of another corpus, UsageError of one that was read otherwise.
    """
    if not is_index(out):
        return None
    state = read_index_file(out)
    same = content_key(state.files) == content_key(files)
    if same and state.reading == reading.signature:
        return state
    if state.empty:
        return None
    if not same:
        changed = f"{source} is another"
        if source.resolve() == Path(state.corpus):
            changed = difference(source, state.files, reading_of(state.reading)) or changed
        raise InputError(
            f"the index {out} was made from {state.corpus}, and {changed}. Make it anew with "
            "--rebuild, or choose another --out"
        )
    raise UsageError(
        f"the index {out} was made with {state.reading}, and {reading.signature} is asked. Build "
        "from the corpus with --rebuild, or choose another --out"
    )


def begun(
    source: Path, out: Path, files: list[SourceFile], reading: CorpusReading, rebuild: bool
) -> IndexFile:
    """What a folder that is held has so far; with `rebuild`, and where there is none, a new index.

    InputError, UsageError, WriteError.
    """
    for gone in out.glob(f"{_GONE}*"):
        shutil.rmtree(gone, ignore_errors=True)
    if not rebuild and (state := there(source, out, files, reading)) is not None:
        return state
    if is_index(out):
        put_away(out, _folders(out))
    fresh = IndexFile(corpus=str(source.resolve()), files=files, reading=reading.signature)
    fresh.write(out)
    return fresh


def are_whole(out: Path, state: IndexFile) -> bool:
    """Whether the passages are there that the index was made with."""
    store = None if state.passages is None else _store(out)
    return (
        store is not None and state.passages is not None and (store.sha256 == state.passages.sha256)
    )


def make_passages(
    source: Path,
    out: Path,
    state: IndexFile,
    seen: Seen,
    reading: CorpusReading,
    progress: Progress,
) -> None:
    """Write the passages, or take those that were whole before index.json could say so.

    InputError also where a file is another after it was read than it was when it was `seen`; then
    nothing is kept.
    """
    folder, made_from = out / PASSAGES, origin(state.files, reading)
    store = _store(out)
    if store is None or store.made_from != made_from:
        put_away(out, [PASSAGES, *(entry.name for entry in out.glob(f"{_UNFINISHED}*"))])
        notes: list[str] = []
        entries = _unchanging(source, reading, seen, notes.append)
        try:
            store = PassageStore.write(folder, entries, progress, made_from=made_from, notes=notes)
        except TruegroundError:
            if state.empty:  # what the corpus was like then must not bind the next build
                (out / INDEX).unlink(missing_ok=True)
            raise
    state.left_out = list(store.notes)
    state.passages = PassagesMade(len(store), store.sha256)
    state.write(out)


def _store(out: Path) -> PassageStore | None:
    """The passages; None where they are not there, or not whole."""
    try:
        return PassageStore(out / PASSAGES)
    except TornError:
        return None


def _unchanging(
    source: Path, reading: CorpusReading, seen: Seen, note: Note
) -> Iterator[PassageEntry]:
    """The entries. InputError at their end where they may not be those of the files as seen."""
    yield from read_entries(source, reading, note)
    if not source.exists():
        changed: str | None = f"{source} is gone"
    else:
        changed = difference(source, seen.files, reading, seen.time_ns)
    if changed is not None:
        raise InputError(
            f"the corpus was changed while it was read: {changed}. Nothing of it is kept; run "
            "again when it is at rest"
        )


def _folders(out: Path) -> list[str]:
    """The folders that an index has written: what its file names, and what lies beside that."""
    made = read_index_file(out).retrievers
    kinds = {parse_part("retriever", part.written).name for part in made.values()}
    here = [entry.name for entry in out.iterdir() if entry.is_dir()]
    return [
        name
        for name in here
        if name in (PASSAGES, *made) or any(name.startswith(f"{kind}-") for kind in kinds)
    ]


def put_away(out: Path, names: Iterable[str]) -> None:
    """Remove folders that are there: first all are moved away, so that none stays. WriteError."""
    names = [name for name in names if (out / name).exists()]
    if not names:
        return
    gone = out / f"{_GONE}{secrets.token_hex(6)}"
    try:
        gone.mkdir()
        for name in names:
            (out / name).rename(gone / name)
    except OSError as error:
        raise WriteError(
            f"{out}: what was there cannot be moved away: {error.strerror or error} "
            f"({error.filename or gone}); {step(error)} and build again"
        ) from error
    # What cannot be deleted now is in nobody's way, and is tried again by the next build.
    shutil.rmtree(gone, ignore_errors=True)
