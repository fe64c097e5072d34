"""What requests to models have cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from trueground.models.base import Reply
from trueground.types import Status


@dataclass(frozen=True)
class Usage:
    """Calls made, tokens of their prompts and replies, cache hits, and requests without a reply.

    Every attempt is a call.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cache_hits: int = 0
    failed: int = 0

    @classmethod
    def of(cls, reply: Reply) -> Usage:
        """Return the usage of a reply that came from the model."""
        tokens = reply.usage
        failed = int(reply.status is Status.ERROR)
        return cls(reply.calls, tokens.tokens_in, tokens.tokens_out, 0, failed)

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Usage:
        """Return the usage in an entry of a manifest; 0 for a count that it lacks."""
        counts = {field.name: entry.get(field.name) for field in fields(cls)}
        return cls(**{name: n for name, n in counts.items() if isinstance(n, int)})

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cache_hits + other.cache_hits,
            self.failed + other.failed,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.calls - other.calls,
            self.tokens_in - other.tokens_in,
            self.tokens_out - other.tokens_out,
            self.cache_hits - other.cache_hits,
            self.failed - other.failed,
        )
