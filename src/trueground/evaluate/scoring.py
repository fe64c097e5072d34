"""The way of every evaluation: batches under a plan → table → items, summary, page."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from trueground._version import __version__
from trueground.errors import RunInterrupted, TruegroundError
from trueground.evaluate.plan import Plan
from trueground.evaluate.result import Result, Summary
from trueground.evaluate.summary import summarise, summarise_repeats
from trueground.evaluate.table import ItemTable, Scored
from trueground.evaluate.workers import map_batches
from trueground.net.redact import redact_urls, shown_word
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
    from trueground.models.calls import Spent

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

        def noted() -> Iterator[list[Record]]:
            for batch in self.source.batches():
                texts.extend((record.question, record.response) for record in batch)
                yield batch

        with self._table() as table:
            lines = b"".join([scored.items for scored in self._scored(table, noted())])
            summary, _ = summarise_table(self.plan, table, self.check, self.labelled)
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
                run.begin(self.plan.keep_records)
                for scored in self._scored(table, self.source.batches()):
                    run.append(scored.items, scored.records)
                summary, repeats = summarise_table(self.plan, table, self.check, self.labelled)
                if repeats is not None:
                    with replacing(run.path / REPEATS) as out:
                        out.writelines(repeats)
                write_json(run.path / SUMMARY, summary)
                self.progress("report", 0, None)
                write_run_page(run.path)
            except BaseException as error:
                end_manifest(run.path, manifest | latest(error), error)
                raise
            end_manifest(run.path, manifest | latest(None) | {"scored": table.n}, None)
        return Result(Summary(summary), run.path, run.path / ITEMS, self.plan.note)

    def _table(self) -> ItemTable:
        return ItemTable(self.plan.width, self.plan.by, self.plan.abstained_at)

    def _scored(self, table: ItemTable, batches: Iterator[list[Record]]) -> Iterator[Scored]:
        """Each batch; when the next is asked for, its numbers stand in the table."""
        for scored in score_batches(self.plan, batches, self.check.n, self.workers):
            yield scored
            table.append(scored)
            self.progress("score", table.n, self.check.n)


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


def make_manifest(
    plan: Plan, check: Check, command: Sequence[str], kind: str = "score"
) -> dict[str, Any]:
    """The manifest as it stands while the run goes on."""
    parts = plan.parts
    checking = zip((*parts.judges, parts.decomposer), parts.written, strict=True)
    *judges, decomposer = (_part_as_json(part, written) for part, written in checking)
    if not plan.checks:
        judges = []
    rates = bool(plan.rubrics)
    asked: list[Any] = [*(parts.judges if plan.checks else ()), *parts.comparers.values()]
    return {
        "trueground": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "kind": kind,
        "status": "running",
        "command": [shown_word(word) for word in command],
        "input": [{"path": f.path, "sha256": f.sha256, "bytes": f.bytes} for f in check.files],
        "n": check.n,
        "skipped": check.bad_total,
        "metrics": plan.signatures,
        "judge": judges[0] if judges else None,
        "judges": judges,
        "decomposer": decomposer if plan.checks else None,
        "rater": _part_as_json(parts.rater) if rates else None,
        "comparers": [_part_as_json(comparer) for comparer in parts.comparers.values()],
        "encoders": [part.name for part in asked if getattr(part, "uses_encoder", False)],
        "prompts": [{"id": p.id, "sha256": p.sha256} for p in plan.prompts],
        "by": list(plan.by),
        "seed": plan.seed,
        "resamples": plan.resamples,
        "start": datetime.now(UTC).isoformat(),
        "end": None,
        "calls": 0,
        "tokens": {"in": 0, "out": 0},
        "cache_hits": 0,
        "cache_problem": None,
    }


def _part_as_json(part: Any, written: str | None = None) -> dict[str, str]:
    """`written` makes the same part again: its name alone tells no model and no option."""
    told = {"name": part.name, "signature": part.signature}
    return told if written is None else {**told, "written": redact_urls(written)}


def judging(spent: Spent | None) -> dict[str, Any]:
    """Calls, tokens and cache hits of judges, decomposer and rater; empty where none is asked."""
    if spent is None:
        return {}
    tokens = {"in": spent.tokens_in, "out": spent.tokens_out}
    return {
        "calls": spent.calls,
        "failed_calls": spent.failed,
        "tokens": tokens,
        "cache_hits": spent.cache_hits,
    }


def judged_before(manifest: Mapping[str, Any] | None) -> Spent:
    """What earlier sessions of a run spent on judging, as their manifest tells it."""
    from trueground.models.calls import Spent

    part = (manifest or {}).get("judging") or {}
    tokens = part.get("tokens", {})
    return Spent(
        part.get("calls", 0),
        tokens.get("in", 0),
        tokens.get("out", 0),
        part.get("cache_hits", 0),
        part.get("failed_calls", 0),
    )


def end_manifest(out: Path, manifest: dict[str, Any], error: BaseException | None) -> None:
    """Write when and how the run ended; an error on the way out hides no other."""
    manifest["end"] = datetime.now(UTC).isoformat()
    manifest["status"] = "finished" if error is None else "failed"
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | RunInterrupted):
        manifest["status"] = "interrupted"
    try:
        write_json(out / MANIFEST, manifest)
    except TruegroundError:
        if error is None:
            raise
