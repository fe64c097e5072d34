"""The summary as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.metrics.grounding import ANSWER_VERDICTS
from trueground.reports import noise
from trueground.reports.answers import STATUS_WORDS
from trueground.reports.blocks import number
from trueground.reports.manifest import DATASET, REPEAT, notices, refusal_rules
from trueground.reports.text import one_line, percent, shown_name, table
from trueground.runs.directory import REPORT
from trueground.types import Status

_MOST_VALUES = 6
_NONE = "(none)"  # the value of items that lack a field (evaluate.scorer)


def render(
    summary: Mapping[str, Any], path: Path | None, manifest: Mapping[str, Any] | None = None
) -> str:
    """Headline table, breakdowns, abstention, and where the page lies."""
    level = next((m["ci_level"] for m in summary["metrics"].values()), 0.95)
    repeats = _repeats_of(summary)
    head = ("metric", "mean", f"{level:.0%} interval", *_repeats(repeats), "scored", "not scored")
    rows = (metric_row(k, m, repeats and repeats[k]) for k, m in summary["metrics"].items())
    blocks = [count_items(summary), table([head, *rows])]
    blocks += [*extras(summary, manifest), *breakdowns(summary), abstention(summary)]
    if path is not None:
        blocks.append(f"page   {path / REPORT}\nfiles  {path}/")
    return "\n\n".join(blocks)


def count_items(summary: Mapping[str, Any]) -> str:
    """How many items, and what is to know of them."""
    n = summary["n"]
    return f"{n:,} item{'' if n == 1 else 's'}{_side_notes(summary)}"


def extras(summary: Mapping[str, Any], manifest: Mapping[str, Any] | None = None) -> list[str]:
    """What repeated answers and several judges have beside the metrics."""
    blocks = []
    if summary.get("repeats"):
        blocks.append(noise.format_noise(summary["repeats"], manifest or {}))
    if summary.get("judge_agreement"):
        blocks.append(_agreement(summary["judge_agreement"]))
    return blocks


def breakdowns(summary: Mapping[str, Any], keys: Sequence[str] | None = None) -> list[str]:
    """A table for each field; of these metrics, or of all."""
    repeats = _repeats_of(summary)
    return [
        _breakdown(field, by, summary["averages"][field], keys)
        for field, by in summary["by"].items()
        if by.keys() != {_NONE}  # no item has the field
        and not (repeats and field == REPEAT)  # stands in the first table
    ]


def _repeats_of(summary: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The averages over repeats, where questions were asked several times."""
    averages: Mapping[str, Any] = summary["averages"]
    return averages[REPEAT] if len(summary["by"].get(REPEAT, ())) > 1 else None


def _agreement(entries: Sequence[Mapping[str, Any]]) -> str:
    """How far the judges agree, one line for each pair and kind of check."""
    rows = [("judges", "of", "verdicts", "agreement", "kappa", "")]
    rows += [
        (
            " / ".join(entry["judges"]),
            entry["of"],
            f"{entry['n']:,}",
            number(entry["agreement"]),
            number(entry["kappa"]),
            "",
        )
        for entry in entries
    ]
    return table(rows)


def render_run(summary: Mapping[str, Any], manifest: Mapping[str, Any], path: Path | None) -> str:
    """The same for the answers of a model, with how the calls went."""
    told = manifest["benchmark"]
    head = f"{shown_name(manifest['model']['name'])} on {told['name']}/{told['task']}"
    lines = [head, *(f"note: {notice}" for notice in notices(manifest)), _calls(manifest)]
    lines += [first] if (first := opening(summary)) else []
    lines += corrected_rates(summary)
    return "\n".join(lines) + f"\n\n{render(summary, path, manifest)}"


def _calls(manifest: Mapping[str, Any]) -> str:
    outcomes = manifest["outcomes"]
    lost = [f"{n:,} {kind}" for kind, n in outcomes.items() if n and kind != "answered"]
    noun = "call" if manifest["calls"] == 1 else "calls"
    parts = [f"{manifest['calls']:,} {noun}, {manifest['cache_hits']:,} from the cache"]
    tokens = manifest["tokens"]
    parts.append(f"{tokens['in']:,} tokens in, {tokens['out']:,} out")
    if manifest.get("cost"):
        parts.append(f"{manifest['cost']['usd']:,.4f} USD")
    if lost:
        parts.append("no whole answer: " + ", ".join(lost))
    return "; ".join(parts)


def headline(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry by which models are ranked: the average over datasets where there is one."""
    key = manifest["benchmark"]["headline"]
    averages = summary.get("averages", {}).get(DATASET, {})
    return dict(averages.get(key) or summary["metrics"][key])


Finished = tuple[str, Mapping[str, Any], Mapping[str, Any], Path]


def render_runs(runs: Sequence[Finished]) -> str:
    """One line for each of several runs, with the score by which models are ranked.

    A run is what its task is called here, its summary, its manifest, and where it lies.
    """
    averages = [(s["averages"].get(REPEAT), m["benchmark"]["headline"]) for _, s, m, _ in runs]
    spread = [found and found[key] for found, key in averages]
    repeated = any(spread)
    told = ("± sd over repeats",) * repeated
    rows: list[tuple[str, ...]]
    rows = [("model", "task", "score", "95% interval", *told, "scored", "of", "metric")]
    for (label, summary, manifest, _), over in zip(runs, spread, strict=True):
        entry = headline(summary, manifest)
        key = manifest["benchmark"]["headline"]
        ci = entry["ci"]
        rows.append(
            (
                shown_name(manifest["model"]["name"]),
                shown_name(label),
                number(entry["mean"]),
                f"{number(ci[0])} … {number(ci[1])}" if ci else "–",
                *((_spread(over) if over else "–",) * repeated),
                f"{summary['metrics'][key]['scored']:,}",
                f"{summary['n']:,}",
                key,
            )
        )
    width = max(len(row[1]) for row in rows)
    shown = table([(row[0], row[1].ljust(width), *row[2:]) for row in rows])
    noted = dict.fromkeys(notice for _, _, manifest, _ in runs for notice in notices(manifest))
    notes = "".join(f"\nnote: {notice}" for notice in noted)
    pages = "\n".join(f"page   {path / REPORT}" for *_, path in runs)
    return f"{shown}{notes}\n\n{pages}"


def render_estimates(rows: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    """What runs would cost: one line each, and the sum."""
    head = ("model", "task", "items", "answered", "cached", "calls", "tokens in", "out", "USD", "")
    lines: list[tuple[str, ...]] = [head]
    for model, task, e in rows:
        counts = [e[k] for k in ("items", "answered", "cached", "calls", "tokens_in", "tokens_out")]
        usd = "–" if e["usd"] is None else f"{e['usd']:,.4f}"
        lines.append((shown_name(model), shown_name(task), *(f"{c:,}" for c in counts), usd, ""))
    total = [sum(e["usd"] or 0.0 for _, _, e in rows)] if rows[0][2]["usd"] is not None else []
    width = max(len(line[1]) for line in lines)
    shown = table([(line[0], line[1].ljust(width), *line[2:]) for line in lines])
    tail = [f"{value:,.4f} US dollars in all" for value in total]
    bounded = all(e["bounded"] for _, _, e in rows)
    tail.append(
        "estimates: 4 characters a token in; out "
        + ("at most, as --max-tokens allows" if bounded else "64 a call, since no --max-tokens")
    )
    if any(e["judged"] for _, _, e in rows):
        tail.append(
            "without the calls of judges, decomposer and rater, which depend on the answers"
        )
    return "\n".join([shown, "", *tail, "nothing was called, nothing written"])


def has_verdicts(summary: Mapping[str, Any]) -> bool:
    """Whether any answer could be judged."""
    verdicts = summary.get("verdicts") or {}
    return bool(verdicts) and verdicts["unscored"]["n"] < verdicts["n"]


def opening(summary: Mapping[str, Any]) -> str:
    """How many answers are grounded, by people where they labelled some and by the judge, or why
    no answer has a verdict; empty where none was asked for.
    """
    verdicts, missing = summary.get("verdicts"), summary.get("missing") or ""
    if has_verdicts(summary):
        found = grounded_to_people(summary)
        if found is None:
            return verdict_sentence(summary["verdicts"])
        alone = _shares(summary["verdicts"], "grounded")
        return f"{_rate_sentence(*found, summary)} The judge alone calls {alone}."
    if not verdicts:
        told = "contexts" in missing  # else nobody asked whether the answers are grounded
        return f"{missing[0].upper()}{missing[1:]}" if told else ""
    n, why = verdicts["n"], verdicts.get("why_unscored") or {}
    if why.keys() == {Status.NO_CLAIMS}:
        empty = summary["empty_responses"]
        said = " All are empty." if empty == n else f" {empty:,} of {n:,} are empty." * bool(empty)
        return f"No answer had anything to check, so none is called grounded or not.{said}"
    return f"None of {n:,} answers could be judged: {missing or _count_statuses(why)}"


def _count_statuses(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {STATUS_WORDS[Status(name)]}" for name, count in counts.items())


def verdict_sentence(verdicts: Mapping[str, Any]) -> str:
    """`Of 2,000 answers 62 % are grounded, 23 % partly, 9 % not, 6 % declined.`"""
    n, shares = verdicts["n"], _shares(verdicts, "are grounded")
    return f"Of {n:,} answer{'' if n == 1 else 's'} {shares}."


def _shares(verdicts: Mapping[str, Any], first: str) -> str:
    share = {name: percent(verdicts[name]["share"]) for name in ANSWER_VERDICTS}
    told = f"{share['grounded']} {first}"
    told += "".join(f", {share[name]} {name}" for name in ("partly", "not", "declined"))
    return told + (f" ({share['unscored']} unscored)" if verdicts["unscored"]["n"] else "")


PEOPLE_SAY = {"faithful": "grounded", "correct": "correct"}
# Of which metric the corrected rate is told, by the label; else of the first.
_FIRST_OF = {"faithful": ("support", "grounding_precision"), "correct": ("correct_support",)}


def first_of_labels(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Of the corrected metrics the one that is told, for each label."""
    keys = []
    for label in PEOPLE_SAY:
        own = [key for key, one in found.items() if one["label"] == label]
        keys += [next(key for key in (*_FIRST_OF[label], *own) if key in own)] if own else []
    return keys


def grounded_to_people(summary: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The metric by which, and the entry of, the rate of answers that people would call grounded;
    None where nobody labelled any.
    """
    found: Mapping[str, Mapping[str, Any]] = summary.get("corrected") or {}
    own = [key for key in first_of_labels(found) if found[key]["label"] == "faithful"]
    return (own[0], found[own[0]]) if own else None


def corrected_rates(summary: Mapping[str, Any]) -> list[str]:
    """What people would call these answers, by their labels of some, and on what of the judge's
    that rests: a sentence for each label. Where the opening has told the rate, only the rest.
    """
    found: Mapping[str, Mapping[str, Any]] = summary.get("corrected") or {}
    told = grounded_to_people(summary) if has_verdicts(summary) else None
    sentences = []
    for key in first_of_labels(found):
        one = found[key]
        said = [_rate_sentence(key, one, summary)] * (told is None or told[0] != key)
        if one["method"] != "exact" and one["drawn"] != "all":
            what = (
                "the mean of the judge's probabilities"
                if key in _PROBABILITIES
                else "the judge's mean"
            )
            said.append(f"The labels correct {what}, {percent(one['judge_mean'])} ({key}).")
        said += [f"Note: {note}." for note in one["notes"]]
        sentences += [" ".join(said)] * bool(said)
    return sentences


_PROBABILITIES = ("support", "correct_support")


def _rate_sentence(key: str, one: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """`People would call 33 % [26, 42] of 707 answers grounded (100 labels).`"""
    low, high = (f"{100 * end:.0f}" for end in one["ci"])
    said = f"People would call {percent(one['mean'])} [{low}, {high}]"
    labels = f"{one['labels']:,} labels"
    if one["method"] == "exact":
        labels += " alone, fewer than 10 of one kind"
    if one["drawn"] == "all":
        said, labels = f"People call {percent(one['mean'])}", "all labelled"
    if one["n"] < summary["n"]:
        lost = _count_statuses(summary["metrics"][key]["unscored"])
        labels += f"; left out of {summary['n']:,}: {lost}"
    noun = "answer" if one["n"] == 1 else "answers"
    return f"{said} of {one['n']:,} {noun} {PEOPLE_SAY[one['label']]} ({labels})."


def interval(ends: Sequence[float] | None) -> str:
    """The same of the two ends of an interval."""
    return "–" if ends is None else f"[{number(ends[0])}, {number(ends[1])}]"


def _side_notes(summary: Mapping[str, Any]) -> str:
    notes = []
    if summary.get("skipped"):
        count = summary["skipped"]
        notes.append(f"{count:,} bad row{'' if count == 1 else 's'} skipped")
    if summary["empty_responses"]:
        count = summary["empty_responses"]
        notes.append(f"{count:,} empty response{'' if count == 1 else 's'}")
    if summary["clusters"]:
        notes.append(f"{summary['clusters']:,} groups, resampled as clusters")
    return f" ({'; '.join(notes)})" if notes else ""


def _repeats(averages: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The head of the column of spreads, where questions were asked several times."""
    if averages is None:
        return ()
    return (f"± sd over {max(entry['of'] for entry in averages.values())} repeats",)


def _spread(entry: Mapping[str, Any]) -> str:
    """The standard deviation of the repeats' means, and of how many where not of all."""
    some = "" if entry["values"] == entry["of"] else f" ({entry['values']} of {entry['of']})"
    return number(entry["sd"]) + some


def metric_row(
    key: str, metric: Mapping[str, Any], repeats: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Its mean, interval, spread over repeats, how many were scored, and why others were not."""
    ci = metric["ci"]
    interval = f"{number(ci[0])} … {number(ci[1])}" if ci else "–"
    why = ", ".join(f"{count:,} {status}" for status, count in metric["unscored"].items())
    spread = () if repeats is None else (_spread(repeats),)
    return key, number(metric["mean"]), interval, *spread, f"{metric['scored']:,}", why


def _breakdown(
    field: str,
    values: Mapping[str, Any],
    averages: Mapping[str, Any],
    only: Sequence[str] | None = None,
) -> str:
    shown = list(values.items())[:_MOST_VALUES]
    keys = list(next(iter(values.values()), {})) if only is None else only
    head = ("by " + field, *(_shorten(name) for name, _ in shown), "average", "")
    rows = [(k, *(number(m[k]["mean"]) for _, m in shown), _average(averages[k]), "") for k in keys]
    counts = ("items", *(f"{next(iter(m.values()))['n']:,}" for _, m in shown), "", "")
    more = len(values) - len(shown)
    tail = f"\n… and {more} more values, in summary.json" if more else ""
    for key in keys:
        over, of = averages[key]["values"], averages[key]["of"]
        if 0 < over < of:
            tail += (
                f"\n{key}: the average is over {over} of {of} values, nothing was scored in others"
            )
    return table([head, counts, *rows]) + tail


def _average(entry: Mapping[str, Any]) -> str:
    """The average over the values, and their standard deviation."""
    sd = entry.get("sd")
    return number(entry["mean"]) + (f" ± {number(sd)}" if sd is not None else "")


def _shorten(name: str, most: int = 16) -> str:
    name = one_line(name)
    return name if len(name) <= most else name[: most - 1] + "…"


def abstention(summary: Mapping[str, Any]) -> str:
    """The rate, and the counts where records say what can be answered."""
    rate = summary["abstention_rate"]
    text = f"abstention rate {number(rate)}"
    found = summary["abstention"]
    if found is None:
        return text
    counts = found["confusion"]
    rows = [
        ("", "abstained", "answered", ""),
        *(
            (f"  {kind}", f"{c['abstained']:,}", f"{c['answered']:,}", "")
            for kind, c in counts.items()
        ),
    ]
    rates = f"p_ir {number(found['p_ir'])}, p_g {number(found['p_g'])}"
    return "\n".join(filter(None, (f"{text}; {rates}", table(rows), refusal_rules(summary))))
