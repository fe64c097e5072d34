"""The runs in some folders as a list tells of them: what each measured, and how it stands."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from trueground.errors import InputError
from trueground.files import FolderLock, OutputPath
from trueground.reports import Cell, Estimate, Head, Page, Row, RunReport, Span, Table, Text
from trueground.runs import Manifest, RunFiles, Summary, headline_metric, resume_advice
from trueground.text import few, several

MARK = "trueground-runs-1"
_SEARCHED = 10  # from more runs on, the list has a field for words
QUIET_S = 600  # after which it is said that a run writes nothing


class RunPairs(NamedTuple):
    """Where every two runs of a list are side by side.

    Attributes:
        href: The link to their page, with {a} and {b} for their keys.
        refused: For some pairs, named "a b", why there is no such page.
    """

    href: str
    refused: Mapping[str, str] = MappingProxyType({})


class FoundRun(msgspec.Struct):
    """A run directory and what its files say. `problem` says why it cannot be shown.

    `is_written` says whether a process holds it at the moment.
    """

    key: str
    label: str
    path: Path
    state: str
    manifest: Manifest = msgspec.field(default_factory=lambda: Manifest(trueground=""))
    summary: Summary | None = None
    problem: str | None = None
    version: str = ""
    is_written: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether it has all that a page of a run tells."""
        return self.problem is None and self.state == "finished"

    @property
    def advice(self) -> str:
        """How to resume it."""
        return resume_advice({"command": self.manifest.command})

    @property
    def goes_on(self) -> bool:
        """Whether more answers may come."""
        return self.problem is None and self.state == "running"


class RunFolders:
    """The runs that some paths are, or hold two levels deep, as they are at the moment."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self._known: dict[Path, tuple[str, FoundRun]] = {}
        self._lines: dict[Path, tuple[int, int]] = {}

    def runs(self) -> list[FoundRun]:
        """All of them, the newest first."""
        folders, _ = RunFiles.find_folders(self._paths)
        known = {folder: self._read(folder) for folder in folders}
        self._known = known  # as a whole: several requests may be here at once
        for folder, (_, run) in known.items():
            run.is_written = run.goes_on and FolderLock(folder).is_held()
        found = (run for _, run in known.values())
        return sorted(found, key=lambda run: (_started(run), run.label), reverse=True)

    def find(self, key: str) -> FoundRun | None:
        """The run of a key; None where there is none."""
        return next((run for run in self.runs() if run.key == key), None)

    def named(self) -> str:
        """The folders, as they are told."""
        return readable(", ".join(map(str, self._paths)))

    def progress(self, run: FoundRun) -> str:
        """How far a run in progress is, in words."""
        n, files = run.manifest.n, RunFiles(run.path)
        of = "" if n is None else f" of {n:,}"
        scored, asked = self._count(files.items), self._count(files.responses)
        text = f"{asked:,}{of} asked" if asked and not scored else f"{scored:,}{of} scored"
        idle = _idle(run.path)
        if run.is_written and idle > QUIET_S:
            text += f"; nothing written for {_duration(idle)}"
        elif not run.is_written:
            text += f". {run.advice}"
        return text

    def _count(self, path: Path) -> int:
        """The lines of a file that grows; what was counted before is not read again."""
        end, lines = self._lines.get(path, (0, 0))
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < end:
                    end = lines = 0
                file.seek(end)
                while block := file.read(1 << 20):
                    end, lines = end + len(block), lines + block.count(b"\n")
        except OSError:
            return 0
        self._lines[path] = end, lines
        return lines

    def _read(self, folder: Path) -> tuple[str, FoundRun]:
        files = RunFiles(folder)
        version = f"{_stamp(files.manifest)}-{_stamp(files.summary)}"
        known = self._known.get(folder)
        if known is None or known[0] != version:
            known = version, _read_run(folder, self._label(folder), version)
        return known

    def _label(self, folder: Path) -> str:
        """Its path below the one that was named, or its own name."""
        for path in self._paths:
            if folder != path and folder.is_relative_to(path):
                return folder.relative_to(path).as_posix()
        return folder.resolve().name


def _read_run(folder: Path, label: str, version: str) -> FoundRun:
    place = str(folder.resolve()).encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(place, digest_size=4).hexdigest()
    label = readable(label)
    key = f"{OutputPath.safe_name(label)}-{digest}"
    run = FoundRun(key, label, folder, "broken", version=version)
    files = RunFiles(folder)
    try:
        run.manifest = files.read_manifest()
        run.state = run.manifest.status
        if run.state == "finished":
            run.summary = files.read_summary()
        if run.state != "running" and not files.items.is_file():
            raise InputError(f"{files.items}: not found")
    except InputError as error:
        problem = str(error).replace(f"{folder}{os.sep}", "")
        run.problem, run.state = readable(problem), "broken"
    return run


def readable(text: str) -> str:
    """The text without what no UTF-8 has; names of files may hold it."""
    return text.encode("utf-8", "replace").decode()


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "none"
    return f"{found.st_mtime_ns}.{found.st_size}"


def _idle(folder: Path) -> float:
    """Seconds since anything was written in the folder."""
    files = RunFiles(folder)
    places = [folder, files.manifest, files.items, files.responses]
    return time.time() - max((path.stat().st_mtime for path in places if path.exists()), default=0)


def _duration(seconds: float) -> str:
    minutes = int(seconds // 60)
    return several(minutes, "minute") if minutes < 120 else several(minutes // 60, "hour")


def _started(run: FoundRun) -> str:
    return run.manifest.start or ""


# ---- the page ----


def list_page(
    runs: Sequence[FoundRun],
    where: str,
    hrefs: Mapping[str, str],
    pairs: RunPairs | None,
    progress: Mapping[str, str],
    leaderboard: str | None,
) -> Page:
    """The list of runs. `hrefs` and `progress` are by the runs' keys."""
    blocks: list[Any] = []
    if leaderboard:
        blocks.append(Text([Span.link("Leaderboard of all finished runs", leaderboard)]))
    if runs:
        grounded = Head("Grounded", "estimate", digits=0, percent=True)
        columns = [Head("Run"), grounded, Head("Headline", "estimate", digits=4)]
        columns += [Head("Model"), Head("Task"), Head("Answers", "number")]
        columns += [Head("Date"), Head("State")]
        rows = [_row(run, hrefs.get(run.key), progress.get(run.key)) for run in runs]
        search = len(runs) > _SEARCHED
        table = Table(columns, rows, sortable=len(runs) > 1, search=search)
        if pairs is not None and sum(run.is_finished for run in runs) > 1:
            table.link_pairs("Side by side", pairs.href, pairs.refused)
        blocks.append(table)
    else:
        named = (Span.code("trueground score"), " and ", Span.code("trueground run"))
        told = f" in {where}, or two levels below, appear when this page is loaded again."
        blocks.append(Text(["No run is here yet. Runs of ", *named, told], "note"))
    return Page("runs", MARK, "Runs", blocks, lead=f"{several(len(runs), 'run')} in {where}")


def _row(run: FoundRun, href: str | None, progress: str | None) -> Row:
    manifest, summary = run.manifest, run.summary
    cells: list[Cell] = [[Span.link(run.label, href)]]
    if run.problem:
        cells += ["", "", "–", "–", None, _date(run), run.state]
        return Row(cells, "apart", run.problem)
    state: Cell = run.state
    if run.goes_on and run.is_written:
        state = ["running ", Span.quiet(progress or "")]
    elif not run.is_finished:
        reason = "" if run.goes_on else f" ({run.state})"
        advice = progress or run.advice
        state = [f"unfinished{reason} ", Span.quiet(advice)]
    asked, model, task = manifest.benchmark, "", ", ".join(RunReport({}, manifest.raw).input_names)
    if manifest.model is not None:
        model = manifest.model.name
    elif summary is not None:
        model = few(list(summary.by.get("model") or ()))
    if asked is not None:
        task = f"{asked.name}/{asked.task}"
    cells += [_grounded(run), _headline(run), model or "–", task or "–"]
    cells += [manifest.scored if summary is None else summary.n, _date(run), state]
    return Row(cells, key=run.key if run.is_finished else None)


def _grounded(run: FoundRun) -> Cell:
    """The share of grounded answers with its interval; empty if none could be judged."""
    summary = run.summary
    if summary is None or summary.verdicts is None or not RunReport(summary.raw).has_verdicts:
        return ""
    grounded = summary.verdicts.grounded
    low, high = grounded.ci or (None, None)
    return Estimate(grounded.share, low, high)


def _headline(run: FoundRun) -> Cell:
    metrics = run.summary.metrics if run.summary else {}
    benchmark = run.manifest.benchmark
    name = benchmark.headline if benchmark else None
    if name not in metrics:
        name = headline_metric(metrics)
    if name is None or metrics[name].mean is None:
        return ""
    low, high = metrics[name].ci or (None, None)
    return Estimate(metrics[name].mean, low, high, note=name)


def _date(run: FoundRun) -> str:
    return _started(run)[:16].replace("T", " ") or "–"
