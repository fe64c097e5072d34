"""The runs in some folders as a list tells of them: what each measured, and how it stands."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trueground.files.locks import FolderLock
from trueground.records.problems import UNREADABLE
from trueground.reports.blocks import (
    Cell,
    Estimate,
    Head,
    Page,
    Pair,
    Row,
    Table,
    Text,
    code,
    link,
    quiet,
)
from trueground.reports.sentences import has_verdicts, input_names
from trueground.runs.directory import ITEMS, MANIFEST, RESPONSES, SUMMARY, safe_name
from trueground.runs.identity import resume_advice
from trueground.runs.worst import headline_metric
from trueground.studies.leaderboard.runs import find_runs
from trueground.text.wording import few, several

MARK = "trueground-runs-1"
_SEARCHED = 10  # from more runs on, the list has a field for words
QUIET_S = 600  # after which it is said that a run writes nothing


class FoundRun(msgspec.Struct):
    """A run directory and what its files say. `problem` says why it cannot be shown.

    `is_written` says whether a process holds it at the moment.
    """

    key: str
    label: str
    path: Path
    state: str
    manifest: dict[str, Any]
    summary: dict[str, Any]
    problem: str | None = None
    version: str = ""
    is_written: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether it has all that a page of a run tells."""
        return self.problem is None and self.state == "finished"

    @property
    def goes_on(self) -> bool:
        """Whether more answers may come."""
        return self.problem is None and self.state == "running"


class _ManifestShape(msgspec.Struct):
    """What pages take for granted in a manifest.json."""

    trueground: str
    status: str = "finished"
    kind: str | None = None
    start: str | None = None
    n: int | None = None
    scored: int | None = None
    metrics: dict[str, str] = {}
    by: list[str] = []
    benchmark: dict[str, Any] | None = None
    params: dict[str, Any] | None = None
    judge: dict[str, Any] | None = None
    judges: list[dict[str, Any]] | None = None
    decomposer: dict[str, Any] | None = None
    rater: dict[str, Any] | None = None


class _EntryShape(msgspec.Struct):
    mean: float | None
    ci: tuple[float, float] | None = None


class _ShareShape(msgspec.Struct):
    n: int
    share: float | None = None
    ci: tuple[float, float] | None = None


class _VerdictsShape(msgspec.Struct):
    n: int
    grounded: _ShareShape
    unscored: _ShareShape


class _SummaryShape(msgspec.Struct):
    """The same of a summary.json."""

    n: int
    metrics: dict[str, _EntryShape]
    by: dict[str, dict[str, dict[str, Any]]] = {}
    averages: dict[str, dict[str, dict[str, Any]]] = {}
    reasons: dict[str, int] = {}
    verdicts: _VerdictsShape | None = None
    abstention: dict[str, Any] | None = None
    abstention_rate: float | None = None


class RunFolders:
    """The runs that some paths are, or hold two levels deep, as they are at the moment."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self._known: dict[Path, tuple[str, FoundRun]] = {}
        self._lines: dict[Path, tuple[int, int]] = {}

    def runs(self) -> list[FoundRun]:
        """All of them, the newest first."""
        folders, _ = find_runs(self._paths)
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
        n = run.manifest.get("n")
        of = f" of {n:,}" if isinstance(n, int) else ""
        scored, asked = self._count(run.path / ITEMS), self._count(run.path / RESPONSES)
        text = f"{asked:,}{of} asked" if asked and not scored else f"{scored:,}{of} scored"
        idle = _idle(run.path)
        if run.is_written and idle > QUIET_S:
            text += f"; nothing written for {_duration(idle)}"
        elif not run.is_written:
            text += f". {resume_advice(run.manifest)}"
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
        version = "-".join(_stamp(folder / name) for name in (MANIFEST, SUMMARY))
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
    key = f"{safe_name(label)}-{digest}"
    run = FoundRun(key, label, folder, "broken", {}, {}, version=version)
    try:
        run.manifest = _read_json(folder / MANIFEST)
        if "trueground" not in run.manifest:
            run.problem, run.state = f"{MANIFEST} is not of a trueground run", "no run of ours"
            return run
        _check_shape(run.manifest, _ManifestShape, MANIFEST)
        run.state = run.manifest.get("status", "finished")
        if run.state == "finished":
            run.summary = _read_json(folder / SUMMARY)
            _check_shape(run.summary, _SummaryShape, SUMMARY)
        if run.state != "running" and not (folder / ITEMS).is_file():
            raise ValueError(f"{ITEMS} is not there")
    except (OSError, ValueError) as error:
        run.problem, run.state = readable(str(error)), "broken"
    return run


def readable(text: str) -> str:
    """The text without what no UTF-8 has; names of files may hold it."""
    return text.encode("utf-8", "replace").decode()


def _read_json(path: Path) -> dict[str, Any]:
    """Raises ValueError with what is wrong, in words."""
    try:
        found = msgspec.json.decode(path.read_bytes())
    except FileNotFoundError:
        raise ValueError(f"{path.name} is not there") from None
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror}") from None
    except UNREADABLE as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} holds no object")
    return found


def _check_shape(found: dict[str, Any], shape: type[msgspec.Struct], name: str) -> None:
    try:
        msgspec.convert(found, shape)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(f"{name} is not as trueground writes it: {error}") from None


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "none"
    return f"{found.st_mtime_ns}.{found.st_size}"


def _idle(folder: Path) -> float:
    """Seconds since anything was written in the folder."""
    places = [folder, *(folder / name for name in (MANIFEST, ITEMS, RESPONSES))]
    return time.time() - max((path.stat().st_mtime for path in places if path.exists()), default=0)


def _duration(seconds: float) -> str:
    minutes = int(seconds // 60)
    return several(minutes, "minute") if minutes < 120 else several(minutes // 60, "hour")


def _started(run: FoundRun) -> str:
    return str(run.manifest.get("start") or "")


# ---- the page ----


def list_page(
    runs: Sequence[FoundRun],
    where: str,
    hrefs: Mapping[str, str],
    pair: Pair | None,
    progress: Mapping[str, str],
    leaderboard: str | None,
) -> Page:
    """The list of runs. `hrefs` and `progress` are by the runs' keys."""
    blocks: list[Any] = []
    if leaderboard:
        blocks.append(Text([link("Leaderboard of all finished runs", leaderboard)]))
    if runs:
        grounded = Head("Grounded", "estimate", digits=0, percent=True)
        columns = [Head("Run"), grounded, Head("Headline", "estimate", digits=4)]
        columns += [Head("Model"), Head("Task"), Head("Answers", "number")]
        columns += [Head("Date"), Head("State")]
        rows = [_row(run, hrefs.get(run.key), progress.get(run.key)) for run in runs]
        pair = pair if sum(run.is_finished for run in runs) > 1 else None
        search = len(runs) > _SEARCHED
        blocks.append(Table(columns, rows, sortable=len(runs) > 1, pair=pair, search=search))
    else:
        named = (code("trueground score"), " and ", code("trueground run"))
        told = f" in {where}, or two levels below, appear when this page is loaded again."
        blocks.append(Text(["No run is here yet. Runs of ", *named, told], "note"))
    return Page("runs", MARK, "Runs", blocks, lead=f"{several(len(runs), 'run')} in {where}")


def _row(run: FoundRun, href: str | None, progress: str | None) -> Row:
    manifest, summary = run.manifest, run.summary
    cells: list[Cell] = [[link(run.label, href)]]
    if run.problem:
        cells += ["", "", "–", "–", None, _date(run), run.state]
        return Row(cells, "apart", run.problem)
    state: Cell = run.state
    if run.goes_on and run.is_written:
        state = ["running ", quiet(progress or "")]
    elif not run.is_finished:
        reason = "" if run.goes_on else f" ({run.state})"
        advice = progress or resume_advice(run.manifest)
        state = [f"unfinished{reason} ", quiet(advice)]
    n = summary.get("n", manifest.get("scored"))
    asked = manifest.get("benchmark")
    model = few(list((summary.get("by") or {}).get("model") or ()))
    if isinstance(manifest.get("model"), dict):
        model = str(manifest["model"].get("name"))
    task = ", ".join(input_names(manifest.get("input")))
    if asked:
        task = f"{asked.get('name')}/{asked.get('task')}"
    cells += [_grounded(run), _headline(run), model or "–", task or "–"]
    cells += [n if isinstance(n, int) else None, _date(run), state]
    return Row(cells, key=run.key if run.is_finished else None)


def _grounded(run: FoundRun) -> Cell:
    """The share of grounded answers with its interval; empty if none could be judged."""
    if not has_verdicts(run.summary):
        return ""
    grounded = run.summary["verdicts"]["grounded"]
    low, high = grounded.get("ci") or (None, None)
    return Estimate(grounded["share"], low, high)


def _headline(run: FoundRun) -> Cell:
    metrics = run.summary.get("metrics") or {}
    wanted = (run.manifest.get("benchmark") or {}).get("headline")
    name = wanted if wanted in metrics else headline_metric(metrics)
    if name is None or metrics[name]["mean"] is None:
        return ""
    low, high = metrics[name].get("ci") or (None, None)
    return Estimate(metrics[name]["mean"], low, high, note=name)


def _date(run: FoundRun) -> str:
    return _started(run)[:16].replace("T", " ") or "–"
