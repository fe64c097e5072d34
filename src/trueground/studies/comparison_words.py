"""A comparison of runs in sentences and tables: what can be said, what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from trueground.metrics import AnswerVerdict
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
    """One sentence about the difference in one metric.

    A difference is `shown` if the interval excludes 0 and the adjusted p is at most alpha. It is
    `unsure` if only the interval excludes 0.
    """

    metric: str
    kind: Literal["shown", "unsure", "none"]
    words: list[str | Span]


def find_differences(pair: Mapping[str, Any], alpha: float) -> list[Finding]:
    """Return a finding for each metric, those that show a difference first."""
    kinds = ("shown", "unsure", "none")

    def rank(finding: Finding) -> tuple[int, bool]:
        return kinds.index(finding.kind), finding.metric != _HEADLINE

    metrics = pair["metrics"].items()
    findings = [_find_difference(name, metric, pair, alpha) for name, metric in metrics]
    return sorted(findings, key=rank)


def _find_difference(
    name: str, metric: Mapping[str, Any], pair: Mapping[str, Any], alpha: float
) -> Finding:
    result, of_metric = metric["result"], f" on {name}"
    difference, p = result["difference"], metric["p_holm"]
    if difference is None:
        reason = "nothing is counted in both" if result["n"] else "no item is scored in both"
        return Finding(name, "none", [f"nothing can be said{of_metric}: {reason}"])
    if not difference and not metric["won"] and not metric["lost"]:
        return Finding(name, "none", [f"no difference{of_metric}: the same for every item"])
    low, high = result["ci"] or (difference, difference)
    apart = low > 0 or high < 0
    if not apart or (not result["ci"] and (p is None or p > alpha)):
        # The note names, to two digits, how many items would show the observed difference.
        planning = (metric["sizes"] or {}).get("planning") or {"n": 0, "needed": ()}
        needed = [size["items"] or 0 for size in planning["needed"] if size["observed"]]
        more = [float(f"{n:.2g}") for n in needed if n > planning["n"]]
        take = f" (it would take about {int(more[0]):,} items)" if more else ""
        return Finding(name, "none", [f"no difference can be shown{of_metric}{take}"])
    better = Span.strong(pair["b" if (difference > 0) == metric["higher_is_better"] else "a"])
    interval = (
        f" [{_format_difference(low)}, {_format_difference(high)}]"
        if result["ci"]
        else " for every item"
    )
    details = (
        f"{of_metric}: {'+' if difference > 0 else ''}{_format_difference(difference)}{interval}"
    )
    details += "" if metric["higher_is_better"] else ", lower is better"
    if p is None or p <= alpha:
        return Finding(name, "shown", [better, " is better", details])
    return Finding(
        name, "unsure", [better, " may be better", details, f"; or it is chance (Holm's p {p:.2g})"]
    )


def group_findings(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    """Group findings by the question that their metrics answer, in the order of a run's result.

    If no metric answers one of the questions, there is one group without a name.
    """
    questions = group_by_question(finding.metric for finding in findings)
    groups: list[tuple[str, list[Finding]]] = []
    grouped: set[str] = set()
    for name, keys in questions.items():
        members = [finding for finding in findings if finding.metric in keys]
        if members:
            groups.append((name, members))
            grouped.update(finding.metric for finding in members)
    others = [finding for finding in findings if finding.metric not in grouped]
    if others:
        groups.append((OTHERS if groups else "", others))
    return groups


def compare_shares(pair: Mapping[str, Any]) -> list[str | Span] | None:
    """Return a sentence with the share of grounded answers in each run, or None if unknown."""
    if not pair["verdicts"]:
        return None
    share, a, b = pair["verdicts"]["grounded"], pair["a"], pair["b"]
    in_a, in_b = percent(share["mean_a"]), percent(share["mean_b"])
    if not share["higher"] and not share["lower"]:
        return [f"The same answers are grounded in both: {in_a}"]
    ends = "" if share["ci"] is None else f" [{', '.join(f'{100 * x:+.1f}' for x in share['ci'])}]"
    change = f"{100 * share['difference']:+.1f} points{ends}"
    if share["ci"] is None or share["ci"][0] <= 0 <= share["ci"][1]:
        message = "No difference can be shown in how many answers are grounded: "
        return [f"{message}{in_a} in {a}, {in_b} in {b}, {change}"]
    more, less = (a, b) if share["difference"] < 0 else (b, a)
    first, other = (in_a, in_b) if more == a else (in_b, in_a)
    return [
        Span.strong(more),
        f" has more grounded answers: {first} against {other} in {less}; {change}",
    ]


def corrected_differences(pair: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each label: the difference that people would see."""
    corrected: Mapping[str, Mapping[str, Any]] = pair.get("corrected") or {}
    sentences = []
    for key, word in first_of_labels(corrected).items():
        estimate = corrected[key]
        low, high = (f"{100 * end:+.1f}" for end in estimate["ci"])
        notes_of_label = "".join(f"; {note}" for note in estimate["notes"])
        sentences.append(
            f"People would call {100 * estimate['difference']:+.1f} points [{low}, {high}] more of "
            f"{pair['b']}'s answers {word} than of {pair['a']}'s "
            f"({estimate['labels']:,} items with labels of both; the judge alone, by {key}, says "
            f"{100 * estimate['judge_difference']:+.1f}){notes_of_label}"
        )
    return sentences


def tabulate_shares(pair: Mapping[str, Any], level: float) -> Table:
    """Return the share of each verdict in both runs, and the difference in points of 100."""
    verdicts = {name: verdict for name, verdict in (pair["verdicts"] or {}).items() if verdict["n"]}
    if not verdicts.get("unscored", {}).get("mean_a") and not verdicts["unscored"]["mean_b"]:
        del verdicts["unscored"]
    most = _largest_end(verdicts.values(), 0.01)
    label = f"difference in points, {100 * level:.4g} % interval"
    scale = Head(label, "estimate", digits=1, percent=True, signed=True, low=-most, high=most)
    shares = (Head(pair[side], "number", digits=1, percent=True) for side in "ab")
    rows = []
    for name, verdict in verdicts.items():
        difference = Estimate(verdict["difference"], *(verdict["ci"] or ()))
        title = AnswerVerdict.LABELS[name]
        rows.append(Row([title, difference, verdict["mean_a"], verdict["mean_b"]]))
    return Table([Head("answers"), scale, *shares], rows)


def _largest_end(results: Iterable[Mapping[str, Any]], least: float) -> float:
    """Return the largest distance from 0 of differences and ends of intervals, from `least` up."""
    most = least
    for result in results:
        for end in (result["difference"], *(result["ci"] or ())):
            most = max(most, abs(end or 0.0))
    return most


def _format_difference(value: float) -> str:
    """Format with three decimals, or two digits if it is smaller."""
    rounded = round(value, 3)
    return f"{rounded:.3f}" if rounded or not value else f"{value:.2g}"


def count_items(pair: Mapping[str, Any]) -> str:
    """Return how many items and groups both runs have."""
    clusters = pair["clusters"]
    tail = f" ({clusters:,} groups, taken as clusters)" if clusters else ""
    return f"{several(pair['items'], 'item')} in both{tail}"


def _describe_tests(metric: Mapping[str, Any]) -> str:
    """Return the test that gave p, and the other tests with their unadjusted p values.

    That is McNemar's test if values are 0 or 1 and there are groups, else Wilcoxon's.
    """
    result = metric["result"]
    parts = []
    if result["test"]:
        parts.append(_TESTS[result["test"]])
    elif result["n"]:
        parts.append("whole runs, no test")
    if tested := result["mcnemar"]:
        counts = f"b {tested['b']:,}, c {tested['c']:,}"
        if result["test"] == "mcnemar":
            parts[0] += f" ({counts})"
        else:
            parts.append(f"McNemar without groups {counts}, p {p_value(tested['p'])}")
    wilcoxon = metric["sizes"]["wilcoxon"] if metric["sizes"] else None
    if wilcoxon:
        parts.append(f"Wilcoxon p {p_value(wilcoxon['p'])} ({wilcoxon['method']})")
    return "; ".join(parts)


def notices(comparison: Mapping[str, Any]) -> list[str]:
    """Return the notices of all runs, each with the runs that it is about."""
    labels_of: dict[str, list[str]] = {}
    for run in comparison["runs"]:
        for notice in run["notices"]:
            labels_of.setdefault(notice, []).append(run["label"])
    return [f"{', '.join(labels)}: {notice}" for notice, labels in labels_of.items()]


def notes(pair: Mapping[str, Any]) -> Iterator[str]:
    """Yield allowed mismatches, and metrics that only one run has."""
    yield from pair["notes"]
    for label, names in ((pair["a"], pair["left_out_a"]), (pair["b"], pair["left_out_b"])):
        if names:
            yield f"only {label} has {', '.join(names)}"


def scored_once(pair: Mapping[str, Any]) -> list[str]:
    """Return how many items only one run has scored, by their status in the other run."""
    metrics_of: dict[str, list[str]] = {}
    for name, metric in pair["metrics"].items():
        for label, other, counts in (
            (pair["a"], pair["b"], metric["only_a"]),
            (pair["b"], pair["a"], metric["only_b"]),
        ):
            if counts:
                statuses = ", ".join(f"{count:,} {status}" for status, count in counts.items())
                message = (
                    f"{sum(counts.values()):,} scored only in {label} (in {other}: {statuses})"
                )
                metrics_of.setdefault(message, []).append(name)
    return [f"{', '.join(names)}: {message}" for message, names in metrics_of.items()]


def _of_metric(name: str, metric: Mapping[str, Any]) -> str:
    """Return the metric's name, marked if lower is better (differences keep their sign)."""
    return name if metric["higher_is_better"] else f"{name} (lower is better)"


def tabulate_differences(pair: Mapping[str, Any], level: float) -> Table:
    """Return means and differences, the differences on one scale with 0 in its middle."""
    most = _largest_end((metric["result"] for metric in pair["metrics"].values()), 0.0) or 1.0
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
    """Yield tests, effect sizes, and the differences that can be detected, with their titles."""
    tests = []
    for name, metric in pair["metrics"].items():
        p, holm = p_value(metric["result"]["p"]), p_value(metric["p_holm"])
        counts = (metric["won"], metric["lost"], metric["result"]["tied"])
        tests.append(Row([_of_metric(name, metric), p, holm, *counts, _describe_tests(metric)]))
    heads = ("p", "Holm p", "better", "worse", "same")
    columns = [_METRIC, *(Head(name, "number") for name in heads), Head("test")]
    yield "Tests", Table(columns, tests)
    sized = {name: m for name, m in pair["metrics"].items() if m["sizes"]}
    effects = {name: m["sizes"]["effects"] for name, m in sized.items()}
    present: set[str] = set()
    for by_name in effects.values():
        present.update(name for name, effect in by_name.items() if effect)
    names = [name for name in EFFECTS if name in present]
    if names:
        columns = [_METRIC, *(Head(EFFECTS[name].format(**pair)) for name in names)]
        rows = []
        for key, by_name in effects.items():
            cells = [_format_effect_size(name, by_name[name]) for name in names]
            rows.append(Row([_of_metric(key, sized[key]), *cells]))
        yield "Sizes of the effects", Table(columns, rows)
    if sized:
        test = (
            f"two-sided test at {comparison['alpha']:.3g}, {100 * comparison['power']:.4g} % power"
        )
        yield f"What these items can show ({test})", _tabulate_planning(sized)


def _format_effect_size(name: str, effect: Mapping[str, Any] | None) -> list[str | Span]:
    """Return `+0.41 (+0.12 … +0.70)`, or a dash and the reason if it isn't defined."""
    if effect is None:
        return [NO_VALUE]
    text = NO_VALUE
    if effect["value"] is not None or effect["ci"] is not None:
        text = _effect(name, effect["value"])
        if effect["ci"]:
            text += f" ({' … '.join(_effect(name, end) for end in effect['ci'])})"
    spans: list[str | Span] = [text]
    if effect["why"]:
        spans.append(Span.quiet(f" {effect['why']}"))
    return spans


def _effect(name: str, value: float | None) -> str:
    if value is None:
        return "∞"
    if name == "odds_ratio" and value >= 100:
        return f"{value:,.0f}"
    return f"{value:+.2f}" if name in _SIGNED else f"{value:.2f}"


def _tabulate_planning(sized: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the smallest detectable difference, and how many items smaller ones need."""
    first = next(iter(sized.values()))["sizes"]["planning"]
    headings = [f"items for {n['difference']:g}" for n in first["needed"] if not n["observed"]]
    rows = []
    for name, metric in sized.items():
        plan, result = metric["sizes"]["planning"], metric["result"]
        needed = []
        for needed_items in plan["needed"]:
            groups = (
                f" ({needed_items['groups']:,} groups)"
                if needed_items["groups"] is not None
                else ""
            )
            needed.append(
                NO_VALUE if needed_items["items"] is None else f"{needed_items['items']:,}{groups}"
            )
        needed += [NO_VALUE] * (len(headings) + 1 - len(needed))  # no difference was found
        is_known = any(needed_items["items"] for needed_items in plan["needed"])
        smallest, basis = NO_VALUE, f"not known: {plan['why']}"
        if is_known:
            value = plan["detectable"]
            # Scores of 0 to 1 can't differ by more than 1.
            shares = all(0 <= mean <= 1 for mean in (result["mean_a"], result["mean_b"]))
            few = value is None or (shares and value > 1)
            smallest = "too few items" if few else f"{value:.3g}"
        if is_known or not plan["why"]:
            basis = _basis(plan)
        if not plan["n"]:
            basis = "not known: no item is scored in both"
        rows.append(Row([name, plan["n"], smallest, *needed, basis]))
    names = ("items", "smallest difference seen", *headings, "items for the one found")
    columns = [_METRIC, *(Head(name, "number") for name in names), Head("computed from")]
    return Table(columns, rows)


def _basis(plan: Mapping[str, Any]) -> str:
    parts = [f"deviation of the differences {plan['sd']:.3g}"] if plan["sd"] is not None else []
    if plan["discordant"] is not None:
        parts = [f"{100 * plan['discordant']:.3g} % of the items differ"]
    if plan["design_effect"] not in (None, 1.0):
        parts.append(f"design effect of the groups {plan['design_effect']:.3g}")
    return ", ".join(parts)


def changed_most(pair: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the metrics by which any item changed."""
    metrics = pair["metrics"]
    return [n for n in names if metrics[n]["changes_lost"] or metrics[n]["changes_won"]]
