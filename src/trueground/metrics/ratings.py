"""Rated qualities: fluency, coherence, consistency, relevance, and any rubric from 1 to 5.

Definitions: metrics.md, "Rated qualities". The evaluation asks a rater; here stands what it is
shown, and which items are rated at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trueground.errors import InputError, UsageError
from trueground.metrics.base import Metric, Option
from trueground.metrics.batch import Batch
from trueground.metrics.column import CODES, Column, Options
from trueground.metrics.evidence import BatchContext
from trueground.metrics.options import whole_number
from trueground.text.citations import remove_citations
from trueground.text.places import places_in
from trueground.text.triples import flat
from trueground.types import Rating, RatingRequest, Status

PAPER = "Lee et al. 2024, appendix D.7"
KALMA = "Li et al. 2024, section 4.1"
_LEAST_SAMPLES, _MOST_SAMPLES = 2, 1_000
_MOST_RUNS = 100
_OPTIONS = {
    "scoring": Option("integer", ("integer", "weighted")),
    "samples": Option("20"),
    "items": Option("all", ("all", "free-form", "sampled")),
    "runs": Option("1"),
}


def _times(metric: str, options: Options) -> int:
    """How often the rater is asked: `runs` times, or as many samples as weighted scoring may draw.

    UsageError where that is no such number.
    """
    runs = whole_number(metric, "runs", options, 1, _MOST_RUNS)
    samples = whole_number(metric, "samples", options, _LEAST_SAMPLES, _MOST_SAMPLES)
    weighted = options["scoring"] == "weighted"
    if weighted and runs > 1:
        raise UsageError(f"{metric}: runs={runs} is for scoring=integer; leave one of the two out")
    if not weighted and options["samples"] != _OPTIONS["samples"].default:
        raise UsageError(
            f"{metric}: samples={samples} is for scoring=weighted; add it, or leave it"
        )
    return samples if weighted else runs


def _places(path: str) -> frozenset[str]:
    """The places of a user's rubric as it is now. UsageError, InputError."""
    if not path:
        raise UsageError("rated needs a rubric; write rated(rubric=FILE)")
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or f"it is no UTF-8 text ({error})"
        raise InputError(f"the rubric {path} cannot be read: {why}") from error
    found = places_in(text)
    if "response" not in found:
        raise UsageError(
            f"the rubric {path} has no place {{response}}; it may have {{response}}, {{question}} "
            "and {knowledge}"
        )
    return found


def _shows(metric: str, options: Options) -> tuple[str, frozenset[str]]:
    """What the rater is shown, and which fields that takes."""
    if metric == "rated":
        found = _places(options["rubric"])
        shown = next((p for p in ("knowledge", "question") if p in found), "response")
        return shown, found & {"knowledge", "question"}
    shown = options.get("shown", "knowledge" if metric == "consistency" else "question")
    fields = {"response": (), "question": ("question",), "knowledge": ("question", "knowledge")}
    return shown, frozenset(fields[shown])


def _question(evidence: BatchContext, item: int) -> str:
    """The question, after the earlier turns."""
    batch = evidence.batch
    turns = [f"{t.role}: {t.content}" if t.role else t.content for t in batch.histories[item] or ()]
    return "\n".join([*turns, *filter(None, [batch.questions[item]])])


def _knowledge(batch: Batch, item: int) -> tuple[str, ...]:
    """The contexts that are not blank, then the graphs, each in one line."""
    graphs = (flat(graph) for graph in batch.graphs[item] or ())
    return (*batch.texts(item, batch.kept(item)), *graphs)


def _rated_items(
    batch: Batch, responses: Sequence[str], fields: frozenset[str], items: str
) -> Column:
    """Zeros for the items to rate, and the status of the others."""
    n = len(batch)
    column = Column(np.zeros(n), np.zeros(n, np.uint8))
    if items == "free-form":
        column = column.without(batch.has("references"), Status.NOT_APPLICABLE)
    if items == "sampled":
        sampled = np.array([(meta or {}).get("sampled") is True for meta in batch.metas], np.bool_)
        column = column.without(~sampled, Status.NOT_APPLICABLE)
    if "question" in fields:
        column = column.without(~batch.has("question"), Status.MISSING_FIELD)
    if "knowledge" in fields:
        given = batch.has("contexts") | batch.has("knowledge")
        column = column.without(~given, Status.MISSING_FIELD)
        none = np.array([not _knowledge(batch, i) for i in range(n)], np.bool_)
        column = column.without(none, Status.NOT_APPLICABLE)
    blank = np.fromiter((not response.strip() for response in responses), np.bool_, n)
    return column.without(blank, Status.NO_CLAIMS)


def _rate(metric: str, evidence: BatchContext, options: Options) -> Column:
    """Ratings of the items that are rated, and the status of those that are not."""
    batch, n = evidence.batch, len(evidence.batch)
    shown, fields = _shows(metric, options)
    times = _times(metric, options)
    responses = list(batch.responses)
    if metric != "rated" and shown != "response":
        responses = [
            remove_citations(response, graphs or ())
            for response, graphs in zip(responses, batch.graphs, strict=True)
        ]
    column = _rated_items(batch, responses, fields, options["items"])
    requests = [
        RatingRequest(
            options.get("rubric", metric),
            responses[i],
            _question(evidence, i) if "question" in fields else "",
            _knowledge(batch, i) if "knowledge" in fields else (),
            shown,
            options["scoring"],
            times,
        )
        if column.status[i] == 0
        else None
        for i in range(n)
    ]
    return _filled(column, evidence.ratings((metric, tuple(options.items())), requests))


def _filled(column: Column, ratings: list[Rating | None]) -> Column:
    values, status = column.values.copy(), column.status.copy()
    notes = []
    for i, rating in enumerate(ratings):
        told = {}
        if rating is not None:
            values[i] = np.nan if rating.value is None else rating.value
            status[i] = CODES[rating.status]
            several = list(rating.replies) or None
            told = {"reply": rating.reply, "reason": rating.reason, "replies": several}
        notes.append({name: word for name, word in told.items() if word is not None} or None)
    return Column(values, status, notes)


def _metric(
    name: str, doc: str, source: str, options: dict[str, Option], version: int = 1
) -> Metric:
    def compute(evidence: BatchContext, o: Options) -> Column:
        return _rate(name, evidence, o)

    def prepare(o: Options) -> None:
        _shows(name, o)
        _times(name, o)

    needs: dict[str, tuple[str, ...]] = {
        "coherence": ("question",),
        "consistency": ("question",),  # and contexts or graphs
        "relevance": ("question",),
    }
    return Metric(
        name,
        "rated",
        needs.get(name, ()),
        compute,
        doc,
        source,
        {**options, **_OPTIONS},
        rubric=lambda o: (o.get("rubric", name), _shows(name, o)[0]),
        prepare=prepare,
        in_default_set=False,
        version=version,
    )


METRICS = (
    _metric(
        "fluency",
        "how well the response is written, 1 to 5",
        PAPER,
        {"shown": Option("response", ("response", "question"))},
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
        {"rubric": Option("")},
    ),
)
