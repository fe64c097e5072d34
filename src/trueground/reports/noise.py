"""How far a score depends on chance and on wording: repeated answers, and runs of other prompts.

As text for a terminal and as blocks of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import nlargest
from pathlib import Path
from textwrap import fill
from typing import Any

import msgspec

from trueground.reports.blocks import (
    Block,
    Cell,
    Estimate,
    Fold,
    Head,
    Part,
    Row,
    Table,
    Text,
    code,
)
from trueground.reports.text import format_table
from trueground.runs.directory import REPEATS
from trueground.text.wording import number, p_value, several, shown_name

_WIDTH = 110  # characters of a sentence's line on the terminal
UNSTEADY = 10  # questions named on the page
_P = 0.05
Study = Mapping[str, Any]


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
        row: list[Cell] = [[code(name)], entry["mean"], *ends, (entry["sd"] or {}).get("mean")]
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


def draw_noise(
    summary: Mapping[str, Any], manifest: Mapping[str, Any], run_dir: Path, headline: str | None
) -> list[Block]:
    """What the page of a run shows of repeats; nothing where nothing was asked twice."""
    repeats = summary.get("repeats")
    if not repeats:
        return []
    own = (manifest.get("benchmark") or {}).get("headline")
    metric = own if own in repeats["metrics"] else headline
    title = f"{_title(repeats)}: how much of what is measured changes when nothing but the answer "
    blocks: list[Block] = [
        Text(f"{title}does."),
        *map(Text, _sentences(repeats, metric, manifest)),
        _tabulate(repeats),
        Text(
            "Means are over questions of the means over their answers. The interval holds for "
            "other questions and other answers; “one answer each” is how wide it would be had each "
            "question been answered once. “sd in a question” is the standard deviation over the "
            "answers to one question, averaged; “noise” the share of the mean's variance that "
            "comes from asking again. A question flips where its answers differ in the verdict: "
            "any change of a metric that is 0 or 1, a change of side at 0.5 of any other; more "
            "answers find more flips. “two differ” is the chance that two answers to one question "
            "do, however many were asked for. Noise of the judge is not in these numbers: the same "
            "answer gets the same verdict.",
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


def format_noise(repeats: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """The same for a terminal."""
    sentences = _sentences(repeats, next(iter(repeats["metrics"]), None), manifest)
    lines = [_title(repeats), format_table(_tabulate(repeats))]
    return "\n".join([*lines, *(fill(one, _WIDTH) for one in sentences)])


def tabulate_judges(entries: Iterable[Mapping[str, Any]]) -> Table:
    """How far the judges of a run agree, a line for each pair and kind of check."""
    names = ("of", "n", "agreement", "kappa")
    rows = [Row([" / ".join(one["judges"]), *(one[name] for name in names)]) for one in entries]
    columns = [Head("judges"), Head("of", "number"), Head("verdicts", "number")]
    columns += [Head(name, "number", digits=4) for name in ("agreement", "kappa")]
    return Table(columns, rows)


# ---- runs that differ in their prompts only ----


def _prompts_title(study: Study) -> str:
    """Who was asked what, and with how many prompts."""
    return (
        f"{shown_name(str(study['model']))} on {study['task']}, {len(study['prompts'])} prompts, "
        f"{study['questions']:,} questions"
    )


def _headline(study: Study) -> str | None:
    """The metric by which models are ranked, where it has values; else the first that has."""
    metrics = study["metrics"]
    known = [name for name in (study["headline"], *metrics) if name in metrics]
    return next((name for name in known if metrics[name]["means"]), None)


def _names(study: Study) -> list[str]:
    return [str(prompt["name"]) for prompt in study["prompts"]]


def _prompts_sentences(study: Study) -> list[str]:
    """What to take from it, by the headline metric."""
    name = _headline(study)
    if name is None:
        return ["No question has a value with every prompt."]
    entry, names = study["metrics"][name], _names(study)
    best, worst = (names[entry["means"].index(entry[end])] for end in ("max", "min"))
    said = f"{name}: the means span {number(entry['range'])}, from the prompt with the highest "
    said += f"({best}) to that with the lowest ({worst}); standard deviation {number(entry['sd'])}"
    said += f", without what chance adds {number(entry['sd_beyond_chance'])}."
    if not entry["range"]:
        said = f"{name}: the mean is the same with every prompt."
    told = [said]
    if flips := entry["flips"]:
        by_chance = (
            ". How many would change if the same prompt were asked again is not known; --repeats "
            "tells."
        )
        if flips["two_differ_same"] is not None:
            by_chance = ". Two answers to a question differ with probability "
            by_chance += f"{flips['two_differ']:.0%} under two prompts, and "
            by_chance += f"{flips['two_differ_same']:.0%} under one and the same."
        told.append(
            f"{flips['flipped']:,} of {flips['questions']:,} questions "
            f"({flips['rate']:.0%}) change their verdict from prompt to prompt{by_chance}"
        )
    known = [d for d in entry["differences"] if d["p_holm"] is not None]
    beyond = [str(d["prompt"]) for d in known if d["p_holm"] < _P]
    who = (", ".join(beyond) or "no prompt") + (" differ" if len(beyond) > 1 else " differs")
    told.append(f"By more than chance (Holm p below {_P}), {who} from {names[0]}.")
    return told


def _tabulate_prompts(study: Study) -> Table:
    """For each metric the means, their range and standard deviation, and flips."""
    names = [*_names(study), "range", "sd", "flips"]
    rows = []
    for name, entry in study["metrics"].items():
        if entry["means"] is not None:
            flips = entry["flips"]
            some = f"{flips['flipped']:,} of {flips['questions']:,}" if flips else None
            rows.append(Row([[code(name)], *entry["means"], entry["range"], entry["sd"], some]))
    heads = (Head(shown_name(name, 24), "number", digits=4) for name in names)
    return Table([Head("prompts"), *heads], rows)


def render_prompts(study: Study) -> str:
    """The study for a terminal: means by prompt, spread, and differences from the first."""
    blocks = [_prompts_title(study), format_table(_tabulate_prompts(study))]
    return "\n".join([*blocks, *(fill(one, _WIDTH) for one in _prompts_sentences(study))])


def prompts_section(study: Study, place: int = 1) -> Part:
    """The study on the page: means by prompt, spread, and differences from the first."""
    blocks: list[Block] = [Text(f"{_prompts_title(study)}.", "lead")]
    blocks += [*map(Text, _prompts_sentences(study)), _tabulate_prompts(study)]
    if (name := _headline(study)) is not None and study["metrics"][name]["differences"]:
        blocks.append(_differences(study, name))
    told = ", ".join(str(prompt["run"]) for prompt in study["prompts"])
    blocks.append(
        Text(
            "All is over the questions that have a value with every prompt; repeated answers count "
            "by their mean. A question flips where its value is above 0.5 with one prompt and not "
            f"with another. Runs: {told}.",
            "quiet",
        )
    )
    return Part("Sensitivity to the prompt", blocks, id=f"prompts-{place}")


def _differences(study: Study, name: str) -> Table:
    """Each prompt against the first, on a scale with 0 in its middle."""
    found = study["metrics"][name]["differences"]
    ends = [abs(x) for d in found for x in (d["difference"], *(d["ci"] or ())) if x is not None]
    reach = max(ends, default=0.0) or 1.0
    label = f"Difference, {study['ci_level']:.0%} interval"
    head = [Head("Prompt"), Head(label, "estimate", low=-reach, high=reach)]
    lines = []
    for d in found:
        counts = f"{d['higher']:,} up, {d['lower']:,} down"
        difference = Estimate(d["difference"], *(d["ci"] or ()))
        lines.append(Row([str(d["prompt"]), difference, p_value(d["p_holm"]), counts]))
    caption = f"{name} against {_names(study)[0]}, question by question"
    return Table([*head, Head("Holm p"), Head("Questions")], lines, caption)
