"""Sentences of a response with the passages that each cites, and the requests about them.

Two modules use them: `passages` for the definition here, `alce` for that of ALCE's script.
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

# Limit for the joined passages of all requests about one item. 40 sentences that each cite 20
# passages of 1,000 characters make 17 million characters.
MAX_CHARACTERS_CITED = 20_000_000
# The number of a sentence, and the passages that it is checked against.
Reading = tuple[int, tuple[int, ...]]


class CitedSentence(NamedTuple):
    """A sentence without its brackets, its offsets in the response, and the passages to check.

    `cited` holds passage numbers from 1. It is empty if a judge has nothing to check.
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
    """Return the checks of one response by a judge, in order and without duplicates.

    For each sentence: whether all its passages together support it, whether each passage alone
    does, and whether the others do without it.
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
        if len(cited) > 2:  # With two passages, leaving one out is the same as the other alone.
            for passage in cited:
                readings[number, without(cited, passage)] = None
    return list(readings)


def request_maker(
    read: Callable[[Batch, int], list[CitedSentence]], show: Callable[[Passage], str]
) -> Callable[[BatchContext, ClaimCheck], list[list[ClaimRequest] | Failure]]:
    """Return the function `requests` of a `ClaimCheck`.

    Args:
        read: Returns the sentences of an item of a batch.
        show: Returns the text of a passage, as the judge reads it.
    """

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
    """Return the total length of the texts of all readings."""
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
        UsageError: The caller passed `supported` with another number of verdicts.
    """
    readings = list_readings(sentences)
    if len(checked.verdicts) != len(readings):
        raise UsageError(
            f"supported[{item}] has {len(checked.verdicts)} verdicts; expected {len(readings)}. "
            "Each sentence with citations needs one verdict for all its passages together. If it "
            "cites two or more, add one for each passage alone. If it cites three or more, add "
            "one for the others without each passage"
        )
    return dict(zip(readings, checked.verdicts, strict=True))
