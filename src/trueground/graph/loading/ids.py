"""Sets of Wikidata ids in little memory: one bit for every id up to the largest."""

from __future__ import annotations

from collections.abc import Iterable

_LARGEST = 1 << 31  # 256 MiB; ids beyond, which Wikidata does not have, are kept one by one


class IdSet:
    """A set of whole numbers from 0. A hundred million ids take 12 MiB."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._bits = bytearray()
        self._beyond: set[int] = set()
        self._count = 0
        self.update(numbers)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, number: int) -> bool:
        at = number >> 3
        if at < len(self._bits):
            return bool(self._bits[at] >> (number & 7) & 1)
        return number in self._beyond

    def add(self, number: int) -> None:
        """Put a number in."""
        if number in self:
            return
        self._count += 1
        if number >= _LARGEST:
            self._beyond.add(number)
            return
        at = number >> 3
        if at >= len(self._bits):
            self._bits.extend(bytes(max(at + 1, 2 * len(self._bits)) - len(self._bits)))
        self._bits[at] |= 1 << (number & 7)

    def update(self, numbers: Iterable[int]) -> None:
        """Put several in."""
        for number in numbers:
            self.add(number)
