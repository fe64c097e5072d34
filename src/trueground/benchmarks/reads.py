"""Record which settings a task reads, so that ignored settings are reported as errors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_READS = "_reads"


class RecordsReads:
    """Base class of settings that record which of their fields a task reads."""

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
    """Return the fields that have not been read since recording began.

    The list is empty if the settings don't record reads.
    """
    reads = vars(settings).get(_READS) if isinstance(settings, RecordsReads) else None
    return [] if reads is None else [name for name in names if name not in reads]


def peek(settings: object, name: str) -> Any:
    """Return the value of a field without recording the read."""
    return object.__getattribute__(settings, name)
