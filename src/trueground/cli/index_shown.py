"""What `trueground index` prints: hits, and how well retrievers find gold passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from trueground.cli.options import Format

if TYPE_CHECKING:
    from trueground.retrieval.base import Hit
    from trueground.retrieval.evaluation import Evaluated
    from trueground.retrieval.index import Index
    from trueground.retrieval.questions import RetrievalQuestion

_TOLD = 5


def show_hits(
    opened: Index, asked: RetrievalQuestion, hits: list[Hit], format_: Format, *, alone: bool
) -> None:
    """One query's hits: lines for people, or one line of JSON."""
    passages = [opened.passages[hit.index] for hit in hits]
    if format_ is Format.JSON:
        import orjson

        shown = [
            {
                "rank": rank,
                "score": hit.score,
                "id": found.id,
                "title": found.title,
                "text": found.text,
                "source": found.source,
            }
            for rank, (hit, found) in enumerate(zip(hits, passages, strict=True), 1)
        ]
        typer.echo(orjson.dumps({"id": asked.id, "query": asked.query, "hits": shown}))
        return
    from trueground.records.problems import shorten

    if not alone:
        typer.echo(shorten(asked.query, 90))
    if not hits:
        typer.echo("nothing found")
    width = max((len(shorten(found.title or "", 30)) for found in passages), default=0)
    for rank, (hit, found) in enumerate(zip(hits, passages, strict=True), 1):
        title = shorten(found.title or "", 30)
        text = shorten(" ".join(found.text.split()), 60)
        typer.echo(f"{rank:4}  {hit.score:10.4f}  {title:{width}}  {text}")


def told_absent(absent: list[str]) -> str | None:
    """Which questions are not measured, in words; None where all are."""
    if not absent:
        return None
    more = f"\n  … and {len(absent) - _TOLD} more" if len(absent) > _TOLD else ""
    lines = "".join(f"\n  {one}" for one in absent[:_TOLD])
    return (
        f"{len(absent)} of the questions are not measured, since the index does not hold their "
        f"gold passage:{lines}{more}"
    )


def means_as_json(
    opened: Index, asked: list[RetrievalQuestion], absent: int, results: dict[str, Evaluated]
) -> dict[str, Any]:
    """The measures of each retriever, as in a run's summary."""
    unnamed = sum(1 for one in asked if not one.gold)
    unscored = {"missing_field": unnamed, "not_applicable": absent}
    return {
        "index": str(opened.path),
        "signature": opened.signature,
        "n": len(asked),
        "retrievers": {
            written: {
                "signature": one.signature,
                "metrics": {
                    name: {
                        "mean": mean.mean,
                        "ci": mean.ci,
                        "ci_level": mean.ci_level,
                        "n": mean.n,
                        "scored": mean.scored,
                        "unscored": {status: n for status, n in unscored.items() if n},
                    }
                    for name, mean in one.means.items()
                },
            }
            for written, one in results.items()
        },
    }


def show_means(results: dict[str, Evaluated]) -> None:
    """A table for each retriever."""
    from trueground.reports.terminal import number, table

    for written, one in results.items():
        rows = [("measure", "mean", "95% interval", "scored", "of")]
        for name, mean in one.means.items():
            interval = f"{number(mean.ci[0])} … {number(mean.ci[1])}" if mean.ci else "–"
            rows.append((name, number(mean.mean), interval, f"{mean.scored:,}", f"{mean.n:,}"))
        typer.echo(f"{written}\n{table(rows)}")
