"""Kinds of values that several commands take."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


class OnBadRow(StrEnum):
    """What becomes of rows that are no records."""

    STOP = "stop"
    SKIP = "skip"
