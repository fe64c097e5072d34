"""What commands print: JSON, notes, progress bars; control characters are shown and not sent.

Whoever wrote them: an endpoint in its error, the name of a file, a label in the data.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from inspect import signature
from shutil import get_terminal_size
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

import typer

from trueground.options import Progress, do_nothing

if TYPE_CHECKING:
    from trueground.reports import Block, Page


if TYPE_CHECKING:
    pass

# All of C0, DEL and C1 but line end and tab, and what turns the direction of writing.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


_MIN_COLUMNS = 80  # of a text, also in a file
_MAX_COLUMNS = 120  # of a text on a terminal; longer lines are hard to read
T = TypeVar("T")
_arguments: tuple[str, ...] | None = None  # None: those of the process


def escaped(text: str) -> str:
    """The text with `\\u001b` in place of such a character; JSON text means the same as before."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class EscapedText:
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
    def buffer(self) -> EscapedBytes:
        """For those who write bytes: JSON."""
        return EscapedBytes(self._stream.buffer)


class MessageText(EscapedText):
    """The same for messages: where nobody reads them any more, the work goes on without them."""

    def write(self, text: str) -> int:
        """Write the text, if anybody reads it; the number of its characters."""
        with self._until_closed():
            super().write(text)
        return len(text)

    def flush(self) -> None:
        """Pass on what is held, if anybody reads it."""
        with self._until_closed():
            self._stream.flush()

    @contextmanager
    def _until_closed(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            _discard(self._stream)


class EscapedBytes(io.RawIOBase):
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


def guard_streams() -> None:
    """Put both streams of the process behind `EscapedText`; those that are closed hold nothing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It stays open as long as the process.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # A terminal that lacks a character shows another one; that is no reason to fail.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
        if not isinstance(stream, EscapedText):
            guard = MessageText if name == "stderr" else EscapedText
            setattr(sys, name, guard(stream))


def drop_output() -> None:
    """From now on nothing is written to standard output: its reader has gone, or it is full."""
    _discard(sys.stdout)


def _discard(stream: Any) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


@contextmanager
def _until_closed() -> Iterator[None]:
    """Print in the block, if anybody reads standard output."""
    try:
        yield
    except BrokenPipeError:
        drop_output()


@dataclass(frozen=True)
class Screen:
    """What `--format`, `--quiet` and `--no-progress` ask for."""

    format: Format = Format.TEXT
    quiet: bool = False
    no_progress: bool = False

    @property
    def as_json(self) -> bool:
        """Whether the result is to be JSON, which prints even where all else is quiet."""
        return self.format is Format.JSON

    def show(self, value: Any, render: Callable[[], str]) -> None:
        """Print a result: all of it as JSON, or as text unless quiet.

        The work is done: how the command ends does not depend on who reads this.
        """
        if self.as_json:
            import msgspec

            with _until_closed():
                echo_json(value if isinstance(value, dict | list) else msgspec.to_builtins(value))
        elif not self.quiet:
            with _until_closed():
                typer.echo(render())

    def show_page(self, value: Any, make: Callable[[], Page | Iterable[Block]]) -> None:
        """Print a result: all of it as JSON, or its page as text unless quiet."""
        self.show(value, lambda: _render(make()))

    def print_page(self, page: Page | Iterable[Block]) -> None:
        """Print a page as text, also if quiet: all that the command is asked for."""
        with _until_closed():
            typer.echo(_render(page))

    def say_page(self, page: Page | Iterable[Block]) -> None:
        """Print a page as text."""
        self.say(_render(page))

    def say(self, text: str) -> None:
        """Print a line behind a text."""
        if not (self.as_json or self.quiet):
            with _until_closed():
                typer.echo(text)

    def note(self, message: str) -> None:
        """Print a message on standard error, unless quiet."""
        if not self.quiet:
            echo_note(message)

    def warn(self, message: str | None) -> None:
        """Print a message on standard error, even if quiet; nothing for None and ""."""
        echo_note(message)

    @property
    def command_line(self) -> list[str]:
        """The command that runs, for manifests."""
        return command_line()

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """What the function gives; its progress and its notes are shown meanwhile."""
        if "note" in signature(function).parameters:
            options.setdefault("note", self.note)
        with self.progress() as progress:
            return function(*args, **options, progress=progress)

    @contextmanager
    def progress(self, *, files: bool = False) -> Iterator[Progress]:
        """A callback that draws on a terminal: phase, how many of how many, rate, time left; of
        `files` their bytes.
        """
        if self.quiet or self.no_progress or not sys.stderr.isatty():
            yield do_nothing
            return
        from rich.console import Console

        from trueground.execution import open_progress

        file_label = escaped if files else None
        # The bar's own control characters go to the terminal; it puts streams of its own in the
        # place of the two, and what others write meanwhile is still escaped.
        console = Console(file=sys.__stderr__)
        with open_progress(True, console=console, file_label=file_label, transient=True) as show:
            out, err = (cast(IO[str], EscapedText(stream)) for stream in (sys.stdout, sys.stderr))
            with redirect_stdout(out), redirect_stderr(err):
                yield show


def _render(page: Page | Iterable[Block]) -> str:
    """Return the page as text, in 80 columns; a wide terminal has room for wider tables."""
    from trueground.reports import Page

    whole = page if isinstance(page, Page) else Page.of(page)
    if not sys.stdout.isatty():
        return whole.to_text(_MIN_COLUMNS)
    columns = get_terminal_size().columns
    return whole.to_text(min(max(columns, _MIN_COLUMNS), _MAX_COLUMNS))


def echo_json(value: Any) -> None:
    """Print a value as indented JSON."""
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def echo_note(message: str | None) -> None:
    """Say something on standard error, beside the result; nothing for None and ""."""
    if message:
        typer.echo(f"trueground: {message}", err=True)


def command_line() -> list[str]:
    """The command that runs, for manifests."""
    return ["trueground", *(sys.argv[1:] if _arguments is None else _arguments)]


@contextmanager
def in_process(arguments: Sequence[str]) -> Iterator[None]:
    """Run a command beside other code: the arguments are these, the streams are given back."""
    global _arguments
    before, streams = _arguments, (sys.stdin, sys.stdout, sys.stderr)
    _arguments = tuple(arguments)
    try:
        yield
    finally:
        _arguments = before
        sys.stdin, sys.stdout, sys.stderr = streams
