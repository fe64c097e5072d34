"""Hits of a search, and how well retrievers find gold passages, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from trueground.records.problems import shorten
from trueground.reports.terminal import number, table

if TYPE_CHECKING:
    from trueground.retrieval.base import Hit
    from trueground.retrieval.evaluation import Evaluated
    from trueground.types import Passage


def render_hits(query: str | None, hits: Sequence[tuple[Hit, Passage]]) -> str:
    """One query's hits, best first; the query above them unless it is None."""
    lines = [] if query is None else [shorten(query, 90)]
    titles = [shorten(passage.title or "", 30) for _, passage in hits]
    width = max(map(len, titles), default=0)
    for rank, (title, (hit, passage)) in enumerate(zip(titles, hits, strict=True), 1):
        text = shorten(" ".join(passage.text.split()), 60)
        lines.append(f"{rank:4}  {hit.score:10.4f}  {title:{width}}  {text}")
    return "\n".join(lines if hits else [*lines, "nothing found"])


def render_evaluated(results: Mapping[str, Evaluated]) -> str:
    """A table for each retriever."""
    return "\n".join(f"{name}\n{table(list(_rows(one)))}" for name, one in results.items())


def _rows(one: Evaluated) -> Iterator[tuple[str, ...]]:
    yield "measure", "mean", "95% interval", "scored", "of"
    for name, mean in one.means.items():
        ends = f"{number(mean.ci[0])} … {number(mean.ci[1])}" if mean.ci else "–"
        yield name, number(mean.mean), ends, f"{mean.scored:,}", f"{mean.n:,}"
