"""What repeated answers tell of the model's own noise, as text for a terminal and for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest
from pathlib import Path
from textwrap import fill
from typing import Any

import msgspec

from trueground.reports.blocks import (
    Block,
    Cell,
    Fold,
    Head,
    Row,
    Table,
    Text,
    code,
    several,
)
from trueground.reports.text import format_table
from trueground.runs.directory import REPEATS

_WIDTH = 110  # characters of a sentence's line on the terminal
UNSTEADY = 10  # questions named on the page


def _tabulate(repeats: Mapping[str, Any]) -> Table:
    """A line for each metric that has any value."""
    level = f"{repeats['ci_level']:.0%} interval"
    names = ("mean", level, "one answer each", "sd in a question", "noise", "flips", "two differ")
    columns = [Head("metric"), *(Head(name, "number", digits=4) for name in names)]
    for share in (columns[5], columns[7]):
        share.digits, share.percent = 0, True
    rows = []
    for name, entry in repeats["metrics"].items():
        flips = entry["flips"] or {}
        some = f"{flips['flipped']:,} of {flips['questions']:,}" if flips else None
        ends = [_interval(entry[key]) for key in ("ci", "ci_one")]
        row: list[Cell] = [[code(name)], entry["mean"], *ends, (entry["sd"] or {}).get("mean")]
        row += [entry["share"], some, flips.get("two_differ")]
        rows += [Row(row)] if entry["mean"] is not None else []
    return Table(columns, rows)


def _interval(ends: Sequence[float] | None) -> str | None:
    return " … ".join(f"{end:.4f}" for end in ends) if ends else None


def _title(repeats: Mapping[str, Any]) -> str:
    """How often was asked: `up to` where some questions have fewer answers."""
    upto = "" if repeats["answers"] == repeats["most"] * repeats["questions"] else "up to "
    return f"{upto}{repeats['most']} answers to each of {several(repeats['questions'], 'question')}"


def _sentences(
    repeats: Mapping[str, Any], metric: str | None, manifest: Mapping[str, Any]
) -> list[str]:
    """What a reader should know: sameness, gaps, and what more answers would bring.

    `metric` is the one told of; another one that has numbers stands in for it. `manifest` is that
    of the run, empty where it is not known.
    """
    told = _sameness(repeats, manifest)
    if lost := repeats["incomplete"]:
        lack, them = ("lacks", "it") if lost == 1 else ("lack", "them")
        told.append(
            f"{several(lost, 'question')} {lack} one or more whole answers (failed or cut off); "
            f"those that came are counted. {REPEATS} names {them}."
        )
    entries = repeats["metrics"]
    named = [name for name in (metric, *entries) if name in entries and entries[name]["errors"]]
    if named:
        told += _more(named[0], entries[named[0]], repeats["most"])
    return told


def _sameness(repeats: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[str]:
    several, same = repeats["several"], repeats["same_answer"]
    if not several:
        return []
    cold = _cold(manifest)
    if same < several:
        more = " Temperature 0 does not make this model deterministic." if cold else ""
        return [
            f"{same:,} of {several:,} questions got the same answer each time, word for word.{more}"
        ]
    said = "Every question got the same answer each time, word for word"
    if manifest.get("kind") != "run":
        return [f"{said}: if each was asked for by itself, the model is deterministic."]
    how = " at temperature 0" if cold else ""
    said += (
        f": asked like this{how}, the model is deterministic, and there is no noise to be seen. "
        "Our response cache keeps repeats apart, so none of them is another one shown again"
    )
    if str((manifest.get("model") or {}).get("name")).startswith("replay:"):
        said += "; but a file of replies that has no ids of repeats gives each the same"
    return [f"{said}. It tells nothing of another temperature or another wording."]


def _more(name: str, entry: Mapping[str, Any], most: int) -> list[str]:
    """Which part is noise, and what it would take to lessen it."""
    errors = entry["errors"]
    if not errors["noise"]:
        return [f"{name}: no answer's value differs from another's to the same question."]
    said = (
        f"{name}: the standard error of the mean is {errors['now']:.4f}; the model's noise alone "
        f"makes {errors['noise']:.4f} of it ({_percent(entry['share'])} of the variance). "
        f"Halving the noise takes four times as many answers, {4 * most} to each question. "
    )
    if not errors["endless"]:
        return [said + "The questions differ by no more than the noise explains."]
    said += (
        f"Endlessly many would leave {errors['endless']:.4f}, which only more questions lessen; "
        f"one answer to each question would give {errors['one']:.4f}."
    )
    return [said]


def _unsteady(run: Path, metric: str | None) -> list[Row]:
    """The questions whose values lie farthest apart: id, mean, standard deviation, answers."""
    path = run / REPEATS
    if metric is None or not path.exists():
        return []
    with path.open("rb") as lines:
        found = ((line, line["scores"].get(metric)) for line in map(msgspec.json.decode, lines))
        spread = ((s["sd"], line["id"], s) for line, s in found if s and s["sd"])
        largest = nlargest(UNSTEADY, spread, key=lambda one: one[0])
    return [Row([name, s["mean"], sd, s["scored"]]) for sd, name, s in largest]


def _cold(manifest: Mapping[str, Any]) -> bool | None:
    """Whether a model was asked at temperature 0; None where the run does not say."""
    params = manifest.get("params")
    temperature = params.get("temperature") if isinstance(params, Mapping) else None
    return None if temperature is None else temperature == 0


def draw_noise(
    summary: Mapping[str, Any], manifest: Mapping[str, Any], run_dir: Path, headline: str | None
) -> list[Block]:
    """What the page of a run shows of repeats; nothing where nothing was asked twice."""
    repeats = summary.get("repeats")
    if not repeats:
        return []
    own = (manifest.get("benchmark") or {}).get("headline")
    metric = own if own in repeats["metrics"] else headline
    rules = _verdict_rules(repeats)
    verdicts = f" ({rules})" if rules else ""
    blocks: list[Block] = [
        Text(
            f"{_title(repeats)}: how much of what is measured changes when nothing but the answer "
            "does."
        ),
        *(Text(sentence) for sentence in _sentences(repeats, metric, manifest)),
        _tabulate(repeats),
        Text(
            "Means are over questions of the means over their answers. The interval holds for "
            "other questions and other answers; “one answer each” is how wide it would be had each "
            "question been answered once. “sd in a question” is the standard deviation over the "
            "answers to one question, averaged; “noise” the share of the mean's variance that "
            "comes from asking again. A question flips where its answers differ in the verdict"
            f"{verdicts}; more answers find more flips. “two differ” is the chance that two "
            "answers to one question do, however many were asked for. Noise of the judge is not in "
            "these numbers: the same answer gets the same verdict.",
            "quiet",
        ),
    ]
    if rows := _unsteady(run_dir, metric):
        columns = [Head("Question", "code"), Head("Answers scored", "number")]
        columns[1:1] = [Head(name, "number", digits=4) for name in ("Mean", "Standard deviation")]
        where = "All questions stand in repeats.jsonl, their answers in the list above as id#1 and "
        least: list[Block] = [Table(columns, rows), Text(f"{where}so on.", "quiet")]
        blocks.append(Fold(["Least steady questions by ", code(metric or "")], least))
    return [Fold("Noise: the same question asked again", blocks)]


def _verdict_rules(repeats: Mapping[str, Any]) -> str:
    """By what an answer's verdict flips."""
    rules = {entry["verdicts"] for entry in repeats["metrics"].values()}
    told = ["any change of a metric that is 0 or 1"] * ("binary" in rules)
    told += ["a change of side at 0.5 of any other"] * ("0.5" in rules)
    return ", ".join(told)


def format_noise(repeats: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """The same for a terminal."""
    metric = next(iter(repeats["metrics"]), None)
    sentences = _sentences(repeats, metric, manifest)
    lines = [_title(repeats), format_table(_tabulate(repeats))]
    return "\n".join([*lines, *(fill(one, _WIDTH) for one in sentences)])


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
