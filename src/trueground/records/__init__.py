"""Streaming readers of answered-question records: checked first, then given out in batches.

`open_records` is the entry; `parse_mapping` reads the text of `--map`. Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueground.records.mapping import parse_mapping
    from trueground.records.source import Check, FileInfo, RecordSource, open_records

__all__ = ["Check", "FileInfo", "RecordSource", "open_records", "parse_mapping"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "mapping" if name == "parse_mapping" else "source"
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
