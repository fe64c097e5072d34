"""Rated qualities: fluency, coherence, consistency, relevance, and any rubric from 1 to 5.

Definitions: metrics.md, "Rated qualities". The evaluation asks a rater; here stands what it is
shown, and which items are rated at all.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from trueground.errors import InputError, UsageError
from trueground.metrics.base import Metric, Option
from trueground.metrics.column import CODES, Column, Options
from trueground.metrics.evidence import Evidence
from trueground.text.places import places_in
from trueground.types import Rating, RatingRequest, Status

PAPER = "Lee et al. 2024, appendix D.7"
KALMA = "Li et al. 2024, section 4.1"
_LEAST_SAMPLES = 2
_OPTIONS = {
    "scoring": Option("integer", ("integer", "weighted")),
    "samples": Option("20"),
    "items": Option("all", ("all", "free-form")),
}
# A triple of a knowledge graph, [NA], or numbers of passages; "[sic]" is text.
_BRACKET = re.compile(
    r"\s*\[\s*(?:NA|Q\d+[^\[\]]*|(?:qid|name)\s*:[^\[\]]*|\d+(?:\s*[,;–-]\s*\d+)*)\s*\]"
)


def without_citations(text: str) -> str:
    """The text without brackets such as [Q1, born: 1867], [NA], [1] and [1, 2]."""
    return _BRACKET.sub("", text).strip()


def _samples(metric: str, options: Options) -> int:
    """How many samples weighted scoring may draw. UsageError where that is no such number."""
    word = options["samples"]
    if not (word.isascii() and word.isdecimal()) or int(word) < _LEAST_SAMPLES:
        raise UsageError(
            f"{metric}: samples={word!r}; expected a whole number, {_LEAST_SAMPLES} or more"
        )
    weighted = options["scoring"] == "weighted"
    if not weighted and word != _OPTIONS["samples"].default:
        raise UsageError(f"{metric}: samples={word} is for scoring=weighted; add it, or leave it")
    return int(word) if weighted else 1


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


def _question(evidence: Evidence, item: int) -> str:
    """The question, after the earlier turns."""
    batch = evidence.batch
    turns = [f"{t.role}: {t.content}" if t.role else t.content for t in batch.histories[item] or ()]
    return "\n".join([*turns, *filter(None, [batch.questions[item]])])


def _rate(metric: str, evidence: Evidence, options: Options) -> Column:
    """Ratings of the items that are rated, and the status of those that are not."""
    batch, n = evidence.batch, len(evidence.batch)
    shown, fields = _shows(metric, options)
    samples = _samples(metric, options)
    responses = list(batch.responses)
    if metric != "rated" and shown != "response":
        responses = [without_citations(response) for response in responses]
    column = Column(np.zeros(n), np.zeros(n, np.uint8))
    if options["items"] == "free-form":
        column = column.without(batch.has("references"), Status.NOT_APPLICABLE)
    for field, need in (("question", "question"), ("knowledge", "contexts")):
        if field in fields:
            column = column.without(~batch.has(need), Status.MISSING_FIELD)
    blank = np.fromiter((not response.strip() for response in responses), np.bool_, n)
    column = column.without(blank, Status.NO_CLAIMS)
    requests = [
        RatingRequest(
            options.get("rubric", metric),
            responses[i],
            _question(evidence, i) if "question" in fields else "",
            batch.texts(i, batch.kept(i)) if "knowledge" in fields else (),
            shown,
            options["scoring"],
            samples,
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
            told = {"reply": rating.reply, "reason": rating.reason}
        notes.append({name: word for name, word in told.items() if word is not None} or None)
    return Column(values, status, notes)


def _metric(name: str, doc: str, source: str, options: dict[str, Option]) -> Metric:
    def compute(evidence: Evidence, o: Options) -> Column:
        return _rate(name, evidence, o)

    def prepare(o: Options) -> None:
        _shows(name, o)
        _samples(name, o)

    needs: dict[str, tuple[str, ...]] = {
        "coherence": ("question",),
        "consistency": ("question", "contexts"),
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
    )


METRICS = (
    _metric(
        "fluency",
        "how well the response is written, 1 to 5",
        PAPER,
        {"shown": Option("response", ("response", "question"))},
    ),
    _metric("coherence", "how well the sentences build on each other, 1 to 5", KALMA, {}),
    _metric("consistency", "agreement with the contexts and with itself, 1 to 5", KALMA, {}),
    _metric("relevance", "how far it answers the question and only that, 1 to 5", KALMA, {}),
    _metric(
        "rated",
        "any quality from 1 to 5 by a rubric of your own: rated(rubric=FILE)",
        "Liu et al. 2023 (G-Eval)",
        {"rubric": Option("")},
    ),
)
