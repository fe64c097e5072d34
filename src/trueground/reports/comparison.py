"""A comparison of runs as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trueground.records.problems import shorten
from trueground.reports.comparison_sizes import (
    EFFECTS,
    effect_words,
    of_metric,
    planning_heading,
    planning_words,
    shown_effects,
    with_sizes,
)
from trueground.reports.terminal import number, table

TESTS = {
    "mcnemar": "exact McNemar",
    "sign-flip": "sign-flip",
    "sign-flip-exact": "exact sign-flip",
}
WHOLE = "whole runs, no test"
_TEXT = 160


def render(comparison: Mapping[str, Any]) -> str:
    """The runs, and for each pair its table, what was left out, and the items that changed.

    `comparison` is what `RunComparison.as_dict` gives.
    """
    blocks = ["\n".join(_run(run) for run in comparison["runs"])]
    for pair in comparison["pairs"]:
        blocks += [heading(pair), _metrics(pair, comparison["level"])]
        if with_sizes(pair):
            blocks += [_effects(pair), _planning(pair, comparison)]
        if notes := list(remarks(pair)):
            blocks.append("\n".join(notes))
        blocks += _changes(pair, {run["label"]: run["path"] for run in comparison["runs"]})
    return "\n\n".join(blocks)


def p_value(p: float | None) -> str:
    """Four digits; a dash where there was no test."""
    if p is None:
        return "–"
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return "–" if value is None else f"{value:+.4f}"


def heading(pair: Mapping[str, Any]) -> str:
    """Which runs, over how many items."""
    n, clusters = pair["items"], pair["clusters"]
    tail = f" ({clusters:,} groups, taken as clusters)" if clusters else ""
    return f"{pair['b']} against {pair['a']}: {n:,} item{'' if n == 1 else 's'} in both{tail}"


def of_whole_runs(metric: Mapping[str, Any]) -> bool:
    """Whether the numbers are of the runs as wholes, and no means over items."""
    result = metric["result"]
    return bool(result["n"]) and result["test"] is None


def test_words(metric: Mapping[str, Any]) -> str:
    """The test behind p; behind it what else was tested, each with its own p, unadjusted.

    That is McNemar's test where values are 0 or 1 and there are groups, else Wilcoxon's.
    """
    result = metric["result"]
    words = [TESTS[result["test"]]] if result["test"] else [WHOLE] * of_whole_runs(metric)
    if tested := result["mcnemar"]:
        counts = f"b {tested['b']:,}, c {tested['c']:,}"
        if result["test"] == "mcnemar":
            words[0] += f" ({counts})"
        else:
            words.append(f"McNemar without groups {counts}, p {p_value(tested['p'])}")
    if metric["sizes"] and (wilcoxon := metric["sizes"]["wilcoxon"]):
        words.append(f"Wilcoxon p {p_value(wilcoxon['p'])} ({wilcoxon['method']})")
    if not metric["higher_is_better"]:
        words.append("lower is better")
    return "; ".join(words)


def remarks(pair: Mapping[str, Any]) -> Iterator[str]:
    """Mismatches that were allowed, metrics left out, items that only one run has scored."""
    yield from (f"note: {told}" for told in pair["notes"])
    for label, names in ((pair["a"], pair["left_out_a"]), (pair["b"], pair["left_out_b"])):
        if names:
            yield f"note: only {label} has {', '.join(names)}"
    for name, metric in pair["metrics"].items():
        for here, there, counts in (
            (pair["a"], pair["b"], metric["only_a"]),
            (pair["b"], pair["a"], metric["only_b"]),
        ):
            if counts:
                why = ", ".join(f"{count:,} {status}" for status, count in counts.items())
                yield f"{name}: {sum(counts.values()):,} scored only in {here} (in {there}: {why})"


def _run(run: Mapping[str, Any]) -> str:
    told = [f"{run['n']:,} item{'' if run['n'] == 1 else 's'}", run["task"], run["model"]]
    notes = "".join(f"\n   note: {notice}" for notice in run["notices"])
    return f"{run['label']}  {run['path']} ({', '.join(filter(None, told))}){notes}"


def _metrics(pair: Mapping[str, Any], level: float) -> str:
    a, b = pair["a"], pair["b"]
    head = ("metric", "items", a, b, f"{b} − {a}", f"{100 * level:.4g}% interval", "p", "Holm p")
    rows = [(*head, "won", "lost", "tied", "test")]
    for name, metric in pair["metrics"].items():
        r = metric["result"]
        ci = f"{signed(r['ci'][0])} … {signed(r['ci'][1])}" if r["ci"] else "–"
        rows.append(
            (
                name,
                f"{r['n']:,}",
                *(number(r["mean_a"]), number(r["mean_b"]), signed(r["difference"]), ci),
                *(p_value(r["p"]), p_value(metric["p_holm"])),
                *(f"{count:,}" for count in (metric["won"], metric["lost"], r["tied"])),
                test_words(metric),
            )
        )
    return table(rows)


def _effects(pair: Mapping[str, Any]) -> str:
    names = shown_effects(pair)
    rows = [("effect size", *(EFFECTS[name].format(**pair) for name in names), "")]
    rows += [
        (
            of_metric(metric, found),
            *(effect_words(name, found["sizes"]["effects"][name]) for name in names),
            "",
        )
        for metric, found in with_sizes(pair).items()
    ]
    return table(rows)


def _planning(pair: Mapping[str, Any], comparison: Mapping[str, Any]) -> str:
    found = {name: planning_words(metric) for name, metric in with_sizes(pair).items()}
    width = max(map(len, found))
    lines = [f"  {name:<{width}}  {words}" for name, words in found.items()]
    return "\n".join([planning_heading(comparison), *lines])


def _changes(pair: Mapping[str, Any], paths: Mapping[str, str]) -> Iterator[str]:
    """Items of every 0/1 metric that flipped; without such a metric, those of the first one."""
    metrics = pair["metrics"]
    chosen = [name for name, metric in metrics.items() if metric["result"]["mcnemar"]]
    for name in chosen or list(metrics)[:1]:
        metric = metrics[name]
        for word, total in (("lost", metric["lost"]), ("won", metric["won"])):
            shown = metric[f"changes_{word}"]
            if not shown:
                continue
            how = "" if len(shown) == total else f", {len(shown):,} shown"
            lines = [f"{name}: {total:,} {word} by {pair['b']}{how}"]
            lines += [line for change in shown for line in _change(change, pair, paths)]
            yield "\n".join(lines)


def _change(
    change: Mapping[str, Any], pair: Mapping[str, Any], paths: Mapping[str, str]
) -> Iterator[str]:
    scores = f"{change['score_a']:.4g} → {change['score_b']:.4g}"
    yield f"  {shorten(change['id'])}  {scores}"
    texts = (("?", "question"), (pair["a"], "response_a"), (pair["b"], "response_b"))
    for label, field in texts:
        if change[field] is not None:
            yield f"    {label}  {shorten(' '.join(change[field].split()), _TEXT)}"
    links = [
        f"{paths[label]}/{link}"
        for label, link in ((pair["a"], change["link_a"]), (pair["b"], change["link_b"]))
        if link
    ]
    if links:
        yield f"    →  {'  '.join(links)}"
