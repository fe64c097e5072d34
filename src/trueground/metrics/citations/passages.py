"""Do the passages that sentences cite by number support them, and is each citation of use?

Definitions: metrics.md, "Citations of passages". Of each sentence the judge is asked whether all
its passages together support it, then whether each alone does, then whether all but each do;
equal questions are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from trueground.errors import UsageError
from trueground.metrics.base import Metric
from trueground.metrics.batch import Batch
from trueground.metrics.citations.asked import Asked
from trueground.metrics.citations.counts import Counts, Tally, harmonic, unanswered
from trueground.metrics.column import Column, Floats, Options
from trueground.metrics.evidence import Evidence
from trueground.metrics.options import abstain_option, apply_abstain
from trueground.types import Claim, JudgeRequest, Passage, Status, Verdict

KIND = "passages"
SOURCE = "after Gao et al. 2023 (ALCE)"
PRECISION, RECALL = "passage_citation_precision", "passage_citation_recall"
# The number of a sentence, and which passages it is read against.
Question = tuple[int, tuple[int, ...]]
Verdicts = dict[Question, Verdict]
_GOOD = ("sufficient", "needed")


def _there(batch: Batch, item: int, numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Those of the cited numbers that a passage has which is not blank, each once, ascending."""
    kept = {i + 1 for i in batch.kept(item)}
    return tuple(sorted(kept.intersection(numbers)))


def _questions(batch: Batch, item: int) -> Iterator[Question]:
    """What is asked about one item, in order."""
    for i, sentence in enumerate(batch.numbered[item]):
        cited = _there(batch, item, sentence.passages)
        if not sentence.text or not cited:
            continue
        yield i, cited
        if len(cited) > 1:
            yield from ((i, (n,)) for n in cited)
        if len(cited) > 2:  # of two, each is all but the other
            yield from ((i, _but(cited, n)) for n in cited)


def _but(cited: tuple[int, ...], number: int) -> tuple[int, ...]:
    return tuple(n for n in cited if n != number)


def asked(batch: Batch, _variant: str) -> list[list[Asked]]:
    """The questions about each item; the passages of one are one text, each under its title."""
    return [[_asked(batch, item, q) for q in _questions(batch, item)] for item in range(len(batch))]


def _asked(batch: Batch, item: int, question: Question) -> Asked:
    number, cited = question
    sentence = batch.numbered[item][number]
    passages = batch.contexts[item] or ()
    text = "\n".join(_shown(passages[n - 1]) for n in cited)
    claim = Claim(sentence.text, sentence.start, sentence.end, number)
    return Asked(claim, JudgeRequest(sentence.text, (text,)))


def _shown(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text


def _verdicts(evidence: Evidence, item: int) -> Verdicts:
    """The verdict on each question. UsageError where a caller brought another number of them."""
    questions = list(_questions(evidence.batch, item))
    checked = evidence.checks(KIND)[item]
    if checked.failure is not None:
        return {}
    given = checked.verdicts
    if len(given) != len(questions):
        raise UsageError(
            f"supported[{item}] has {len(given)} verdicts; expected {len(questions)}: for each "
            "sentence that cites one about all its passages; with two or more also one about each "
            "alone, with three or more then one about all but each"
        )
    return dict(zip(questions, given, strict=True))


def _outcome(verdicts: Verdicts, sentence: int, cited: tuple[int, ...], number: int) -> str | None:
    """What one citation does for its sentence; None where a verdict about it is missing."""
    if number not in cited:
        return "no_passage"
    together, alone = verdicts.get((sentence, cited)), verdicts.get((sentence, (number,)))
    if together is None or alone is None:
        return "no_sentence"
    rest = _but(cited, number)
    without = verdicts[sentence, rest].supported if rest else False
    if None in (together.supported, alone.supported, without):
        return None
    if alone.supported:
        return "sufficient"
    if together.supported:
        return "not_needed" if without else "needed"
    return "not_supporting"


def _outcomes(evidence: Evidence, item: int) -> list[list[tuple[int, str | None]]]:
    """For each sentence of an item what it cites, each number once, and what that does."""
    verdicts = _verdicts(evidence, item)
    spared = evidence.checks(KIND)[item].failure is not None
    result = []
    for i, sentence in enumerate(evidence.batch.numbered[item]):
        cited = _there(evidence.batch, item, sentence.passages)
        numbers = dict.fromkeys(sentence.passages)
        told = [(n, None if spared else _outcome(verdicts, i, cited, n)) for n in numbers]
        result.append(told)
    return result


def _together(evidence: Evidence, item: int) -> list[Verdict | None]:
    """For each sentence with words whether its passages support it; None where it cites none."""
    verdicts = _verdicts(evidence, item)
    return [
        verdicts.get((i, _there(evidence.batch, item, sentence.passages)))
        for i, sentence in enumerate(evidence.batch.numbered[item])
        if sentence.text
    ]


def _precision(evidence: Evidence, item: int) -> Tally:
    outcomes = [outcome for told in _outcomes(evidence, item) for _, outcome in told]
    lost = unanswered(evidence.checks(KIND)[item]) if outcomes else None
    return lost or (sum(outcome in _GOOD for outcome in outcomes), len(outcomes))


def _recall(evidence: Evidence, item: int) -> Tally:
    found = _together(evidence, item)
    lost = (v.status for v in found if v is not None and v.status is not Status.SCORED)
    supported = sum(v is not None and bool(v.supported) for v in found)
    return next(lost, None) or (supported, len(found))


def _counts(evidence: Evidence, tally: Callable[[Evidence, int], Tally]) -> Counts:
    return Counts.of([tally(evidence, item) for item in range(len(evidence.batch))])


def _f1(evidence: Evidence, o: Options) -> Column:
    column = harmonic(_counts(evidence, _precision).column, _counts(evidence, _recall).column)
    return apply_abstain(column, evidence, o)


def _tells(evidence: Evidence, item: int) -> dict[str, Any]:
    """The sentences of an item, and what each citation does for its sentence."""
    sentences = evidence.batch.numbered[item]
    if not sentences or not evidence.batch.has("contexts")[item]:
        return {}
    verdicts = _verdicts(evidence, item)
    unsaid = None if evidence.checks(KIND)[item].failure is not None else False
    told = []
    for i, (s, found) in enumerate(zip(sentences, _outcomes(evidence, item), strict=True)):
        verdict = verdicts.get((i, _there(evidence.batch, item, s.passages)))
        told.append(
            {
                "text": s.text,
                "start": s.start,
                "end": s.end,
                "supported": unsaid if verdict is None else verdict.supported,
                "passages": [{"number": n, "outcome": outcome} for n, outcome in found],
            }
        )
    return {"passage_sentences": told}


def _counted(name: str, tally: Callable[[Evidence, int], Tally], doc: str) -> Metric:
    def compute(evidence: Evidence, o: Options) -> Column:
        return apply_abstain(_counts(evidence, tally).column, evidence, o)

    def totals(evidence: Evidence, o: Options) -> tuple[Floats, Floats]:
        """A response that declines counts as its value does: not, or with all its units."""
        hits, units = _counts(evidence, tally).totals
        policy, declined = o["abstain"], evidence.abstained
        if policy == "exclude":
            return np.where(declined, 0.0, hits), np.where(declined, 0.0, units)
        fixed = {"one": units, "zero": np.zeros_like(units)}.get(policy, hits)
        return np.where(declined, fixed, hits), units

    return _metric(name, doc, compute, totals=totals)


def _metric(
    name: str, doc: str, compute: Callable[[Evidence, Options], Column], **of: Any
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
    _counted(RECALL, _recall, "share of the sentences that the passages they cite support"),
    _counted(
        PRECISION, _precision, "share of the citations of passages that are sufficient or needed"
    ),
    _metric(
        "passage_citation_f1",
        "harmonic mean of passage citation precision and recall",
        _f1,
        harmonic=(PRECISION, RECALL),
    ),
)
