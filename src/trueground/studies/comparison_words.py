"""A comparison of runs in sentences and tables: what can be said, what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from trueground.reports import (
    Estimate,
    Head,
    Row,
    Span,
    Table,
    first_of_labels,
    group_by_question,
)
from trueground.studies.wording import p_value
from trueground.text import NO_VALUE, percent, several

_TESTS = {
    "mcnemar": "exact McNemar",
    "sign-flip": "sign-flip",
    "sign-flip-exact": "exact sign-flip",
}
# Effect → its heading; {b} is the later run, {a} the earlier one.
EFFECTS = {
    "cohen_dz": "Cohen's d_z",
    "rank_biserial": "rank-biserial",
    "superiority": "{b} higher",
    "cohen_h": "Cohen's h",
    "odds_ratio": "odds ratio c/b",
}
_SIGNED = ("cohen_dz", "rank_biserial", "cohen_h")
_METRIC = Head("metric")
OTHERS = "other metrics"
_HEADLINE = "support"  # what a run opens with


class Finding(NamedTuple):
    """What can be said of one metric, in a sentence.

    A difference is `shown` where the interval is without 0 and the adjusted p is small, `unsure`
    where only the interval says so.
    """

    metric: str
    kind: Literal["shown", "unsure", "none"]
    words: list[str | Span]


def find_differences(pair: Mapping[str, Any], alpha: float) -> list[Finding]:
    """A finding for each metric, those that show a difference first, among them the headline's."""
    found = [
        _find_difference(name, metric, pair, alpha) for name, metric in pair["metrics"].items()
    ]
    kinds = ("shown", "unsure", "none")
    return sorted(found, key=lambda one: (kinds.index(one.kind), one.metric != _HEADLINE))


def _find_difference(
    name: str, metric: Mapping[str, Any], pair: Mapping[str, Any], alpha: float
) -> Finding:
    result, on = metric["result"], f" on {name}"
    d, p = result["difference"], metric["p_holm"]
    if d is None:
        why = "nothing is counted in both" if result["n"] else "no item is scored in both"
        return Finding(name, "none", [f"nothing can be said{on}: {why}"])
    if not d and not metric["won"] and not metric["lost"]:
        return Finding(name, "none", [f"no difference{on}: the same for every item"])
    low, high = result["ci"] or (d, d)
    apart = low > 0 or high < 0
    if not apart or (not result["ci"] and (p is None or p > alpha)):
        # how many items would show the difference found, to two digits
        planning = (metric["sizes"] or {}).get("planning") or {"n": 0, "needed": ()}
        needed = [one["items"] or 0 for one in planning["needed"] if one["observed"]]
        more = [float(f"{n:.2g}") for n in needed if n > planning["n"]]
        take = f" (it would take about {int(more[0]):,} items)" if more else ""
        return Finding(name, "none", [f"no difference can be shown{on}{take}"])
    better = Span.strong(pair["b" if (d > 0) == metric["higher_is_better"] else "a"])
    interval = f" [{_three(low)}, {_three(high)}]" if result["ci"] else " for every item"
    told = f"{on}: {'+' if d > 0 else ''}{_three(d)}{interval}"
    told += "" if metric["higher_is_better"] else ", lower is better"
    if p is None or p <= alpha:
        return Finding(name, "shown", [better, " is better", told])
    return Finding(
        name, "unsure", [better, " may be better", told, f"; or it is chance (Holm's p {p:.2g})"]
    )


def group_findings(found: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """The findings by the question that their metrics answer, in the order of a run's result.

    One group without a name where no metric answers one of the questions.
    """
    questions = group_by_question(one.metric for one in found)
    groups = [(name, [f for f in found if f.metric in keys]) for name, keys in questions.items()]
    groups = [(name, own) for name, own in groups if own]
    named = {f.metric for _, own in groups for f in own}
    others = [f for f in found if f.metric not in named]
    return [*groups, (OTHERS if groups else "", others)] if others else groups


def compare_shares(pair: Mapping[str, Any]) -> list[str | Span] | None:
    """How many answers are grounded in each run, in a sentence; None where that is not known."""
    if not pair["verdicts"]:
        return None
    one, a, b = pair["verdicts"]["grounded"], pair["a"], pair["b"]
    in_a, in_b = percent(one["mean_a"]), percent(one["mean_b"])
    if not one["higher"] and not one["lower"]:
        return [f"The same answers are grounded in both: {in_a}"]
    ends = "" if one["ci"] is None else f" [{', '.join(f'{100 * x:+.1f}' for x in one['ci'])}]"
    told = f"{100 * one['difference']:+.1f} points{ends}"
    if one["ci"] is None or one["ci"][0] <= 0 <= one["ci"][1]:
        said = "No difference can be shown in how many answers are grounded: "
        return [f"{said}{in_a} in {a}, {in_b} in {b}, {told}"]
    more, less = (a, b) if one["difference"] < 0 else (b, a)
    first, other = (in_a, in_b) if more == a else (in_b, in_a)
    return [
        Span.strong(more),
        f" has more grounded answers: {first} against {other} in {less}; {told}",
    ]


def corrected_differences(pair: Mapping[str, Any]) -> list[str]:
    """What people would see between the runs, by their labels of some answers, label by label."""
    found: Mapping[str, Mapping[str, Any]] = pair.get("corrected") or {}
    sentences = []
    for key, word in first_of_labels(found).items():
        one = found[key]
        low, high = (f"{100 * end:+.1f}" for end in one["ci"])
        sentences.append(
            f"People would call {100 * one['difference']:+.1f} points [{low}, {high}] more of "
            f"{pair['b']}'s answers {word} than of {pair['a']}'s "
            f"({one['labels']:,} items with labels of both; the judge alone, by {key}, says "
            f"{100 * one['judge_difference']:+.1f})" + "".join(f"; {note}" for note in one["notes"])
        )
    return sentences


def tabulate_shares(pair: Mapping[str, Any], level: float) -> Table:
    """The share of each verdict in both runs, and the difference in points of 100."""
    found = {name: one for name, one in (pair["verdicts"] or {}).items() if one["n"]}
    if not found.get("unscored", {}).get("mean_a") and not found["unscored"]["mean_b"]:
        del found["unscored"]
    ends = [abs(end) for one in found.values() for end in (one["difference"], *(one["ci"] or ()))]
    most = max([0.01, *ends])
    label = f"difference in points, {100 * level:.4g} % interval"
    scale = Head(label, "estimate", digits=1, percent=True, signed=True, low=-most, high=most)
    shares = (Head(pair[side], "number", digits=1, percent=True) for side in "ab")
    rows = [
        Row([name, Estimate(one["difference"], *(one["ci"] or ())), one["mean_a"], one["mean_b"]])
        for name, one in found.items()
    ]
    return Table([Head("answers"), scale, *shares], rows)


def _three(value: float) -> str:
    """Three decimals, or two digits of what is smaller."""
    rounded = round(value, 3)
    return f"{rounded:.3f}" if rounded or not value else f"{value:.2g}"


def count_items(pair: Mapping[str, Any]) -> str:
    """Over how many items."""
    clusters = pair["clusters"]
    tail = f" ({clusters:,} groups, taken as clusters)" if clusters else ""
    return f"{several(pair['items'], 'item')} in both{tail}"


def _test_words(metric: Mapping[str, Any]) -> str:
    """The test behind p; behind it what else was tested, each with its own p, unadjusted.

    That is McNemar's test where values are 0 or 1 and there are groups, else Wilcoxon's.
    """
    result = metric["result"]
    whole = ["whole runs, no test"] * bool(result["n"])
    words = [_TESTS[result["test"]]] if result["test"] else whole
    if tested := result["mcnemar"]:
        counts = f"b {tested['b']:,}, c {tested['c']:,}"
        if result["test"] == "mcnemar":
            words[0] += f" ({counts})"
        else:
            words.append(f"McNemar without groups {counts}, p {p_value(tested['p'])}")
    if metric["sizes"] and (wilcoxon := metric["sizes"]["wilcoxon"]):
        words.append(f"Wilcoxon p {p_value(wilcoxon['p'])} ({wilcoxon['method']})")
    return "; ".join(words)


def notices(comparison: Mapping[str, Any]) -> list[str]:
    """What every page of these runs must say, with the runs that it is about."""
    found: dict[str, list[str]] = {}
    for run in comparison["runs"]:
        for notice in run["notices"]:
            found.setdefault(notice, []).append(run["label"])
    return [f"{', '.join(labels)}: {notice}" for notice, labels in found.items()]


def notes(pair: Mapping[str, Any]) -> Iterator[str]:
    """Mismatches that were allowed, metrics that only one run has."""
    yield from pair["notes"]
    for label, names in ((pair["a"], pair["left_out_a"]), (pair["b"], pair["left_out_b"])):
        if names:
            yield f"only {label} has {', '.join(names)}"


def scored_once(pair: Mapping[str, Any]) -> list[str]:
    """Items that only one run has scored, by their status in the other; metrics alike together."""
    found: dict[str, list[str]] = {}
    for name, metric in pair["metrics"].items():
        for here, there, counts in (
            (pair["a"], pair["b"], metric["only_a"]),
            (pair["b"], pair["a"], metric["only_b"]),
        ):
            if counts:
                why = ", ".join(f"{count:,} {status}" for status, count in counts.items())
                told = f"{sum(counts.values()):,} scored only in {here} (in {there}: {why})"
                found.setdefault(told, []).append(name)
    return [f"{', '.join(names)}: {told}" for told, names in found.items()]


def _of_metric(name: str, metric: Mapping[str, Any]) -> str:
    """The metric; differences are not turned round where less is better, so that is said."""
    return name if metric["higher_is_better"] else f"{name} (lower is better)"


def tabulate_differences(pair: Mapping[str, Any], level: float) -> Table:
    """Means and differences, these on one scale with 0 in its middle."""
    results = [metric["result"] for metric in pair["metrics"].values()]
    ends = [abs(end) for r in results for end in (r["difference"], *(r["ci"] or ())) if end]
    most = max(ends, default=1.0)
    rows = []
    for name, metric in pair["metrics"].items():
        r = metric["result"]
        difference = Estimate(r["difference"], *(r["ci"] or ()))
        rows.append(Row([_of_metric(name, metric), difference, r["mean_a"], r["mean_b"], r["n"]]))
    means = (Head(pair[side], "number", digits=4) for side in "ab")
    label = f"difference, {100 * level:.4g} % interval"
    scale = Head(label, "estimate", digits=4, signed=True, low=-most, high=most)
    return Table([_METRIC, scale, *means, Head("items", "number")], rows)


def tabulate_statistics(
    pair: Mapping[str, Any], comparison: Mapping[str, Any]
) -> Iterator[tuple[str, Table]]:
    """Tests, sizes of effects, and what so many items can show, each with its title."""
    tests = [
        Row(
            [
                _of_metric(name, m),
                *(p_value(p) for p in (m["result"]["p"], m["p_holm"])),
                *(m["won"], m["lost"], m["result"]["tied"], _test_words(m)),
            ]
        )
        for name, m in pair["metrics"].items()
    ]
    heads = ("p", "Holm p", "better", "worse", "same")
    columns = [_METRIC, *(Head(name, "number") for name in heads), Head("test")]
    yield "Tests", Table(columns, tests)
    sized = {name: m for name, m in pair["metrics"].items() if m["sizes"]}
    found = {name: m["sizes"]["effects"] for name, m in sized.items()}
    if names := [name for name in EFFECTS if any(one[name] for one in found.values())]:
        columns = [_METRIC, *(Head(EFFECTS[name].format(**pair)) for name in names)]
        rows = [
            Row([_of_metric(metric, sized[metric]), *(_size(name, one[name]) for name in names)])
            for metric, one in found.items()
        ]
        yield "Sizes of the effects", Table(columns, rows)
    if sized:
        test = (
            f"two-sided test at {comparison['alpha']:.3g}, {100 * comparison['power']:.4g} % power"
        )
        yield f"What these items can show ({test})", _tabulate_planning(sized)


def _size(name: str, effect: Mapping[str, Any] | None) -> list[str | Span]:
    """`+0.41 (+0.12 … +0.70)`, or why there is none; a dash where it is not defined."""
    if effect is None:
        return [NO_VALUE]
    defined = effect["value"] is not None or effect["ci"] is not None
    ends = " … ".join(_effect(name, end) for end in effect["ci"] or ())
    told = _effect(name, effect["value"]) + (f" ({ends})" if ends else "") if defined else NO_VALUE
    return [told, *([Span.quiet(f" {effect['why']}")] if effect["why"] else [])]


def _effect(name: str, value: float | None) -> str:
    if value is None:
        return "∞"
    if name == "odds_ratio" and value >= 100:
        return f"{value:,.0f}"
    return f"{value:+.2f}" if name in _SIGNED else f"{value:.2f}"


def _tabulate_planning(sized: Mapping[str, Mapping[str, Any]]) -> Table:
    """The smallest difference that would be seen, and how many items others would take."""
    first = next(iter(sized.values()))["sizes"]["planning"]
    wanted = [f"items for {n['difference']:g}" for n in first["needed"] if not n["observed"]]
    rows = []
    for name, metric in sized.items():
        plan, result = metric["sizes"]["planning"], metric["result"]
        needed = []
        for one in plan["needed"]:
            groups = f" ({one['groups']:,} groups)" if one["groups"] is not None else ""
            needed.append(NO_VALUE if one["items"] is None else f"{one['items']:,}{groups}")
        needed += [NO_VALUE] * (len(wanted) + 1 - len(needed))  # no difference was found
        is_known = any(one["items"] for one in plan["needed"])
        smallest, basis = NO_VALUE, f"not known: {plan['why']}"
        if is_known:
            value = plan["detectable"]
            # scores of 0 to 1 cannot differ by more than 1
            shares = all(0 <= mean <= 1 for mean in (result["mean_a"], result["mean_b"]))
            few = value is None or (shares and value > 1)
            smallest = "too few items" if few else f"{value:.3g}"
        if is_known or not plan["why"]:
            basis = _basis(plan)
        if not plan["n"]:
            basis = "not known: no item is scored in both"
        rows.append(Row([name, plan["n"], smallest, *needed, basis]))
    names = ("items", "smallest difference seen", *wanted, "items for the one found")
    columns = [_METRIC, *(Head(name, "number") for name in names), Head("computed from")]
    return Table(columns, rows)


def _basis(plan: Mapping[str, Any]) -> str:
    words = [f"deviation of the differences {plan['sd']:.3g}"] if plan["sd"] is not None else []
    if plan["discordant"] is not None:
        words = [f"{100 * plan['discordant']:.3g} % of the items differ"]
    if plan["design_effect"] not in (None, 1.0):
        words.append(f"design effect of the groups {plan['design_effect']:.3g}")
    return ", ".join(words)


def changed_most(pair: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Those of the metrics by which any item changed."""
    metrics = pair["metrics"]
    return [n for n in names if metrics[n]["changes_lost"] or metrics[n]["changes_won"]]
