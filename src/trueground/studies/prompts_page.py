"""Runs that differ in their prompts only, as blocks: how far a score depends on wording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.reports import Block, Estimate, Head, Only, Part, Row, Span, Table, Text
from trueground.studies.wording import p_value
from trueground.text import number, one_line

_P = 0.05
Study = Mapping[str, Any]


def _prompts_title(study: Study) -> str:
    """Who was asked what, and with how many prompts."""
    return (
        f"{one_line(str(study['model']), 60)} on {study['task']}, {len(study['prompts'])} prompts, "
        f"{study['questions']:,} questions"
    )


def _headline(study: Study) -> str | None:
    """The metric by which models are ranked, where it has values; else the first that has."""
    metrics = study["metrics"]
    names = [name for name in (study["headline"], *metrics) if name in metrics]
    return next((name for name in names if metrics[name]["means"]), None)


def _names(study: Study) -> list[str]:
    return [str(prompt["name"]) for prompt in study["prompts"]]


def _prompts_sentences(study: Study) -> list[str]:
    """What to take from it, by the headline metric."""
    name = _headline(study)
    if name is None:
        return ["No question has a value with every prompt."]
    entry, names = study["metrics"][name], _names(study)
    best, worst = (names[entry["means"].index(entry[end])] for end in ("max", "min"))
    spread = (
        f"{name}: the means span {number(entry['range'])}, from the prompt with the highest "
        f"({best}) to that with the lowest ({worst}); standard deviation {number(entry['sd'])}"
        f", without what chance adds {number(entry['sd_beyond_chance'])}."
    )
    if not entry["range"]:
        spread = f"{name}: the mean is the same with every prompt."
    sentences = [spread]
    if flips := entry["flips"]:
        by_chance = (
            ". How many would change with the same prompt is unknown; --repeats measures it."
        )
        if flips["two_differ_same"] is not None:
            by_chance = ". Two answers to a question differ with probability "
            by_chance += f"{flips['two_differ']:.0%} under two prompts, and "
            by_chance += f"{flips['two_differ_same']:.0%} under one and the same."
        sentences.append(
            f"{flips['flipped']:,} of {flips['questions']:,} questions "
            f"({flips['rate']:.0%}) change their verdict from prompt to prompt{by_chance}"
        )
    tested = [d for d in entry["differences"] if d["p_holm"] is not None]
    beyond = [str(d["prompt"]) for d in tested if d["p_holm"] < _P]
    who = (", ".join(beyond) or "no prompt") + (" differ" if len(beyond) > 1 else " differs")
    sentences.append(f"By more than chance (Holm p below {_P}), {who} from {names[0]}.")
    return sentences


def _tabulate_prompts(study: Study) -> Table:
    """For each metric the means, their range and standard deviation, and flips."""
    names = [*_names(study), "range", "sd", "flips"]
    rows = []
    for name, entry in study["metrics"].items():
        if entry["means"] is not None:
            flips = entry["flips"]
            some = f"{flips['flipped']:,} of {flips['questions']:,}" if flips else None
            rows.append(
                Row([[Span.code(name)], *entry["means"], entry["range"], entry["sd"], some])
            )
    heads = (Head(one_line(name, 24), "number", digits=4) for name in names)
    return Table([Head("prompts"), *heads], rows)


def prompts_section(study: Study, number: int = 1) -> Part:
    """Return the study: means by prompt, spread, and differences from the first."""
    blocks: list[Block] = [
        Text(f"{_prompts_title(study)}.", "lead"),
        *map(Text, _prompts_sentences(study)),
        _tabulate_prompts(study),
    ]
    if (name := _headline(study)) is not None and study["metrics"][name]["differences"]:
        blocks.append(_differences(study, name))
    runs = ", ".join(str(prompt["run"]) for prompt in study["prompts"])
    note = f"Runs: {runs}. How to read these numbers: docs/noise.md."
    blocks.append(Only("page", [Text(note, "quiet")]))
    return Part("Sensitivity to the prompt", blocks, id=f"prompts-{number}")


def _differences(study: Study, name: str) -> Table:
    """Each prompt against the first, on a scale with 0 in its middle."""
    differences = study["metrics"][name]["differences"]
    reach = 0.0
    for entry in differences:
        for end in (entry["difference"], *(entry["ci"] or ())):
            reach = max(reach, abs(end or 0.0))
    reach = reach or 1.0
    label = f"Difference, {study['ci_level']:.0%} interval"
    head = [Head("Prompt"), Head(label, "estimate", low=-reach, high=reach)]
    lines = []
    for entry in differences:
        counts = f"{entry['higher']:,} up, {entry['lower']:,} down"
        difference = Estimate(entry["difference"], *(entry["ci"] or ()))
        lines.append(Row([str(entry["prompt"]), difference, p_value(entry["p_holm"]), counts]))
    caption = f"{name} against {_names(study)[0]}, question by question"
    return Table([*head, Head("Holm p"), Head("Questions")], lines, caption)
