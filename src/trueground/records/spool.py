"""Local copies of what can be read only once: standard input, pipes, remote files, generators."""

from __future__ import annotations

import errno
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from trueground.errors import InputError

STDIN = "-"
# Scheme; authority with what may stand before its last @; path. What follows is left out, up to
# the next URL of a chain ("zip://a.csv::https://host/a.zip").
_NEXT = r"(?!::[A-Za-z][A-Za-z0-9+.-]*://)"
_URL = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*://)"
    rf"((?:{_NEXT}[^/?#\s])*)((?:{_NEXT}[^?#\s])*)(?:[?#](?:{_NEXT}\S)*)?"
)


def is_remote(name: str) -> bool:
    """Is it a URL, to be opened by fsspec?"""
    return "://" in name


def shown(name: str) -> str:
    """The text as messages and manifests may show it: URLs in it lose password, query, fragment."""
    return _URL.sub(lambda url: f"{url[1]}{url[2].rpartition('@')[2]}{url[3]}", name)


class Spool:
    """Temporary files of one source, by name; removed by `close`, at the latest at exit."""

    def __init__(self) -> None:
        self._files: dict[str, Path] = {}
        self._folder: Path | None = None
        self.close: Callable[[], Any] = lambda: None

    def fetch(self, name: str) -> Path:
        """A local copy of standard input (`-`), of a pipe or of a URL. InputError."""
        if name == STDIN:
            return self.keep(name, lambda out: shutil.copyfileobj(sys.stdin.buffer, out))
        if is_remote(name):
            return self.keep(name, lambda out: _download(name, out))
        return self.keep(name, lambda out: _copy_pipe(name, out))

    def unpacked(self, name: str, stream: IO[bytes]) -> Path:
        """The decompressed copy of an archive whose format must be read at random."""
        return self.keep(f"{name} unpacked", lambda out: shutil.copyfileobj(stream, out))

    def keep(self, name: str, fill: Callable[[IO[bytes]], None]) -> Path:
        """The file called `name`; `fill` writes it, the first time only. InputError."""
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
                    f"no room in {self._folder.parent} for a copy of {shown(name)}; "
                    "set TMPDIR to a folder on a larger disk"
                ) from error
            raise InputError(f"{shown(name)} cannot be read: {error}") from error
        self._files[name] = path
        return path


def _copy_pipe(name: str, out: IO[bytes]) -> None:
    with open(name, "rb") as stream:
        shutil.copyfileobj(stream, out)


def _download(url: str, out: IO[bytes]) -> None:
    import fsspec

    public = shown(url)
    try:
        with fsspec.open(url, "rb") as stream:
            shutil.copyfileobj(stream, out)
    except ImportError as error:
        raise InputError(f"{public} needs a package that is not installed: {error}") from error
    except FileNotFoundError as error:
        raise InputError(f"{public} {_missing(error)}") from error
    except Exception as error:  # backends raise exceptions of their own making
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        reason = str(error).replace(url, public)
        raise InputError(f"{public} cannot be read: {type(error).__name__}: {reason}") from error


def _missing(error: FileNotFoundError) -> str:
    """Why nothing was found; fsspec says so of web addresses whatever has gone wrong."""
    import aiohttp

    from trueground.net.failures import NETWORK_ERRORS, network_error

    cause = error.__cause__
    if isinstance(cause, aiohttp.ClientResponseError):
        found = cause.status in (404, 410)
        return "does not exist" if found else f"cannot be read: HTTP {cause.status}"
    if isinstance(cause, NETWORK_ERRORS):
        return f"cannot be read: {network_error(cause, 0.0).reason}"
    return "does not exist"
