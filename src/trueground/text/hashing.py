"""A number for a text."""

from __future__ import annotations

import hashlib


def hash_text(text: str | bytes) -> int:
    """Return 64 bits of a text as a signed number: equal for equal texts."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little", signed=True)
