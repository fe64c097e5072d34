"""Options about the columns of users' files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from trueground.options import Option


def _parse_columns(texts: Sequence[str]) -> dict[str, str]:
    from trueground.records.columns import parse_mapping

    return {field: column for text in texts for field, column in parse_mapping(text).items()}


Columns = Annotated[
    Mapping[str, str] | None,
    Option(
        "Your column names, such as question=query,contexts=docs",
        "--map",
        type=list[str] | None,
        parse=_parse_columns,
    ),
]
SplitContexts = Annotated[
    str | None,
    Option(
        "Separator if all contexts are one text, such as '|' or '\\n\\n'.",
        "--split-contexts",
        parse=lambda text: text.replace("\\n", "\n").replace("\\t", "\t"),
        metavar="SEP",
    ),
]
