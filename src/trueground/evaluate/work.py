"""The second half of every run: records under a plan → items, summary, page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from trueground.evaluate.manifest import end_manifest
from trueground.evaluate.mapper import Job, choose_workers, map_batches
from trueground.evaluate.plan import Plan
from trueground.evaluate.repeated import told
from trueground.evaluate.result import Result, Summary
from trueground.evaluate.scorer import Scored
from trueground.evaluate.summary import summarise
from trueground.evaluate.values import Values
from trueground.records import Check
from trueground.reports.page import write_page
from trueground.runs.directory import (
    ITEMS,
    MANIFEST,
    REPEATS,
    SUMMARY,
    RunDirectory,
    replacing,
    write_json,
)
from trueground.types import Record

_SMALL = 64
# progress(phase, done, total); total is None if unknown. Phases: "check", "ask", "score", "report".
Progress = Callable[[str, int, int | None], None]


def no_progress(_phase: str, _done: int, _total: int | None) -> None:
    """Say nothing."""


def small_batches(batches: Iterator[list[Record]]) -> Iterator[list[Record]]:
    """The same records in batches that a language model judges within a minute or so."""
    for batch in batches:
        for low in range(0, len(batch), _SMALL):
            yield batch[low : low + _SMALL]


class Source(Protocol):
    """Where records come from, batch by batch, in input order."""

    def batches(self) -> Iterator[list[Record]]:
        """The records; asked for once."""
        ...


@dataclass(frozen=True)
class Work:
    """One evaluation under way: what is computed, from what, and where the numbers gather.

    Without a `job` the work is done in this process, whatever `workers` says.
    """

    plan: Plan
    source: Source
    check: Check
    values: Values
    job: Job | None = None
    workers: int | None = 1
    progress: Progress = no_progress

    def in_memory(self) -> tuple[dict[str, Any], bytes]:
        """The summary, and the lines of items.jsonl."""
        lines = [self._count(scored).items for scored in self._scored()]
        summary = self._summary()
        self._repeated(summary)
        return summary, b"".join(lines)

    def to_disk(self, run: RunDirectory) -> dict[str, Any]:
        """The summary; items, records, summary and page are written. Raises WriteError."""
        run.begin(self.plan.keep_records)
        for scored in self._scored():
            run.append(scored.items, scored.records)
            self._count(scored)
        summary = self._summary()
        if lines := self._repeated(summary):
            with replacing(run.path / REPEATS) as out:
                out.writelines(lines)
        write_json(run.path / SUMMARY, summary)
        self.progress("report", 0, None)
        write_page(run.path)
        return summary

    def to_run(
        self,
        run: RunDirectory,
        manifest: dict[str, Any],
        latest: Callable[[BaseException | None], dict[str, Any]],
    ) -> Result:
        """Score into a run directory; the manifest tells that it goes on, and how it ended.

        `latest` gives what else the manifest tells at the end, of which the error is known by then.
        """
        manifest["status"] = "running"
        write_json(run.path / MANIFEST, manifest)
        try:
            summary = self.to_disk(run)
        except BaseException as error:
            end_manifest(run.path, manifest | latest(error), error)
            raise
        end_manifest(run.path, manifest | latest(None) | {"scored": self.values.n}, None)
        return Result(Summary(summary), run.path, run.path / ITEMS, self.plan.note)

    def _repeated(self, summary: dict[str, Any]) -> Iterator[bytes] | None:
        """Tell the summary of repeated answers; the lines of repeats.jsonl, None without any."""
        if self.plan.repeats_of is None or not (found := told(self.plan, self.values)):
            return None
        summary["repeats"], lines = found
        return lines

    def _scored(self) -> Iterator[Scored]:
        workers = choose_workers(self.workers, self.check.n) if self.job else 1
        batches = self.source.batches()
        if self.plan.parts.spent is not None:
            batches = small_batches(batches)
        return map_batches(self.plan, batches, workers, self.job)

    def _count(self, scored: Scored) -> Scored:
        self.values.append(scored)
        self.progress("score", self.values.n, self.check.n)
        return scored

    def _summary(self) -> dict[str, Any]:
        skipped: Sequence[str] = [str(row) for row in self.check.bad]
        return summarise(self.plan, self.values, skipped, self.check.bad_total)
