"""Citations of passages as ALCE's script counts them: the variant `reference-code`.

Source: Gao et al. 2023 (ALCE), `compute_autoais` of `eval.py` with its defaults. It differs from
the definition in `passages`:

- It reads the first line of the response only.
- The first number of a bracket counts: `[1, 2]` and `[1-3]` cite passage 1. `[0]` is the last
  passage. A number that is cited twice in a sentence counts twice.
- A sentence with a number that no passage has is rejected: it isn't supported, and none of its
  citations count, neither as right nor as wrong. Blank passages are passages.
- Of a sentence's citations, only the first three count.
- A citation is right only if all cited passages together support the sentence.
- The precision of a response without a counted citation is 0.

The sentences come from this package's splitter, because NLTK's sentence model can't be shipped.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, NamedTuple

from trueground.metrics.batch import Batch, Tally
from trueground.metrics.cited_sentences import (
    CitedSentence,
    Reading,
    request_maker,
    verdicts_by_reading,
    without,
)
from trueground.metrics.context import BatchContext, ClaimCheck
from trueground.text import CitedText
from trueground.types import Failure, Passage, Status, Verdict

REFERENCE = "reference-code"
MAX_CITATIONS = 3  # per sentence
_BRACKET_START = re.compile(r" ?\[([0-9]+)")


def _read(batch: Batch, item: int) -> list[CitedSentence]:
    """Return the sentences of the first line, each with the passages whose citations count."""
    text = unicodedata.normalize("NFC", batch.responses[item])
    offset = len(text) - len(text.lstrip())
    line = text[offset:].split("\n")[0].rstrip()
    n_passages = len(batch.contexts[item] or ())
    sentences = []
    for sentence in CitedText(line).numbered_sentences():
        raw = line[sentence.start : sentence.end]
        sentences.append(
            CitedSentence(
                _without_brackets(raw),
                offset + sentence.start,
                offset + sentence.end,
                _counted_passages(_cited_numbers(raw), n_passages),
            )
        )
    return sentences


def _without_brackets(text: str) -> str:
    return _BRACKET_START.sub("", text).replace(" |", "").replace("]", "").strip()


def _cited_numbers(text: str) -> list[int]:
    return [int(bracket[1]) for bracket in _BRACKET_START.finditer(text)]


def _counted_passages(numbers: list[int], n_passages: int) -> tuple[int, ...]:
    if any(number > n_passages for number in numbers):
        return ()
    return tuple(number or n_passages for number in numbers[:MAX_CITATIONS])


def _show(passage: Passage) -> str:
    return f"Title: {passage.title}\n{passage.text}" if passage.title else passage.text


REFERENCE_CHECK = ClaimCheck("passages", request_maker(_read, _show), variant=REFERENCE)


class _Judged(NamedTuple):
    """The sentences of one response with the verdicts about them.

    `missing` is the reason if verdicts are missing; `spared` is whether none were requested.
    """

    sentences: list[CitedSentence]
    verdicts: dict[Reading, Verdict]
    missing: Status | Failure | None
    spared: bool

    def together(self, number: int) -> bool | None:
        """Return whether a sentence is supported: False without passages, None if unknown."""
        sentence = self.sentences[number]
        if self.spared:
            return None
        verdict = self.verdicts.get((number, sentence.cited))
        return False if verdict is None else verdict.supported

    def outcome(self, number: int, passage: int) -> str | None:
        """Return the outcome of a counted citation; None if a verdict is missing."""
        cited = self.sentences[number].cited
        together = self.together(number)
        if together is None:
            return None
        if not together:
            return "not_supporting"
        if len(cited) == 1 or self.verdicts[number, (passage,)].supported:
            return "sufficient"
        if self.verdicts[number, without(cited, passage)].supported:
            return "not_needed"
        return "needed"


def _judge_all(context: BatchContext) -> list[_Judged]:
    def compute() -> list[_Judged]:
        judged = []
        for item, checked in enumerate(context.checks(REFERENCE_CHECK)):
            sentences = _read(context.batch, item)
            if checked.failure is not None:
                judged.append(_Judged(sentences, {}, checked.failure, True))
                continue
            verdicts = verdicts_by_reading(sentences, checked, item)
            judged.append(_Judged(sentences, verdicts, checked.unanswered, False))
        return judged

    return context.once_judged("passage support by ALCE's script", compute)


def tally_recall(context: BatchContext, item: int) -> Tally:
    """Return the supported sentences of one response, and all its sentences."""
    judged = _judge_all(context)[item]
    supported = [judged.together(number) for number in range(len(judged.sentences))]
    if judged.missing is not None and None in supported:
        return judged.missing
    return supported.count(True), len(supported)


def tally_precision(context: BatchContext, item: int) -> Tally:
    """Return the right citations of one response, and all that count."""
    judged = _judge_all(context)[item]
    if not judged.sentences:
        return Status.NO_CLAIMS
    outcomes = []
    for number, sentence in enumerate(judged.sentences):
        outcomes += [judged.outcome(number, passage) for passage in sentence.cited]
    if judged.missing is not None and outcomes:
        return judged.missing
    right = sum(outcome in ("sufficient", "needed") for outcome in outcomes)
    # The script gives 0 to a response without citations, so it counts as one unit without a hit.
    return right, max(len(outcomes), 1)


def reference_details(context: BatchContext, item: int) -> dict[str, Any]:
    """Return the sentences of one response, with the outcome of each counted citation."""
    if not context.batch.has("contexts")[item]:
        return {}
    judged = _judge_all(context)[item]
    lines = []
    for number, sentence in enumerate(judged.sentences):
        passages = [{"number": n, "outcome": judged.outcome(number, n)} for n in sentence.cited]
        line = {"text": sentence.text, "start": sentence.start, "end": sentence.end}
        lines.append(line | {"supported": judged.together(number), "passages": passages})
    return {"passage_sentences": lines}
