"""Draws that depend on a seed and on nothing else: neither on the machine nor on a limit."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")


def number(*words: object) -> int:
    """A number that these words fix, evenly spread over 256 bits."""
    text = "\x1f".join(map(str, words))
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest())


def ranked(things: Iterable[T], seed: str) -> list[T]:
    """The things in an order drawn from the seed; what is left of fewer things keeps its order."""
    return sorted(things, key=lambda thing: number(seed, thing))
