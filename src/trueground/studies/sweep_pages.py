"""The runs of a sweep as blocks, and what they would cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trueground.reports import Block, Head, Page, Row, RunReport, Table, Text
from trueground.runs import RunFiles, Summary
from trueground.studies.leaderboard.runs import DATASET
from trueground.studies.prompts_page import prompts_section
from trueground.text import NO_VALUE, number, one_line

_MAX_NAME = 52  # characters of a model, so that a task fits next to it
# What its task is called here, its summary, its manifest, and its folder.
Finished = tuple[str, Mapping[str, Any], Mapping[str, Any], Path]


def sweep_page(runs: Sequence[Finished], prompts: Sequence[Mapping[str, Any]] = ()) -> Page:
    """Return a row for each run, with the score by which models are ranked."""
    has_repeats = any(summary["averages"].get(Summary.REPEAT_FIELD) for _, summary, _, _ in runs)
    columns = [Head("model"), Head("task"), Head("score", "number"), Head("95% interval", "number")]
    if has_repeats:
        columns.append(Head("± sd over repeats", "number"))
    columns += [Head("scored", "number"), Head("of", "number"), Head("metric")]
    rows = []
    for label, summary, manifest, _ in runs:
        key, averages = manifest["benchmark"]["headline"], summary["averages"]
        # the average over datasets if there is one
        entry = averages.get(DATASET, {}).get(key) or summary["metrics"][key]
        ci = entry["ci"]
        row = Row(
            [
                one_line(manifest["model"]["name"], _MAX_NAME),
                one_line(label, 60),
                number(entry["mean"]),
            ]
        )
        row.cells.append(f"{number(ci[0])} … {number(ci[1])}" if ci else NO_VALUE)
        if has_repeats:
            row.cells.append(RunReport(summary, manifest).spread(key) or NO_VALUE)
        row.cells += [summary["metrics"][key]["scored"], summary["n"], key]
        rows.append(row)
    reports = [RunReport(summary, manifest) for _, summary, manifest, _ in runs]
    noted = dict.fromkeys(notice for report in reports for notice in report.notices)
    pages = "\n".join(f"page   {RunFiles(path).page}" for *_, path in runs)
    sections = [prompts_section(study, number) for number, study in enumerate(prompts, 1)]
    blocks: list[Block] = [Table(columns, rows), *sections, Text(pages, "whole")]
    return Page("sweep", "", "Runs", blocks, notices=list(noted))


def show_estimates(rows: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[Block]:
    """Return what runs would cost: a row for each, and the sum."""
    names = ("items", "answered", "cached", "calls", "tokens in", "out", "USD")
    columns = [Head("model"), Head("task"), *(Head(name, "number") for name in names)]
    keys = ("items", "answered", "cached", "calls", "tokens_in", "tokens_out")
    lines = []
    for model, task, estimate in rows:
        usd = NO_VALUE if estimate["usd"] is None else f"{estimate['usd']:,.4f}"
        counts = [estimate[key] for key in keys]
        lines.append(Row([one_line(model, _MAX_NAME), one_line(task, 60), *counts, usd]))
    notes = []
    if rows[0][2]["usd"] is not None:
        total = math.fsum(estimate["usd"] or 0.0 for *_, estimate in rows)
        notes.append(f"{total:,.4f} US dollars in all")
    if all(estimate["bounded"] for *_, estimate in rows):
        notes.append("estimates: 4 characters a token in; out at most, as --max-tokens allows")
    else:
        notes.append("estimates: 4 characters a token in; out 64 a call, since no --max-tokens")
    if any(estimate["judged"] for *_, estimate in rows):
        notes.append("not included: calls of judges, decomposer and rater, which depend on answers")
    return [
        Table(columns, lines),
        Text("\n".join(notes)),
        Text("nothing was called, nothing written"),
    ]
