"""The way of every evaluation: batches under a plan → table → items, summary, page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from trueground.errors import RunInterrupted
from trueground.evaluate.manifest import end_manifest, judging, make_manifest
from trueground.evaluate.plan import Plan
from trueground.evaluate.result import Result, Summary
from trueground.evaluate.summary import summarise, summarise_repeats
from trueground.evaluate.table import ItemTable, Scored
from trueground.evaluate.workers import map_batches
from trueground.options import Progress, no_progress
from trueground.records import Check
from trueground.reports.run_page import write_run_page
from trueground.runs.directory import (
    ITEMS,
    MANIFEST,
    REPEATS,
    SUMMARY,
    RunDirectory,
    count_lines,
    replacing,
    write_json,
)
from trueground.types import Record

if TYPE_CHECKING:
    from trueground.evaluate.corrected import LabelledSlice

_ASKED_AT_ONCE = 64  # records of a batch that a language model judges within a minute or so


class Source(Protocol):
    """Where records come from, batch by batch, in input order."""

    def batches(self) -> Iterator[list[Record]]:
        """The records; asked for once."""
        ...


def score_batches(
    plan: Plan, batches: Iterator[list[Record]], n: int, workers: int | None
) -> Iterator[Scored]:
    """Each batch in turn; batches of several sources may follow one another.

    `n` records are expected, which decides on processes where `workers` is None. Where a language
    model is asked, batches are cut smaller; none ever joins two. Raises UnreachableError,
    WorkerError.
    """
    if plan.parts.spent is not None:
        batches = cut_for_asking(batches)
    yield from map_batches(plan, batches, n, workers)


def cut_for_asking(batches: Iterator[list[Record]]) -> Iterator[list[Record]]:
    """The batches cut smaller, for judges that are language models."""
    for batch in batches:
        for low in range(0, len(batch), _ASKED_AT_ONCE):
            yield batch[low : low + _ASKED_AT_ONCE]


def _noting(
    batches: Iterator[list[Record]], texts: list[tuple[str | None, str | None]]
) -> Iterator[list[Record]]:
    for batch in batches:
        texts += [(record.question, record.response) for record in batch]
        yield batch


@dataclass(frozen=True)
class Scoring:
    """One evaluation under way: what is computed, and from what.

    `check` tells how many records there are, and which rows were left out. `labelled` are people's
    labels of some of them, by which rates are corrected.
    """

    plan: Plan
    source: Source
    check: Check
    workers: int | None = 1
    progress: Progress = no_progress
    labelled: LabelledSlice | None = None

    def in_memory(self) -> Result:
        """Summary and items; nothing is written."""
        texts: list[tuple[str | None, str | None]] = []
        with self._table() as table:
            lines = b"".join([scored.items for scored in self._scored(table, texts=texts)])
            summary, _ = self._summarise(table)
            return Result(Summary(summary), None, lines, self.plan.note, texts)

    def to_folder(
        self, out: Path, command: Sequence[str], *, overwrite: bool, unique: bool
    ) -> Result:
        """Write a new run directory. Raises OutputError, WriteError, RunInterrupted."""
        parts = self.plan.parts
        with RunDirectory(out, overwrite=overwrite, unique=unique) as run:

            def latest(error: BaseException | None) -> dict[str, Any]:
                """What judging cost, whether it was cached for next time, and what is written."""
                spent = judging(parts.spent) | {"cache_problem": parts.problem}
                # An interrupt can come between writing a batch and counting it: the file tells.
                done = {} if error is None else {"scored": count_lines(run.path / ITEMS)}
                return spent | done

            try:
                return self.to_run(run, make_manifest(self.plan, self.check, command), latest)
            except KeyboardInterrupt:
                done = count_lines(run.path / ITEMS)
                raise RunInterrupted(
                    f"interrupted; {done} of {self.check.n} items are in {run.path / ITEMS}"
                ) from None

    def to_run(
        self,
        run: RunDirectory,
        manifest: dict[str, Any],
        latest: Callable[[BaseException | None], dict[str, Any]],
    ) -> Result:
        """Score into a run directory; the manifest tells that it goes on, and how it ended.

        `latest` gives what else the manifest tells at the end, of which the error is known by then.
        Raises WriteError.
        """
        manifest["status"] = "running"
        if self.labelled is not None:
            manifest["labels"] = self.labelled.files
        write_json(run.path / MANIFEST, manifest)
        with self._table() as table:
            try:
                summary = self._write(run, table)
            except BaseException as error:
                end_manifest(run.path, manifest | latest(error), error)
                raise
            end_manifest(run.path, manifest | latest(None) | {"scored": table.n}, None)
        return Result(Summary(summary), run.path, run.path / ITEMS, self.plan.note)

    def _write(self, run: RunDirectory, table: ItemTable) -> dict[str, Any]:
        """Items, records, summary and page."""
        run.begin(self.plan.keep_records)
        for _ in self._scored(table, run):
            pass
        summary, repeats = self._summarise(table)
        if repeats is not None:
            with replacing(run.path / REPEATS) as out:
                out.writelines(repeats)
        write_json(run.path / SUMMARY, summary)
        self.progress("report", 0, None)
        write_run_page(run.path)
        return summary

    def _table(self) -> ItemTable:
        return ItemTable(self.plan.width, self.plan.by, self.plan.abstained_at)

    def _scored(
        self,
        table: ItemTable,
        run: RunDirectory | None = None,
        texts: list[tuple[str | None, str | None]] | None = None,
    ) -> Iterator[Scored]:
        """Each batch, after its lines stand in the run and its numbers in the table.

        Questions and answers are added to `texts`.
        """
        batches = self.source.batches()
        if texts is not None:
            batches = _noting(batches, texts)
        for scored in score_batches(self.plan, batches, self.check.n, self.workers):
            if run is not None:
                run.append(scored.items, scored.records)
            table.append(scored)
            self.progress("score", table.n, self.check.n)
            yield scored

    def _summarise(self, table: ItemTable) -> tuple[dict[str, Any], Iterator[bytes] | None]:
        return summarise_table(self.plan, table, self.check, self.labelled)


def summarise_table(
    plan: Plan, table: ItemTable, check: Check, labelled: LabelledSlice | None = None
) -> tuple[dict[str, Any], Iterator[bytes] | None]:
    """The summary, and the lines of repeats.jsonl where questions have several answers."""
    summary = summarise(plan, table, check)
    if labelled is not None:
        from trueground.evaluate.corrected import correct_rates, count_labelled

        summary["corrected"] = correct_rates(plan, table, labelled)
        if counts := count_labelled(plan, table, labelled):
            summary["verdicts"]["labelled"] = counts
    if plan.repeats_of is None or not (found := summarise_repeats(plan, table)):
        return summary, None
    summary["repeats"], lines = found
    return summary, lines
