"""Do the passages that sentences cite by number support them, and is each citation of use?

Definitions: metrics.md, "Citations of passages".
"""

from __future__ import annotations

from collections.abc import Callable
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
    """Return the sentences, each with the passages that it cites: once, ascending, not blank."""
    available = {index + 1 for index in batch.context_numbers(item)}
    return [
        CitedSentence(s.text, s.start, s.end, tuple(sorted(available.intersection(s.passages))))
        for s in batch.numbered[item]
    ]


def _show(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


_CHECK: ClaimCheck = ClaimCheck("passages", request_maker(_read, _show))


@dataclass(frozen=True)
class Support:
    """What the verdicts say about an item, sentence by sentence.

    `together` is the verdict about all passages that the sentence cites, None where it cites none.
    `outcomes` has each number that it cites once, and what that citation does for it: None where a
    verdict is missing. `missing` says why verdicts of the item are missing; `spared`, that none
    were asked for.
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
    """UsageError where a caller brought another number of verdicts."""
    sentences = batch.numbered[item]
    numbers = [dict.fromkeys(s.passages) for s in sentences]
    if checked.failure is not None:
        unread: list[list[Outcome]] = [[(n, None) for n in found] for found in numbers]
        return Support([None] * len(sentences), unread, checked.failure, True)
    read = _read(batch, item)
    verdicts = verdicts_by_reading(read, checked, item)
    outcomes = [
        [(n, _outcome(verdicts, i, read[i].cited, n)) for n in found]
        for i, found in enumerate(numbers)
    ]
    together = [verdicts.get((i, sentence.cited)) for i, sentence in enumerate(read)]
    return Support(together, outcomes, checked.unanswered, False)


def _outcome(
    verdicts: dict[Reading, Verdict], sentence: int, cited: tuple[int, ...], number: int
) -> str | None:
    """What one citation does for its sentence; None where a verdict about it is missing."""
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
    outcomes = [outcome for of_sentence in support.outcomes for _, outcome in of_sentence]
    missing = support.missing if outcomes else None
    return missing or (sum(outcome in _GOOD for outcome in outcomes), len(outcomes))


def _tally_recall(context: BatchContext, item: int) -> Tally:
    pairs = zip(context.batch.numbered[item], _support(context)[item].together, strict=True)
    found = [verdict for sentence, verdict in pairs if sentence.text]
    missing = (v.status for v in found if v is not None and v.status is not Status.SCORED)
    supported = sum(v is not None and bool(v.supported) for v in found)
    return next(missing, None) or (supported, len(found))


def _precision(context: BatchContext, o: Options) -> Counts:
    return _counts(context, o, tally_precision if o["variant"] == REFERENCE else _tally_precision)


def _recall(context: BatchContext, o: Options) -> Counts:
    return _counts(context, o, tally_recall if o["variant"] == REFERENCE else _tally_recall)


def _counts(
    context: BatchContext, o: Options, tally: Callable[[BatchContext, int], Tally]
) -> Counts:
    """Return the counts by a tally, under the policy on abstained responses."""
    items = range(len(context.batch))
    result = context.once_judged(tally, lambda: Counts.of([tally(context, i) for i in items]))
    return result.under(o["abstain"], context.abstained)


def _details(context: BatchContext, item: int) -> dict[str, Any]:
    """The sentences of an item, and what each citation does for its sentence."""
    sentences = context.batch.numbered[item]
    if not sentences or not context.batch.has("contexts")[item]:
        return {}
    support = _support(context)[item]
    unsupported = None if support.spared else False
    return {
        "passage_sentences": [
            {
                "text": s.text,
                "start": s.start,
                "end": s.end,
                "supported": unsupported if verdict is None else verdict.supported,
                "passages": [{"number": n, "outcome": outcome} for n, outcome in found],
            }
            for s, verdict, found in zip(sentences, support.together, support.outcomes, strict=True)
        ]
    }


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
        doc="share of the sentences that the passages they cite support",
        source=_SOURCE,
        options=_OPTIONS,
        queries=_check_with,
    ),
    Metric.counted(
        name=_PRECISION,
        needs=("contexts",),
        counts=_precision,
        details=_details_with,
        doc="share of the citations of passages that are sufficient or needed",
        source=_SOURCE,
        options=_OPTIONS,
        queries=_check_with,
    ),
    # From the two under one policy: so do runs, and their F1 agrees with those of the items.
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
