"""The way of every evaluation: batches under a plan → table → items and summary."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from trueground._version import __version__
from trueground.components import Component
from trueground.errors import RunInterrupted, user_messages
from trueground.evaluate.numbers import decode_numbers, encode_numbers
from trueground.evaluate.page_writer import PageWriter
from trueground.evaluate.plan import Plan
from trueground.evaluate.summary import summarize, summarize_repeats
from trueground.evaluate.table import ItemTable, Scored
from trueground.evaluate.workers import map_batches
from trueground.files import OutputPath
from trueground.net import redact_command, redact_urls
from trueground.options import Progress, do_nothing
from trueground.records import Check
from trueground.runs import (
    Manifest,
    Result,
    RunDirectory,
    RunFiles,
    Summary,
    UsedComponent,
)
from trueground.types import PromptFile, Record

if TYPE_CHECKING:
    from trueground.evaluate.corrected import LabeledSlice
    from trueground.types import Usage


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
    if plan.components.spent is not None:
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

    `check` tells how many records there are, and which rows were left out. `labeled` are people's
    labels of some of them, by which rates are corrected. `write_page` adds the page of a run.
    """

    plan: Plan
    source: Source
    check: Check
    workers: int | None = 1
    progress: Progress = do_nothing
    labeled: LabeledSlice | None = None
    write_page: PageWriter | None = None

    def in_memory(self) -> Result:
        """Summary and items; nothing is written."""
        texts: list[tuple[str | None, str | None]] = []

        def noted() -> Iterator[list[Record]]:
            for batch in self.source.batches():
                texts.extend((record.question, record.response) for record in batch)
                yield batch

        with self._table() as table:
            lines = b"".join([scored.items for scored in self._scored(table, noted())])
            summary, _ = summarize_table(self.plan, table, self.check, self.labeled)
            return Result(summary, None, lines, self.plan.note, texts)

    def to_folder(
        self,
        out: Path,
        command: Sequence[str],
        *,
        identity: Mapping[str, Any],
        overwrite: bool,
        unique: bool,
    ) -> Result:
        """Write a new run directory, or resume the unfinished run with this identity.

        Raises OutputError, WriteError, RunInterrupted.
        """
        with RunDirectory.open(out, identity, overwrite=overwrite, unique=unique) as run:
            kept = KeptBatches(run, keep_records=self.plan.keep_records)

            files = RunFiles(run.path)

            def update(manifest: Manifest, error: BaseException | None) -> None:
                """Add what judging cost, and whether it was cached for next time."""
                manifest.set_usage(self._spent(kept))
                manifest.cache_problem = self.plan.components.problem
                if error is not None:
                    # An interrupt can come between writing a batch and counting it.
                    manifest.scored = files.count_items()

            manifest = make_manifest(self.plan, self.check, command)
            manifest.identity = dict(identity)
            manifest.sessions, start = run.next_session(run.earlier)
            manifest.start = start or manifest.start
            try:
                return self.to_run(run, manifest, update, kept)
            except KeyboardInterrupt:
                done = files.count_items()
                raise RunInterrupted(
                    f"interrupted; {done} of {self.check.n} items are in {files.items}. Run "
                    "the same command to resume"
                ) from None

    def to_run(
        self,
        run: RunDirectory,
        manifest: Manifest,
        update: Callable[[Manifest, BaseException | None], None],
        kept: KeptBatches | None = None,
    ) -> Result:
        """Score into a run directory; the manifest tells that it goes on, and how it ended.

        `update` adds to the manifest what is known at the end; it gets the error, if there is one.
        With `kept`, batches that an earlier session scored are not scored again. Raises WriteError.
        """
        files = RunFiles(run.path)
        manifest.status = "running"
        if self.labeled is not None:
            manifest.labels = list(self.labeled.files)
        files.write_manifest(manifest)

        def note_error(error: BaseException) -> None:
            update(manifest, error)
            files.end(manifest, error)

        with self._table() as table:
            with run.noting_end(note_error):
                self._score_into(run, table, kept)
                summary, repeats = summarize_table(self.plan, table, self.check, self.labeled)
                if repeats is not None:
                    with OutputPath(files.repeats).replacing() as out:
                        out.writelines(repeats)
                files.write_summary(summary)
                self.progress("report", 0, None)
                if self.write_page is not None:
                    self.write_page(run.path)
                run.forget_progress()
            update(manifest, None)
            manifest.scored = table.n
            files.end(manifest, None)
        return Result(summary, files.path, files.items, self.plan.note)

    def _score_into(self, run: RunDirectory, table: ItemTable, kept: KeptBatches | None) -> None:
        """Write the lines of all items, and fill the table; what is kept comes from the run."""
        if kept is not None:
            for scored in kept.restore():
                table.append(scored)
            if run.earlier is not None:
                user_messages.show(
                    f"resuming the unfinished run in {run.path}: {table.n:,} of {self.check.n:,} "
                    "items are scored already",
                    note=True,
                )
        run.begin(self.plan.keep_records)
        for scored in self._scored(table, skip_records(self.source.batches(), table.n)):
            numbers = None if kept is None else kept.encode(scored, self._spent(kept))
            run.append(scored.items, scored.records, numbers)

    def _spent(self, kept: KeptBatches) -> Usage | None:
        """What judging cost in all sessions."""
        spent = self.plan.components.spent
        return spent if spent is None or kept.spent is None else kept.spent + spent

    def _table(self) -> ItemTable:
        return ItemTable(self.plan.width, self.plan.by, self.plan.abstained_at)

    def _scored(self, table: ItemTable, batches: Iterator[list[Record]]) -> Iterator[Scored]:
        """Each batch; when the next is asked for, its numbers stand in the table."""
        for scored in score_batches(self.plan, batches, self.check.n, self.workers):
            yield scored
            table.append(scored)
            self.progress("score", table.n, self.check.n)


def skip_records(batches: Iterator[list[Record]], n: int) -> Iterator[list[Record]]:
    """The batches without the first `n` records."""
    for batch in batches:
        if n < len(batch):
            yield batch[n:]
        n = max(0, n - len(batch))


class KeptBatches:
    """The batches of an unfinished run that are scored, and what judging them cost."""

    def __init__(self, run: RunDirectory, *, keep_records: bool) -> None:
        self.spent: Usage | None = None
        self._run = run
        self._keep_records = keep_records

    def restore(self) -> Iterator[Scored]:
        """Yield the numbers of each batch that an earlier session scored, in order."""
        from trueground.types import Usage

        for content in self._run.restore(keep_records=self._keep_records):
            counts, numbers = msgspec.msgpack.decode(content)
            self.spent = None if counts is None else Usage(**counts)
            yield decode_numbers(numbers)

    def encode(self, scored: Scored, spent: Usage | None) -> bytes:
        """Return what `restore` needs of a batch; `spent` is the cost up to its end."""
        counts = None if spent is None else vars(spent)
        return msgspec.msgpack.encode((counts, encode_numbers(scored)))


def summarize_table(
    plan: Plan, table: ItemTable, check: Check, labeled: LabeledSlice | None = None
) -> tuple[Summary, Iterator[bytes] | None]:
    """The summary, and the lines of repeats.jsonl where questions have several answers."""
    summary = summarize(plan, table, check)
    if labeled is not None:
        from trueground.evaluate.corrected import correct_rates, count_labeled

        summary.corrected_rates = correct_rates(plan, table, labeled)
        if summary.verdicts is not None:
            summary.verdicts.labeled = count_labeled(plan, table, labeled) or None
    if plan.repeats_of is None or not (found := summarize_repeats(plan, table)):
        return summary, None
    summary.repeats, lines = found
    return summary, lines


def identify_score(plan: Plan, check: Check, **reading: object) -> dict[str, Any]:
    """Return what makes two commands the same run of `score`, as it is in the manifest.

    These are all that fix the items, the summary and the page. Number of processes, cache, keys and
    limits of endpoints aren't among them.

    Args:
        plan: What is computed.
        check: The input; its files count by their checksums, not by their names.
        reading: The options that decide which records there are, and the labels.
    """
    return {
        "command": "score",
        "input": [file.sha256 for file in check.files] or [check.sha256],
        "n": check.n,
        **reading,
        "metrics": plan.signatures,
        "judges": plan.judge_signatures,
        "decomposer": plan.decomposer_signature,
        "prompts": {prompt.id: prompt.sha256 for prompt in plan.prompts},
        "repeats_of": plan.repeats_of,
        "by": list(plan.by),
        "seed": plan.seed,
        "resamples": plan.resamples,
        "keep_records": plan.keep_records,
    }


def make_manifest(
    plan: Plan, check: Check, command: Sequence[str], kind: str = "score"
) -> Manifest:
    """Return the manifest of a run that begins."""
    parts = plan.components
    checks: tuple[Component[Any, Any], ...] = (*parts.judges, parts.decomposer)
    checking = zip(checks, parts.written, strict=True)
    *judges, decomposer = (_describe_component(part, written) for part, written in checking)
    if not plan.checks:
        judges = []
    asked: list[Any] = [*(parts.judges if plan.checks else ()), *parts.comparers.values()]
    manifest = Manifest(
        trueground=__version__,
        python=".".join(map(str, sys.version_info[:3])),
        kind=kind,
        status="running",
        command=redact_command(command),
        n=check.n,
        skipped=check.bad_total,
        metrics=plan.signatures,
        judge=judges[0] if judges else None,
        judges=judges,
        decomposer=decomposer if plan.checks else None,
        rater=_describe_component(parts.rater) if plan.rubrics else None,
        comparers=[_describe_component(comparer) for comparer in parts.comparers.values()],
        encoders=[part.name for part in asked if getattr(part, "uses_encoder", False)],
        prompts=[PromptFile(p.id, p.sha256) for p in plan.prompts],
        by=list(plan.by),
        seed=plan.seed,
        resamples=plan.resamples,
        start=datetime.now(UTC).isoformat(),
    )
    manifest.set_input(check.files)
    return manifest


def _describe_component(part: Any, written: str | None = None) -> UsedComponent:
    """`written` makes the same component again: its name alone tells no model and no option."""
    return UsedComponent(
        part.name, part.signature, None if written is None else redact_urls(written)
    )
