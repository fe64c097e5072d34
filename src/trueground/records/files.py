"""Files as byte streams: unpacked on the way, copied where they can be read only once.

A damaged archive, a missing file or an unreadable folder is an InputError that names it.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import shutil
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from typing import IO, Any

from trueground.errors import InputError, TruegroundError
from trueground.net import redact_urls
from trueground.records.jsonl import read_array, read_lines, read_members
from trueground.records.limits import LARGEST_ROW, too_large
from trueground.records.problems import Problem

STDIN = "-"
PACKINGS = (".gz", ".zst")
# The endings of data files, and the format that each stands for.
KINDS = {
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".json": "sniff",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_LARGEST_WINDOW = 2**31
_CHUNK = 1 << 16
# Packed bytes that are unpacked at once: 4 of them can stand for 128 KiB.
_PIECE = 1 << 10


def packing_of(path: PurePath) -> str:
    """How a file is packed, by its name: ".gz", ".zst", or "" where it is not."""
    ending = path.suffix.lower()
    return ending if ending in PACKINGS else ""


def inner_ending(path: PurePath) -> str:
    """The ending of what a file holds, in small letters: ".tsv" of "a.tsv.gz" and of "a.TSV"."""
    return (path.with_suffix("") if packing_of(path) else path).suffix.lower()


@contextmanager
def open_unpacked(
    path: Path, packing: str | None = None, name: str | None = None
) -> Iterator[DataStream]:
    """The file's bytes without a UTF-8 mark, unpacked when `packing` is `.gz`, `.bz2` or `.zst`.

    The packing is by default what the name says. Whatever goes wrong while opening or reading is an
    InputError that calls the file `name`, or else by its path; a line beyond LARGEST_ROW too,
    unless a limit is given to `readline`.
    """
    import zstandard

    packing = packing_of(path) if packing is None else packing
    name = str(path) if name is None else name
    try:
        with path.open("rb", buffering=0) as raw:
            unpacked: Any = raw
            if packing == ".gz":
                unpacked = gzip.GzipFile(fileobj=raw)
            elif packing == ".bz2":
                unpacked = bz2.BZ2File(raw)
            elif packing == ".zst":
                unpacked = _ZstdFrames(raw)
            with DataStream(unpacked, name) as stream:
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
        if packing == ".bz2" and error.errno is None:
            raise InputError(f"{name} is not a sound bzip2 archive: {error}") from error
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from error


@contextmanager
def open_range(name: str, low: int, high: int) -> Iterator[DataStream]:
    """The bytes from `low` to `high` of a path or URL that is not packed; nothing is copied.

    Without the UTF-8 mark at the beginning of the file. InputError as for `open_unpacked`.
    """
    public = redact_urls(name)
    with ExitStack() as stack, reading(public, name):
        raw = stack.enter_context(_open_remote(name) if is_remote(name) else open(name, "rb"))  # noqa: SIM115
        if low == 0:
            start = raw.read(3)
            if start[:2] in _UTF16_BOMS:
                raise InputError(f"{public} is UTF-16 text; save it as UTF-8")
            low = 3 if start == _BOM else 0
        raw.seek(low)
        yield stack.enter_context(DataStream(_Range(raw, high - low), public))


class _Range(io.RawIOBase):
    """The next `left` bytes of a file."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self._file = file
        self._left = left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(min(len(buffer), self._left))
        if not data and self._left:
            raise EOFError
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)


class DataStream(io.BufferedReader):
    """The bytes of a data file. A line can't fill the memory, whatever an archive unpacks to."""

    def __init__(self, raw: Any, name: str) -> None:
        """Read a raw stream, or bytes in memory.

        Args:
            raw: An unbuffered stream of bytes, or `io.BytesIO`.
            name: What messages call the file.
        """
        super().__init__(raw, _CHUNK)
        self._file = name

    def readline(self, size: int | None = None, /) -> bytes:
        if size is not None:
            return super().readline(size)
        line = super().readline(LARGEST_ROW + 1)
        if len(line) > LARGEST_ROW:
            raise too_large(self._file)
        return line

    def values(self, *, in_array: bool) -> Iterator[tuple[int, bytes | Problem]]:
        """Yield number and JSON text of the elements of the file's one array, or of its lines."""
        return read_array(self, self._file) if in_array else read_lines(self, self._file)

    def members(self) -> Iterator[tuple[str, Any]]:
        """Yield key and value of each member of the file's one object. InputError."""
        return read_members(self, self._file)

    def cells(self, delimiter: str) -> Generator[list[str], None, None]:
        """Yield the cells of each row, as Python's csv reads them with its defaults. InputError.

        Broken UTF-8 is left in the cells as lone surrogates.
        """
        from trueground.records.tables import read_cells

        return read_cells(self, self._file, delimiter)


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
        while not self._plain:
            packed = self._packed or memoryview(self._raw.read(_CHUNK))
            if not packed:
                if self._frame is not None:
                    raise EOFError
                return 0
            frame = self._frame = self._frame or self._decompressor.decompressobj()
            used = min(_PIECE, len(packed))
            self._plain = memoryview(frame.decompress(packed[:used]))
            if frame.eof:
                used -= len(frame.unused_data)
                self._frame = None
            self._packed = packed[used:]
        n = min(len(buffer), len(self._plain))
        buffer[:n] = self._plain[:n]
        self._plain = self._plain[n:]
        return n


def require_readable(path: Path, name: str) -> None:
    """InputError unless it exists, is no folder, is not empty, and may be read."""
    try:
        is_folder, size = path.is_dir(), path.stat().st_size
    except FileNotFoundError:
        hint = f" The folder {str(path.parent)!r} does not exist either."
        if path.parent.is_dir():
            hint = InputError.suggest(path.name, [p.name for p in path.parent.iterdir()])
        raise InputError(f"{name} does not exist.{hint}") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error
    if is_folder:
        inside = sorted(p.name for p in path.iterdir() if p.is_file())[:5]
        hint = f", for example {', '.join(inside)}" if inside else "; it holds none"
        raise InputError(f"{name} is a folder; name the files in it{hint}")
    if path.is_file() and size == 0:
        raise InputError(f"{name} is empty; it holds no records")


def is_remote(name: str) -> bool:
    """Is it a URL, to be opened by fsspec?"""
    return "://" in name


class LocalCopies:
    """Temporary copies of what can be read only once; removed by `close`, at the latest at exit."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._folder: Path | None = None
        self.close: Callable[[], Any] = lambda: None

    def fetch(self, name: str) -> Path:
        """A local copy of standard input (`-`), of a pipe or of a URL. InputError."""

        def copy(out: IO[bytes]) -> None:
            if name == STDIN:
                shutil.copyfileobj(sys.stdin.buffer, out)
            elif is_remote(name):
                with reading(redact_urls(name), name), _open_remote(name) as stream:
                    shutil.copyfileobj(stream, out)
            else:
                with open(name, "rb") as stream:
                    shutil.copyfileobj(stream, out)

        return self.write(name, copy)

    def write(self, name: str, fill: Callable[[IO[bytes]], None]) -> Path:
        """The file under this name; `fill` writes it, the first time only. InputError."""
        if name in self._files:
            return self._files[name]
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="trueground-"))
            self.close = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        path = self._folder / str(len(self._files))
        try:
            with path.open("wb") as out:
                fill(out)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise InputError(
                    f"no room in {self._folder.parent} for a copy of {redact_urls(name)}; "
                    "set TMPDIR to a folder on a larger disk"
                ) from error
            raise InputError(f"{redact_urls(name)} cannot be read: {error}") from error
        self._files[name] = path
        return path


def _open_remote(url: str) -> Any:
    import fsspec

    return fsspec.open(url, "rb")


@contextmanager
def reading(public: str, url: str) -> Iterator[None]:
    """Whatever goes wrong while a path or URL is read is an InputError that calls it `public`."""
    try:
        yield
    except InputError:
        raise
    except EOFError as error:
        raise InputError(f"{public} became shorter while it was read; start again") from error
    except ImportError as error:
        raise TruegroundError.missing_store_package(public, error) from error
    except FileNotFoundError as error:
        raise InputError(f"{public} {_missing_message(error)}") from error
    except Exception as error:  # backends raise exceptions of their own making
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        reason = str(error).replace(url, public)
        raise InputError(f"{public} cannot be read: {type(error).__name__}: {reason}") from error


def _missing_message(error: FileNotFoundError) -> str:
    """Why nothing was found; fsspec says so of web addresses whatever has gone wrong."""
    import aiohttp

    from trueground.net import HttpError

    cause = error.__cause__
    if isinstance(cause, aiohttp.ClientResponseError):
        missing = cause.status in (404, 410)
        return "does not exist" if missing else f"cannot be read: HTTP {cause.status}"
    reason = HttpError.describe(cause)
    return "does not exist" if reason is None else f"cannot be read: {reason}"
