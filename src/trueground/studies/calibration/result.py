"""The result of a calibration: what is written of it, and the notes on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.errors import InputError, user_messages
from trueground.files import OutputPath
from trueground.judges import CalibrationFile
from trueground.stats import LabelSample

if TYPE_CHECKING:
    from trueground.reports import Page


_FEW_GROUPS = 50  # below it the variance over clusters is known too roughly
_CLEAR = 2  # standard errors
# Below so many the literature finds that isotonic curves follow chance (Niculescu-Mizil & Caruana
# 2005, "Predicting good probabilities with supervised learning").
_USUAL_LEAST = 1_000


@dataclass(frozen=True)
class Calibration:
    """A judge's threshold and probabilities: a claim is supported where its score is greater.

    With the method "platt" `probability = 1 / (1 + exp(−(slope · score + intercept)))`; with
    "isotonic" it is read between `knots`. `raw` is everything, as in the file and in the JSON
    output.
    """

    raw: dict[str, Any]

    @property
    def threshold(self) -> float:
        """The threshold chosen for the objective; 0.5 for a judge that gives verdicts only."""
        return float(self.raw["threshold"])

    @property
    def slope(self) -> float | None:
        """Log-odds per unit of the score; None with an isotonic curve."""
        slope: float | None = self.raw["slope"]
        return slope

    @property
    def intercept(self) -> float | None:
        """Log-odds at the score 0; None with an isotonic curve."""
        intercept: float | None = self.raw["intercept"]
        return intercept

    @property
    def knots(self) -> list[tuple[float, float]] | None:
        """Corners (score, probability) of the isotonic curve; None with Platt's."""
        knots = self.raw["knots"]
        return None if knots is None else [(float(score), float(p)) for score, p in knots]

    @property
    def auroc(self) -> float:
        """The chance that a positive record scores higher than a negative one."""
        return float(self.raw["auroc"]["value"])

    @property
    def notes(self) -> list[str]:
        """What to know before the numbers are used."""
        return list(self.raw["notes"])

    @property
    def refused(self) -> str | None:
        """Why no file is written, which every judge would refuse; None where the curve rises."""
        knots = self.knots
        rise = self.slope or 0.0 if knots is None else knots[-1][1] - knots[0][1]
        if rise > 0:
            return None
        curve = "is level" if rise == 0 else "falls"
        reason = f"the curve {curve}, and judges refuse a file with such numbers"
        return f"{reason}. {CalibrationFile.USELESS}"

    def page(self) -> Page:
        """The page with all numbers."""
        from trueground.studies.calibration.page import calibration_page

        return calibration_page(self.raw)

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write FILE.json, which a judge reads, the page FILE.html, or both into a folder.

        InputError: no judge would read the file (`refused`); the page is written all the same.
        UsageError, OutputError, WriteError.
        """
        page, file = CalibrationFile.find_outputs(Path(path), overwrite)
        if page is not None or (file is not None and self.refused is None):
            OutputPath(page or file or Path()).make_parent()
        if page is not None:
            from trueground.studies.calibration.page import write_calibration

            write_calibration(page, self.raw)
        if file is not None:
            if self.refused is not None:
                raise InputError(f"{file} is not written: {self.refused}")
            OutputPath(file).write_json(self.raw)
            for note in _few_notes(self.raw):
                user_messages.show(f"WARNING: {file}: {note}")


def format_notes(raw: Mapping[str, Any], measure: str) -> Iterator[str]:
    """One sentence each; `measure` is what says how well the threshold does."""
    area = raw["auroc"]["value"]
    if area < 0.5:
        yield (
            f"AUROC is {area:.3f}: higher scores go with negative labels here, so no threshold "
            "can help"
        )
    yield from _curve_notes(raw)
    if raw["of"] == "score":
        yield from _precision_notes(raw) if raw["precision"] else _threshold_notes(raw, measure)
    yield from _few_notes(raw)
    if raw["chosen"]["share_positive"] in (0, 1):
        yield "the chosen threshold gives one verdict for all; choose another objective"


def _few_notes(raw: Mapping[str, Any]) -> Iterator[str]:
    fewest = min(raw["positives"], raw["n"] - raw["positives"])
    if raw["n"] < LabelSample.LEAST_LABELS or fewest < LabelSample.LEAST_OF_A_CLASS:
        yield (
            f"fitted to {raw['n']} labels, {fewest} of the rarer kind: threshold and probabilities "
            f"follow single records; label {LabelSample.LEAST_LABELS} or more, "
            f"{LabelSample.LEAST_OF_A_CLASS} of each kind"
        )


def _threshold_notes(raw: Mapping[str, Any], measure: str) -> Iterator[str]:
    chosen, default = raw["chosen"], raw["default"]
    held = chosen["cross_validated"][measure]
    name = measure.replace("_", " ")
    if chosen["cross_validated"]["reason"]:
        yield f"no cross-validation: {chosen['cross_validated']['reason']}"
    elif held is not None and default[measure] is not None and held <= default[measure]:
        yield (
            f"{name} on items that the threshold was not chosen on is {held:.4f}, that "
            f"of the default threshold {default[measure]:.4f}: keep the default"
        )


def _precision_notes(raw: Mapping[str, Any]) -> Iterator[str]:
    here, held = raw["precision"], raw["precision"]["cross_validated"]
    if held["reason"]:
        yield (
            f"no cross-validated precision: {held['reason']}. So {here['wanted']:g} is reached on "
            "these very records, and may not be on others"
        )
    elif held["lower"] is None or held["lower"] < here["wanted"]:
        least = "not known" if held["lower"] is None else f"at least {held['lower']:.4f}"
        value = "undefined" if held["value"] is None else f"{held['value']:.4f}"
        yield (
            f"the precision on items that the threshold was not chosen on is {value}, and with "
            f"{raw['ci_level']:.0%} confidence {least}: {here['wanted']:g} is not certain on other "
            "records. A higher --precision leaves room; more labels narrow the bound"
        )
    if here["groups"] is not None and here["groups"] < _FEW_GROUPS:
        yield (
            f"the records above the threshold are of {here['groups']} groups: with fewer than "
            f"about {_FEW_GROUPS} the bound of the precision is rough, and may promise too much"
        )


def _curve_notes(raw: Mapping[str, Any]) -> Iterator[str]:
    if raw["method"] == "isotonic":
        if raw["knots"][0][1] == raw["knots"][-1][1]:
            yield "the curve is level, so judges refuse a file with these numbers"
    elif raw["slope"] <= 0:
        yield "the slope is not above 0, so judges refuse a file with these numbers"
    if raw["of"] == "verdict":
        return
    if raw["method"] == "isotonic" and raw["n"] < _USUAL_LEAST:
        yield (
            f"an isotonic curve over {raw['n']:,} records follows chance too; with fewer than "
            f"about {_USUAL_LEAST:,} Platt's is usually better"
        )
    other = raw["other_method"]
    if other is not None and other["brier_difference"] > _CLEAR * other["standard_error"]:
        yield (
            f"cross-validated, the Brier score of the method {other['name']} is better by "
            f"{other['brier_difference']:.4f} (standard error {other['standard_error']:.4f})"
        )
