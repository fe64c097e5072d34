"""How well verdicts agree with human labels.

Two sources: labeled sets on which verdicts were measured, and the labels that a judge was fitted
to. The counts of the labeled sets are in lexical/data/verdicts.json, which
`training/trust/verdicts.py` writes. They apply to one signature only, because other judges and
decomposers weren't measured in this way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).parent / "lexical" / "data" / "verdicts.json"
# Sets whose answers answer a question. The others have claims, summaries and dialog turns.
_WITH_QUESTION = {"lfqa_verif", "begin_v2", "faithdial_audit", "ab_gensearch", "ab_expertqa"}


class VerdictCount(msgspec.Struct, frozen=True, array_like=True):
    """The number of answers with a verdict, and how many people labeled unsupported."""

    n: int
    unsupported: int

    @property
    def share(self) -> float | None:
        """The share that people labeled unsupported. None if there are no answers."""
        return self.unsupported / self.n if self.n else None


class SetCounts(msgspec.Struct, frozen=True):
    """One labeled set; `unit` is what people labeled: response, sentence or claim. `verdicts` has
    the counts of grounded, partly_grounded and not_grounded.
    """

    name: str
    unit: str
    verdicts: dict[str, VerdictCount]

    @property
    def total(self) -> VerdictCount:
        """The counts of all verdicts. `share` is the prevalence of unsupported answers."""
        return _sum(self.verdicts.values())


class LabeledVerdicts(msgspec.Struct, frozen=True):
    """Agreement of the verdicts of one signature with people, for each labeled set."""

    signature: str
    sets: list[SetCounts]
    kind: str = "labeled sets"

    @classmethod
    def of(cls, signature: str) -> LabeledVerdicts | None:
        """Return the measured agreement for a signature, None if it wasn't measured.

        The signature is the one in summary.json under `verdicts`.
        """
        measured = _read_measured()
        return measured if measured.signature == signature else None

    def like(self, questions: int | None, n: int) -> LabeledVerdicts:
        """Return the same with only the sets that are most like a run.

        Args:
            questions: How many answers of the run have a question. None if it isn't known, then
                all sets are kept. If more than half have one, sets with questions are kept, else
                sets without.
            n: How many answers the run has.
        """
        if questions is None:
            return self
        with_question = 2 * questions > n
        alike = [
            labeled for labeled in self.sets if (labeled.name in _WITH_QUESTION) is with_question
        ]
        kind = f"labeled sets {'with' if with_question else 'without'} questions, as here"
        return LabeledVerdicts(self.signature, alike, kind) if alike else self

    def pooled(self, verdict: str) -> VerdictCount:
        """Return the counts of a verdict over all sets. Large sets weigh more."""
        return _sum(labeled.verdicts[verdict] for labeled in self.sets)

    def mean(self, verdict: str) -> float | None:
        """Return the unsupported share of a verdict as a mean over sets with equal weights.

        Sets without an answer of this verdict are left out. None if no set has one.
        """
        shares = [one.verdicts[verdict].share for one in self.sets]
        measured = [share for share in shares if share is not None]
        return math.fsum(measured) / len(measured) if measured else None

    @property
    def total(self) -> VerdictCount:
        """The counts of all answers of all sets."""
        return _sum(labeled.total for labeled in self.sets)

    def sentence(self) -> str:
        """Return a sentence: how often people labeled answers of each verdict unsupported."""
        words = {
            "not_grounded": "not grounded",
            "partly_grounded": "partly grounded",
            "grounded": "grounded",
        }
        shares = [(word, self.pooled(name).share) for name, word in words.items()]
        (first, most), *rest = [(word, share) for word, share in shares if share is not None]
        others = "".join(f", called {word} {_of_100(share)} times" for word, share in rest)
        total = self.total
        return (
            f"On {len(self.sets)} {self.kind}, answers called {first} were unsupported "
            f"{_of_100(most)} times of 100{others} ({total.n:,} answers pooled, "
            f"{_of_100(total.share or 0)} of 100 unsupported)."
        )


def _of_100(share: float) -> str:
    return f"{100 * share:.0f}"


def _sum(counts: Iterable[VerdictCount]) -> VerdictCount:
    n = unsupported = 0
    for count in counts:
        n += count.n
        unsupported += count.unsupported
    return VerdictCount(n, unsupported)


@cache
def _read_measured() -> LabeledVerdicts:
    return msgspec.json.decode(FILE.read_bytes(), type=LabeledVerdicts)


class FitFigures(msgspec.Struct, frozen=True, omit_defaults=True):
    """How well a judge does on the labels that it was fitted to.

    `labels` is how many, `label` which; `auroc` and `balanced_accuracy` are those of answers that
    were held out. Where `sets` is not 0, each of so many sets was held out in turn, and `auroc` is
    the mean, between those of the worst and the best set (`range`).
    """

    labels: int
    label: str = ""
    auroc: float | None = None
    balanced_accuracy: float | None = None
    sets: int = 0
    range: tuple[float, float] | None = None

    @classmethod
    def of(cls, fields: dict[str, Any]) -> FitFigures | None:
        """Return the figures in a file of `judge fit` or `judge calibrate`, None without any."""
        figures_read = {
            "labels": fields.get("n"),
            "label": fields.get("label"),
            "auroc": _inside(fields, "left_out", "auroc", "value")
            or _inside(fields, "auroc", "value"),
            "balanced_accuracy": _inside(fields, "left_out", "balanced_accuracy")
            or _inside(fields, "chosen", "cross_validated", "balanced_accuracy"),
        }
        try:
            figures = msgspec.convert(figures_read, cls)
        except msgspec.ValidationError:
            return None
        return figures if figures.auroc or figures.balanced_accuracy else None

    def sentence(self) -> str:
        """Return the figures as a sentence."""
        if self.sets and self.auroc and self.range:
            low, high = self.range
            return (
                f"On {self.sets} labeled sets, each left out of the fit in turn, this judge "
                "separates supported from unsupported answers with a mean AUROC of "
                f"{self.auroc:.2f} ({low:.2f} to {high:.2f}; 0.5 is guessing). See docs/judges.md."
            )
        figures = []
        if self.balanced_accuracy is not None:
            figures.append(f"balanced accuracy {self.balanced_accuracy:.2f}")
        if self.auroc is not None:
            figures.append(f"AUROC {self.auroc:.2f}")
        label = f" ({self.label})" if self.label else ""
        return (
            f"This judge was fitted to {self.labels:,} human labels{label}. On held-out labels: "
            f"{', '.join(figures)} (0.5 is guessing)."
        )


def _inside(fields: Any, *names: str) -> Any:
    """Return the value of nested fields, None if one is missing."""
    for name in names:
        fields = fields.get(name) if isinstance(fields, dict) else None
    return fields
