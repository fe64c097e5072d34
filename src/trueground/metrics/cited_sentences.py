"""Sentences of a response with the passages that each cites, and the requests about them.

Two rules read the same brackets: the definition of `passages` and that of ALCE's script in `alce`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from trueground.errors import UsageError
from trueground.metrics.batch import Batch
from trueground.metrics.context import (
    BatchContext,
    Checked,
    ClaimCheck,
    ClaimRequest,
    too_much_work,
)
from trueground.types import Claim, Failure, JudgeRequest, Passage, Verdict

# Characters of texts that are put together from the passages that the sentences of one item cite:
# 20 passages of 1,000 characters behind each of 40 sentences make 17 million.
MAX_CHARACTERS_CITED = 20_000_000
# The number of a sentence, and the passages that it is checked against.
Reading = tuple[int, tuple[int, ...]]


class CitedSentence(NamedTuple):
    """A sentence without its brackets, its offsets in the response, and the passages to check.

    `cited` holds passage numbers from 1; it is empty where there is nothing to ask a judge.
    """

    text: str
    start: int
    end: int
    cited: tuple[int, ...]


def without(cited: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Return the cited passages with one occurrence of `number` left out."""
    position = cited.index(number)
    return cited[:position] + cited[position + 1 :]


def list_readings(sentences: Sequence[CitedSentence]) -> list[Reading]:
    """Return what a judge is asked about one response, in order and each once.

    For each sentence: whether all its passages together support it, then whether each alone does,
    then whether all but each do.
    """
    readings: dict[Reading, None] = {}
    for number, sentence in enumerate(sentences):
        cited = sentence.cited
        if not sentence.text or not cited:
            continue
        readings[number, cited] = None
        if len(cited) > 1:
            for passage in cited:
                readings[number, (passage,)] = None
        if len(cited) > 2:  # of two passages, each is all but the other
            for passage in cited:
                readings[number, without(cited, passage)] = None
    return list(readings)


def request_maker(
    read: Callable[[Batch, int], list[CitedSentence]], show: Callable[[Passage], str]
) -> Callable[[BatchContext, ClaimCheck], list[list[ClaimRequest] | Failure]]:
    """Return the `requests` of a `ClaimCheck`: `read` gives sentences, `show` a passage's text."""

    def requests_of(batch: Batch, item: int) -> list[ClaimRequest] | Failure:
        sentences = read(batch, item)
        passages = [show(passage) for passage in batch.contexts[item] or ()]
        characters = _count_characters(sentences, passages)
        if characters > MAX_CHARACTERS_CITED:
            return too_much_work(characters, len(sentences), MAX_CHARACTERS_CITED)
        requests = []
        for number, cited in list_readings(sentences):
            sentence = sentences[number]
            evidence = "\n".join(passages[passage - 1] for passage in cited)
            claim = Claim(sentence.text, sentence.start, sentence.end, number)
            requests.append(ClaimRequest(claim, JudgeRequest(sentence.text, (evidence,))))
        return requests

    def requests(context: BatchContext, _check: ClaimCheck) -> list[list[ClaimRequest] | Failure]:
        return [requests_of(context.batch, item) for item in range(len(context.batch))]

    return requests


def _count_characters(sentences: Sequence[CitedSentence], passages: Sequence[str]) -> int:
    """Return how long the texts of all readings are together."""
    lengths = [len(passage) for passage in passages]
    characters = 0
    for sentence in sentences:
        cited = sentence.cited
        readings = len(cited) + 1 if len(cited) > 2 else len(cited)
        characters += readings * sum(lengths[number - 1] for number in cited)
    return characters


def verdicts_by_reading(
    sentences: Sequence[CitedSentence], checked: Checked, item: int
) -> dict[Reading, Verdict]:
    """Return each reading with its verdict.

    Raises:
        UsageError: If the caller's own `supported` has another number of verdicts.
    """
    readings = list_readings(sentences)
    if len(checked.verdicts) != len(readings):
        raise UsageError(
            f"supported[{item}] has {len(checked.verdicts)} verdicts; expected {len(readings)}: "
            "for each sentence that cites one about all its passages; with two or more also one "
            "about each alone, with three or more then one about all but each"
        )
    return dict(zip(readings, checked.verdicts, strict=True))
