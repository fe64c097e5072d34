"""Metrics rated from 1 to 5: fluency, coherence, consistency, relevance, and any rubric.

The definitions are in docs/metrics.md, "Rated qualities". This module decides which items are
rated, and which fields the rater sees.
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
MIN_SAMPLES, MAX_SAMPLES = 2, 1_000
MAX_RUNS = 100
MAX_SHOWN_CHARACTERS = 20
_OPTIONS = {
    "scoring": MetricOption(
        "integer",
        ("integer", "weighted"),
        "integer: one rating, or the mean of `runs`. weighted: the "
        "expected rating by log-probabilities.",
    ),
    "samples": MetricOption(
        "20",
        doc="Number of samples with scoring=weighted if the endpoint has no log-probabilities.",
    ),
    "items": MetricOption(
        "all",
        ("all", "free-form", "sampled"),
        "Which items are rated: all, those without references, or those with meta.sampled.",
    ),
    "runs": MetricOption("1", doc="Number of ratings per item with scoring=integer."),
}


def _parse_count(metric: str, name: str, options: Options, smallest: int, largest: int) -> int:
    """Return an option as a whole number. UsageError if it isn't one, or has leading zeros."""
    text = options[name]
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(largest))
    if is_number and text == str(int(text)) and smallest <= int(text) <= largest:
        return int(text)
    if len(text) > MAX_SHOWN_CHARACTERS:
        text = f"{text[:MAX_SHOWN_CHARACTERS]}…"
    raise UsageError(
        f"{metric}: {name}={text!r}; expected a whole number from {smallest} to {largest:,}"
    )


def _count_ratings(metric: str, options: Options) -> int:
    """Return how often each item is rated: the option `runs`, or `samples` if weighted."""
    runs = _parse_count(metric, "runs", options, 1, MAX_RUNS)
    samples = _parse_count(metric, "samples", options, MIN_SAMPLES, MAX_SAMPLES)
    weighted = options["scoring"] == "weighted"
    if weighted and runs > 1:
        raise UsageError(
            f"{metric}: runs={runs} works only with scoring=integer. Remove runs or scoring"
        )
    if not weighted and options["samples"] != _OPTIONS["samples"].default:
        raise UsageError(
            f"{metric}: samples={samples} works only with scoring=weighted. Add "
            "scoring=weighted, or remove samples"
        )
    return samples if weighted else runs


def _read_placeholders(path: str) -> frozenset[str]:
    """Return the placeholders of a user's rubric. Raises UsageError and InputError."""
    if not path:
        raise UsageError("rated needs a rubric. Write rated(rubric=FILE)")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"the rubric {path} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the rubric {path} can't be read: it isn't UTF-8 ({error})") from error
    placeholders = Template(text).placeholders
    if "response" not in placeholders:
        raise UsageError(
            f"the rubric {path} has no {{response}}. Put {{response}} where the answer goes; "
            "{question} and {knowledge} are optional"
        )
    return placeholders


def _choose_fields(metric: str, options: Options) -> tuple[str, frozenset[str]]:
    """Return what the rater sees, as requests name it, and the fields of records for it."""
    if metric == "rated":
        placeholders = _read_placeholders(options["rubric"])
        extent = next((p for p in ("knowledge", "question") if p in placeholders), "response")
        return extent, placeholders & {"knowledge", "question"}
    extent = options.get("shown", "knowledge" if metric == "consistency" else "question")
    fields = {"response": (), "question": ("question",), "knowledge": ("question", "knowledge")}
    return extent, frozenset(fields[extent])


def _question(batch: Batch, item: int) -> str:
    """Return the question, after the earlier turns."""
    lines = [f"{t.role}: {t.content}" if t.role else t.content for t in batch.histories[item] or ()]
    question = batch.questions[item]
    if question:
        lines.append(question)
    return "\n".join(lines)


def _knowledge(batch: Batch, item: int) -> tuple[str, ...]:
    """Return the contexts that aren't blank, then the graphs, each in one line."""
    graphs = (format_graph(graph) for graph in batch.graphs[item] or ())
    return (*batch.texts(item, batch.context_numbers(item)), *graphs)


def _responses(metric: str, batch: Batch, extent: str) -> Sequence[str]:
    """Return the responses; without citations if the rater sees more than the response."""
    if metric == "rated" or extent == "response":
        return batch.responses
    pairs = zip(batch.responses, batch.graphs, strict=True)
    return [CitedText(response, graphs or ()).without_citations() for response, graphs in pairs]


def _rated_items(
    batch: Batch, responses: Sequence[str], fields: frozenset[str], items: str
) -> Column:
    """Return 0 for each item to rate, and the status of the others."""
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
    """Return the statuses of items that aren't rated, and the requests of the others."""

    def compute() -> tuple[Column, list[RatingRequest | None]]:
        batch = context.batch
        extent, fields = _choose_fields(metric, options)
        n_ratings = _count_ratings(metric, options)
        responses = _responses(metric, batch, extent)
        column = _rated_items(batch, responses, fields, options["items"])
        requests: list[RatingRequest | None] = [None] * len(batch)
        for i in np.flatnonzero(column.status == 0).tolist():
            requests[i] = RatingRequest(
                options.get("rubric", metric),
                responses[i],
                _question(batch, i) if "question" in fields else "",
                _knowledge(batch, i) if "knowledge" in fields else (),
                extent,
                options["scoring"],
                n_ratings,
            )
        return column, requests

    return context.once(("rating requests", metric, tuple(options.items())), compute)


def _metric(
    name: str, doc: str, source: str, options: dict[str, MetricOption], version: int = 1
) -> Metric:
    def queries(o: Options) -> tuple[RatingQuery, ...]:
        return (
            RatingQuery(
                rubric=lambda: (o.get("rubric", name), _choose_fields(name, o)[0]),
                requests=lambda context: _requests(name, context, o)[1],
            ),
        )

    def compute(context: BatchContext, o: Options) -> Column:
        column, requests = _requests(name, context, o)
        ratings = context.ratings(requests)
        values = [None if rating is None else rating.value for rating in ratings]
        return column.filled(ratings, values)

    def check(o: Options) -> None:
        _choose_fields(name, o)
        _count_ratings(name, o)

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
        {
            "shown": MetricOption(
                "response", ("response", "question"), "Whether the rater sees the question, too."
            )
        },
    ),
    _metric("coherence", "how well the sentences build on one another, 1 to 5", KALMA, {}, 2),
    _metric(
        "consistency",
        "how well the response agrees with the contexts or graphs and with itself, 1 to 5",
        KALMA,
        {},
        version=2,
    ),
    _metric(
        "relevance",
        "how well the response answers the question, without anything else, 1 to 5",
        KALMA,
        {},
        version=2,
    ),
    _metric(
        "rated",
        "any quality, rated from 1 to 5 by your own rubric: rated(rubric=FILE)",
        "Liu et al. 2023 (G-Eval)",
        {"rubric": MetricOption("", doc="File with the rubric, a template with {response}.")},
    ),
)
