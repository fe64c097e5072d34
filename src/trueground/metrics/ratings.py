"""Rated qualities: fluency, coherence, consistency, relevance, and any rubric from 1 to 5.

Definitions: metrics.md, "Rated qualities". Here stands what a rater is shown, and which items are
rated at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trueground.errors import InputError, UsageError
from trueground.metrics.base import Metric, MetricOption, Requirement
from trueground.metrics.batch import Batch, Column, Options
from trueground.metrics.context import BatchContext, RatingQuery
from trueground.text import CitedText, Template, format_graph
from trueground.types import RatingRequest, Status

PAPER = "Lee et al. 2024, appendix D.7"
KALMA = "Li et al. 2024, section 4.1"
_LEAST_SAMPLES, _MOST_SAMPLES = 2, 1_000
_MOST_RUNS = 100
_OPTIONS = {
    "scoring": MetricOption("integer", ("integer", "weighted")),
    "samples": MetricOption("20"),
    "items": MetricOption("all", ("all", "free-form", "sampled")),
    "runs": MetricOption("1"),
}


def _whole_number(metric: str, name: str, options: Options, least: int, most: int) -> int:
    """The option as a whole number, written without leading zeros. UsageError where it is none."""
    word = options[name]
    known = word.isascii() and word.isdecimal() and len(word) <= len(str(most))
    if known and word == str(int(word)) and least <= int(word) <= most:
        return int(word)
    shown = word if len(word) <= 20 else f"{word[:20]}…"
    raise UsageError(f"{metric}: {name}={shown!r}; expected a whole number, {least} to {most:,}")


def _times(metric: str, options: Options) -> int:
    """How often the rater is asked: `runs` times, or as many samples as weighted scoring may draw.

    UsageError where that is no such number.
    """
    runs = _whole_number(metric, "runs", options, 1, _MOST_RUNS)
    samples = _whole_number(metric, "samples", options, _LEAST_SAMPLES, _MOST_SAMPLES)
    weighted = options["scoring"] == "weighted"
    if weighted and runs > 1:
        raise UsageError(f"{metric}: runs={runs} is for scoring=integer; leave one of the two out")
    if not weighted and options["samples"] != _OPTIONS["samples"].default:
        raise UsageError(
            f"{metric}: samples={samples} is for scoring=weighted; add it, or leave it"
        )
    return samples if weighted else runs


def _placeholders(path: str) -> frozenset[str]:
    """The placeholders of a user's rubric as it is now. UsageError, InputError."""
    if not path:
        raise UsageError("rated needs a rubric; write rated(rubric=FILE)")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"the rubric {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        reason = f"it is no UTF-8 text ({error})"
        raise InputError(f"the rubric {path} cannot be read: {reason}") from error
    found = Template(text).placeholders
    if "response" not in found:
        raise UsageError(
            f"the rubric {path} has no place {{response}}; it may have {{response}}, {{question}} "
            "and {knowledge}"
        )
    return found


def _shows(metric: str, options: Options) -> tuple[str, frozenset[str]]:
    """What the rater is shown, and which fields that takes."""
    if metric == "rated":
        found = _placeholders(options["rubric"])
        shown = next((p for p in ("knowledge", "question") if p in found), "response")
        return shown, found & {"knowledge", "question"}
    shown = options.get("shown", "knowledge" if metric == "consistency" else "question")
    fields = {"response": (), "question": ("question",), "knowledge": ("question", "knowledge")}
    return shown, frozenset(fields[shown])


def _question(batch: Batch, item: int) -> str:
    """The question, after the earlier turns."""
    turns = [f"{t.role}: {t.content}" if t.role else t.content for t in batch.histories[item] or ()]
    return "\n".join([*turns, *filter(None, [batch.questions[item]])])


def _knowledge(batch: Batch, item: int) -> tuple[str, ...]:
    """The contexts that are not blank, then the graphs, each in one line."""
    graphs = (format_graph(graph) for graph in batch.graphs[item] or ())
    return (*batch.texts(item, batch.context_numbers(item)), *graphs)


def _responses(metric: str, batch: Batch, shown: str) -> Sequence[str]:
    """The responses as the rater sees them: without citations, where it sees more than them."""
    if metric == "rated" or shown == "response":
        return batch.responses
    pairs = zip(batch.responses, batch.graphs, strict=True)
    return [CitedText(response, graphs or ()).without_citations() for response, graphs in pairs]


def _rated_items(
    batch: Batch, responses: Sequence[str], fields: frozenset[str], items: str
) -> Column:
    """Zeros for the items to rate, and the status of the others."""
    n = len(batch)
    column = Column.of(np.zeros(n))
    if items == "free-form":
        column = column.without(batch.has("references"), Status.NOT_APPLICABLE)
    if items == "sampled":
        sampled = np.array([(meta or {}).get("sampled") is True for meta in batch.metas], np.bool_)
        column = column.without(~sampled, Status.NOT_APPLICABLE)
    if "question" in fields:
        column = column.without(~batch.has("question"), Status.MISSING_FIELD)
    if "knowledge" in fields:
        has_knowledge = batch.has("contexts") | batch.has("knowledge")
        column = column.without(~has_knowledge, Status.MISSING_FIELD)
        none = np.array([not _knowledge(batch, i) for i in range(n)], np.bool_)
        column = column.without(none, Status.NOT_APPLICABLE)
    blank = np.fromiter((not response.strip() for response in responses), np.bool_, n)
    return column.without(blank, Status.NO_CLAIMS)


def _requests(
    metric: str, context: BatchContext, options: Options
) -> tuple[Column, list[RatingRequest | None]]:
    """What the rater is asked of each item, and the status of items that are not rated."""

    def compute() -> tuple[Column, list[RatingRequest | None]]:
        batch = context.batch
        shown, fields = _shows(metric, options)
        times = _times(metric, options)
        responses = _responses(metric, batch, shown)
        column = _rated_items(batch, responses, fields, options["items"])
        return column, [
            RatingRequest(
                options.get("rubric", metric),
                responses[i],
                _question(batch, i) if "question" in fields else "",
                _knowledge(batch, i) if "knowledge" in fields else (),
                shown,
                options["scoring"],
                times,
            )
            if status == 0
            else None
            for i, status in enumerate(column.status)
        ]

    return context.once(("rating requests", metric, tuple(options.items())), compute)


def _metric(
    name: str, doc: str, source: str, options: dict[str, MetricOption], version: int = 1
) -> Metric:
    def queries(o: Options) -> tuple[RatingQuery, ...]:
        return (
            RatingQuery(
                rubric=lambda: (o.get("rubric", name), _shows(name, o)[0]),
                requests=lambda context: _requests(name, context, o)[1],
            ),
        )

    def compute(context: BatchContext, o: Options) -> Column:
        column, asked = _requests(name, context, o)
        ratings = context.ratings(asked)
        return column.filled(ratings, [None if one is None else one.value for one in ratings])

    def check(o: Options) -> None:
        _shows(name, o)
        _times(name, o)

    needs: dict[str, tuple[str, ...]] = {
        "coherence": ("question",),
        "consistency": ("question",),  # and contexts or graphs
        "relevance": ("question",),
    }
    return Metric(
        name=name,
        family="rated",
        needs=needs.get(name, ()),
        compute=compute,
        doc=doc,
        source=source,
        options={**options, **_OPTIONS},
        queries=queries,
        requires=Requirement(check=check),
        version=version,
    )


METRICS = (
    _metric(
        "fluency",
        "how well the response is written, 1 to 5",
        PAPER,
        {"shown": MetricOption("response", ("response", "question"))},
    ),
    _metric("coherence", "how well the sentences build on each other, 1 to 5", KALMA, {}, 2),
    _metric(
        "consistency",
        "agreement with the contexts or graphs and with itself, 1 to 5",
        KALMA,
        {},
        version=2,
    ),
    _metric("relevance", "how far it answers the question and only that, 1 to 5", KALMA, {}, 2),
    _metric(
        "rated",
        "any quality from 1 to 5 by a rubric of your own: rated(rubric=FILE)",
        "Liu et al. 2023 (G-Eval)",
        {"rubric": MetricOption("")},
    ),
)
