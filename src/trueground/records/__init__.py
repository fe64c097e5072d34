"""Streaming readers of answered-question records: checked first, then given out in batches.

`open_records` is the entry; `parse_mapping` reads the text of `--map`. Names load on first use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from trueground.options import Option

if TYPE_CHECKING:
    from trueground.records.checks import Check, FileInfo
    from trueground.records.columns import parse_mapping
    from trueground.records.reading import RecordSource, open_records

__all__ = [
    "Check",
    "Columns",
    "FileInfo",
    "RecordSource",
    "SplitContexts",
    "open_records",
    "parse_mapping",
]
_HOMES = {"Check": "checks", "FileInfo": "checks", "parse_mapping": "columns"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'reading')}"), name)


def __dir__() -> list[str]:
    return __all__


def _parse_columns(texts: Sequence[str]) -> dict[str, str]:
    from trueground.records.columns import parse_mapping

    return {field: column for text in texts for field, column in parse_mapping(text).items()}


Columns = Annotated[
    Mapping[str, str] | None,
    Option(
        "Your column names: question=query,contexts=docs",
        "--map",
        type=list[str] | None,
        parse=_parse_columns,
    ),
]
SplitContexts = Annotated[
    str | None,
    Option(
        "Cut contexts that are one text here, as in '|' or '\\n\\n'.",
        "--split-contexts",
        parse=lambda text: text.replace("\\n", "\n").replace("\\t", "\t"),
        metavar="SEP",
    ),
]
