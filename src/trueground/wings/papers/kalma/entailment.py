"""Do sentences say what they cite, and does [NA] stand where knowledge is missing?

Definitions: metrics.md, "Citations of knowledge-graph triples"; Li et al. 2024, sections 4.3 and
4.4. Which entity a statement is about is not said to the judge: sentences name theirs by pronouns
more often than not. In the variant `reference-code` of the [NA] metrics pairs of a sentence and a
triple are counted, and absent is all of the minimum set that is not cited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueground.errors import UsageError
from trueground.metrics import (
    BatchContext,
    ClaimCheck,
    ClaimRequest,
    Counts,
    Metric,
    MetricOption,
    Requirement,
)
from trueground.stats import sum_counts
from trueground.text import Citation, GraphTriple, Sentence, plain
from trueground.types import Claim, Failure, JudgeRequest, Status, Triple, Verdict
from trueground.wings.papers.content_words import content_words
from trueground.wings.papers.kalma.triples import (
    REFERENCE,
    Tally,
    citation_details,
    cited_sentences,
    first_round,
    graph_status,
    unique,
)

_VARIANT = {"variant": MetricOption("default", ("default", REFERENCE))}
_NA_SOURCE = "Li et al. 2024, section 4.4"
_OFF_TOPIC = {"off_topic": MetricOption("wrong", ("wrong", "right"))}
_NEEDS = ("knowledge", "absent_knowledge")
_REFERENCE_NEEDS = ("knowledge", "gold_knowledge")

# Lives have several of these, and sentences name two at a time: "born in Rome, died in Naples".
_EVENTS = frozenset(("birth", "death", "burial"))
_LINKS = frozenset(("of", "at", "in"))
# One character for one, so that places stay: typographic signs as they stand on a keyboard.
_KEYS = str.maketrans(dict.fromkeys("‘’ʼ′", "'") | dict.fromkeys("‐‑‒–—―−", "-"))
_INCOMPLETE = Verdict(False, 0.0, reasons=("the citation lacks property or value",))
_NO_SENTENCE = Verdict(False, 0.0, reasons=("no sentence stands with it",))
_STANDS = ("the value stands in the sentence",)
_LONGEST = 40  # letters; no word of a language is begun with more


def entailment_request(sentence: str, name: str, value: str) -> JudgeRequest:
    """Does this sentence entail "property: value"?

    The property's name is given as what was asked, so that "She was a painter" need not say the
    word "occupation"; only words for events must be said.
    """
    named = GraphTriple.plain_property(name).split()
    words = [word for word in named if word.lower() not in _EVENTS]
    while words and words[-1].lower() in _LINKS:
        words.pop()
    question = f"What is the {' '.join(words)}?" if words else ""
    statement = GraphTriple("", name, value).statement
    return JudgeRequest(statement, (sentence,), question, source="sentence")


def find_value(value: str, sentence: str) -> tuple[int, int] | None:
    """Where the value stands in the sentence on word boundaries, in large or small letters.

    White space of any length is as good as one space, and typographic apostrophes and dashes are
    as good as plain ones.
    """
    words = plain(value).translate(_KEYS).split()
    if not words:
        return None
    pattern = r"\s+".join(map(re.escape, words))
    found = re.search(rf"(?<!\w){pattern}(?!\w)", sentence.translate(_KEYS), re.IGNORECASE)
    return found.span() if found else None


# Alignment: do sentences say what they cite?


def _alignment_requests(
    context: BatchContext, check: ClaimCheck
) -> list[list[ClaimRequest] | Failure]:
    """One request for each citation of an item, in order: does its sentence entail it?

    Where the value stands in the sentence none is asked, unless the variant is "paper".
    """
    look = check.variant != "paper"

    def of_item(sentences: Sequence[Sentence]) -> list[ClaimRequest] | Failure:
        citations = sum(len(s.citations) for s in sentences)
        characters = sum(len(s.citations) * len(s.text) for s in sentences)
        failure = check.exceeds_limits(citations, characters, citations)
        return failure or [
            _alignment_request(citation, sentence, number, look)
            for number, sentence in enumerate(sentences)
            for citation in sentence.citations
        ]

    items = zip(cited_sentences(context), context.batch.graphs, strict=True)
    return [of_item(sentences) if graphs else [] for sentences, graphs in items]


def _alignment_request(c: Citation, sentence: Sentence, number: int, look: bool) -> ClaimRequest:
    text = c.triple.statement if c.property else c.qid
    claim = Claim(text, c.start, c.end, number)
    if not (c.property and c.value):
        return ClaimRequest(claim, verdict=_INCOMPLETE)
    if not sentence.text:
        return ClaimRequest(claim, verdict=_NO_SENTENCE)
    if look and (place := find_value(c.value, sentence.text)):
        verdict = Verdict(True, 1.0, text=0, start=place[0], end=place[1], reasons=_STANDS)
        return ClaimRequest(claim, verdict=verdict)
    return ClaimRequest(claim, entailment_request(sentence.text, c.property, c.value))


def _alignment_check(o: Mapping[str, str]) -> tuple[ClaimCheck, ...]:
    variant = "paper" if o["variant"] == "paper" else ""
    return (ClaimCheck("alignment", _alignment_requests, variant=variant),)


def _alignment(context: BatchContext, o: Mapping[str, str]) -> Counts:
    def compute() -> Counts:
        tallies: list[Tally] = []
        pairs = zip(context.checks(*_alignment_check(o)), graph_status(context), strict=True)
        for i, (checked, why) in enumerate(pairs):
            wanted = sum(len(sentence.citations) for sentence in cited_sentences(context)[i])
            if not (why or checked.failure) and len(checked.verdicts) != wanted:
                raise UsageError(
                    f"supported[{i}] has {len(checked.verdicts)} verdicts; expected {wanted}, one "
                    "for each citation in its order"
                )
            aligned = sum(bool(verdict.supported) for verdict in checked.verdicts)
            tallies.append(why or checked.unanswered or (aligned, wanted))
        return Counts.of(tallies)

    return context.once_judged(("alignment", o["variant"]), compute)


# [NA]: does it stand where knowledge is missing?


@dataclass(frozen=True)
class AbsenceMarks:
    """The sentences of an item that have [NA], by number, and the triples that are absent."""

    sentences: dict[int, Sentence]
    absent: list[Triple]


def _marked(context: BatchContext, reference: bool) -> list[AbsenceMarks | Status | Failure]:
    """For each item, or why it has no values."""
    batch = context.batch

    def of_item(i: int) -> AbsenceMarks | Status | Failure:
        sentences = {n: s for n, s in enumerate(cited_sentences(context)[i]) if s.missing}
        if not reference:
            absent = batch.absent_knowledge[i]
            if absent is None:
                return Status.MISSING_FIELD
            return AbsenceMarks(sentences, list(unique(absent).values()))
        gold, apart = batch.gold_knowledge[i], first_round(batch.metas[i])
        if gold is None:
            return Status.MISSING_FIELD
        if isinstance(apart, Failure):
            return apart
        known = apart | {c.triple.key for s in cited_sentences(context)[i] for c in s.citations}
        left = [triple for key, triple in unique(gold).items() if key not in known]
        return AbsenceMarks(sentences, left)

    def compute() -> list[AbsenceMarks | Status | Failure]:
        return [why or of_item(i) for i, why in enumerate(graph_status(context))]

    return context.once(("marked", reference), compute)


def _missing_requests(
    context: BatchContext, check: ClaimCheck
) -> list[list[ClaimRequest] | Failure]:
    """For each sentence with [NA], and in it for each absent triple: does the one entail the other?

    Claims have the place of the sentence.
    """
    marked = _marked(context, check.variant == REFERENCE)
    return [_requests_of(item, check) if isinstance(item, AbsenceMarks) else [] for item in marked]


def _requests_of(item: AbsenceMarks, check: ClaimCheck) -> list[ClaimRequest] | Failure:
    """The requests of an item; counted before they are made."""
    pairs = len(item.sentences) * len(item.absent)
    characters = len(item.absent) * sum(len(s.text) for s in item.sentences.values())
    failure = check.exceeds_limits(pairs, characters, pairs)
    return failure or [
        _missing_request(sentence, number, name, value)
        for number, sentence in item.sentences.items()
        for _, name, value in item.absent
    ]


def _missing_request(sentence: Sentence, number: int, name: str, value: str) -> ClaimRequest:
    claim = Claim(GraphTriple("", name, value).statement, sentence.start, sentence.end, number)
    if not sentence.text:
        return ClaimRequest(claim, verdict=_NO_SENTENCE)
    return ClaimRequest(claim, entailment_request(sentence.text, name, value))


def _missing_check(o: Mapping[str, str]) -> tuple[ClaimCheck, ...]:
    variant = REFERENCE if o["variant"] == REFERENCE else ""
    return (ClaimCheck("missing", _missing_requests, variant=variant),)


def _grid(item: AbsenceMarks, verdicts: Sequence[Verdict], i: int) -> NDArray[np.bool_]:
    """Which sentence entails which triple, shape (sentences with [NA], absent triples)."""
    shape = len(item.sentences), len(item.absent)
    if len(verdicts) != shape[0] * shape[1]:
        raise UsageError(
            f"supported[{i}] has {len(verdicts)} verdicts; expected {shape[0] * shape[1]}: "
            f"for each of the {shape[0]} sentences with [NA] one for each of the {shape[1]} absent "
            "triples"
        )
    return np.array([bool(v.supported) for v in verdicts], np.bool_).reshape(shape)


def _na_precision(context: BatchContext, o: Mapping[str, str]) -> Counts:
    return _count_missing("na_precision", _tally_na_precision, context, o)


def _na_recall(context: BatchContext, o: Mapping[str, str]) -> Counts:
    return _count_missing("na_recall", _tally_na_recall, context, o)


def _count_missing(
    name: str,
    tally: Callable[[AbsenceMarks, NDArray[np.bool_], BatchContext, int, Mapping[str, str]], Tally],
    context: BatchContext,
    o: Mapping[str, str],
) -> Counts:
    """Counts by a tally of (marked, which sentence entails which, context, item, options)."""

    def compute() -> Counts:
        tallies: list[Tally] = []
        marked = _marked(context, o["variant"] == REFERENCE)
        pairs = zip(marked, context.checks(*_missing_check(o)), strict=True)
        for i, (item, checked) in enumerate(pairs):
            if not isinstance(item, AbsenceMarks):
                tallies.append(item)
            elif (missing := checked.unanswered) is not None:
                tallies.append(missing)
            else:
                tallies.append(tally(item, _grid(item, checked.verdicts, i), context, i, o))
        return Counts.of(tallies)

    return context.once_judged((name, *o.items()), compute)


def _tally_na_precision(
    item: AbsenceMarks,
    entails: NDArray[np.bool_],
    context: BatchContext,
    i: int,
    o: Mapping[str, str],
) -> Tally:
    """No unit where there is no [NA]; nothing absent makes every [NA] wrong."""
    if o["variant"] == REFERENCE:
        return sum_counts(entails), len(entails)
    right: NDArray[np.bool_] = np.any(entails, axis=1)
    if o["off_topic"] == "right" and item.sentences:
        question = context.batch.prior_turns[i]
        if not question.strip():
            return Status.MISSING_FIELD
        excused = off_topic([s.text for s in item.sentences.values()], question)
        right = right | np.array(excused, np.bool_)
    return sum_counts(right), len(right)


def _tally_na_recall(
    item: AbsenceMarks,
    entails: NDArray[np.bool_],
    _context: BatchContext,
    _i: int,
    o: Mapping[str, str],
) -> Tally:
    if o["variant"] == REFERENCE:
        return (sum_counts(entails), len(item.absent)) if item.sentences else Status.NO_CLAIMS
    return sum_counts(np.any(entails, axis=0)), len(item.absent)


def _check_na_options(o: Mapping[str, str]) -> None:
    """Raises UsageError for options that exclude each other."""
    if o["variant"] == REFERENCE and o.get("off_topic") == "right":
        raise UsageError(
            "off_topic=right does not go with variant=reference-code, whose script has no such "
            "rule; leave one of the two out"
        )


def off_topic(sentences: Iterable[str], question: str) -> list[bool]:
    """For each sentence whether it shares no content word with the question.

    The paper counts an [NA] on a sentence that does not answer the question as right and gives no
    method (section 4.5); this is the rule here.
    Words are shared where one begins with the other, if that has three letters: "die", "died".
    """
    asked = content_words(question)
    begun = asked | _beginnings(asked)
    words = [content_words(sentence) for sentence in sentences]
    return [not (used & begun or _beginnings(used) & asked) for used in words]


def _beginnings(words: set[str]) -> set[str]:
    return {word[:n] for word in words for n in range(3, min(len(word), _LONGEST))}


def _na_needs(o: Mapping[str, str]) -> tuple[str, ...]:
    return _REFERENCE_NEEDS if o["variant"] == REFERENCE else _NEEDS


_NA: dict[str, Any] = {
    "needs": _na_needs,
    "source": _NA_SOURCE,
    "queries": _missing_check,
    "requires": Requirement(check=_check_na_options),
    "version": 2,
}

METRICS = (
    Metric.counted(
        name="alignment",
        needs=("knowledge",),
        counts=_alignment,
        details=lambda _options: citation_details,
        doc="share of the citations that their sentences entail",
        source="Li et al. 2024, section 4.3",
        options={"variant": MetricOption("default", ("default", "paper"))},
        queries=_alignment_check,
        version=2,
    ),
    Metric.counted(
        name="na_precision",
        counts=_na_precision,
        details=lambda _options: citation_details,
        doc="share of the sentences with [NA] that entail something absent",
        options={**_VARIANT, **_OFF_TOPIC},
        **_NA,
    ),
    Metric.counted(
        name="na_recall",
        counts=_na_recall,
        details=lambda _options: citation_details,
        doc="share of the absent knowledge that some sentence with [NA] entails",
        options=_VARIANT,
        **_NA,
    ),
    Metric.counted_f1(
        name="na_f1",
        parts=("na_precision", "na_recall"),
        precision=_na_precision,
        recall=_na_recall,
        details=lambda _options: citation_details,
        doc="harmonic mean of [NA] precision and recall",
        options={**_VARIANT, **_OFF_TOPIC},
        **_NA,
    ),
)
