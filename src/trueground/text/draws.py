"""Numbers by a seed: the same for the same words on every machine."""

from __future__ import annotations

from hashlib import sha256


def draw_number(*words: object, separator: str = "\0") -> int:
    """A number that these words fix, on every machine, evenly spread over 256 bits."""
    text = separator.join(map(str, words))
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest())
