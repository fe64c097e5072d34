"""JSON lines of a declared type, each with its number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from trueground.errors import InputError
from trueground.records import UNREADABLE, DataPath

T = TypeVar("T")


def decode_lines(
    path: Path, kind: type[T], found: str, remedy: str, *, strict: bool = True
) -> Iterator[tuple[int, T]]:
    """Yield the lines of a file that aren't blank, each with its number.

    Args:
        path: The file, which may be compressed.
        kind: The type of a line.
        found: What a line is that doesn't have this type, for the error.
        remedy: What to do about it, for the error.
        strict: Whether to refuse values that must be converted, such as numbers in texts.

    Raises:
        InputError: The file can't be read, or a line doesn't have this type.
    """
    decoder = msgspec.json.Decoder(kind, strict=strict)
    with DataPath(path).open() as lines:
        for number, content in enumerate(lines, 1):
            if content.strip():
                try:
                    yield number, decoder.decode(content)
                except UNREADABLE as error:
                    raise InputError(
                        f"{path}, line {number}: {found} ({error}); {remedy}"
                    ) from None
