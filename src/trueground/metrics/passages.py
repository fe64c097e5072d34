"""Metrics of citations by number, such as [2]: whether passages support the sentences citing them.

The definitions are in docs/metrics.md, "Citations of passages".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from trueground.metrics.alce import (
    REFERENCE,
    REFERENCE_CHECK,
    reference_details,
    tally_precision,
    tally_recall,
)
from trueground.metrics.base import (
    Details,
    Metric,
    MetricOption,
    abstain_option,
)
from trueground.metrics.batch import Batch, Counts, Options, Tally
from trueground.metrics.cited_sentences import (
    CitedSentence,
    Reading,
    request_maker,
    verdicts_by_reading,
    without,
)
from trueground.metrics.context import BatchContext, Checked, ClaimCheck
from trueground.types import Failure, Passage, Status, Verdict

_SOURCE = "after Gao et al. 2023 (ALCE)"
_PRECISION, _RECALL = "passage_citation_precision", "passage_citation_recall"
_GOOD = ("sufficient", "needed")
Outcome = tuple[int, str | None]
_OPTIONS = {
    **abstain_option("exclude"),
    "variant": MetricOption("default", ("default", REFERENCE)),
}


def _read(batch: Batch, item: int) -> list[CitedSentence]:
    """Return the sentences, each with the passages it cites: ascending, unique and not blank."""
    available = {index + 1 for index in batch.context_numbers(item)}
    sentences = []
    for sentence in batch.numbered[item]:
        cited = tuple(sorted(available.intersection(sentence.passages)))
        sentences.append(CitedSentence(sentence.text, sentence.start, sentence.end, cited))
    return sentences


def _show(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


_CHECK: ClaimCheck = ClaimCheck("passages", request_maker(_read, _show))


@dataclass(frozen=True)
class Support:
    """The verdicts about an item, sentence by sentence.

    Attributes:
        together: For each sentence, the verdict about all passages that it cites. None if it
            cites none.
        outcomes: For each sentence, each number that it cites, once, with the outcome of that
            citation. The outcome is None if a verdict is missing.
        missing: The reason if verdicts are missing.
        spared: Whether no verdicts were requested.
    """

    together: list[Verdict | None]
    outcomes: list[list[Outcome]]
    missing: Status | Failure | None
    spared: bool


def _support(context: BatchContext) -> list[Support]:
    def compute() -> list[Support]:
        checks = enumerate(context.checks(_CHECK))
        return [_support_of(context.batch, item, checked) for item, checked in checks]

    return context.once_judged("passage support", compute)


def _support_of(batch: Batch, item: int, checked: Checked) -> Support:
    """Return the support of an item. UsageError if the number of a caller's verdicts is wrong."""
    sentences = batch.numbered[item]
    outcomes: list[list[Outcome]] = []
    if checked.failure is not None:
        outcomes = [_unknown_outcomes(sentence.passages) for sentence in sentences]
        return Support([None] * len(sentences), outcomes, checked.failure, True)
    read = _read(batch, item)
    verdicts = verdicts_by_reading(read, checked, item)
    for i, sentence in enumerate(sentences):
        numbers = dict.fromkeys(sentence.passages)
        outcomes.append([(n, _outcome(verdicts, i, read[i].cited, n)) for n in numbers])
    together = [verdicts.get((i, sentence.cited)) for i, sentence in enumerate(read)]
    return Support(together, outcomes, checked.unanswered, False)


def _unknown_outcomes(numbers: Iterable[int]) -> list[Outcome]:
    return [(number, None) for number in dict.fromkeys(numbers)]


def _outcome(
    verdicts: dict[Reading, Verdict], sentence: int, cited: tuple[int, ...], number: int
) -> str | None:
    """Return the outcome of one citation; None if a verdict about it is missing."""
    if number not in cited:
        return "no_passage"
    together, alone = verdicts.get((sentence, cited)), verdicts.get((sentence, (number,)))
    if together is None or alone is None:
        return "no_sentence"
    rest = without(cited, number)
    by_rest = verdicts[sentence, rest].supported if rest else False
    if None in (together.supported, alone.supported, by_rest):
        return None
    if alone.supported:
        return "sufficient"
    if together.supported:
        return "not_needed" if by_rest else "needed"
    return "not_supporting"


def _tally_precision(context: BatchContext, item: int) -> Tally:
    support = _support(context)[item]
    outcomes = []
    for sentence_outcomes in support.outcomes:
        outcomes += [outcome for _, outcome in sentence_outcomes]
    missing = support.missing if outcomes else None
    return missing or (sum(outcome in _GOOD for outcome in outcomes), len(outcomes))


def _tally_recall(context: BatchContext, item: int) -> Tally:
    pairs = zip(context.batch.numbered[item], _support(context)[item].together, strict=True)
    verdicts = [verdict for sentence, verdict in pairs if sentence.text]
    missing = (v.status for v in verdicts if v is not None and v.status is not Status.SCORED)
    supported = sum(v is not None and bool(v.supported) for v in verdicts)
    return next(missing, None) or (supported, len(verdicts))


def _precision(context: BatchContext, o: Options) -> Counts:
    return _counts(context, o, tally_precision if o["variant"] == REFERENCE else _tally_precision)


def _recall(context: BatchContext, o: Options) -> Counts:
    return _counts(context, o, tally_recall if o["variant"] == REFERENCE else _tally_recall)


def _counts(
    context: BatchContext, o: Options, tally: Callable[[BatchContext, int], Tally]
) -> Counts:
    """Return the counts of a tally, under the policy for responses that abstain."""
    items = range(len(context.batch))
    result = context.once_judged(tally, lambda: Counts.of([tally(context, i) for i in items]))
    return result.under(o["abstain"], context.abstained)


def _details(context: BatchContext, item: int) -> dict[str, Any]:
    """Return the sentences of an item, with the outcome of each citation."""
    sentences = context.batch.numbered[item]
    if not sentences or not context.batch.has("contexts")[item]:
        return {}
    support = _support(context)[item]
    unsupported = None if support.spared else False
    lines = []
    rows = zip(sentences, support.together, support.outcomes, strict=True)
    for sentence, verdict, outcomes in rows:
        line = {
            "text": sentence.text,
            "start": sentence.start,
            "end": sentence.end,
            "supported": unsupported if verdict is None else verdict.supported,
            "passages": [{"number": number, "outcome": outcome} for number, outcome in outcomes],
        }
        lines.append(line)
    return {"passage_sentences": lines}


def _check_with(o: Options) -> tuple[ClaimCheck, ...]:
    return (REFERENCE_CHECK if o["variant"] == REFERENCE else _CHECK,)


def _details_with(o: Options) -> Details:
    return reference_details if o["variant"] == REFERENCE else _details


METRICS = (
    Metric.counted(
        name=_RECALL,
        needs=("contexts",),
        counts=_recall,
        details=_details_with,
        doc="share of the sentences that are supported by the passages they cite",
        source=_SOURCE,
        options=_OPTIONS,
        queries=_check_with,
    ),
    Metric.counted(
        name=_PRECISION,
        needs=("contexts",),
        counts=_precision,
        details=_details_with,
        doc="share of the citations of passages that help to support their sentence",
        source=_SOURCE,
        options=_OPTIONS,
        queries=_check_with,
    ),
    # It is computed from the two under one policy, as in runs, so both agree on the F1.
    Metric.counted_f1(
        name="passage_citation_f1",
        parts=(_PRECISION, _RECALL),
        precision=_precision,
        recall=_recall,
        details=_details_with,
        needs=("contexts",),
        doc="harmonic mean of passage citation precision and recall",
        source=_SOURCE,
        options=_OPTIONS,
        queries=_check_with,
    ),
)
