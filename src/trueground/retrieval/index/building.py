"""An index: passages and the files of retrievers over them, in one folder.

    index.json   what it was made from, and what of it is whole
    passages/    the passages
    …/           one folder for each retriever that keeps files

Building goes on where it was broken off, and another retriever can be added later. One process
builds at a time; any number search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from trueground.errors import InputError, OutputError, UsageError
from trueground.net.home import home
from trueground.options import Note, Progress, no_note, no_progress
from trueground.retrieval.corpora.reading import CorpusReading, reading_of
from trueground.retrieval.index.file import PartMade, is_index, read_index_file
from trueground.retrieval.index.opening import Index, check_current, open_index, parts_of
from trueground.retrieval.index.sources import check, source_files
from trueground.retrieval.index.steps import (
    are_whole,
    begun,
    building,
    check_usable,
    make_passages,
    origin,
    put_away,
    there,
)

_USUAL = CorpusReading()


def build_index(
    source: Path,
    out: Path | None,
    retrievers: Sequence[str],
    reading: CorpusReading = _USUAL,
    progress: Progress = no_progress,
    *,
    rebuild: bool = False,
    note: Note = no_note,
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
    seen = check(source, reading, progress)
    out = _place(origin(seen.files, reading)) if out is None else out
    check_usable(source, out)
    state = None if rebuild else there(source, out, seen.files, reading)
    if state is None or not are_whole(out, state):
        with building(out, progress, note):
            state = begun(source, out, seen.files, reading, rebuild)
            if not are_whole(out, state):
                make_passages(source, out, state, seen, reading, progress)
    for left_out in state.left_out:
        note(left_out)
    assert state.passages is not None
    return _added(out, retrievers, progress, note, state.passages.sha256)


def add_retrievers(
    path: Path,
    retrievers: Iterable[str],
    progress: Progress = no_progress,
    *,
    note: Note = no_note,
) -> Index:
    """Build the files of these retrievers into an index; what is whole stays, all else is fixed.

    Errors as above; InputError also where passages are damaged and their corpus is gone.
    """
    state = read_index_file(path)
    if state.passages is not None and not are_whole(path, state):
        corpus, reading = Path(state.corpus), reading_of(state.reading)
        if reading is None or not corpus.exists():
            raise InputError(
                f"the passages of the index {path} are damaged or gone, and the corpus {corpus} "
                "that they were made from is not there. Bring it back, or make the index anew with "
                f"--rebuild from another: trueground index build CORPUS --out {path} --rebuild"
            )
        build_index(corpus, path, [], reading, progress, note=note)
    return _added(path, list(retrievers), progress, note, Index(path).passages.sha256)


def ready_index(
    source: Path,
    retrievers: Sequence[str],
    reading: CorpusReading = _USUAL,
    progress: Progress = no_progress,
    *,
    note: Note = no_note,
) -> Index:
    """The index that `source` is, or one of the corpus `source` that is kept under home()/indexes.

    What is missing for the retrievers, or damaged, is built; without retrievers nothing is written
    to an index that is named itself. A corpus that has changed, or is read otherwise, has another
    index. Errors as of `build_index` and `open_index`.
    """
    if not is_index(source):
        return build_index(source, None, retrievers, reading, progress, note=note)
    state = read_index_file(source)
    if reading != _USUAL and reading.signature != state.reading:
        raise UsageError(
            f"the index {source} was made with {state.reading}, and {reading.signature} is asked. "
            f"Leave that away, or name the corpus ({state.corpus}) in place of its index"
        )
    if not retrievers:
        return open_index(source)
    check_current(source)
    return add_retrievers(source, retrievers, progress, note=note)


def usual_place(
    source: Path, reading: CorpusReading = _USUAL, progress: Progress = no_progress
) -> Path:
    """Where the index of a corpus is kept unless told otherwise: home()/indexes/KEY."""
    return _place(origin(source_files(source, reading, progress), reading))


def _place(key: str) -> Path:
    return home() / "indexes" / key[:32]


def _added(
    path: Path, retrievers: Sequence[str], progress: Progress, note: Note, passages: str
) -> Index:
    """The index with these retrievers. OutputError: it has other passages meanwhile."""
    index = _same(path, passages)
    if not index.missing(retrievers):
        return index
    with building(path, progress, note):
        # What another process has made or removed before the folder was ours counts.
        index, state = _same(path, passages), read_index_file(path)
        for part in parts_of(retrievers):
            made = state.retrievers.setdefault(part.folder, PartMade(part.written))
            if made.complete and index.has(part):
                continue
            damaged, made.complete = made.complete, False
            # Noted before it is begun, so that `rebuild` knows whose folder it is.
            state.write(path)
            if damaged and part.given.model is None:
                put_away(path, [part.folder])
            part.kind.build(path / part.folder, index.passages, part.given, progress)
            made.complete = True
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
