"""The judge against the project's people: how well it agrees with them, and calibrating it."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from trueground.annotation.base import Label
from trueground.annotation.kinds import KINDS
from trueground.errors import InputError, TruegroundError
from trueground.evaluate.corrected import predicted_label
from trueground.metrics.registry import metric_of_key
from trueground.reports.blocks import Block, Page, Part, Text
from trueground.reports.calibration import calibration_page
from trueground.reports.validation import validation_page
from trueground.studies.calibrate.study import calibrate
from trueground.studies.finished import FinishedRun, open_run
from trueground.studies.validate.study import validate
from trueground.web.labels.database import LabelDatabase
from trueground.web.labels.files import (
    labelled_records,
    read_sources,
    write_labels,
    write_records,
)
from trueground.web.labels.gathered import Gathered

MARK = "trueground-judge-1"
RECORDS_FILE, LABELS_FILE = "records.jsonl", "labels.jsonl"  # as they are downloaded
_NO_RUN = (
    "These tasks came from no run, so there are no scores of a judge to hold the labels against. "
    "Calibrate asks a judge anew."
)
_WORST = 10


def judge_page(database: LabelDatabase, gathered: Gathered) -> Page:
    """The scores of the runs that tasks came from against the labels of people.

    What cannot be measured, as yet or at all, is told on the page.
    """
    runs = _find_runs(database)
    labels = gathered.merged()
    blocks: list[Block] = []
    for name in dict.fromkeys(label.kind for label in labels):
        own = [label for label in labels if label.kind == name]
        blocks.append(Part(name, list(_of_kind(name, own, runs)), name))
    if not labels:
        blocks.append(Text("Nobody has labelled a task yet."))
    lead = "The scores of the run beside what people say of the same answers."
    return Page("judge", MARK, "Judge and people", blocks, lead)


def calibrate_judge(database: LabelDatabase, gathered: Gathered) -> tuple[str, Page]:
    """The command that calibrates the run's judge on these labels, and what it finds.

    InputError where it cannot be done, as the command says it, too.
    """
    labels = [label for label in gathered.merged() if _label_of(label.kind)]
    if not labels:
        raise InputError("no labels yet that say whether an answer, or a claim, is supported")
    runs = _find_runs(database)
    judge = _first_written("judge", runs) or "lexical"
    # Claims are judged as they are; of answers the weakest claim counts, as in the run.
    of_answers = all(KINDS[label.kind].label_of != "part" for label in labels)
    decomposer = _first_written("decomposer", runs) if of_answers else None
    words = ["trueground", "judge", "calibrate", RECORDS_FILE, "--labels", LABELS_FILE]
    words += ["--judge", judge, *(["--decomposer", decomposer] if decomposer else [])]
    words += ["--out", "calibration.json"]
    with _folder() as folder:
        records, file = folder / RECORDS_FILE, folder / LABELS_FILE
        records.write_bytes(write_records(labelled_records(database, gathered)))
        file.write_bytes(write_labels(labels))
        found = calibrate(str(records), judge, labels=[file], decomposer=decomposer)
    for one in found.raw["files"]:
        one["path"] = RECORDS_FILE
    return shlex.join(words), calibration_page(found.raw)


def _of_kind(name: str, labels: list[Label], runs: list[FinishedRun]) -> Iterator[Block]:
    label = _label_of(name)
    if not label:
        yield Text("Tasks of this kind give no label that a judge's score is held against.")
        return
    if KINDS[name].label_of == "part":
        yield Text(
            "These labels are of claims, and a run's scores are of whole answers: Calibrate asks "
            "the judge about the same claims."
        )
        return
    if not runs:
        yield Text(_NO_RUN)
        return
    known = dict.fromkeys(key for run in runs for key in run.signatures)
    metrics = [
        key for key in known if (metric := metric_of_key(key)) and predicted_label(metric) == label
    ]
    bare: dict[str, Label] = {}  # without the numbers of sources: ids tell what was shown
    for one in labels:
        mark, colon, rest = one.id.partition(":")
        id_ = rest if colon and mark.isdecimal() and len(runs) > 1 else one.id
        bare.setdefault(id_, replace(one, id=id_))
    try:
        with _folder() as folder:
            file = folder / LABELS_FILE
            file.write_bytes(write_labels(list(bare.values())))
            found = validate(
                [str(run.path) for run in runs],
                label=label,
                labels=[file],
                metrics=metrics or None,
                worst=_WORST,
            )
    except TruegroundError as error:
        yield Text(f"Not yet: {error}")
        return
    page = validation_page(found.raw)
    yield Text(page.lead, "quiet")
    yield from page.blocks


def _label_of(kind: str) -> str:
    return KINDS[kind].label


def _find_runs(database: LabelDatabase) -> list[FinishedRun]:
    """The runs among the sources that can be read."""
    runs = []
    for path, _ in read_sources(database).values():
        try:
            runs.append(open_run(Path(path)))
        except InputError:
            continue
    return runs


def _first_written(part: str, runs: list[FinishedRun]) -> str | None:
    """The judge, or the decomposer, of the first run that has one: as it was written, or its name.

    Runs that were scored with an object, or long ago, tell the name alone.
    """
    for run in runs:
        told: Any = run.manifest.get(part)
        if isinstance(told, dict) and isinstance(
            found := told.get("written", told.get("name")), str
        ):
            return found
    return None


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="trueground-") as name:
        yield Path(name)
