"""Questions for which a search came out otherwise than it was asked for: counted, and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from trueground.benchmarks.instruct_qa import QaOptions
from trueground.benchmarks.instruct_qa.library import FoundPassages
from trueground.errors import InputError

_EMPTY = "the search found no passage; they are asked all the same, and the prompt says so"
_DRAWN = (
    "too few passages were found, so one is shown that the search did not find "
    "(meta.irrelevant_found is false)"
)
_LEFT_OUT = (
    "too few passages were found, and every other one of the corpus is gold or holds an answer, so "
    "they are left out"
)


class QuestionTally:
    """Of one pass over the questions of a task."""

    def __init__(self, settings: QaOptions) -> None:
        self._settings = settings
        self._seen = 0
        self._counts: Counter[str] = Counter()

    def leaves_out(self, found: FoundPassages) -> bool:
        """Count a question by what was found for it. True: it is not asked."""
        self._seen += 1
        told = self._told(found)
        if told is not None:
            self._counts[told] += 1
        return told is _LEFT_OUT

    def check_any(self, corpus: Path | None) -> None:
        """InputError where all questions were left out."""
        if self._seen and self._counts[_LEFT_OUT] == self._seen:
            raise InputError(
                f"--setting irrelevant: the corpus {corpus} has no irrelevant passage for any of "
                f"the {self._seen:,} questions; every one that comes after rank "
                f"{self._settings.irrelevant_rank} or was not found is gold or holds an answer. "
                "Name a corpus with more passages"
            )

    def tell(self, note: Callable[[str], None]) -> None:
        """A line for each thing that happened, with how many questions it happened to."""
        shown = f"--setting {self._settings.setting}, {self._settings.retriever}"
        for told, count in self._counts.items():
            note(f"{shown}: {count:,} of {self._seen:,} questions: {told}")

    def _told(self, found: FoundPassages) -> str | None:
        if self._settings.setting == "retrieved":
            return None if found.numbers else _EMPTY
        if self._settings.setting != "irrelevant" or found.rank is not None:
            return None
        return _DRAWN if found.numbers else _LEFT_OUT
