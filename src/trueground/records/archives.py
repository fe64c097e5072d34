"""Local files as byte streams, decompressed on the way; a damaged archive is an InputError."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from trueground.errors import InputError

_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_LARGEST_WINDOW = 2**31
_CHUNK = 1 << 16
# Packed bytes that are unpacked at once: 4 of them can stand for 128 KiB.
_PIECE = 1 << 10
LARGEST_ROW = 1 << 26


def too_large(place: str) -> InputError:
    """For a row that is larger than what any row holds."""
    return InputError(
        f"{place}: one record of more than {LARGEST_ROW >> 20} MiB; a quotation mark or a line end "
        "is probably missing there"
    )


@contextmanager
def opened(path: Path, packing: str, name: str) -> Iterator[io.BufferedReader]:
    """The file's bytes, decompressed when `packing` is `.gz` or `.zst`, a UTF-8 mark skipped.

    Whatever goes wrong while opening or reading is an InputError that calls the file `name`, a line
    beyond the limit too, unless a limit is given to `readline`.
    """
    import zstandard

    try:
        with path.open("rb", buffering=0) as raw, _unpacked(raw, packing, name) as stream:
            start = stream.peek(3)[:3]
            if start[:2] in _UTF16_BOMS:
                raise InputError(f"{name} is UTF-16 text; save it as UTF-8")
            if start == _BOM:
                stream.read(3)
            yield stream
    except EOFError as error:
        raise InputError(f"{name} is cut off: the compressed data ends too early") from error
    except (gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
        kind = {".gz": "gzip", ".zst": "Zstandard"}[packing]
        raise InputError(f"{name} is not a sound {kind} archive: {error}") from error
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from error


def _unpacked(raw: io.FileIO, packing: str, name: str) -> io.BufferedReader:
    if packing == ".gz":
        return _Lines(gzip.GzipFile(fileobj=raw), name)
    if packing == ".zst":
        return _Lines(_ZstdFrames(raw), name)
    return _Lines(raw, name)


class _Lines(io.BufferedReader):
    """Lines that cannot fill the memory, whatever an archive unpacks to."""

    def __init__(self, raw: Any, name: str) -> None:
        super().__init__(raw, _CHUNK)
        self._called = name

    def readline(self, size: int | None = None, /) -> bytes:
        if size is not None:
            return super().readline(size)
        line = super().readline(LARGEST_ROW + 1)
        if len(line) > LARGEST_ROW:
            raise too_large(self._called)
        return line


class RowLines:
    """The lines of a CSV file for `csv.reader`; `size` is what its present row has taken so far.

    Whoever has taken a row sets it to 0. InputError for a row beyond the limit.
    """

    def __init__(self, text: io.TextIOWrapper, name: str) -> None:
        self.size = 0
        self._read = text.readline
        self._name = name

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._read(LARGEST_ROW + 1)
        self.size += len(line)
        if self.size > LARGEST_ROW:
            raise too_large(self._name)
        if not line:
            raise StopIteration
        return line


class _ZstdFrames(io.RawIOBase):
    """All frames of a Zstandard file in turn; EOFError where the last one is cut off.

    zstandard's own stream reader ends silently there, which would lose rows unnoticed.
    """

    def __init__(self, raw: io.FileIO) -> None:
        import zstandard

        self._raw = raw
        self._packed = memoryview(b"")
        self._plain = memoryview(b"")
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._plain and self._advance():
            pass
        n = min(len(buffer), len(self._plain))
        buffer[:n] = self._plain[:n]
        self._plain = self._plain[n:]
        return n

    def _advance(self) -> bool:
        """Decompresses the next piece; False at the end of the file."""
        packed = self._packed or memoryview(self._raw.read(_CHUNK))
        if not packed:
            if self._frame is not None:
                raise EOFError
            return False
        if self._frame is None:
            self._frame = self._decompressor.decompressobj()
        piece = packed[:_PIECE]
        self._plain = memoryview(self._frame.decompress(piece))
        self._packed = packed[len(piece) :]
        if self._frame.eof:
            self._packed = packed[len(piece) - len(self._frame.unused_data) :]
            self._frame = None
        return True


def require_readable(path: Path, name: str) -> None:
    """InputError unless it exists, is no folder, holds something, and may be read."""
    try:
        is_folder, size = path.is_dir(), path.stat().st_size
    except FileNotFoundError:
        raise InputError(f"{name} does not exist.{_near(path)}") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error
    if is_folder:
        inside = sorted(p.name for p in path.iterdir() if p.is_file())[:5]
        hint = f", for example {', '.join(inside)}" if inside else "; it holds none"
        raise InputError(f"{name} is a folder; name the files in it{hint}")
    if path.is_file() and size == 0:
        raise InputError(f"{name} is empty; it holds no records")


def _near(path: Path) -> str:
    """The names in the folder that come close to a missing one."""
    folder = path.parent
    if not folder.is_dir():
        return f" The folder {str(folder)!r} does not exist either."
    near = get_close_matches(path.name, [p.name for p in folder.iterdir()], n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
