"""Pages that are made apart from the server: by a process beside it, or as files (`--bundle`).

The process does what takes long or much memory. It writes a line of JSON for each step
(`{"done", "of"}`), at the end `{"page": …}`, `{"indexed": n}` or `{"error": words}`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError, OutputError, TruegroundError, WriteError
from trueground.execution import ChildProcess
from trueground.files import OutputPath
from trueground.reports import Page, write_run_page
from trueground.view.runs import MARK, FoundRun, RunFolders, RunPairs, list_page, readable

PAIRED = 8  # runs, at most, of which every two are set side by side
INDEX, LEADERBOARD = "index.html", "leaderboard.html"


async def work(task: str, *words: str, told: Callable[[int, int], None] | None = None) -> Any:
    """Do a task in another process and give its result. Raises TruegroundError with its words."""
    process = await ChildProcess.start_async(__name__, task, *words)
    assert process.stdout is not None
    assert process.stderr is not None
    last: dict[str, Any] = {}
    try:
        complaints = asyncio.ensure_future(process.stderr.read())
        while line := await process.stdout.readline():
            last = msgspec.json.decode(line)
            if "of" in last and told is not None:
                told(last["done"], last["of"])
        await process.wait()
        trace = (await complaints).decode("utf-8", "replace").strip()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    for name in ("page", "indexed"):
        if name in last:
            return last[name]
    if "error" in last:
        raise TruegroundError(last["error"])
    print(trace, file=sys.stderr)
    why = trace.splitlines()[-1] if trace else f"exit code {process.returncode}"
    raise TruegroundError(f"computing this page failed: {why}")


def compare_runs(a: Path, b: Path, places: Sequence[str]) -> Page:
    """The page of two runs; `places` are what leads to each."""
    from trueground.studies import compare

    return _readable_page(compare([a, b]).page(places=places).for_viewer())


def rank_runs(runs: Sequence[Path], places: Sequence[str]) -> Page:
    """The leaderboard's page; `places` are what leads to each run."""
    from trueground.studies import Leaderboard

    page = Leaderboard.of(runs).page(dict(zip(runs, places, strict=True)))
    return _readable_page(page.for_viewer())


def _readable_page(page: Page) -> Page:
    """The page; what names of folders have that no UTF-8 has is shown as a question mark."""
    try:
        msgspec.json.encode(page)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(page), ensure_ascii=False)
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=Page)
    return page


def main(words: Sequence[str]) -> None:
    """Do what the words say."""

    def say(value: Any) -> None:
        sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
        sys.stdout.buffer.flush()

    task, *rest = words
    try:
        if task == "index":
            from trueground.view.indexing import grow

            state = grow(Path(rest[0]), lambda done, of: say({"done": done, "of": of}))
            say({"indexed": state.count})
        elif task == "compare":
            say({"page": compare_runs(Path(rest[0]), Path(rest[1]), rest[2:])})
        else:
            say({"page": rank_runs([Path(word) for word in rest[::2]], rest[1::2])})
    except TruegroundError as error:
        say({"error": readable(str(error))})


# ---- as files ----


def write_bundle(paths: Sequence[Path], out: Path) -> Path:
    """Write pages of all runs that the paths are or hold, and return the first page.

    index.html lists them, runs/KEY/report.html is one, leaderboard.html all, compare/ has every two
    of at most PAIRED finished runs. `out` takes its place when it is whole; an earlier bundle there
    is replaced. Raises OutputError for a folder that holds anything else, InputError where there is
    no run, WriteError.
    """
    _check_free(out)
    folders = RunFolders(paths)
    runs = folders.runs()
    if not runs:
        raise InputError(
            f"{folders.named()}: found no run in it or in its subfolders (two levels); name "
            "another folder"
        )
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
    except OSError as error:
        raise OutputError.unusable(out, error) from error
    whole, old = aside / "new", aside / "old"
    try:
        whole.mkdir()
        _write(runs, folders.named(), whole)
        if out.exists():
            out.rename(old)  # kept until the new one is there
        try:
            whole.rename(out)
        except OSError:
            if old.exists():
                old.rename(out)
            raise
    except OSError as error:
        raise WriteError.stopped(out, error) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return out / INDEX


def _check_free(out: Path) -> None:
    if not os.path.lexists(out):
        return
    if not out.is_dir() or out.is_symlink():
        raise OutputError(f"{out} is not a folder; --bundle needs a folder")
    if not any(out.iterdir()):
        return
    if not (out / INDEX).is_file():
        raise OutputError(f"{out} holds other files, so it stays; choose another --bundle")
    OutputPath(out / INDEX, "--bundle").check_mark(f'content="{MARK}"', "bundle of ours")


def _write(runs: Sequence[FoundRun], named: str, out: Path) -> None:
    """All pages. What cannot be drawn is listed with why."""
    hrefs, home = {}, f"../../{INDEX}"
    for run in [one for one in runs if one.is_finished]:
        folder = out / "runs" / run.key
        folder.mkdir(parents=True)
        try:
            try:
                page = write_run_page(run.path, out=folder, home=home)
            except InputError:  # of one with lines that cannot be read, what can be
                page = write_run_page(run.path, out=folder, home=home, leave_out=True)
            hrefs[run.key] = page.relative_to(out).as_posix()
        except InputError as error:
            run.problem, run.state = str(error), "broken"
            shutil.rmtree(folder)
    finished = [run for run in runs if run.is_finished]
    if finished:
        with suppress(TruegroundError):  # they cannot be ranked together: each is still to be seen
            places = [hrefs[run.key] for run in finished]
            board = rank_runs([run.path for run in finished], places)
            board.home = INDEX
            board.write(out / LEADERBOARD)
    pair = _write_pairs(finished, out) if 1 < len(finished) <= PAIRED else None
    board_href = LEADERBOARD if (out / LEADERBOARD).exists() else None
    list_page(runs, named, hrefs, pair, {}, board_href).write(out / INDEX)


def _write_pairs(runs: Sequence[FoundRun], out: Path) -> RunPairs:
    """Pages of every two runs, the newer against the older; `runs` has the newest first."""
    refused = {}
    (out / "compare").mkdir()
    for newer, older in combinations(runs, 2):
        places = [f"../runs/{run.key}/" for run in (older, newer)]
        try:
            page = compare_runs(older.path, newer.path, places)
        except TruegroundError as error:
            for pair in ((older, newer), (newer, older)):
                refused[" ".join(run.key for run in pair)] = str(error)
            continue
        page.home = f"../{INDEX}"
        page.write(out / "compare" / f"{older.key}--{newer.key}.html")
    return RunPairs("compare/{a}--{b}.html", refused)
