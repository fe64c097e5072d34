"""Models that a build asks without a role: fact judges, decomposers. What tells about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trueground.models.asker import Spent


def told(name: str, signature: str, spent: Callable[[], Spent]) -> Callable[[], Mapping[str, Any]]:
    """For `Plan.others`: who it is, and what it has cost in this session until now."""
    return lambda: {"name": name, "signature": signature, **vars(spent())}
