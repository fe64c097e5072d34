"""What of an unfinished run is scored already: progress.bin, one block per batch.

A block has the numbers of its batch, and the length and checksum of the batch's lines in
items.jsonl and of its records. So a batch counts only if all of it is on the disk unchanged, also
after a power cut. The first block says of which run, and of which version of trueground, the others
are: what another version scored is scored again.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from trueground._version import __version__

_FORMAT = 1
_HEAD = struct.Struct("<Q32s")  # length and SHA-256 of what follows
_MARKS = struct.Struct("<Q32sQ32s")  # the same of a batch's lines, then of its records


class Progress:
    """The blocks of progress.bin: read when a run is resumed, appended to while it is scored.

    `bytes`, `items_bytes` and `records_bytes` say where the last whole batch ends in each file.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        """`identity` is that of the run, see `runs.identity`."""
        self.bytes = self.items_bytes = self.records_bytes = 0
        self._path = path
        header = {"format": _FORMAT, "trueground": __version__, "identity": identity}
        self._header = orjson.dumps(header)
        self._append_to: Callable[[bytes], None] | None = None

    def read(self, items: Path, records: Path | None) -> Iterator[bytes]:
        """Yield the numbers of each whole batch, in order; `records` is None if none are kept."""
        with ExitStack() as stack:
            try:
                file = stack.enter_context(self._path.open("rb"))
                lines = stack.enter_context(items.open("rb"))
                packed = None if records is None else stack.enter_context(records.open("rb"))
            except OSError:
                return
            if _read_block(file) != self._header:
                return
            self.bytes = file.tell()
            while (block := _read_block(file)) is not None:
                marks = _MARKS.unpack_from(block)
                if not _has(lines, *marks[:2]) or not (packed is None or _has(packed, *marks[2:])):
                    return
                self.bytes = file.tell()
                self.items_bytes += marks[0]
                self.records_bytes += marks[2]
                yield block[_MARKS.size :]

    def start(self, append: Callable[[bytes], None]) -> None:
        """Append by this function from now on. Raises what it raises."""
        self._append_to = append
        if not self.bytes:
            self._append(self._header)

    def append(self, items: bytes, records: bytes, numbers: bytes) -> None:
        """Note a batch whose lines and records were written."""
        marks = _MARKS.pack(len(items), _digest(items), len(records), _digest(records))
        self._append(marks + numbers)

    def _append(self, block: bytes) -> None:
        assert self._append_to is not None
        self._append_to(_HEAD.pack(len(block), _digest(block)) + block)


def _read_block(file: BinaryIO) -> bytes | None:
    """The next block; None where the file ends, or holds what was not written as a whole."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    size, digest = _HEAD.unpack(head)
    block = file.read(size)
    return block if len(block) == size and _digest(block) == digest else None


def _has(file: BinaryIO, size: int, digest: bytes) -> bool:
    """Whether the next bytes of the file are those of the batch."""
    content = file.read(size)
    return len(content) == size and _digest(content) == digest


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
