"""Which settings a task reads: one that it ignores must not look as if it had an effect."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_READS = "_reads"


class RecordsReads:
    """Base of settings that record which of their fields a task reads."""

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        reads = object.__getattribute__(self, "__dict__").get(_READS)
        if reads is not None:
            reads.add(name)
        return value


def start_recording(settings: object) -> None:
    """Record reads of these settings from now on, if they can."""
    if isinstance(settings, RecordsReads):
        object.__setattr__(settings, _READS, set())


def unread_fields(settings: object, names: Collection[str]) -> list[str]:
    """Return which of these fields nobody has read since the recording began.

    Nothing if the settings record no reads.
    """
    reads = vars(settings).get(_READS) if isinstance(settings, RecordsReads) else None
    return [] if reads is None else [name for name in names if name not in reads]


def peek(settings: object, name: str) -> Any:
    """Return the value of a field without recording it as read by the task."""
    return object.__getattribute__(settings, name)
