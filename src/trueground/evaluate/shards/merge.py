"""All shards of a run → the run: the same summary and items as of one process, and a page.

The numbers of all items go into one table, in order, and the summary is made of that table as it is
everywhere. Items and records are copied as they are.
"""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from trueground.errors import InputError, OutputError, WorkerError, WriteError
from trueground.evaluate.page_writer import PageWriter
from trueground.evaluate.plan import Plan
from trueground.evaluate.scoring import identify_score, make_manifest, summarize_table
from trueground.evaluate.shards import work
from trueground.evaluate.shards.plan import PLAN, ShardPlan, read_plan
from trueground.evaluate.shards.store import MissingFileError, RunStore, open_store
from trueground.evaluate.shards.work import (
    Marker,
    make_scoring_plan,
    read_marker,
    read_numbers,
    shard_name,
)
from trueground.evaluate.table import ItemTable
from trueground.execution import open_progress
from trueground.files import OutputPath
from trueground.metrics import METRICS
from trueground.options import Progress, do_nothing
from trueground.records import DataPath
from trueground.runs import (
    Manifest,
    Result,
    RunBenchmark,
    RunDirectory,
    RunFiles,
    Summary,
    WorstOrder,
)
from trueground.types import Usage

_LISTED = 20_000  # items on the page of a run in shards, and in a store
_OF_EACH = 20  # of each status at least, where there are so many
_CHUNK = 1 << 20
_MAX_NAMED = 20  # shards in a message
_SHARD_FILE = re.compile(
    rf"{RunFiles.SHARDS_NAME}/"
    rf"(\d{{5,}}\.({RunFiles.ITEMS_NAME}|{RunFiles.RECORDS_NAME}|{work.NUMBERS}|done\.json)|\..+\.part)"
)
_ROWS = 1 << 16


class JoinedLog(NamedTuple):
    """The log of a run whose shards are asked: how many replies, and the command to score them."""

    replies: int
    command: list[str]


class ShardedRun:
    """A run in shards, of `score` or of `run --shard`."""

    def __init__(self, out: str | Path) -> None:
        """Name a folder, or the URL of an object store. Nothing is read yet."""
        self.out = out

    @cached_property
    def plan(self) -> ShardPlan | None:
        """How `score` cut the input, as it was when first read. None if there is no plan.

        Merging removes the plan.
        """
        return read_plan(open_store(self.out))

    def merge(
        self,
        command: Sequence[str] = (),
        *,
        progress: Progress | bool = do_nothing,
        write_page: PageWriter | None = None,
    ) -> Result:
        """Make one run of the shards of `score`, as `tg.merge` does.

        Args:
            command: The command line, for the manifest.
            progress: See `open_progress`.
            write_page: Adds the page of the run.

        Raises:
            TruegroundError: What `tg.merge` raises.
        """
        store, plan = open_store(self.out), self.plan
        if plan is None:
            raise _no_shards(store)
        if (merged := finish_merge(store, plan)) is not None:
            return merged
        markers = require_markers(store, plan)
        parts, scoring = make_scoring_plan(plan.settings, plan)
        with ExitStack() as stack:
            stack.enter_context(closing(parts))
            report = stack.enter_context(open_progress(progress))
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trueground-")))
            sampled = store.folder is None or plan.check.n > _LISTED
            run = stack.enter_context(
                RunDirectory(store.folder or scratch / "run", overwrite=True, sharded=True)
            )
            page = scratch / "page" if sampled else run.path
            page.mkdir(exist_ok=True)
            merging = _Merging(store, plan, markers, scoring, run.path, page, report, write_page)
            result = merging.merge(command)
        delete_shards(store)
        return result

    def join_logs(self) -> JoinedLog:
        """Make one log of the replies that `run --shard` asked for, and remove the shards.

        Raises:
            OutputError: There are no shards, or they are of different commands.
            WorkerError: A shard is missing or was broken off.
        """
        out = Path(self.out)
        files = RunFiles(out)
        parts = files.shards.folders()
        if not parts:
            raise OutputError(f"{out} holds no shards; make some with --shard I/N --out {out}")
        of = int(parts[0].name.rpartition("-")[2])
        manifests = {int(part.name[:5]): RunFiles(part).find_manifest() for part in parts}
        finished = {n for n, manifest in manifests.items() if manifest and manifest.is_finished}
        missing = [n for n in range(1, of + 1) if n not in finished]
        if missing:
            raise WorkerError(
                f"{out}: of {of} shards {', '.join(map(str, missing))} are not asked to the end; "
                f"run the same command with --shard {missing[0]}/{of}"
            )
        first = manifests[1]
        assert first is not None  # it is finished
        for one, part in zip(manifests.values(), parts, strict=True):
            if one is None or one.identity != first.identity or not part.name.endswith(f"-{of:05}"):
                raise OutputError(
                    f"{part} is of another command than {parts[0]}; remove the one that is not "
                    "meant, and run it again"
                )
        with RunDirectory(out, resume=True, sharded=True) as run:
            with OutputPath(files.responses).replacing() as log:
                joined: set[bytes] = set()  # a join that was killed may have written all of them
                for path in (files.responses, *(RunFiles(part).responses for part in parts)):
                    content = path.read_bytes() if path.exists() else b""
                    for line in content.splitlines(keepends=True):
                        if line.endswith(b"\n") and line not in joined:
                            joined.add(line)
                            log.write(line)
                replies = len(joined)
            if files.find_manifest() is None:
                first.status = "interrupted"
                files.write_manifest(first)
            run.shards.remove()
        return JoinedLog(replies, _without_shard(first.command))


def _no_shards(store: RunStore) -> OutputError:
    manifest = _find_manifest(store)
    if store.folder is not None and manifest is not None and not manifest.is_finished:
        return OutputError(manifest.describe_unfinished(store.folder))
    there = store.folder is None or store.folder.exists()
    return OutputError(
        f"{store.name} {'holds no shards' if there else 'does not exist'}; name the --out of a "
        "command with --shard I/N or --shards N that did not end"
    )


def _without_shard(command: Sequence[str]) -> list[str]:
    found = [word for word in command if not word.startswith("--shard=")]
    if "--shard" in found:
        at = found.index("--shard")
        del found[at : at + 2]
    return found


class DamagedShardsError(WorkerError):
    """Shards whose files are gone, or are not what their markers say; the markers are removed.

    `finding` says which shards they are.
    """

    def __init__(self, finding: str, advice: str) -> None:
        super().__init__(f"{finding}. {advice}")
        self.finding = finding


def finish_merge(store: RunStore, plan: ShardPlan) -> Result | None:
    """Return the run of the plan if it is merged already, and remove what is left of its shards.

    A merge that was killed as it removed them leaves some. None if the run is not merged yet.
    """
    manifest = _find_manifest(store)
    if manifest is None or not manifest.is_finished or manifest.shards is None:
        return None
    if manifest.shards.plan != plan.digest:
        return None
    delete_shards(store)
    summary = Summary.decode(
        store.read(RunFiles.SUMMARY_NAME) or b"", f"{store.name}/{RunFiles.SUMMARY_NAME}"
    )
    if store.folder is None:  # whose items may be more than this machine has room for
        return Result(summary, None, b"", None, [])
    return Result(summary, store.folder, RunFiles(store.folder).items, None)


def _find_manifest(store: RunStore) -> Manifest | None:
    """The manifest of the run that is merged; None if there is none that can be read."""
    try:
        name = RunFiles.MANIFEST_NAME
        return Manifest.decode(store.read(name) or b"", f"{store.name}/{name}")
    except InputError:
        return None


def delete_shards(store: RunStore) -> None:
    """Remove the files of the shards, and the plan last; files that are not ours stay."""
    names = sorted(store.sizes(RunFiles.SHARDS_NAME))
    store.delete([*filter(_SHARD_FILE.fullmatch, names), PLAN])


def find_markers(store: RunStore, plan: ShardPlan) -> list[Marker | None]:
    """The markers of all shards, None where one is not done, or lost a file or some of its bytes.

    Files are not read: `merge` sees what has changed in them.
    """
    sizes, digest = store.sizes(RunFiles.SHARDS_NAME), plan.digest
    markers: list[Marker | None] = []
    for number in range(len(plan.shards)):
        marker = None
        if work.marker_name(number) in sizes:
            marker = read_marker(store, number, digest)
        if marker is not None and any(
            sizes.get(shard_name(number, kind)) != mark.bytes for kind, mark in marker.files.items()
        ):
            marker = None
        markers.append(marker)
    return markers


def missing_shards(store: RunStore, plan: ShardPlan) -> list[int]:
    """The numbers, from 0, of the shards that are not done."""
    return [n for n, marker in enumerate(find_markers(store, plan)) if marker is None]


def require_markers(store: RunStore, plan: ShardPlan) -> list[Marker]:
    """The markers of all shards. Raises WorkerError, which names those that are not done."""
    found = find_markers(store, plan)
    if missing := [number for number, marker in enumerate(found) if marker is None]:
        of = len(plan.shards)
        shown = ", ".join(str(number + 1) for number in missing[:_MAX_NAMED])
        more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
        raise WorkerError(
            f"{store.name}: {len(missing)} of {of} shards are not done: {shown}{more}. Run the "
            f"same command again, or each by itself with --shard {missing[0] + 1}/{of}; what is "
            "done is kept"
        )
    return [marker for marker in found if marker is not None]


@dataclass
class _Merging:
    """One merge under way; `folder` is the run directory on this machine.

    `page` is where a page of a sample is drawn, or the folder itself; `shown` are then its rows.
    """

    store: RunStore
    plan: ShardPlan
    markers: Sequence[Marker]
    scoring: Plan
    folder: Path
    page: Path
    progress: Progress
    write_page: PageWriter | None = None
    shown: NDArray[np.int64] | None = None

    def merge(self, command: Sequence[str]) -> Result:
        check, folder = self.plan.check, self.folder
        settings = self.plan.settings
        files = RunFiles(folder)
        manifest = make_manifest(self.scoring, check, command)
        self._add_account(manifest)
        manifest.identity = identify_score(
            self.scoring,
            check,
            labels=None,
            labels_drawn=None,
            mapping=settings.mapping,
            split_contexts=settings.split_contexts,
            on_bad_row="skip" if settings.skip else "stop",
            limit=None,
        )
        files.write_manifest(manifest)
        with RunDirectory.noting_end(partial(files.end, manifest)):
            with ItemTable(self.scoring.width, self.scoring.by, self.scoring.abstained_at) as table:
                for path in self._files(work.NUMBERS):
                    for scored in read_numbers(path):
                        table.append(scored)
                    self.progress("merge", table.n, check.n)
                summary, repeats = summarize_table(self.scoring, table, check)
                if self.page != folder:
                    self.shown = self._choose(table)
            if repeats is not None:
                with OutputPath(files.repeats).replacing() as out:
                    out.writelines(repeats)
            self._copy(RunFiles.ITEMS_NAME)
            if self.plan.settings.keep_records:
                self._copy(RunFiles.RECORDS_NAME)
            files.write_summary(summary)
            self.progress("report", 0, None)
            if self.write_page is not None:
                self._add_page(self.write_page, summary, manifest)
        manifest.scored = sum(marker.n for marker in self.markers)
        files.end(manifest, None)
        note = "; ".join(dict.fromkeys(m.trouble for m in self.markers if m.trouble)) or None
        if self.store.folder is None:
            return self._publish(summary, note)
        return Result(summary, folder, files.items, note)

    def _add_page(self, write_page: PageWriter, summary: Summary, manifest: Manifest) -> None:
        """Write the page, of a sample if there are more items than it lists."""
        shown, n = self.shown, self.plan.check.n
        if shown is None:
            write_page(self.folder)
            return
        shown_manifest = msgspec.structs.replace(manifest)
        if len(shown) < n:
            sample = (
                f"The list is a sample of {len(shown):,} of {n:,} answers: the worst, some of each "
                "status, others by chance. All numbers are of all answers."
            )
            shown_manifest.benchmark = RunBenchmark(notices=[sample])
        files = RunFiles(self.page)
        files.write_summary(summary)
        files.write_manifest(shown_manifest)
        page = write_page(self.page, is_sample=True)
        with OutputPath(self.folder / page.name).replacing() as out:
            out.write(page.read_bytes())

    def _add_account(self, manifest: Manifest) -> None:
        """Write into the manifest what the shards cost."""
        spent = [Usage(**marker.spent) for marker in self.markers if marker.spent is not None]
        manifest.set_shards(self.plan.digest, self.markers)
        manifest.set_usage(sum(spent[1:], spent[0]) if spent else None)

    def _files(self, kind: str) -> Iterator[Path]:
        """The shards' files of a kind, in order, each with the checksum of its marker."""
        for number, marker in enumerate(self.markers):
            try:
                with self.store.fetched(shard_name(number, kind)) as path:
                    if work.digest_of(path) != marker.files[kind].sha256:
                        raise self._find_damaged()
                    yield path
            except MissingFileError:
                raise self._find_damaged() from None

    def _find_damaged(self) -> DamagedShardsError:
        """Remove the markers of all shards that are not whole, so that they are scored again."""
        of, name = len(self.markers), self.store.name
        damaged = [
            number
            for number, marker in enumerate(self.markers)
            if not work.is_whole(self.store, number, marker)
        ]
        self.store.delete(map(work.marker_name, damaged))
        numbers = ", ".join(str(number + 1) for number in damaged[:_MAX_NAMED])
        first = damaged[0] + 1 if damaged else 1
        return DamagedShardsError(
            f"{name}: files of shard {numbers} of {of} are gone, or are not what was written",
            "Run the command that began the run again; or run it with "
            f"--shard {first}/{of} for each of these shards, and then "
            f"`trueground merge {shlex.quote(name)}`. The other shards are kept",
        )

    def _choose(self, table: ItemTable) -> NDArray[np.int64]:
        """The rows that the page lists: the worst, some of each status, and some by chance."""
        keys = self.scoring.keys
        metric = WorstOrder(keys).headline
        random = np.random.default_rng(0)
        chance = random.choice(table.n, min(table.n, _LISTED // 2), replace=False, shuffle=False)
        if metric is None:
            return np.sort(chance)
        # Block by block: a run may have more items than this process has room for.
        column = keys.index(metric)
        sign = -1.0 if METRICS.higher_is_better(metric) is False else 1.0
        worst, scores = np.empty(0, np.int64), np.empty(0)
        of_each: dict[int, list[int]] = {}
        for low in range(0, table.n, _ROWS):
            status = table.status[low : low + _ROWS][:, column]
            for code in np.unique(status).tolist():
                rows = of_each.setdefault(code, [])
                rows += (low + np.flatnonzero(status == code)[: _OF_EACH - len(rows)]).tolist()
            values = sign * table.scores[low : low + _ROWS][:, column]
            known = np.flatnonzero(~np.isnan(values))
            scores = np.concatenate([scores, values[known]])
            worst = np.concatenate([worst, low + known])
            lowest = np.argsort(scores, kind="stable")[: _LISTED // 2]
            worst, scores = worst[lowest], scores[lowest]
        found = [chance, worst, *(np.array(rows, np.int64) for rows in of_each.values())]
        return np.unique(np.concatenate(found))

    def _copy(self, kind: str) -> None:
        """The shards' files of a kind into that of the run, where it is to be; for the page of a
        sample its lines too.
        """
        with ExitStack() as stack:
            own = OutputPath(self.folder / kind).replacing()
            out = stack.enter_context(
                self.store.streaming(kind) if self.store.folder is None else own
            )
            if self.shown is None:
                for path in self._files(kind):
                    with path.open("rb") as file:
                        shutil.copyfileobj(file, out, _CHUNK)
                return
            sample: Any = stack.enter_context(OutputPath(self.page / kind).replacing())
            if kind == RunFiles.RECORDS_NAME:
                packing = zstandard.ZstdCompressor(level=3)
                sample = stack.enter_context(packing.stream_writer(sample, closefd=False))
            for line in _lines_of(self._lines(out, kind), self.shown):
                sample.write(line)

    def _lines(self, out: BinaryIO, kind: str) -> Iterator[bytes]:
        """All lines of all shards; the files go to `out` as they are."""
        for path in self._files(kind):
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    try:
                        out.write(chunk)
                    except OSError as error:  # not of the page, which is written meanwhile
                        raise WriteError.stopped(Path(self.store.name) / kind, error) from error
            with DataPath(path).open(".zst" if kind == RunFiles.RECORDS_NAME else "") as lines:
                yield from lines

    def _publish(self, summary: Summary, note: str | None) -> Result:
        """Put the rest of the run beside its items; the manifest last, then the shards go."""
        for path in sorted(self.folder.iterdir()):
            if path.name != RunFiles.MANIFEST_NAME and not path.name.startswith("."):
                with self.store.writing(path.name) as out:
                    out.write(path.read_bytes())
        lines = RunFiles(self.page).items.read_bytes()
        pairs = zip(lines.splitlines(), RunFiles(self.page).iter_texts(), strict=False)
        kept = [(text.question, text.response) for _, text in pairs]
        self.store.write(RunFiles.MANIFEST_NAME, RunFiles(self.folder).manifest.read_bytes())
        return Result(summary, None, lines, note, kept)


def _lines_of(lines: Iterator[bytes], rows: NDArray[np.int64]) -> Iterator[bytes]:
    """The lines with these numbers, ascending from 0; all lines are read."""
    wanted = iter(rows.tolist())
    following = next(wanted, None)
    for number, line in enumerate(lines):
        if number == following:
            yield line
            following = next(wanted, None)
