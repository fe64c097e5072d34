"""Pages that take long to count: each in its own process, so that no other request waits for it.

The process writes the result to standard output as JSON, or `{"error": message}`.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from trueground.errors import InputError, TruegroundError
from trueground.execution import ChildProcess
from trueground.metrics import METRICS
from trueground.reports import Block, Page, Part, Span, Text
from trueground.wings.labeling.agreement import measure_answers, measure_pairs
from trueground.wings.labeling.base import Label
from trueground.wings.labeling.kinds import KINDS
from trueground.wings.labeling.operations import LEVEL
from trueground.wings.labeling.pages import agreement_page
from trueground.wings.labeling.web.database import LabelDatabase
from trueground.wings.labeling.web.gathered import (
    Gathered,
    gather,
    labeled_records,
    read_sources,
    write_labels,
    write_records,
)
from trueground.wings.labeling.web.hints import shorten_title

if TYPE_CHECKING:
    from trueground.studies import FinishedRun


RESAMPLES, SEED, HARDEST = 2_000, 0, 10  # as `trueground agreement` has them
_MOST_PAIRS = 45  # of people; the intervals of more take too long for a page
Counted = Literal["agreement", "judge", "calibrate"]
_MARK = "trueground-judge-1"
_RECORDS_FILE, _LABELS_FILE = "records.jsonl", "labels.jsonl"  # as they are downloaded
_NO_RUN = (
    "These tasks aren't from a run, so there are no scores of a judge to compare with the labels. "
    "Calibrate asks a judge now."
)
_WORST = 10


class CountingRoom:
    """Starts the processes, and ends them with the server."""

    def __init__(self, database: LabelDatabase) -> None:
        self._database = database
        self._running: set[ChildProcess] = set()
        self._lock = threading.Lock()
        self._closed = False

    def count(self, name: Counted) -> Any:
        """What a process has found. TruegroundError: its words, or that it was ended."""
        with self._lock:
            if self._closed:
                raise InputError("the server ends")
            process = ChildProcess(__name__, name, self._database.address)
            self._running.add(process)
        assert process.stdout is not None
        with process:
            try:
                found = process.stdout.read()
            finally:
                with self._lock:
                    self._running.discard(process)
        if not found:
            raise InputError("the computation failed; see the output of the server")
        told = msgspec.json.decode(found)
        if "error" in told:
            raise InputError(told["error"])
        return told

    def close(self) -> None:
        """End what still counts, and let nothing begin."""
        with self._lock:
            self._closed = True
            for process in self._running:
                process.kill()


def count_agreement(_database: LabelDatabase, gathered: Gathered) -> Page:
    """Agreement of each field and each pair of people, and the hardest tasks."""
    answers = gathered.answers
    settings: dict[str, Any] = {"resamples": RESAMPLES, "seed": SEED, "level": LEVEL}
    found = measure_answers(answers, HARDEST, **settings)
    pairs, notices, titles = {}, [], {}
    for name, kind in found.kinds.items():
        several_people = len(kind.annotators)
        if several_people * (several_people - 1) // 2 <= _MOST_PAIRS:
            pairs[name] = measure_pairs(KINDS[name], answers, **settings)
        else:
            notices.append(
                f"Pairs of {several_people} people are not shown. To compare two people, export "
                "the answers and run `trueground agreement` on their lines."
            )
        for hard in kind.hardest:
            title = shorten_title(gathered.tasks[name, hard.id].shown or {}) or hard.id
            place = f"#/dispute/{gathered.numbers[name, hard.id]}"
            titles[name, hard.id] = Span(title, href=place)
    return agreement_page(found, pairs, notices=notices, titles=titles)


# ---- the judge against the project's people; the server itself needs none of these studies ----


def judge_page(database: LabelDatabase, gathered: Gathered) -> Page:
    """The scores of the runs that tasks came from against the labels of people.

    What cannot be measured, as yet or at all, is told on the page.
    """
    runs, labels = _find_runs(database), gathered.merged()
    blocks: list[Block] = []
    for name in dict.fromkeys(label.kind for label in labels):
        own = [label for label in labels if label.kind == name]
        blocks.append(Part(name, list(_of_kind(name, own, runs)), name))
    if not labels:
        blocks.append(Text("No tasks are labeled yet."))
    lead = "Scores of the run compared with the labels of the same answers."
    return Page("judge", _MARK, "Judge and people", blocks, lead)


def _of_kind(name: str, labels: list[Label], runs: list[FinishedRun]) -> Iterator[Block]:
    from trueground.studies import validate

    label, why = KINDS[name].label, ""
    if not label:
        why = "Labels of this kind of task can't be compared with the scores of a judge."
    elif KINDS[name].label_of == "part":
        why = "These labels are for claims, but a run scores whole answers: Calibrate asks "
        why += "the judge about the same claims."
    elif not runs:
        why = _NO_RUN
    if why:
        yield Text(why)
        return
    known = dict.fromkeys(key for run in runs for key in run.signatures)
    metrics = []
    for key in known:
        metric = METRICS.of_key(key)
        if metric is not None and metric.predicted_label == label:
            metrics.append(key)
    bare: dict[str, Label] = {}  # without the numbers of sources: ids tell what was shown
    for one in labels:
        mark, colon, rest = one.id.partition(":")
        id_ = rest if colon and mark.isdecimal() and len(runs) > 1 else one.id
        bare.setdefault(id_, replace(one, id=id_))
    try:
        with tempfile.TemporaryDirectory(prefix="trueground-") as folder:
            file = Path(folder) / _LABELS_FILE
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
    page = found.page().for_viewer()
    yield Text(page.lead, "quiet")
    yield from page.blocks


def calibrate_judge(database: LabelDatabase, gathered: Gathered) -> dict[str, Any]:
    """The command that calibrates the run's judge on these labels, and the page of what it finds.

    InputError where it cannot be done, as the command says it, too.
    """
    from trueground.studies import calibrate

    labels = [label for label in gathered.merged() if KINDS[label.kind].label]
    if not labels:
        raise InputError("no labels yet that say whether an answer or a claim is supported")
    runs = _find_runs(database)
    judge = _first_written("judge", runs) or "lexical"
    # Claims are judged as they are; of answers the weakest claim counts, as in the run.
    of_answers = all(KINDS[label.kind].label_of != "part" for label in labels)
    decomposer = _first_written("decomposer", runs) if of_answers else None
    words = ["trueground", "judge", "calibrate", _RECORDS_FILE, "--labels", _LABELS_FILE]
    words += ["--judge", judge, *(["--decomposer", decomposer] if decomposer else [])]
    words += ["--out", "calibration.json"]
    with tempfile.TemporaryDirectory(prefix="trueground-") as folder:
        records, file = Path(folder) / _RECORDS_FILE, Path(folder) / _LABELS_FILE
        records.write_bytes(write_records(labeled_records(database, gathered)))
        file.write_bytes(write_labels(labels))
        found = calibrate(str(records), judge, labels=[file], decomposer=decomposer)
    for one in found.raw["files"]:
        one["path"] = _RECORDS_FILE
    return {"command": shlex.join(words), "page": found.page().for_viewer()}


def _find_runs(database: LabelDatabase) -> list[FinishedRun]:
    """The runs among the sources that can be read."""
    from trueground.studies import FinishedRun

    runs = []
    for path, _ in read_sources(database).values():
        try:
            runs.append(FinishedRun.open(Path(path)))
        except InputError:
            continue
    return runs


def _first_written(part: str, runs: list[FinishedRun]) -> str | None:
    """The judge, or the decomposer, of the first run that has one: as it was written, or its name.

    Runs that were scored with an object, or long ago, tell the name alone.
    """
    for run in runs:
        component = {"judge": run.manifest.judge, "decomposer": run.manifest.decomposer}[part]
        if component is not None:
            return component.written or component.name
    return None


_COUNTS: Mapping[str, Callable[[LabelDatabase, Gathered], Any]] = {
    "agreement": count_agreement,
    "judge": judge_page,
    "calibrate": calibrate_judge,
}


def main(words: Sequence[str]) -> None:
    """Count what the first word names, in the database that the second one opens."""
    name, address = words
    try:
        with LabelDatabase(address) as database:
            found = _COUNTS[name](database, gather(database))
    except TruegroundError as error:
        found = {"error": str(error)}
    sys.stdout.buffer.write(msgspec.json.encode(found))
    sys.stdout.buffer.flush()
