"""How far verdicts agree with people: on labeled sets, and on labels that a judge was fitted to.

The counts of the labeled sets ship in lexical/data/verdicts.json; `training/trust/verdicts.py`
makes them. They hold for one signature: other judges, other ways to split answers into claims, were
not measured so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).parent / "lexical" / "data" / "verdicts.json"
# Whose answers answer a question; those of the others are claims, summaries and turns of a talk.
_WITH_QUESTION = {"lfqa_verif", "begin_v2", "faithdial_audit", "ab_gensearch", "ab_expertqa"}


class VerdictCount(msgspec.Struct, frozen=True, array_like=True):
    """Answers with a verdict, and how many of them people called unsupported."""

    n: int
    unsupported: int

    @property
    def share(self) -> float | None:
        """The share that people called unsupported; None of no answers."""
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
        """All answers with one of these verdicts: `share` is the prevalence of the unsupported."""
        return _sum(self.verdicts.values())


class LabeledVerdicts(msgspec.Struct, frozen=True):
    """What was measured for the verdicts of this signature, set by set."""

    signature: str
    sets: list[SetCounts]
    kind: str = "labeled sets"

    @classmethod
    def of(cls, signature: str) -> LabeledVerdicts | None:
        """Return what was measured for verdicts with this signature.

        summary.json has it under `verdicts`. None: it was not measured for this judge.
        """
        found = _measured()
        return found if found.signature == signature else None

    def like(self, questions: int | None, n: int) -> LabeledVerdicts:
        """Only the sets that are most like a run of `n` answers, `questions` of which answer one:
        those with questions where more than half do, else those without. All, where nobody knows.
        """
        if questions is None:
            return self
        has = 2 * questions > n
        own = [one for one in self.sets if (one.name in _WITH_QUESTION) is has]
        kind = f"labeled sets {'with' if has else 'without'} questions, as here"
        return LabeledVerdicts(self.signature, own, kind) if own else self

    def pooled(self, verdict: str) -> VerdictCount:
        """The answers of all sets with this verdict: large sets weigh more."""
        return _sum(one.verdicts[verdict] for one in self.sets)

    def mean(self, verdict: str) -> float | None:
        """The mean over sets of the share that people called unsupported: every set weighs alike.

        Sets without an answer of this verdict are left out; None where all are.
        """
        shares = [one.verdicts[verdict].share for one in self.sets]
        known = [share for share in shares if share is not None]
        return math.fsum(known) / len(known) if known else None

    @property
    def total(self) -> VerdictCount:
        """All answers of all sets."""
        return _sum(one.total for one in self.sets)

    def sentence(self) -> str:
        """How often answers of each verdict were unsupported to people, pooled over the sets."""
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
    """All these together."""
    every = list(counts)
    return VerdictCount(sum(c.n for c in every), sum(c.unsupported for c in every))


@cache
def _measured() -> LabeledVerdicts:
    return msgspec.json.decode(FILE.read_bytes(), type=LabeledVerdicts)


class FitFigures(msgspec.Struct, frozen=True, omit_defaults=True):
    """How well a judge does on the labels that it was fitted to, as the file of the fit tells.

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
        """Those in a file of `judge fit` or `judge calibrate`; None where it tells none."""
        found = {
            "labels": fields.get("n"),
            "label": fields.get("label"),
            "auroc": _inside(fields, "left_out", "auroc", "value")
            or _inside(fields, "auroc", "value"),
            "balanced_accuracy": _inside(fields, "left_out", "balanced_accuracy")
            or _inside(fields, "chosen", "cross_validated", "balanced_accuracy"),
        }
        try:
            figures = msgspec.convert(found, cls)
        except msgspec.ValidationError:
            return None
        return figures if figures.auroc or figures.balanced_accuracy else None

    def sentence(self) -> str:
        """The figures in a sentence."""
        if self.sets and self.auroc and self.range:
            low, high = self.range
            return (
                f"On {self.sets} labeled sets, each left out of its fit in turn, this judge tells "
                f"supported from unsupported answers with an AUROC of {self.auroc:.2f} on average "
                f"({low:.2f} to {high:.2f}; 0.5 is guessing): docs/judges.md."
            )
        told = []
        if self.balanced_accuracy is not None:
            told.append(f"balanced accuracy {self.balanced_accuracy:.2f}")
        if self.auroc is not None:
            told.append(f"AUROC {self.auroc:.2f}")
        label = f" ({self.label})" if self.label else ""
        return (
            f"This judge was fitted to {self.labels:,} labels of people{label}; on those held out: "
            f"{', '.join(told)} (0.5 is guessing)."
        )


def _inside(fields: Any, *names: str) -> Any:
    """What stands under these names, one within the other; None where one is missing."""
    for name in names:
        fields = fields.get(name) if isinstance(fields, dict) else None
    return fields
