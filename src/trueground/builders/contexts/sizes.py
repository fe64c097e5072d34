"""How large the samples are: for estimates of what a build will ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trueground.builders.contexts.items import ContextQuestion, Sample
from trueground.models.base import CHARACTERS_PER_TOKEN
from trueground.models.prompts import Prompt

_MARKS = 150  # tokens of the lines around all that is filled in, and of answers
_TOKENS_A_WORD = 1.4


class SampleSizes:
    """The samples of a build; `samples` are set when they are drawn up, before anything is asked.

    All sizes are mean numbers of tokens; 0 without samples.
    """

    def __init__(self, min_words: int) -> None:
        self.samples: Sequence[Sample] = ()
        self._least = min_words * _TOKENS_A_WORD

    def source(self, task: str | None = None) -> float:
        """A question with its context, of one task or of all."""
        chosen = [one for one in self.samples if task in (None, one.task)]
        return _mean(lambda one: tokens(one.source), chosen)

    def made(self) -> float:
        """A question with its new context."""
        return _mean(self._made, self.samples)

    def _made(self, sample: Sample) -> float:
        new = self._least if sample.task == "counterfactual" else 0.0
        return tokens(sample.source) + new


def tokens(question: ContextQuestion) -> float:
    """Tokens of a question with its context and options."""
    texts = [question.question, question.context, *(choice.text for choice in question.choices)]
    return sum(map(len, texts)) / CHARACTERS_PER_TOKEN


def around(*prompts: Prompt) -> float:
    """Tokens of the longest of these prompts, with the lines around what is filled in."""
    longest = max(len(prompt.system) + len(prompt.user) for prompt in prompts)
    return longest / CHARACTERS_PER_TOKEN + _MARKS


def _mean(size: Callable[[Sample], float], samples: Sequence[Sample]) -> float:
    return sum(map(size, samples)) / len(samples) if samples else 0.0
