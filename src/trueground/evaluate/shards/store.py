"""Where a sharded run is written: a folder, or a place in an object store by its URL.

A file appears as a whole or not at all, also where nothing can be renamed: an upload counts only
once it is complete. Every call to a store is tried again where it fails for the moment.
"""

from __future__ import annotations

import random
import secrets
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from trueground.errors import OutputError, TruegroundError, WriteError
from trueground.net import redact_urls

T = TypeVar("T")
_ATTEMPTS, _LONGEST_WAIT_S = 6, 20.0
_BLOCK = 64 << 20  # of an upload that goes on while a file grows


class MissingFileError(OutputError):
    """A file that should be in a store is gone."""


def open_store(place: str | Path) -> RunStore:
    """The store of a path or URL. Nothing is made yet. OutputError: a kind that is not known."""
    text = str(place)
    if text.startswith("file://"):
        text = text.removeprefix("file://")
    return RemoteStore(text.rstrip("/")) if "://" in text else LocalStore(Path(text))


class LocalStore:
    """A folder that all processes see; its files go by names such as `shards/plan.json`.

    `name` is what messages call it, `place` what another process opens it by, `folder` where its
    files lie on this machine.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Path | None = folder
        self._folder = folder
        self.place = self.name = str(folder)

    def read(self, name: str) -> bytes | None:
        """A small file; None where there is none. OutputError."""
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise OutputError(f"{self._folder} is a file; name a folder") from None
        except OSError as error:
            raise OutputError(f"{self._folder / name} cannot be read: {error.strerror}") from error

    def write(self, name: str, data: bytes) -> None:
        """Write or replace a small file. WriteError."""
        with self.writing(name) as out:
            out.write(data)

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """A file that appears when the block ends well. WriteError."""
        # Under a name of its own: another process may be at the same shard.
        path = self._folder / name
        part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with part.open("xb") as out:
                    yield out
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            raise WriteError.stopped(path, error) from error

    streaming = writing  # for files larger than this machine's disk

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """A file on this machine with the content. MissingFileError: it is not there."""
        path = self._folder / name
        if not path.is_file():
            raise MissingFileError(f"{path} is gone; run the same command again")
        yield path

    def sizes(self, prefix: str) -> dict[str, int]:
        """The names of the files below a prefix that is a folder's name, and their bytes."""
        folder = self._folder / prefix
        if not folder.is_dir():
            return {}
        return {f"{prefix}/{path.name}": path.stat().st_size for path in folder.iterdir()}

    def delete(self, names: Iterable[str]) -> None:
        """Remove these files, in this order, and their folder if it is empty then. WriteError."""
        for name in names:
            path = self._folder / name
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise WriteError.stopped(path, error) from error
            with suppress(OSError):
                path.parent.rmdir()


class RemoteStore:
    """A place in an object store, by fsspec; its methods are those of `LocalStore`."""

    folder: Path | None = None

    def __init__(self, url: str) -> None:
        import fsspec

        self.name = redact_urls(url)
        self.place = self._url = url
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise TruegroundError.missing_store_package(self.name, error) from error
        except Exception as error:  # backends raise exceptions of their own making
            raise OutputError(f"{self.name} cannot be used: {self._shown(error)}") from error
        # A file is listed from the store, not from what was listed before.
        self._files.use_listings_cache = False

    def read(self, name: str) -> bytes | None:
        def work() -> bytes | None:
            try:
                data: bytes = self._files.cat_file(f"{self._root}/{name}")
            except FileNotFoundError:
                return None
            return data

        return self._patiently(f"reading {name}", OutputError, work)

    def write(self, name: str, data: bytes) -> None:
        place = f"{self._root}/{name}"
        self._patiently(f"writing {name}", WriteError, lambda: self._files.pipe_file(place, data))

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        with tempfile.NamedTemporaryFile(prefix="trueground-") as file:
            yield file  # type: ignore[misc]
            file.flush()
            place = f"{self._root}/{name}"
            self._patiently(
                f"writing {name}", WriteError, lambda: self._files.put_file(file.name, place)
            )

    @contextmanager
    def streaming(self, name: str) -> Iterator[BinaryIO]:
        try:
            with self._files.open(f"{self._root}/{name}", "wb", block_size=_BLOCK) as out:
                yield out
        except TruegroundError:
            raise
        except Exception as error:  # backends raise exceptions of their own making
            raise WriteError(f"{self.name}: writing {name} failed: {self._shown(error)}") from error

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="trueground-") as folder:
            path = Path(folder) / "part"
            place = f"{self._root}/{name}"
            self._patiently(
                f"reading {name}", OutputError, lambda: self._files.get_file(place, str(path))
            )
            yield path

    def sizes(self, prefix: str) -> dict[str, int]:
        def work() -> dict[str, int]:
            try:
                listed = self._files.ls(f"{self._root}/{prefix}", detail=True, refresh=True)
            except FileNotFoundError:
                return {}
            return {
                f"{prefix}/{str(entry['name']).rpartition('/')[2]}": int(entry.get("size") or 0)
                for entry in listed
            }

        return self._patiently(f"listing {prefix}", OutputError, work)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self._patiently(f"removing {name}", WriteError, partial(self._remove, name))

    def _remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._files.rm_file(f"{self._root}/{name}")

    def _patiently(self, doing: str, kind: type[TruegroundError], work: Callable[[], T]) -> T:
        final = FileNotFoundError, PermissionError, NotADirectoryError, ImportError
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return work()
            except Exception as error:  # backends raise exceptions of their own making
                if isinstance(error, final) or attempt == _ATTEMPTS:
                    reason = self._shown(error)
                    if isinstance(error, FileNotFoundError):
                        kind = MissingFileError
                    raise kind(f"{self.name}: {doing} failed: {reason}") from error
            time.sleep(random.uniform(0.5, 1) * min(0.2 * 2**attempt, _LONGEST_WAIT_S))
        raise AssertionError("the last attempt returns or raises")

    def _shown(self, error: Exception) -> str:
        reason = str(error).replace(self._url, self.name)
        return f"{type(error).__name__}: {redact_urls(reason)}"


RunStore = LocalStore | RemoteStore
