"""The vectors of all passages in a file, written block by block and read memory-mapped.

vectors.f32 or vectors.f16   row after row, without a header
building.json                how many rows are whole, while it is written
vectors.json                 what the vectors are, once all of them are there
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Floats, PassageEncoder
from trueground.errors import InputError, ProtocolError, WriteError
from trueground.net.files import create_new, make_folder, open_no_follow, write_state
from trueground.options import Progress
from trueground.retrieval.base import Passages
from trueground.retrieval.dense.exact import Vectors
from trueground.retrieval.writing import step

FORMAT = 1
ABOUT, BUILDING = "vectors.json", "building.json"
STORES: dict[str, tuple[np.dtype[Any], str]] = {
    "float32": (np.dtype("<f4"), "vectors.f32"),
    "float16": (np.dtype("<f2"), "vectors.f16"),
}
# Passages between two records of progress: what is lost at most when it is broken off.
BLOCK = 4_096
_WHAT = "encode passages"


class VectorsHeader(msgspec.Struct):
    """What the vectors are. `signature` is that of the encoder as it was run, `space` names what
    they can be compared with, `longest` is the length of the longest, `passages` the digest of the
    passages, and `done` how many have their vector.
    """

    format: int
    passages: str
    count: int
    width: int
    store: str
    model: str
    space: str
    signature: str
    similarity: str
    longest: float = 0.0
    done: int = 0

    @property
    def row_bytes(self) -> int:
        return self.width * STORES[self.store][0].itemsize


class OpenedVectors(NamedTuple):
    """`rows` of shape (count, width); `digest` stands for what they are."""

    about: VectorsHeader
    rows: Vectors
    digest: str


def write_vectors(
    folder: Path,
    passages: Passages,
    encoder: PassageEncoder,
    store: str,
    model: str,
    progress: Progress,
) -> None:
    """Encode all passages; what is there already of the same encoder stays.

    Files of other passages are overwritten. InputError where they were begun with another encoder;
    ProtocolError for vectors that are none; WriteError.
    """
    wanted = VectorsHeader(
        FORMAT,
        passages.sha256,
        len(passages),
        encoder.width if len(passages) else 0,
        store,
        model,
        encoder.space,
        encoder.signature,
        encoder.similarity,
    )
    with _writing(folder):
        make_folder(folder)
        about = _begun(folder, wanted)
        out = _cut_off(folder / STORES[store][1], about)
    # Reading passages and encoding them may fail too, but not for want of room here.
    with out:
        for part in _encoded(passages, encoder, about, progress):
            with _writing(folder):
                _append(out, part, about)
                write_state(folder / BUILDING, about)
    with _writing(folder):
        write_state(folder / ABOUT, about)
        (folder / BUILDING).unlink(missing_ok=True)


def _cut_off(file: Path, about: VectorsHeader) -> BinaryIO:
    """The file with the rows that are whole, open behind the last of them."""
    out = open_no_follow(file, "r+b") if about.done else create_new(file)
    try:
        out.truncate(about.done * about.row_bytes)
        out.seek(0, os.SEEK_END)
    except OSError:
        out.close()
        raise
    return out


def open_vectors(folder: Path, passages: Passages) -> OpenedVectors:
    """The vectors, mapped. InputError: not there, not whole, or of other passages."""
    about = read_about(folder / ABOUT)
    if about is None:
        begun = read_about(folder / BUILDING)
        found = f"{begun.done:,} of {begun.count:,}" if begun else "none"
        raise InputError(
            f"{folder}: the vectors of the passages are not all there (found {found}); go on with "
            "`trueground index build`"
        )
    if about.passages != passages.sha256 or about.count != len(passages):
        raise InputError(
            f"{folder} has the vectors of {about.count:,} passages with the digest "
            f"{about.passages[:12]}, and here are {len(passages):,} with {passages.sha256[:12]}; "
            "build the index again"
        )
    dtype, name = STORES[about.store]
    size, expected = _size(folder / name), about.count * about.row_bytes
    if size != expected:
        raise InputError(
            f"{folder / name} has {size:,} bytes, and {ABOUT} speaks of {expected:,}: it is cut "
            f"off or damaged. Remove {folder} and build the index again"
        )
    digest = hashlib.sha256((folder / ABOUT).read_bytes()).hexdigest()
    rows: NDArray[Any] = np.empty((0, about.width), dtype)
    if expected:
        mapped = np.memmap(folder / name, dtype, "r", shape=(about.count, about.width))
        rows = np.asarray(mapped)  # slicing a memmap itself costs far more
    return OpenedVectors(about, rows, digest)


def are_whole(folder: Path, passages: Passages) -> bool:
    """Whether all vectors of these passages are there."""
    about = read_about(folder / ABOUT)
    return (
        about is not None
        and about.passages == passages.sha256
        and _size(folder / STORES[about.store][1]) == about.count * about.row_bytes
    )


def read_about(file: Path) -> VectorsHeader | None:
    """What the file says; None where it is not there or says nothing that can be used."""
    try:
        about = msgspec.json.decode(file.read_bytes(), type=VectorsHeader)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return about if about.format == FORMAT and about.store in STORES else None


def _begun(folder: Path, wanted: VectorsHeader) -> VectorsHeader:
    """Where to go on. Rows count that building.json names and that the file really has."""
    about = read_about(folder / ABOUT) or read_about(folder / BUILDING)
    if about is None or about.passages != wanted.passages or about.store != wanted.store:
        for name in (ABOUT, BUILDING):
            (folder / name).unlink(missing_ok=True)
        return wanted
    if about.signature != wanted.signature or about.similarity != wanted.similarity:
        raise InputError(
            f"{folder} was begun with the encoder {about.signature}, and now it is "
            f"{wanted.signature}: their vectors do not belong in one file. Go on as it was begun, "
            f"or remove {folder}"
        )
    if about.width != wanted.width:
        raise InputError(
            f"{folder} has vectors of {about.width} dimensions, and those of {wanted.model} have "
            f"{wanted.width}; remove {folder}"
        )
    there = _size(folder / STORES[about.store][1]) // about.row_bytes if about.row_bytes else 0
    if there < about.done:
        # `longest` may be that of a row that is gone: it is only ever too large, which is safe.
        about.done = there // BLOCK * BLOCK
        (folder / ABOUT).unlink(missing_ok=True)
    return about


def _encoded(
    passages: Passages, encoder: PassageEncoder, about: VectorsHeader, progress: Progress
) -> Iterator[Floats]:
    for start in range(about.done, len(passages), BLOCK):
        progress(_WHAT, start, len(passages))
        part = [passages[number] for number in range(start, min(start + BLOCK, len(passages)))]
        found = encoder.encode_passages([(passage.title or "", passage.text) for passage in part])
        if found.shape != (len(part), about.width):
            raise ProtocolError(
                f"the encoder {encoder.name!r} gave an array of shape {found.shape} for "
                f"{len(part)} passages; expected {(len(part), about.width)}"
            )
        yield found
    progress(_WHAT, len(passages), len(passages))


def _append(out: BinaryIO, part: Floats, about: VectorsHeader) -> None:
    """Add rows, and note them only when they are on the disk."""
    with np.errstate(over="ignore"):
        rows = part.astype(STORES[about.store][0])
    if not np.isfinite(rows).all():
        wrong = int(np.argmin(np.isfinite(rows).all(axis=1))) + about.done
        raise ProtocolError(
            f"the encoder {about.model!r} gave a number for passage {wrong} that is none, or too "
            f"large for {about.store}; use dtype=float32 and store=float32"
        )
    out.write(rows.tobytes())
    out.flush()
    os.fsync(out.fileno())
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    about.longest = max(about.longest, float(lengths.max()))
    about.done += len(rows)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WriteError(
            f"{folder}: writing the vectors failed: {error.strerror or error}. What was finished "
            f"is kept; {step(error)}, and build again"
        ) from error
