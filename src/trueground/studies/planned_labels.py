"""The answers of a run to label: how many, which, and as blocks what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from trueground.reports import Block


class LabelStratum(msgspec.Struct):
    """Answers with scores from `low` to `high`: how many, and how many of them to label."""

    low: float
    high: float
    answers: int
    labels: int


class PlannedLabels(msgspec.Struct):
    """The answers of a run that `annotate plan` sampled for labeling.

    Attributes:
        expected: The half-width of the interval that these labels should give.
        alone: How many labels the same interval needs without the judge.
        basis: Where the judge's accuracy is known from: "pilot", "labeled sets" or "nothing".
    """

    file: str
    run: str
    metric: str
    label: str
    half_width: float
    level: float
    expected: float
    labels: int
    alone: int
    answers: int
    unscored: int
    basis: str
    pilot: int
    seed: int
    strata: list[LabelStratum]

    def blocks(self) -> list[Block]:
        """Return how many labels are needed, which answers they are of, and what to do next."""
        from trueground.reports import Head, Row, Table, Text
        from trueground.text import several

        basis = {
            "pilot": f"measured on the {self.pilot:,} labels of the pilot",
            "labeled sets": "taken from labeled sets (docs/trust.md)",
            "nothing": "not measured, so it is taken to know nothing. Label a pilot of 50 "
            "(`annotate export --sample 50`), and name it with --labels",
        }[self.basis]
        rate = f"the share of {self.label} answers ± {100 * self.half_width:.3g} points"
        lines = [
            f"{self.labels:,} of {self.answers:,} answers to label, for {rate} ({self.level:.0%})",
            f"expected of these labels with the judge's scores: ± {100 * self.expected:.2g} points",
            f"labels that it would take without its scores: {self.alone:,}",
            f"what the judge is worth: {basis}",
        ]
        if self.unscored:
            lines.append(f"{several(self.unscored, 'answer')} without {self.metric} left out")
        heads = ("answers", "to label", "probability")
        columns = [Head(self.metric), *(Head(name, "number", digits=3) for name in heads)]
        rows = []
        for stratum in self.strata:
            name = f"{stratum.low:.2f} to {stratum.high:.2f}"
            share = stratum.labels / stratum.answers
            rows.append(Row([name, stratum.answers, stratum.labels, share]))
        kind = "support" if self.label == "faithful" else "correctness"
        steps = [
            f"file   {self.file}",
            f"next   trueground annotate export {kind} {self.file} --out tasks.jsonl",
            "       then label all of them: the number is fixed before the first label",
        ]
        return [Text("\n".join(lines)), Table(columns, rows), Text("\n".join(steps))]
