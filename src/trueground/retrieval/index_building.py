"""How the folder of an index is begun, held, and filled with its passages."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from trueground.errors import InputError, OutputError, UsageError, WriteError
from trueground.net.locks import LOCK, locked
from trueground.plugins import read_given
from trueground.retrieval.base import Progress
from trueground.retrieval.index_file import (
    PASSAGES,
    IndexFile,
    PassagesMade,
    is_index,
    read_index_file,
)
from trueground.retrieval.reading import Reading, read_entries
from trueground.retrieval.sources import SourceFile, content_key, difference
from trueground.retrieval.store import PassageStore

_GONE = ".gone-"  # what was moved away, and is removed
_WAIT = 5.0  # seconds for another process that is about to finish


def origin(files: Sequence[SourceFile], reading: Reading) -> str:
    """A hash of what the passages are made of: the files' names and content, and the reading."""
    what = [content_key(files), reading.signature]
    return hashlib.sha256(msgspec.json.encode(what)).hexdigest()


def see_usable(source: Path, out: Path) -> None:
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
def building(out: Path) -> Iterator[None]:
    """Hold the folder, which is made if need be. OutputError."""
    busy = OutputError(
        f"another process builds the index {out}; run again when it has finished: what is whole "
        "then is used"
    )
    with ExitStack() as stack:
        try:
            out.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(out, busy, wait=_WAIT))
        except OSError as error:
            raise OutputError(
                f"cannot use {out} as an index: {error.strerror or error}; choose another --out"
            ) from error
        yield


def there(source: Path, out: Path, files: list[SourceFile], reading: Reading) -> IndexFile | None:
    """The state of an index that is there. InputError where it is one of another corpus."""
    if not is_index(out):
        return None
    state = read_index_file(out)
    if content_key(state.files) != content_key(files):
        changed = difference(source, state.files)
        raise InputError(
            f"the index {out} was made from {state.corpus}, and {changed or 'that is another'}. "
            "Make it anew with --rebuild, or choose another --out"
        )
    if state.reading != reading.signature:
        raise read_otherwise(out, state, reading)
    return state


def read_otherwise(path: Path, state: IndexFile, reading: Reading) -> UsageError:
    """An index whose documents were read in another way than is asked."""
    return UsageError(
        f"the index {path} was made with {state.reading}, and {reading.signature} is asked. Build "
        "from the corpus with --rebuild, or choose another --out"
    )


def begun(
    source: Path, out: Path, files: list[SourceFile], reading: Reading, rebuild: bool
) -> IndexFile:
    """What a folder that is held has so far; with `rebuild`, and where there is none, a new index.

    InputError, UsageError, WriteError.
    """
    for gone in out.glob(f"{_GONE}*"):
        shutil.rmtree(gone, ignore_errors=True)
    if not rebuild and (state := there(source, out, files, reading)) is not None:
        return state
    if is_index(out):
        _put_away(out, _folders(out))
    fresh = IndexFile(corpus=str(source.resolve()), files=files, reading=reading.signature)
    fresh.write(out)
    return fresh


def make_passages(
    source: Path, out: Path, state: IndexFile, reading: Reading, progress: Progress
) -> None:
    """Write the passages, or take those that were whole before index.json could say so."""
    folder, made_from = out / PASSAGES, origin(state.files, reading)
    if folder.is_dir() and PassageStore(folder).made_from == made_from:
        store = PassageStore(folder)
    else:
        unfinished = [entry.name for entry in out.glob(f".{PASSAGES}-*")]
        _put_away(out, [*unfinished, *([PASSAGES] if folder.exists() else [])])
        notes: list[str] = []
        entries = read_entries(source, reading, notes.append)
        store = PassageStore.write(folder, entries, progress, made_from=made_from, notes=notes)
    state.left_out = list(store.notes)
    state.passages = PassagesMade(len(store), store.sha256)
    state.write(out)


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


def _put_away(out: Path, names: Sequence[str]) -> None:
    """Remove folders: first all are moved away, so that none stays in its place. WriteError."""
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
            f"({error.filename or gone}); mend that and build again with --rebuild"
        ) from error
    # What cannot be deleted now is in nobody's way, and is tried again by the next build.
    shutil.rmtree(gone, ignore_errors=True)
