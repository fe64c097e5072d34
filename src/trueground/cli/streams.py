"""Standard output and error as everything is written to them: control characters are shown, not
sent, whoever wrote them (an endpoint's error, a file name, a label in the data)."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import IO, Any, cast

# All of C0, DEL and C1 but line end and tab, and what turns the direction of writing.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    """The text with `\\u001b` in place of such a character; JSON text means the same as before."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class Shown:
    """A text stream that writes what `escaped` gives; all else is the stream's own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text; the number of its characters."""
        self._stream.write(escaped(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write each."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> ShownBytes:
        """For those who write bytes: JSON."""
        return ShownBytes(self._stream.buffer)


class ShownBytes(io.RawIOBase):
    """The same for bytes of UTF-8 text."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Write the text in the bytes; their number."""
        text = bytes(data).decode("utf-8", "surrogateescape")
        self._stream.write(escaped(text).encode("utf-8", "surrogateescape"))
        return len(data)

    def flush(self) -> None:
        """Give on what is held; the stream itself stays open."""
        self._stream.flush()


@contextmanager
def guarded() -> Iterator[None]:
    """Within a progress bar, which has put streams of its own in the place of the two."""
    out, err = (cast(IO[str], Shown(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def guard_streams() -> None:
    """Put the two streams of the process behind `Shown`; those the caller closed hold nothing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It stays open as long as the process.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # A terminal that lacks a character shows another one; that is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        if not isinstance(stream, Shown):
            setattr(sys, name, Shown(stream))
