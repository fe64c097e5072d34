"""Hits and measures of retrievers as blocks of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueground.records import shorten
from trueground.reports import Block, Head, Part, Row, Table, Text
from trueground.text import NO_VALUE, number
from trueground.types import Passage
from trueground.wings.search.base import Hit
from trueground.wings.search.evaluation import Evaluated

_MAX_QUERY_CHARACTERS = 80
_MAX_TITLE_CHARACTERS = 30
_MAX_TEXT_CHARACTERS = 60


def show_hits(query: str | None, hits: Sequence[tuple[Hit, Passage]]) -> list[Block]:
    """Return the hits of a query, best first, with the query as title unless it is None."""
    rows = []
    for rank, (hit, passage) in enumerate(hits, 1):
        title = shorten(passage.title or "", _MAX_TITLE_CHARACTERS)
        text = shorten(" ".join(passage.text.split()), _MAX_TEXT_CHARACTERS)
        rows.append(Row([rank, hit.score, title, text]))
    columns = [Head("", "number"), Head("", "number", digits=4), Head(""), Head("")]
    block: Block = Table(columns, rows) if rows else Text("nothing found")
    return [block] if query is None else [Part(shorten(query, _MAX_QUERY_CHARACTERS), [block])]


def show_evaluated(results: Mapping[str, Evaluated]) -> list[Block]:
    """Return a table of measures for each retriever."""
    heads = ("mean", "95% interval", "scored", "of")
    columns = [Head("measure"), *(Head(name, "number") for name in heads)]
    blocks: list[Block] = []
    for name, evaluated in results.items():
        rows = []
        for measure, mean in evaluated.means.items():
            ends = f"{number(mean.ci[0])} … {number(mean.ci[1])}" if mean.ci else NO_VALUE
            rows.append(Row([measure, number(mean.mean), ends, mean.scored, mean.n]))
        blocks.append(Part(name, [Table(columns, rows)]))
    return blocks
