"""How much a score varies between repeated answers to the same questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from pathlib import Path
from typing import Any

import msgspec

from trueground.reports.blocks import Block, Cell, Fold, Head, Row, Span, Table, Text
from trueground.runs import RunFiles
from trueground.text import several

MAX_UNSTEADY_QUESTIONS = 10


def _tabulate(repeats: Mapping[str, Any]) -> Table:
    """Return a row for each metric with a mean."""
    level = f"{repeats['ci_level']:.0%} interval"
    names = ("mean", level, "one answer each", "sd in a question", "noise", "flips", "two differ")
    columns = [Head("metric"), *(Head(name, "number", digits=4) for name in names)]
    for share in (columns[5], columns[7]):
        share.digits, share.percent = 0, True
    rows = []
    for name, entry in repeats["metrics"].items():
        flips = entry["flips"] or {}
        if entry["mean"] is None:
            continue
        flipped = f"{flips['flipped']:,} of {flips['questions']:,}" if flips else None
        intervals = [_format_interval(entry[key]) for key in ("ci", "ci_one")]
        deviation = (entry["sd"] or {}).get("mean")
        row: list[Cell] = [[Span.code(name)], entry["mean"], *intervals, deviation]
        row += [entry["share"], flipped, flips.get("two_differ")]
        rows.append(Row(row))
    return Table(columns, rows)


def _format_interval(interval: Sequence[float] | None) -> str | None:
    return " … ".join(f"{end:.4f}" for end in interval) if interval else None


def _title(repeats: Mapping[str, Any]) -> str:
    """Return how many answers each question has; `up to` if some questions have fewer."""
    upto = "" if repeats["answers"] == repeats["most"] * repeats["questions"] else "up to "
    return f"{upto}{repeats['most']} answers to each of {several(repeats['questions'], 'question')}"


def _sentences(
    repeats: Mapping[str, Any], metric: str | None, manifest: Mapping[str, Any]
) -> list[str]:
    """Return sentences about equal answers, missing answers, and the use of more answers.

    Args:
        repeats: The repeats of a summary.
        metric: The metric to describe. If it has no values, the first metric that has some.
        manifest: The manifest of the run; empty if it is unknown.
    """
    sentences = [_sameness(repeats, manifest)] if repeats["several"] else []
    n_incomplete = repeats["incomplete"]
    if n_incomplete:
        lack, them = ("lacks", "it") if n_incomplete == 1 else ("lack", "them")
        sentences.append(
            f"{several(n_incomplete, 'question')} {lack} one or more complete answers (failed or "
            f"cut off); the others are counted. {RunFiles.REPEATS_NAME} names {them}."
        )
    entries = repeats["metrics"]
    named = [name for name in (metric, *entries) if name in entries and entries[name]["errors"]]
    if not named:
        return sentences
    name, most, entry = named[0], repeats["most"], entries[named[0]]
    errors, share = entry["errors"], entry["share"]
    if not errors["noise"]:
        return [*sentences, f"{name}: all answers to the same question have the same value."]
    noise_share = "–" if share is None else f"{share:.0%}"
    text = (
        f"{name}: the standard error of the mean is {errors['now']:.4f}; the model's noise alone "
        f"makes {errors['noise']:.4f} of it ({noise_share} of the variance). To halve the noise, "
        f"you need four times as many answers: {4 * most} to each question. "
    )
    if not errors["endless"]:
        text += "The questions don't differ by more than the noise explains."
        return [*sentences, text]
    text += (
        f"With infinitely many answers, the error would be {errors['endless']:.4f}, and only more "
        "questions would reduce it further. With one answer to each question, it would be "
        f"{errors['one']:.4f}."
    )
    return [*sentences, text]


def _sameness(repeats: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """Return how many questions always got the same answer, and what that means."""
    n_repeated, n_same = repeats["several"], repeats["same_answer"]
    params = manifest.get("params")
    is_temperature_0 = isinstance(params, Mapping) and params.get("temperature") == 0
    if n_same < n_repeated:
        text = (
            f"{n_same:,} of {n_repeated:,} questions got the same answer each time, word for word."
        )
        if is_temperature_0:
            text += " Temperature 0 doesn't make this model deterministic."
        return text
    text = "Every question got the same answer each time, word for word"
    if manifest.get("kind") != "run":
        return f"{text}. If each answer was requested separately, the model is deterministic."
    condition = " at temperature 0" if is_temperature_0 else ""
    return (
        f"{text}. With these settings the model is deterministic{condition}, so there is no noise "
        "to measure. The response cache keeps repeats separate, so no answer was reused. (A "
        "`replay:` file without ids of repeats gives the same answer to each repeat.) With another "
        "temperature or another wording, the answers may differ."
    )


def _unsteady(run: Path, metric: str | None) -> list[Row]:
    """Return the questions with the largest spread: id, mean, standard deviation, answers."""
    path = RunFiles(run).repeats
    if metric is None or not path.exists():
        return []
    with path.open("rb") as lines:
        pairs = ((line, line["scores"].get(metric)) for line in map(msgspec.json.decode, lines))
        spread = ((s["sd"], line["id"], s) for line, s in pairs if s and s["sd"])
        largest = nlargest(MAX_UNSTEADY_QUESTIONS, spread, key=lambda entry: entry[0])
    return [Row([name, s["mean"], sd, s["scored"]]) for sd, name, s in largest]


def show_noise(
    summary: Mapping[str, Any],
    manifest: Mapping[str, Any],
    run_dir: Path | None,
    headline: str | None,
) -> list[Block]:
    """Return how much of a run is noise; nothing if no question was asked twice."""
    repeats = summary.get("repeats")
    if not repeats:
        return []
    task_metric = (manifest.get("benchmark") or {}).get("headline")
    metric = task_metric if task_metric in repeats["metrics"] else headline
    blocks: list[Block] = [
        Text(f"{_title(repeats)}: only the answers differ, everything else is the same."),
        *map(Text, _sentences(repeats, metric, manifest)),
        _tabulate(repeats),
        Text("How to read these numbers: docs/noise.md.", "quiet"),
    ]
    rows = [] if run_dir is None else _unsteady(run_dir, metric)
    if rows:
        columns = [Head("Question", "code"), Head("Answers scored", "number")]
        columns[1:1] = [Head(name, "number", digits=4) for name in ("Mean", "Standard deviation")]
        least: list[Block] = [
            Table(columns, rows),
            Text("repeats.jsonl has all questions; their answers are in the list above.", "quiet"),
        ]
        blocks.append(Fold(["Least steady questions by ", Span.code(metric or "")], least))
    return [Fold("Noise: the same question asked again", blocks)]


def tabulate_judges(entries: Iterable[Mapping[str, Any]]) -> Table:
    """Return the agreement of the judges of a run, a row for each pair and kind of check."""
    rows = []
    for entry in entries:
        values = [entry[name] for name in ("of", "n", "agreement", "kappa")]
        rows.append(Row([" / ".join(entry["judges"]), *values]))
    columns = [Head("judges"), Head("of", "number"), Head("verdicts", "number")]
    columns += [Head(name, "number", digits=4) for name in ("agreement", "kappa")]
    return Table(columns, rows)
