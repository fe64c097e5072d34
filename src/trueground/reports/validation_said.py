"""A validation in plain words: what each measure says, and how its numbers are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Estimate = Mapping[str, Any]
FIRST = "auroc"  # the measure that orders the metrics
PAIRS_FIRST = "sign_agreement"  # the same for pairs
_REASONS = 2  # for a mean that is not there; each set has its own


@dataclass(frozen=True)
class Measure:
    """How a measure is called and read. `low` and `high` are the ends of its colour scale."""

    title: str
    words: str
    lower: bool = False
    low: float = 0.0
    high: float = 1.0


MEASURES = {
    "auroc": Measure(
        "AUROC",
        "the chance that a positive record scores above one that is not; equal scores count half. "
        "0.5 is guessing, 1 is perfect, and no threshold is needed",
        low=0.5,
    ),
    "spearman": Measure("Spearman ρ", "correlation of the ranks; 0 is none, 1 the same order"),
    "kendall": Measure(
        "Kendall τ-b", "pairs in the same order less pairs in the other, ties allowed for"
    ),
    "point_biserial": Measure(
        "Point-biserial", "Pearson's correlation of the score with the label as 0 or 1"
    ),
    "balanced_accuracy": Measure(
        "Balanced accuracy",
        "mean of the shares of positives and of negatives that are called rightly, at the default "
        "threshold; 0.5 is guessing",
        low=0.5,
    ),
    "balanced_accuracy_best": Measure(
        "Balanced accuracy, best",
        "the same at the threshold that is best on these very records, so that it flatters",
        low=0.5,
    ),
    "matthews": Measure("Matthews", "correlation of the verdict at the default threshold"),
    "cohen_kappa": Measure("Cohen κ", "agreement of verdict and label beyond chance"),
    "fleiss_kappa": Measure("Fleiss κ", "the same with one chance for both raters"),
    "krippendorff_alpha": Measure(
        "Krippendorff α", "agreement beyond chance, corrected for few records"
    ),
    "raw_agreement": Measure(
        "Raw agreement",
        "share of records where verdict and label are the same; where one label is rare it is "
        "high for a metric that always says the other",
    ),
    "calibration_error": Measure(
        "Calibration error",
        "how far a score is from the share of positives among records with such scores; 0 is best, "
        "but calibrated scores have what stands under “by chance”. Pooled over sets, one that is "
        "too high in one set and too low in another looks calibrated: read the mean over sets",
        lower=True,
        high=0.5,
    ),
    "false_negative_rate": Measure(
        "False negatives",
        "share of positives that the verdict calls negative; to be read with the false positives",
        lower=True,
    ),
    "false_positive_rate": Measure(
        "False positives",
        "share of negatives that the verdict calls positive; to be read with the false negatives",
        lower=True,
    ),
    "sign_agreement": Measure(
        "Same preference",
        "share of pairs in which the metric prefers what people prefer; where it has both equal "
        "the pair counts half. 0.5 is guessing",
    ),
    "accuracy": Measure(
        "Same preference, no ties", "the same over the pairs in which the metric prefers one"
    ),
}
_UNUSED = {"no_label": "without the label", "tied": "on which annotators are tied"}


def measure(name: str) -> Measure:
    """What is known of a measure; one of another version is called by its own name."""
    return MEASURES.get(name) or Measure(name.replace("_", " "), "")


def four(value: float | None) -> str:
    """Four decimals with a true minus; a dash where there is no value."""
    if value is None:
        return "–"
    text = f"{value:.4f}"
    return "0.0000" if text == "-0.0000" else text.replace("-", "−")


def short(value: float | None) -> str:
    """A threshold or an edge of a bin, with no more digits than it needs."""
    return "–" if value is None else f"{value:.3g}".replace("-", "−")


def between(ci: Sequence[float] | None) -> str:
    """An interval; nothing where there is none."""
    return f"{four(ci[0])} to {four(ci[1])}" if ci else ""


def percent(part: float, whole: float) -> str:
    """A share in percent; a dash of nothing."""
    return f"{100 * part / whole:.0f} %" if whole else "–"


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def unused(of_set: Mapping[str, Any]) -> list[str]:
    """The records of a file that were not measured, in words."""
    left = (of_set.get("unused") or {}).items()
    return [f"{n:,} {_UNUSED.get(why, why.replace('_', ' '))}" for why, n in left if n]


def of(entry: Mapping[str, Any], name: str) -> Estimate:
    """One measure of a metric on one set; without a value it has a reason."""
    return {"value": None, "ci": None, "why": "not measured", **(entry["measures"].get(name) or {})}


def overall(raw: Mapping[str, Any], metric: str, name: str) -> Estimate:
    """The mean over sets, or the value of the only set. Without a value it has a reason."""
    sets = [s for s in raw["sets"] if metric in s["metrics"]]
    if len(raw["sets"]) == 1 and sets:
        return of(sets[0]["metrics"][metric], name)
    found = {
        "value": None,
        "ci": None,
        "why": None,
        **(raw["mean"].get(metric) or {}).get(name, {}),
    }
    if found["value"] is None and not found["why"]:
        seen = [s["metrics"][metric]["measures"].get(name, {}).get("why") for s in sets]
        reasons = list(dict.fromkeys(why for why in seen if why))
        said = "; ".join(reasons[:_REASONS]) + ("; …" if len(reasons) > _REASONS else "")
        found["why"] = f"no set has it: {said}" if said else "no set has it"
    return found


def ordered(raw: Mapping[str, Any]) -> list[str]:
    """All metrics by AUROC, best first; those with it on fewer sets follow, those without last."""
    measured = [*raw["sets"], *(raw["preferences"] or ())]
    names = list(dict.fromkeys([*raw["mean"], *(m for one in measured for m in one["metrics"])]))
    found = {name: overall(raw, name, FIRST) for name in names}
    most = max((e.get("sets") or 1 for e in found.values()), default=1)

    def place(name: str) -> tuple[bool, bool, float]:
        value = found[name]["value"]
        return value is None, (found[name].get("sets") or 1) < most, -(value or 0.0)

    return sorted(names, key=place)
