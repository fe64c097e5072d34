"""What the files of a run have in common when they are read: versions, and what errors say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from trueground.errors import InputError
from trueground.records import UNREADABLE, Problem

FORMAT_VERSION = 3
UNNUMBERED_VERSION = 1  # of files without `format_version`
T = TypeVar("T")
StructT = TypeVar("StructT", bound=msgspec.Struct)


class _Versioned(msgspec.Struct):
    format_version: int = UNNUMBERED_VERSION
    trueground: str | None = None


def decode_file(
    content: bytes,
    kind: type[StructT],
    name: str,
    *,
    needs_package: bool = False,
    upgrade: Callable[[dict[str, Any]], None] | None = None,
) -> StructT:
    """Return the content of manifest.json or summary.json.

    Args:
        content: The bytes of the file.
        kind: `Manifest` or `Summary`.
        name: What an error calls the file.
        needs_package: Whether the file has to name the version of trueground.
        upgrade: Changes the content of an older format version to that of today.

    Raises:
        InputError: The content isn't such a file, or a newer version of trueground wrote it.
    """
    try:
        version = msgspec.json.decode(content, type=_Versioned)
        if version.format_version > FORMAT_VERSION:
            raise _newer(name, version)
        if needs_package and version.trueground is None:
            raise InputError(f"{name} is not of a trueground run")
        if upgrade is not None and version.format_version < FORMAT_VERSION:
            older = msgspec.json.decode(content)
            # Content of the wrong types stays as it is: the next step names what is wrong.
            with suppress(AttributeError, TypeError):
                upgrade(older)
            content = msgspec.json.encode(older)
        decoded: Any = msgspec.json.decode(content, type=kind)
    except (msgspec.ValidationError, RecursionError) as error:
        reason = describe_error(error)
        raise InputError(f"{name} is not as trueground writes it: {reason}. Run again.") from error
    except UNREADABLE as error:
        raise InputError(f"{name} cannot be read: {describe_error(error)}. Run again.") from error
    decoded.format_version = version.format_version
    return cast(StructT, decoded)


def _newer(name: str, found: _Versioned) -> InputError:
    by = f", written by trueground {found.trueground}" if found.trueground else ""
    return InputError(
        f"{name}: format version {found.format_version}{by}. This version of trueground reads up "
        f"to {FORMAT_VERSION}. Upgrade trueground: pip install --upgrade trueground"
    )


def describe_error(error: Exception) -> str:
    """Return what is wrong with a line or file."""
    return Problem.of_error(error).found


def decode_lines(lines: Iterable[bytes], kind: type[T], path: Path) -> Iterator[T]:
    """Yield each line as a Struct of this kind. Raises InputError that names `path` and line."""
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(lines, start=1):
        try:
            yield decode(line)
        except UNREADABLE as error:
            raise unreadable_line(path, number, describe_error(error)) from error


def unreadable_line(path: Path, number: int, reason: str) -> InputError:
    return InputError(
        f"{path}, line {number}: not a line that this version writes ({reason}); run again"
    )
