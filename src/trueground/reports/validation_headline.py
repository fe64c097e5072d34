"""The first lines of a validation: which metric leads, and whether it leads by more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from trueground.reports.validation_people import estimates
from trueground.reports.validation_said import (
    FIRST,
    PAIRS_FIRST,
    Estimate,
    between,
    four,
    ordered,
    overall,
)

_ENOUGH = 20  # below it a percentile interval covers the truth too rarely


def headline(raw: Mapping[str, Any]) -> list[Markup]:
    """Sentences on the sets of labelled records, and one on each set of pairs."""
    lines = _of_sets(raw) if raw["sets"] else []
    for one in raw["preferences"] or ():
        each = {metric: estimates(entry) for metric, entry in one["metrics"].items()}
        found = {m: e[PAIRS_FIRST] for m, e in each.items() if PAIRS_FIRST in e}
        lines.append(_of_pairs(one, found, raw["ci_level"]))
    return lines


def _of_sets(raw: Mapping[str, Any]) -> list[Markup]:
    """Which metric leads and whether the difference to the next can be told from chance.

    Only metrics that have a value on equally many sets are compared: a mean over fewer, perhaps
    easier, sets is another number.
    """
    metrics = ordered(raw)
    found = {name: overall(raw, name, FIRST) for name in metrics}
    have = [name for name in metrics if found[name]["value"] is not None]
    if not have:
        why = "; ".join(dict.fromkeys(str(e["why"]) for e in found.values())) or "no metric is here"
        return [Markup("No metric has an AUROC here: {}.").format(why)]
    most = max(_sets(found[name]) for name in have)
    fair = [name for name in have if _sets(found[name]) == most]
    said = [_best(raw, fair, found, most), *_rest(fair, found, _differences(raw, fair[0]))]
    said += _coverage(raw, fair) + _guessing(fair[0], found[fair[0]])
    rarer = {one["name"]: min(one["positives"], one["n"] - one["positives"]) for one in raw["sets"]}
    said += _few(rarer, "records of the rarer label")
    fewer = [name for name in have if name not in fair]
    if fewer:
        said.append(
            Markup("Left out of this, for they have a value on fewer sets: {}.").format(
                _code(fewer)
            )
        )
    return said


def _of_pairs(one: Mapping[str, Any], found: Mapping[str, Estimate], level: float) -> Markup:
    """Which metric prefers most often what people prefer, in one set of pairs."""
    have = [name for name, e in found.items() if e["value"] is not None]
    if not have:
        return Markup("{}: no metric can be held against the preferences.").format(one["set"])
    have.sort(key=lambda name: -found[name]["value"])
    best = found[have[0]]
    first = [name for name in have if _equal(found[name], best)]
    lead = Markup("{} agrees with people most often").format(_code(first))
    if len(first) > 1:
        lead = Markup("{} are tied, agreeing most often with people").format(_code(first))
    said = Markup("{}: {}, in <strong>{}</strong> of the pairs{}. ").format(
        one["set"], lead, four(best["value"]), _with({"ci_level": level}, best)
    )
    few = _few({one["set"]: one["n"] - one["ties"]}, "pairs")
    return said + Markup(" ").join([*_rest(have, found, {}), *_guessing(have[0], best), *few])


def _best(
    raw: Mapping[str, Any], fair: Sequence[str], found: Mapping[str, Estimate], most: int
) -> Markup:
    many = len(raw["sets"]) > 1
    first = [name for name in fair if _equal(found[name], found[fair[0]])]
    over = f", mean over {most:,} sets" if many else ""
    value, ci = four(found[fair[0]]["value"]), _with(raw, found[fair[0]])
    if len(first) > 1:
        return Markup("Best by AUROC{}: {} are tied at {} to four decimals{}.").format(
            over,
            _code(first),
            value,
            ci if len({between(found[n]["ci"]) for n in first}) == 1 else "",
        )
    said = Markup("Best by AUROC{}: {} with <strong>{}</strong>{}.").format(
        over, _code(first), value, ci
    )
    if not many:
        return said
    wins = sum(_leads(of_set, fair[0]) for of_set in raw["sets"])
    return said + f" On {wins:,} of {len(raw['sets']):,} sets no metric is above it."


def _differences(raw: Mapping[str, Any], best: str) -> dict[str, Estimate]:
    """The paired differences to the best metric, where these were measured against it."""
    found = (raw.get("differences") or {}).get(FIRST) or {}
    return {name: one for name, one in found.items() if one["against"] == best}


def _rest(
    fair: Sequence[str], found: Mapping[str, Estimate], apart: Mapping[str, Estimate]
) -> list[Markup]:
    """How the next metric lies to the first, and which others cannot be told from it either."""
    best = found[fair[0]]
    others = [name for name in fair if not _equal(found[name], best)]
    if not others:
        return [] if len(fair) > 1 else [Markup("It is the only one, so nothing is compared.")]
    following = found[others[0]]
    told = _paired(apart.get(others[0])) or _apart(best, following)
    said = Markup("The next is {} with {}{}: {}").format(
        _code(others[:1]), four(following["value"]), _brackets(following), told
    )
    if apart:
        same = [name for name in others[1:] if _by_chance(apart.get(name))]
        if same:
            said += Markup(" Nor is it told from the first: {}.").format(_code(same))
        return [said]
    within = [name for name in others[1:] if best["ci"] and found[name]["value"] >= best["ci"][0]]
    if within:
        said += Markup(" Also within the interval of the first: {}.").format(_code(within))
    return [said]


def _paired(apart: Estimate | None) -> str:
    """What the difference on the records that both score shows; nothing without an interval."""
    if apart is None or not apart["ci"]:
        return ""
    low, high = sorted(-end for end in apart["ci"])
    size = f"{four(-apart['value'])} ({between([low, high])}) on the records that both score"
    if _by_chance(apart):
        return f"the difference of {size} may be chance."
    return f"the difference of {size} is more than chance."


def _by_chance(apart: Estimate | None) -> bool:
    return bool(apart and apart["ci"] and apart["ci"][0] <= 0 <= apart["ci"][1])


def _apart(best: Estimate, following: Estimate) -> str:
    a, b = best["ci"], following["ci"]
    if not a or not b:
        return "without intervals nothing can be said of the difference."
    if following["value"] >= a[0] or best["value"] <= b[1]:
        return (
            "the difference is within the interval, so that on other records the order may be the "
            "other way round."
        )
    if b[1] >= a[0]:
        return "the difference is larger than either interval reaches, but the intervals overlap."
    return "the intervals do not overlap."


def _coverage(raw: Mapping[str, Any], fair: Sequence[str]) -> list[Markup]:
    """The records behind the first and the next, where these are not the same number."""
    two = [sum(_scored(of_set, name) for of_set in raw["sets"]) for name in fair[:2]]
    if len(set(two)) < 2:
        return []
    return [
        Markup("They do not rest on the same records: {} scored {:,}, {} {:,}.").format(
            _code(fair[:1]), two[0], _code(fair[1:2]), two[1]
        )
    ]


def _scored(of_set: Mapping[str, Any], metric: str) -> int:
    return int(of_set["metrics"][metric]["n"]) if metric in of_set["metrics"] else 0


def _guessing(name: str, best: Estimate) -> list[Markup]:
    if best["ci"] and best["ci"][0] <= 0.5:
        return [
            Markup("Even {} cannot be told from guessing, which has 0.5.").format(_code([name]))
        ]
    return []


def _few(counts: Mapping[str, int], what: str) -> list[Markup]:
    """A warning where resampling so few shows too little of the chance."""
    few = [f"{name} ({n:,})" for name, n in counts.items() if n < _ENOUGH]
    if not few:
        return []
    return [
        Markup(
            "Fewer than {} {} are too few for a conclusion, and their intervals too narrow: {}."
        ).format(_ENOUGH, what, ", ".join(few))
    ]


def _leads(of_set: Mapping[str, Any], metric: str) -> bool:
    values = {m: e["measures"].get(FIRST, {}).get("value") for m, e in of_set["metrics"].items()}
    own = values.get(metric)
    others = [round(v, 4) for v in values.values() if v is not None]
    return own is not None and round(own, 4) >= max(others)


def _equal(a: Estimate, b: Estimate) -> bool:
    return four(a["value"]) == four(b["value"])


def _sets(estimate: Estimate) -> int:
    return int(estimate.get("sets") or 1)


def _with(raw: Mapping[str, Any], estimate: Estimate) -> str:
    level = f"{100 * raw['ci_level']:.4g} %"
    return f" ({level} interval {between(estimate['ci'])})" if estimate["ci"] else " (no interval)"


def _brackets(estimate: Estimate) -> str:
    return f" ({between(estimate['ci'])})" if estimate["ci"] else ""


def _code(names: Sequence[str]) -> Markup:
    return Markup(", ").join(Markup("<code>{}</code>").format(name) for name in names)
