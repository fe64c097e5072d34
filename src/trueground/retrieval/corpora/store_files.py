"""The files of a passage store: what they are called, what they hold, how they are read."""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trueground.errors import InputError
from trueground.records.checks import hash_id
from trueground.retrieval.corpora.corpus import StoredPassage

LINES = "passages.jsonl"
OFFSETS = "offsets.npy"
META = "passages.json"
FORMAT = 1
decode_line = msgspec.json.Decoder(StoredPassage).decode

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.uint32]


class Meta(msgspec.Struct, frozen=True):
    """What a store holds: passages, bytes of their lines, names of pages, and the lines' digest.

    `made_from` names what it was made from, `notes` say what of that is not in it.
    """

    format: int
    passages: int
    bytes: int
    names: int
    sha256: str
    made_from: str = ""
    notes: tuple[str, ...] = ()


class Sorted:
    """A sorted column of hashes and the passage that each belongs to, memory-mapped."""

    def __init__(self, folder: Path, name: str) -> None:
        self.hashes: Hashes = mapped(folder / f"{name}_hashes.npy")
        self.numbers: Numbers = mapped(folder / f"{name}_numbers.npy")

    def find(self, text: str) -> list[int]:
        """The passages of a text with this hash, ascending; some may be of another text."""
        value = np.uint64(hash_of(text))
        low = int(np.searchsorted(self.hashes, value, "left"))
        high = int(np.searchsorted(self.hashes, value, "right"))
        return list(map(int, self.numbers[low:high]))

    @staticmethod
    def write(folder: Path, name: str, hashes: Hashes, numbers: Numbers | None) -> None:
        """Sort by hash, then by number (their order where None is given), and save."""
        order = np.argsort(hashes, kind="stable")
        np.save(folder / f"{name}_hashes.npy", hashes[order])
        sorted_numbers = order if numbers is None else numbers[order]
        np.save(folder / f"{name}_numbers.npy", sorted_numbers.astype(np.uint32, copy=False))


def hash_of(text: str) -> int:
    """A 64-bit hash, the same on every machine."""
    return int.from_bytes(hash_id(text), "little")


def mapped(path: Path) -> NDArray[Any]:
    """An array file, memory-mapped, as a plain array: slicing a memmap costs far more."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


class RandomReader:
    """Reads at any place, from several threads and processes.

    Not mapped: pages of a mapped file count as memory of the process once they were read.
    """

    def __init__(self, path: Path) -> None:
        self._number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._lock = threading.Lock()
        weakref.finalize(self, os.close, self._number)

    def read(self, start: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._number, size, start)
        with self._lock:
            os.lseek(self._number, start, os.SEEK_SET)
            return os.read(self._number, size)


def read_meta(folder: Path) -> Meta:
    try:
        meta = msgspec.json.decode((folder / META).read_bytes(), type=Meta)
    except (FileNotFoundError, NotADirectoryError):
        raise TornError(
            f"{folder} holds no passages: there is no {META} in it; name the folder of an index, "
            "or build one"
        ) from None
    except OSError as error:
        raise InputError(f"{folder / META} cannot be read: {error.strerror or error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise torn(folder, f"{META}: {error}") from None
    if meta.format != FORMAT:
        raise TornError(
            f"{folder}: found passages of format {meta.format}, expected {FORMAT}; build it again"
        )
    return meta


class TornError(InputError):
    """A store that is not there, not whole, or of another version: it can only be made anew."""


def torn(folder: Path, reason: str) -> TornError:
    return TornError(
        f"{folder}: the files of the passages are damaged or incomplete ({reason}); "
        "remove the folder and build it again"
    )
