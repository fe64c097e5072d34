"""Runs that differ in their prompts only: how far the score depends on the wording."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import Any

from trueground.reports.blocks import Block, Estimate, Head, Part, Row, Table, Text, number
from trueground.reports.comparison import p_value
from trueground.reports.terminal import shown_name
from trueground.reports.text import table

_P = 0.05
_WIDTH = 110  # characters of a sentence's line on the terminal
Study = Mapping[str, Any]


def _title(study: Study) -> str:
    """Who was asked what, and with how many prompts."""
    return (
        f"{shown_name(str(study['model']))} on {study['task']}, {len(study['prompts'])} prompts, "
        f"{study['questions']:,} questions"
    )


def _sentences(study: Study) -> list[str]:
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
        told.append(
            f"{flips['flipped']:,} of {flips['questions']:,} questions "
            f"({flips['rate']:.0%}) change their verdict from prompt to prompt{_by_chance(flips)}"
        )
    known = [d for d in entry["differences"] if d["p_holm"] is not None]
    beyond = [str(d["prompt"]) for d in known if d["p_holm"] < _P]
    who = (", ".join(beyond) or "no prompt") + (" differ" if len(beyond) > 1 else " differs")
    told.append(f"By more than chance (Holm p below {_P}), {who} from {names[0]}.")
    return told


def _by_chance(flips: Mapping[str, Any]) -> str:
    """How much of the flipping is the model's own noise, where that is known."""
    if flips["two_differ_same"] is None:
        return (
            ". How many would change if the same prompt were asked again is not known; --repeats "
            "tells."
        )
    return (
        f". Two answers to a question differ with probability {flips['two_differ']:.0%} under two "
        f"prompts, and {flips['two_differ_same']:.0%} under one and the same."
    )


def _headline(study: Study) -> str | None:
    """The metric by which models are ranked, where it has values; else the first that has."""
    metrics = study["metrics"]
    known = [name for name in (study["headline"], *metrics) if name in metrics]
    return next((name for name in known if metrics[name]["means"]), None)


def render_prompts(study: Study) -> str:
    """The study for a terminal: means by prompt, spread, and differences from the first."""
    names = _names(study)
    head = ("prompts", *(shown_name(name, 24) for name in names), "range", "sd", "flips", "")
    lines = [(*row, "") for row in _rows(study)]
    blocks = [_title(study), table([head, *lines])]
    blocks += [fill(sentence, _WIDTH) for sentence in _sentences(study)]
    return "\n".join(blocks)


def _rows(study: Study) -> list[tuple[str, ...]]:
    """For each metric the means, their range and standard deviation, and flips."""
    found = []
    for name, entry in study["metrics"].items():
        if entry["means"] is None:
            continue
        flips = entry["flips"]
        told = f"{flips['flipped']:,} of {flips['questions']:,}" if flips else "–"
        means = map(number, entry["means"])
        found.append((name, *means, number(entry["range"]), number(entry["sd"]), told))
    return found


def prompts_section(study: Study, place: int = 1) -> Part:
    """The study on the page: means by prompt, spread, and differences from the first."""
    names = _names(study)
    head = [Head("Metric", "code"), *(Head(name) for name in names)]
    head += [Head(label) for label in ("Range", "sd", "Questions that flip")]
    blocks: list[Block] = [Text(f"{_title(study)}.", "lead"), *map(Text, _sentences(study))]
    blocks.append(Table(head, [Row(list(row)) for row in _rows(study)]))
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
    head = [
        Head("Prompt"),
        Head(f"Difference, {study['ci_level']:.0%} interval", "estimate", low=-reach, high=reach),
        Head("Holm p"),
        Head("Questions"),
    ]
    lines = [
        Row(
            [
                str(d["prompt"]),
                Estimate(d["difference"], *(d["ci"] or (None, None))),
                p_value(d["p_holm"]),
                f"{d['higher']:,} up, {d['lower']:,} down",
            ]
        )
        for d in found
    ]
    caption = f"{name} against {_names(study)[0]}, question by question"
    return Table(head, lines, caption)


def _names(study: Study) -> list[str]:
    return [str(prompt["name"]) for prompt in study["prompts"]]
