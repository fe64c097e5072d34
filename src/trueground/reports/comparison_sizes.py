"""Sizes of effects, and what a number of items can show, in the words of terminal and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Effect → its heading; in a heading {b} is the later run, {a} the earlier one.
EFFECTS = {
    "cohen_dz": "Cohen's d_z",
    "rank_biserial": "rank-biserial",
    "superiority": "{b} higher",
    "cohen_h": "Cohen's h",
    "odds_ratio": "odds ratio c/b",
}
_SIGNED = ("cohen_dz", "rank_biserial", "cohen_h")
_NONE = "–"


def shown_effects(pair: Mapping[str, Any]) -> list[str]:
    """The effects that some metric of the pair has, in order."""
    every = [metric["sizes"]["effects"] for metric in with_sizes(pair).values()]
    return [name for name in EFFECTS if any(found[name] for found in every)]


def with_sizes(pair: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The metrics that are means over items."""
    return {name: metric for name, metric in pair["metrics"].items() if metric["sizes"]}


def of_metric(name: str, metric: Mapping[str, Any]) -> str:
    """The metric; sizes are not turned round where less is better, so that is said."""
    return name if metric["higher_is_better"] else f"{name} (lower is better)"


def effect_words(name: str, effect: Mapping[str, Any] | None) -> str:
    """`+0.41 (+0.12 … +0.70)`; a dash where it is not defined."""
    if effect is None or (effect["value"] is None and effect["ci"] is None):
        return _NONE
    value = "∞" if effect["value"] is None else _number(name, effect["value"])
    if effect["ci"] is None:
        return value
    low, high = (_number(name, end) for end in effect["ci"])
    return f"{value} ({low} … {high})"


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "∞"
    if name == "odds_ratio" and value >= 100:
        return f"{value:,.0f}"
    return f"{value:+.2f}" if name in _SIGNED else f"{value:.2f}"


def planning_heading(comparison: Mapping[str, Any]) -> str:
    """What kind of test is planned for."""
    return (
        f"what these items can show (two-sided test at {comparison['alpha']:.3g}, "
        f"{100 * comparison['power']:.4g} % power)"
    )


def planning_words(metric: Mapping[str, Any]) -> str:
    """What the items can show, and how many are needed, in a sentence or two."""
    told = metric["sizes"]["planning"]
    if not told["n"]:
        return "not known: no item is scored in both"
    if told["detectable"] is None and told["why"] and not any(n["items"] for n in told["needed"]):
        return f"not known: {told['why']}"
    points = _in_points(metric["result"])
    n = f"{told['n']:,} items"
    if told["detectable"] is None or (points and told["detectable"] > 1):
        seen = f"{n} are too few to see any difference that there can be"
    else:
        seen = f"{n} see {_difference(told['detectable'], points)} or more"
    needs = " and ".join(_needs(told["needed"], points))
    return f"{seen}; you need {needs}" if needs else seen


def _needs(needed: list[Mapping[str, Any]], points: bool) -> Iterator[str]:
    for one in needed:
        if one["items"] is None:
            continue
        what = _difference(one["difference"], points)
        if one["observed"]:
            what = f"the {what.removeprefix('a ')} found here, if that is the truth"
        count = f"{one['items']:,} item{'' if one['items'] == 1 else 's'}"
        groups = f" ({one['groups']:,} groups)" if one["groups"] is not None else ""
        yield f"{count}{groups} to see {what}"


def _in_points(result: Mapping[str, Any]) -> bool:
    """Whether both means lie between 0 and 1, so that 0.01 is one point of a hundred."""
    means = (result["mean_a"], result["mean_b"])
    return all(mean is not None and 0 <= mean <= 1 for mean in means)


def _difference(value: float, points: bool) -> str:
    if not points:
        return f"a difference of {value:.3g}"
    told = f"{100 * value:.3g}"
    return f"{told} point{'' if told == '1' else 's'}"


def planning_basis(metric: Mapping[str, Any]) -> str:
    """From what it is computed."""
    told = metric["sizes"]["planning"]
    words = [f"deviation of the differences {told['sd']:.3g}"] if told["sd"] is not None else []
    if told["discordant"] is not None:
        words = [f"{100 * told['discordant']:.3g} % of the items differ"]
    if told["design_effect"] not in (None, 1.0):
        words.append(f"design effect of the groups {told['design_effect']:.3g}")
    return ", ".join(words)
