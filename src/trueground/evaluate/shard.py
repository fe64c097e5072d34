"""One shard of a run: which one, of how many."""

from __future__ import annotations

from typing import NamedTuple

from trueground.errors import UsageError


class Shard(NamedTuple):
    """One of `total` parts of a run; `number` counts from 0."""

    number: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard of a text such as `3/16`. Raises UsageError."""
        number, slash, count = text.partition("/")
        is_pair = slash and all(part.isascii() and part.isdecimal() for part in (number, count))
        if not is_pair or not 1 <= int(number) <= int(count):
            raise UsageError(f"--shard {text}: expected I/N, as in 3/16, I from 1 to N")
        return cls(int(number) - 1, int(count))

    def __str__(self) -> str:
        return f"{self.number + 1}/{self.total}"
