"""The way of every evaluation: batches under a plan → table → items and summary."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from trueground._version import __version__
from trueground.components.base import AnyComponent
from trueground.errors import RunInterrupted, TruegroundError, tell
from trueground.evaluate.numbers import decode_numbers, encode_numbers
from trueground.evaluate.plan import Plan
from trueground.evaluate.result import Result, Summary
from trueground.evaluate.summary import summarise, summarise_repeats
from trueground.evaluate.table import ItemTable, Scored
from trueground.evaluate.workers import map_batches
from trueground.net.redact import redact_urls, shown_word
from trueground.options import Progress, no_progress
from trueground.records import Check
from trueground.runs.directory import (
    ITEMS,
    MANIFEST,
    REPEATS,
    SUMMARY,
    RunDirectory,
    count_lines,
    open_run,
    replacing,
    write_json,
)
from trueground.runs.identity import as_stored
from trueground.runs.page import PageWriter
from trueground.types import Record

if TYPE_CHECKING:
    from trueground.evaluate.corrected import LabelledSlice
    from trueground.types import Spent

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

    `check` tells how many records there are, and which rows were left out. `labelled` are people's
    labels of some of them, by which rates are corrected. `write_page` adds the page of a run.
    """

    plan: Plan
    source: Source
    check: Check
    workers: int | None = 1
    progress: Progress = no_progress
    labelled: LabelledSlice | None = None
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
            summary, _ = summarise_table(self.plan, table, self.check, self.labelled)
            return Result(Summary(summary), None, lines, self.plan.note, texts)

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
        with open_run(out, identity, overwrite=overwrite, unique=unique) as run:
            kept = KeptBatches(run, keep_records=self.plan.keep_records)

            def latest(error: BaseException | None) -> dict[str, Any]:
                """What judging cost, whether it was cached for next time, and what is written."""
                spent = self._spent(kept)
                cost = judging(spent) | {"cache_problem": self.plan.components.problem}
                # An interrupt can come between writing a batch and counting it: the file tells.
                done = {} if error is None else {"scored": count_lines(run.path / ITEMS)}
                return cost | done

            manifest = make_manifest(self.plan, self.check, command)
            manifest["identity"] = dict(identity)
            manifest["sessions"] = 1
            if run.earlier is not None:
                manifest["start"] = run.earlier.get("start", manifest["start"])
                manifest["sessions"] += run.earlier.get("sessions", 1)
            try:
                return self.to_run(run, manifest, latest, kept)
            except KeyboardInterrupt:
                done = count_lines(run.path / ITEMS)
                raise RunInterrupted(
                    f"interrupted; {done} of {self.check.n} items are in {run.path / ITEMS}. Run "
                    "the same command to resume"
                ) from None

    def to_run(
        self,
        run: RunDirectory,
        manifest: dict[str, Any],
        latest: Callable[[BaseException | None], dict[str, Any]],
        kept: KeptBatches | None = None,
    ) -> Result:
        """Score into a run directory; the manifest tells that it goes on, and how it ended.

        `latest` gives what else the manifest tells at the end, of which the error is known by then.
        With `kept`, batches that an earlier session scored are not scored again. Raises WriteError.
        """
        manifest["status"] = "running"
        if self.labelled is not None:
            manifest["labels"] = self.labelled.files
        write_json(run.path / MANIFEST, manifest)
        with self._table() as table:
            try:
                self._score_into(run, table, kept)
                summary, repeats = summarise_table(self.plan, table, self.check, self.labelled)
                if repeats is not None:
                    with replacing(run.path / REPEATS) as out:
                        out.writelines(repeats)
                write_json(run.path / SUMMARY, summary)
                self.progress("report", 0, None)
                if self.write_page is not None:
                    self.write_page(run.path)
                run.forget_progress()
            except BaseException as error:
                end_manifest(run.path, manifest | latest(error), error)
                raise
            end_manifest(run.path, manifest | latest(None) | {"scored": table.n}, None)
        return Result(Summary(summary), run.path, run.path / ITEMS, self.plan.note)

    def _score_into(self, run: RunDirectory, table: ItemTable, kept: KeptBatches | None) -> None:
        """Write the lines of all items, and fill the table; what is kept comes from the run."""
        if kept is not None:
            for scored in kept.restore():
                table.append(scored)
            if run.earlier is not None:
                tell(
                    f"resuming the unfinished run in {run.path}: {table.n:,} of {self.check.n:,} "
                    "items are scored already",
                    note=True,
                )
        run.begin(self.plan.keep_records)
        for scored in self._scored(table, skip_records(self.source.batches(), table.n)):
            numbers = None if kept is None else kept.encode(scored, self._spent(kept))
            run.append(scored.items, scored.records, numbers)

    def _spent(self, kept: KeptBatches) -> Spent | None:
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
        self.spent: Spent | None = None
        self._run = run
        self._keep_records = keep_records

    def restore(self) -> Iterator[Scored]:
        """Yield the numbers of each batch that an earlier session scored, in order."""
        from trueground.types import Spent

        for content in self._run.restore(keep_records=self._keep_records):
            counts, numbers = msgspec.msgpack.decode(content)
            self.spent = None if counts is None else Spent(**counts)
            yield decode_numbers(numbers)

    def encode(self, scored: Scored, spent: Spent | None) -> bytes:
        """Return what `restore` needs of a batch; `spent` is the cost up to its end."""
        counts = None if spent is None else vars(spent)
        return msgspec.msgpack.encode((counts, encode_numbers(scored)))


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


def identify_score(plan: Plan, check: Check, **reading: object) -> dict[str, Any]:
    """Return what makes two commands the same run of `score`, as it is in the manifest.

    These are all that fix the items, the summary and the page. Number of processes, cache, keys and
    limits of endpoints aren't among them.

    Args:
        plan: What is computed.
        check: The input; its files count by their checksums, not by their names.
        reading: The options that decide which records there are, and the labels.
    """
    return as_stored(
        {
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
    )


def make_manifest(
    plan: Plan, check: Check, command: Sequence[str], kind: str = "score"
) -> dict[str, Any]:
    """The manifest as it stands while the run goes on."""
    parts = plan.components
    checks: tuple[AnyComponent, ...] = (*parts.judges, parts.decomposer)
    checking = zip(checks, parts.written, strict=True)
    *judges, decomposer = (_part_as_json(part, written) for part, written in checking)
    if not plan.checks:
        judges = []
    rates = bool(plan.rubrics)
    asked: list[AnyComponent] = [*(parts.judges if plan.checks else ()), *parts.comparers.values()]
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
        "rater": _part_as_json(parts.rater) if rates and parts.rater else None,
        "comparers": [_part_as_json(comparer) for comparer in parts.comparers.values()],
        "encoders": [part.name for part in asked if part.uses_encoder],
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


def _part_as_json(part: AnyComponent, written: str | None = None) -> dict[str, str]:
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
    from trueground.types import Spent

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
