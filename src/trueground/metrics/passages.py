"""Do the passages that sentences cite by number support them, and is each citation of use?

Definitions: metrics.md, "Citations of passages".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from trueground.errors import UsageError
from trueground.metrics.base import Metric, abstain_option, counted
from trueground.metrics.batch import Batch, Counts, Options, Tally, harmonic
from trueground.metrics.context import (
    BatchContext,
    Checked,
    ClaimCheck,
    ClaimRequest,
    too_much_work,
)
from trueground.types import Claim, Failure, JudgeRequest, Status, Verdict

_SOURCE = "after Gao et al. 2023 (ALCE)"
_PRECISION, _RECALL = "passage_citation_precision", "passage_citation_recall"
# Characters of texts that are put together from the passages that the sentences of one item cite:
# 20 passages of 1,000 characters behind each of 40 sentences make 17 million.
MAX_CHARACTERS_CITED = 20_000_000
_GOOD = ("sufficient", "needed")
# The number of a sentence, and which passages it is read against.
Reading = tuple[int, tuple[int, ...]]
Outcome = tuple[int, str | None]


def _cited(batch: Batch, item: int) -> list[tuple[int, ...]]:
    """For each sentence those of the cited numbers that a passage has which is not blank.

    Each once, ascending.
    """
    there = {i + 1 for i in batch.context_numbers(item)}
    return [tuple(sorted(there.intersection(s.passages))) for s in batch.numbered[item]]


def _readings(batch: Batch, item: int) -> Iterator[Reading]:
    """What is asked about one item, in order.

    Of each sentence: whether all its passages together support it, then whether each alone does,
    then whether all but each do; equal questions are one.
    """
    pairs = zip(batch.numbered[item], _cited(batch, item), strict=True)
    for i, (sentence, cited) in enumerate(pairs):
        if not sentence.text or not cited:
            continue
        yield i, cited
        if len(cited) > 1:
            yield from ((i, (n,)) for n in cited)
        if len(cited) > 2:  # of two, each is all but the other
            yield from ((i, _without(cited, n)) for n in cited)


def _without(cited: tuple[int, ...], number: int) -> tuple[int, ...]:
    return tuple(n for n in cited if n != number)


def _requests(context: BatchContext, _check: ClaimCheck) -> list[list[ClaimRequest] | Failure]:
    """The questions about each item; the passages of one are one text, each under its title."""
    batch = context.batch

    def request(item: int, number: int, cited: tuple[int, ...]) -> ClaimRequest:
        sentence = batch.numbered[item][number]
        passages = [(batch.contexts[item] or ())[n - 1] for n in cited]
        text = "\n".join(f"{p.title}\n{p.text}" if p.title else p.text for p in passages)
        claim = Claim(sentence.text, sentence.start, sentence.end, number)
        return ClaimRequest(claim, JudgeRequest(sentence.text, (text,)))

    items: list[list[ClaimRequest] | Failure] = []
    for i in range(len(batch)):
        characters = _count_characters(batch, i)
        if characters > MAX_CHARACTERS_CITED:
            sentences = len(batch.numbered[i])
            items.append(too_much_work(characters, sentences, MAX_CHARACTERS_CITED))
        else:
            items.append([request(i, *reading) for reading in _readings(batch, i)])
    return items


def _count_characters(batch: Batch, item: int) -> int:
    """How long the texts of all readings are together."""
    lengths = [len(passage.text) for passage in batch.contexts[item] or ()]
    characters = 0
    for cited in _cited(batch, item):
        readings = len(cited) + 1 if len(cited) > 2 else len(cited)
        characters += readings * sum(lengths[number - 1] for number in cited)
    return characters


_CHECK = ClaimCheck("passages", _requests)


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
    readings = list(_readings(batch, item))
    if len(checked.verdicts) != len(readings):
        raise UsageError(
            f"supported[{item}] has {len(checked.verdicts)} verdicts; expected {len(readings)}: "
            "for each sentence that cites one about all its passages; with two or more also one "
            "about each alone, with three or more then one about all but each"
        )
    verdicts = dict(zip(readings, checked.verdicts, strict=True))
    cited = _cited(batch, item)
    outcomes = [
        [(n, _outcome(verdicts, i, cited[i], n)) for n in found] for i, found in enumerate(numbers)
    ]
    together = [verdicts.get(key) for key in enumerate(cited)]
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
    rest = _without(cited, number)
    without = verdicts[sentence, rest].supported if rest else False
    if None in (together.supported, alone.supported, without):
        return None
    if alone.supported:
        return "sufficient"
    if together.supported:
        return "not_needed" if without else "needed"
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


def _counts(
    tally: Callable[[BatchContext, int], Tally],
) -> Callable[[BatchContext, Options], Counts]:
    """The counts by this tally under the policy on responses that decline."""

    def counts(context: BatchContext, o: Options) -> Counts:
        items = range(len(context.batch))
        found = context.once_judged(tally, lambda: Counts.of([tally(context, i) for i in items]))
        return found.under(o["abstain"], context.abstained)

    return counts


_precision, _recall = _counts(_tally_precision), _counts(_tally_recall)


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


_SHARED: dict[str, Any] = {
    "checks": lambda _options: (_CHECK,),
    "details": _details,
    "in_default_set": False,
}

METRICS = (
    counted(
        _RECALL,
        ("contexts",),
        _recall,
        "share of the sentences that the passages they cite support",
        _SOURCE,
        abstain_option("exclude"),
        **_SHARED,
    ),
    counted(
        _PRECISION,
        ("contexts",),
        _precision,
        "share of the citations of passages that are sufficient or needed",
        _SOURCE,
        abstain_option("exclude"),
        **_SHARED,
    ),
    Metric(
        "passage_citation_f1",
        "citations",
        ("contexts",),
        # From the two under one policy: so do runs, and their F1 agrees with those of the items.
        lambda context, o: harmonic(_precision(context, o).column, _recall(context, o).column),
        "harmonic mean of passage citation precision and recall",
        _SOURCE,
        abstain_option("exclude"),
        harmonic=(_PRECISION, _RECALL),
        **_SHARED,
    ),
)
