"""Do the passages that sentences cite by number support them, and is each citation of use?

Definitions: metrics.md, "Citations of passages".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trueground.errors import UsageError
from trueground.metrics.base import Metric
from trueground.metrics.batch import Batch
from trueground.metrics.citations.counts import Counts, Tally, unanswered
from trueground.metrics.citations.passage_questions import Question, but, questions, there
from trueground.metrics.column import Column, Floats, Options, harmonic
from trueground.metrics.evidence import BatchContext, Checked
from trueground.metrics.options import abstain_option
from trueground.types import Failure, Status, Verdict

KIND = "passages"
SOURCE = "after Gao et al. 2023 (ALCE)"
PRECISION, RECALL = "passage_citation_precision", "passage_citation_recall"
Outcome = tuple[int, str | None]
_GOOD = ("sufficient", "needed")


@dataclass(frozen=True)
class _Read:
    """What the verdicts say about an item, sentence by sentence.

    `together` is the verdict about all passages that the sentence cites, None where it cites none.
    `outcomes` has each number that it cites once, and what that citation does for it: None where a
    verdict is missing. `lost` says why verdicts of the item are missing; `spared`, that none were
    asked for.
    """

    together: list[Verdict | None]
    outcomes: list[list[Outcome]]
    lost: Status | Failure | None
    spared: bool


def _read(evidence: BatchContext) -> list[_Read]:
    def make() -> list[_Read]:
        checks = enumerate(evidence.checks(KIND))
        return [_read_item(evidence.batch, item, checked) for item, checked in checks]

    return evidence.once_judged("passages", make)


def _read_item(batch: Batch, item: int, checked: Checked) -> _Read:
    """UsageError where a caller brought another number of verdicts."""
    sentences, lost = batch.numbered[item], unanswered(checked)
    if checked.failure is not None:
        unread: list[list[Outcome]] = [
            [(n, None) for n in dict.fromkeys(s.passages)] for s in sentences
        ]
        return _Read([None] * len(sentences), unread, lost, True)
    asked, given = list(questions(batch, item)), checked.verdicts
    if len(given) != len(asked):
        raise UsageError(
            f"supported[{item}] has {len(given)} verdicts; expected {len(asked)}: for each "
            "sentence that cites one about all its passages; with two or more also one about each "
            "alone, with three or more then one about all but each"
        )
    verdicts = dict(zip(asked, given, strict=True))
    cited = there(batch, item)
    outcomes = [
        [(n, _outcome(verdicts, i, cited[i], n)) for n in dict.fromkeys(s.passages)]
        for i, s in enumerate(sentences)
    ]
    return _Read([verdicts.get(key) for key in enumerate(cited)], outcomes, lost, False)


def _outcome(
    verdicts: dict[Question, Verdict], sentence: int, cited: tuple[int, ...], number: int
) -> str | None:
    """What one citation does for its sentence; None where a verdict about it is missing."""
    if number not in cited:
        return "no_passage"
    together, alone = verdicts.get((sentence, cited)), verdicts.get((sentence, (number,)))
    if together is None or alone is None:
        return "no_sentence"
    rest = but(cited, number)
    without = verdicts[sentence, rest].supported if rest else False
    if None in (together.supported, alone.supported, without):
        return None
    if alone.supported:
        return "sufficient"
    if together.supported:
        return "not_needed" if without else "needed"
    return "not_supporting"


def _precision(evidence: BatchContext, item: int) -> Tally:
    read = _read(evidence)[item]
    outcomes = [outcome for told in read.outcomes for _, outcome in told]
    lost = read.lost if outcomes else None
    return lost or (sum(outcome in _GOOD for outcome in outcomes), len(outcomes))


def _recall(evidence: BatchContext, item: int) -> Tally:
    pairs = zip(evidence.batch.numbered[item], _read(evidence)[item].together, strict=True)
    found = [verdict for sentence, verdict in pairs if sentence.text]
    lost = (v.status for v in found if v is not None and v.status is not Status.SCORED)
    supported = sum(v is not None and bool(v.supported) for v in found)
    return next(lost, None) or (supported, len(found))


_TALLIES: dict[str, Callable[[BatchContext, int], Tally]] = {PRECISION: _precision, RECALL: _recall}


def _counts(evidence: BatchContext, o: Options, name: str) -> Counts:
    """The counts of precision or recall under the policy on responses that decline."""

    def make() -> Counts:
        items = range(len(evidence.batch))
        return Counts.of([_TALLIES[name](evidence, item) for item in items])

    return evidence.once_judged(name, make).under(o["abstain"], evidence.abstained)


def _f1(evidence: BatchContext, o: Options) -> Column:
    """From the two under one policy: so do runs, and their F1 agrees with those of the items."""
    return harmonic(_counts(evidence, o, PRECISION).column, _counts(evidence, o, RECALL).column)


def _tells(evidence: BatchContext, item: int) -> dict[str, Any]:
    """The sentences of an item, and what each citation does for its sentence."""
    sentences = evidence.batch.numbered[item]
    if not sentences or not evidence.batch.has("contexts")[item]:
        return {}
    read = _read(evidence)[item]
    unsaid = None if read.spared else False
    told = [
        {
            "text": s.text,
            "start": s.start,
            "end": s.end,
            "supported": unsaid if verdict is None else verdict.supported,
            "passages": [{"number": n, "outcome": outcome} for n, outcome in found],
        }
        for s, verdict, found in zip(sentences, read.together, read.outcomes, strict=True)
    ]
    return {"passage_sentences": told}


def _counted(name: str, doc: str) -> Metric:
    def compute(evidence: BatchContext, o: Options) -> Column:
        return _counts(evidence, o, name).column

    def totals(evidence: BatchContext, o: Options) -> tuple[Floats, Floats]:
        return _counts(evidence, o, name).totals

    return _metric(name, doc, compute, totals=totals)


def _metric(
    name: str, doc: str, compute: Callable[[BatchContext, Options], Column], **of: Any
) -> Metric:
    return Metric(
        name,
        "citations",
        ("contexts",),
        compute,
        doc,
        SOURCE,
        abstain_option("exclude"),
        lambda _options: (KIND,),
        tells=_tells,
        in_default_set=False,
        **of,
    )


METRICS = (
    _counted(RECALL, "share of the sentences that the passages they cite support"),
    _counted(PRECISION, "share of the citations of passages that are sufficient or needed"),
    _metric(
        "passage_citation_f1",
        "harmonic mean of passage citation precision and recall",
        _f1,
        harmonic=(PRECISION, RECALL),
    ),
)
