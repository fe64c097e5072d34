"""index.json: what an index was made from, and what of it is whole."""

from __future__ import annotations

from pathlib import Path

import msgspec

from trueground._version import __version__
from trueground.errors import InputError, WriteError
from trueground.net.files import is_state, write_state
from trueground.retrieval.index.sources import SourceFile
from trueground.retrieval.writing import step

INDEX = "index.json"
PASSAGES = "passages"
_FORMAT = 1


class PassagesMade(msgspec.Struct, frozen=True):
    """The passages that were written: how many, and the hash of all of them."""

    count: int
    sha256: str


class PartMade(msgspec.Struct):
    """The files of one retriever: how it was written, and whether they are all there."""

    written: str
    complete: bool = False


class IndexFile(msgspec.Struct, kw_only=True):
    """`corpus` is an absolute path; `retrievers` goes by folder. `passages` is None until whole.

    `reading` is the signature of how documents were read, `left_out` says what was not.
    """

    trueground_index: int = _FORMAT
    trueground: str = __version__
    corpus: str
    files: list[SourceFile]
    reading: str
    passages: PassagesMade | None = None
    left_out: list[str] = []
    retrievers: dict[str, PartMade] = {}

    def write(self, folder: Path) -> None:
        """Replace the file as a whole. WriteError."""
        path = folder / INDEX
        try:
            write_state(path, self)
        except OSError as error:
            raise WriteError(
                f"writing {path} failed: {error.strerror or error}; {step(error)}, then run again: "
                "what is finished stays"
            ) from error

    @property
    def empty(self) -> bool:
        """Whether nothing in it is whole."""
        return self.passages is None and not any(p.complete for p in self.retrievers.values())


def is_index(path: Path) -> bool:
    """Whether the folder is an index, of whatever version, finished or not."""
    return is_state(path / INDEX, "trueground_index")


def read_index_file(folder: Path) -> IndexFile:
    """InputError: no index, or one of another version."""
    path = folder / INDEX
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{folder} is no index: {INDEX}: {error.strerror or error}. Make one with: trueground "
            "index build CORPUS --out INDEX"
        ) from error
    try:
        version = msgspec.json.decode(content, type=_IndexVersion).trueground_index
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    if version != _FORMAT:
        raise InputError(
            f"{path}: found an index of format {version}; this trueground reads format {_FORMAT}. "
            "Build it again into another folder"
        )
    try:
        return msgspec.json.decode(content, type=IndexFile)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} cannot be read: {error}; build the index again in another folder, or delete "
        f"{path.parent} first"
    )


class _IndexVersion(msgspec.Struct):
    trueground_index: int
