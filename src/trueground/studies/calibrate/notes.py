"""What to know before the numbers of a calibration are used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trueground.studies.calibrate.how import USUAL_LEAST

FEW_GROUPS = 50  # below it the variance over clusters is known too roughly
_CLEAR = 2  # standard errors


def notes(raw: Mapping[str, Any], measure: str) -> Iterator[str]:
    """One sentence each; `measure` is what says how well the threshold does."""
    area = raw["auroc"]["value"]
    if area < 0.5:
        yield (
            f"AUROC is {area:.3f}: higher scores go with negative labels here, so no threshold "
            "can help"
        )
    yield from _of_the_curve(raw)
    if raw["of"] == "score":
        yield from _of_precision(raw) if raw["precision"] else _of_the_threshold(raw, measure)
    if raw["chosen"]["share_positive"] in (0, 1):
        yield "the chosen threshold gives one verdict for all; choose another objective"


def _of_the_threshold(raw: Mapping[str, Any], measure: str) -> Iterator[str]:
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


def no_bound(n: int, groups: int | None) -> str:
    """Why there is no lower bound of the precision of so many records."""
    if n < 2:
        return f"{n} of the records {'is' if n == 1 else 'are'} above the threshold, and it takes 2"
    return f"all {n:,} records above the threshold are of {groups} group, and it takes 2"


def _of_precision(raw: Mapping[str, Any]) -> Iterator[str]:
    told, held = raw["precision"], raw["precision"]["cross_validated"]
    if held["reason"]:
        yield (
            f"no cross-validated precision: {held['reason']}. So {told['wanted']:g} is reached on "
            "these very records, and may not be on others"
        )
    elif held["lower"] is None or held["lower"] < told["wanted"]:
        least = "not known" if held["lower"] is None else f"at least {held['lower']:.4f}"
        value = "undefined" if held["value"] is None else f"{held['value']:.4f}"
        yield (
            f"the precision on items that the threshold was not chosen on is {value}, and with "
            f"{raw['ci_level']:.0%} confidence {least}: {told['wanted']:g} is not certain on other "
            "records. A higher --precision leaves room; more labels narrow the bound"
        )
    if told["groups"] is not None and told["groups"] < FEW_GROUPS:
        yield (
            f"the records above the threshold are of {told['groups']} groups: with fewer than "
            f"about {FEW_GROUPS} the bound of the precision is rough, and may promise too much"
        )


def _of_the_curve(raw: Mapping[str, Any]) -> Iterator[str]:
    if raw["method"] == "isotonic":
        if raw["knots"][0][1] == raw["knots"][-1][1]:
            yield "the curve is level, so judges refuse a file with these numbers"
    elif raw["slope"] <= 0:
        yield "the slope is not above 0, so judges refuse a file with these numbers"
    if raw["of"] == "verdict":
        return
    if raw["method"] == "isotonic" and raw["n"] < USUAL_LEAST:
        yield (
            f"an isotonic curve over {raw['n']:,} records follows chance too; with fewer than "
            f"about {USUAL_LEAST:,} Platt's is usually better"
        )
    other = raw["other_method"]
    if other is not None and other["brier_difference"] > _CLEAR * other["standard_error"]:
        yield (
            f"cross-validated, the Brier score of the method {other['name']} is better by "
            f"{other['brier_difference']:.4f} (standard error {other['standard_error']:.4f})"
        )
