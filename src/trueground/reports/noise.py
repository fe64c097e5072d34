"""How far a score depends on chance and on wording: repeated answers, and runs of other prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import nlargest
from pathlib import Path
from typing import Any

import msgspec

from trueground.reports.blocks import Block, Cell, Fold, Head, Row, Span, Table, Text
from trueground.runs import REPEATS
from trueground.text import several

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
        ends = [
            " … ".join(f"{end:.4f}" for end in entry[key]) if entry[key] else None
            for key in ("ci", "ci_one")
        ]
        row: list[Cell] = [[Span.code(name)], entry["mean"], *ends, (entry["sd"] or {}).get("mean")]
        row += [entry["share"], some, flips.get("two_differ")]
        rows += [Row(row)] if entry["mean"] is not None else []
    return Table(columns, rows)


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
    told = [_sameness(repeats, manifest)] if repeats["several"] else []
    if lost := repeats["incomplete"]:
        lack, them = ("lacks", "it") if lost == 1 else ("lack", "them")
        told.append(
            f"{several(lost, 'question')} {lack} one or more whole answers (failed or cut off); "
            f"those that came are counted. {REPEATS} names {them}."
        )
    entries = repeats["metrics"]
    named = [name for name in (metric, *entries) if name in entries and entries[name]["errors"]]
    if not named:
        return told
    name, most, entry = named[0], repeats["most"], entries[named[0]]
    errors, share = entry["errors"], entry["share"]
    if not errors["noise"]:
        return [*told, f"{name}: no answer's value differs from another's to the same question."]
    said = (
        f"{name}: the standard error of the mean is {errors['now']:.4f}; the model's noise alone "
        f"makes {errors['noise']:.4f} of it ({'–' if share is None else f'{share:.0%}'} of the "
        f"variance). Halving the noise takes four times as many answers, {4 * most} to each "
        "question. "
    )
    if not errors["endless"]:
        return [*told, said + "The questions differ by no more than the noise explains."]
    said += (
        f"Endlessly many would leave {errors['endless']:.4f}, which only more questions lessen; "
        f"one answer to each question would give {errors['one']:.4f}."
    )
    return [*told, said]


def _sameness(repeats: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    asked, same = repeats["several"], repeats["same_answer"]
    params = manifest.get("params")
    cold = isinstance(params, Mapping) and params.get("temperature") == 0
    if same < asked:
        more = " Temperature 0 does not make this model deterministic." if cold else ""
        return (
            f"{same:,} of {asked:,} questions got the same answer each time, word for word.{more}"
        )
    said = "Every question got the same answer each time, word for word"
    if manifest.get("kind") != "run":
        return f"{said}: if each was asked for by itself, the model is deterministic."
    how = " at temperature 0" if cold else ""
    return (
        f"{said}: asked like this{how}, the model is deterministic, and there is no noise to be "
        "seen. Our response cache keeps repeats apart, so none of them is another one shown again "
        "(but a `replay:` file without ids of repeats gives each the same). It tells nothing of "
        "another temperature or another wording."
    )


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
    own = (manifest.get("benchmark") or {}).get("headline")
    metric = own if own in repeats["metrics"] else headline
    blocks: list[Block] = [
        Text(f"{_title(repeats)}: what changes if nothing but the answer does."),
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
    """How far the judges of a run agree, a line for each pair and kind of check."""
    names = ("of", "n", "agreement", "kappa")
    rows = [Row([" / ".join(one["judges"]), *(one[name] for name in names)]) for one in entries]
    columns = [Head("judges"), Head("of", "number"), Head("verdicts", "number")]
    columns += [Head(name, "number", digits=4) for name in ("agreement", "kappa")]
    return Table(columns, rows)
