"""What `trueground view` shows, as files that any web server or object store can hand out."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path

from trueground.errors import InputError, OutputError, TruegroundError
from trueground.reports.blocks import Pair
from trueground.reports.run_page import write_run_page
from trueground.reports.viewer import write_page
from trueground.runs.directory import check_ours, unusable, write_error
from trueground.web.runs import MARK, FoundRun, RunFolders, list_page
from trueground.web.worker import compare_runs, rank_runs

PAIRED = 8  # runs, at most, of which every two are set side by side
INDEX, LEADERBOARD = "index.html", "leaderboard.html"


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
        raise InputError(f"{folders.named()}: no run there, or two levels below; name another")
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        whole = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
    except OSError as error:
        raise unusable(out, error) from error
    try:
        whole.chmod(0o755)
        _write(runs, folders.named(), whole)
        _replace(whole, out)
    except OSError as error:
        raise write_error(out, error) from error
    finally:
        shutil.rmtree(whole, ignore_errors=True)
    return out / INDEX


def _check_free(out: Path) -> None:
    if not os.path.lexists(out):
        return
    if not out.is_dir() or out.is_symlink():
        raise OutputError(f"{out} is no folder; --bundle must name one")
    if not any(out.iterdir()):
        return
    if not (out / INDEX).is_file():
        raise OutputError(f"{out} holds other files, so it stays; choose another --bundle")
    check_ours(out / INDEX, f'content="{MARK}"', "bundle of ours", "--bundle")


def _replace(whole: Path, out: Path) -> None:
    """Put the new folder in the place of the old one, which is kept until then."""
    old = None
    if out.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
        out.rename(old / "old")
    try:
        whole.rename(out)
    except OSError:
        if old is not None:
            (old / "old").rename(out)
        raise
    finally:
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)


def _write(runs: Sequence[FoundRun], named: str, out: Path) -> None:
    """All pages. What cannot be drawn is listed with why."""
    hrefs = {}
    for run in runs:
        if run.is_finished:
            folder = out / "runs" / run.key
            folder.mkdir(parents=True)
            try:
                page = _write_run(run.path, folder)
            except InputError as error:
                run.problem, run.state = str(error), "broken"
                shutil.rmtree(folder)
                continue
            hrefs[run.key] = page.relative_to(out).as_posix()
    finished = [run for run in runs if run.is_finished]
    if finished:
        with suppress(TruegroundError):  # they cannot be ranked together: each is still to be seen
            places = [hrefs[run.key] for run in finished]
            board = rank_runs([run.path for run in finished], places)
            board.home = INDEX
            write_page(out / LEADERBOARD, board)
    pair = _write_pairs(finished, out) if 1 < len(finished) <= PAIRED else None
    board_href = LEADERBOARD if (out / LEADERBOARD).exists() else None
    write_page(out / INDEX, list_page(runs, named, hrefs, pair, {}, board_href))


def _write_run(run: Path, folder: Path) -> Path:
    """The page of a run; of one with lines that cannot be read, what can be."""
    home = f"../../{INDEX}"
    try:
        return write_run_page(run, out=folder, home=home)
    except InputError:
        return write_run_page(run, out=folder, home=home, leave_out=True)


def _write_pairs(runs: Sequence[FoundRun], out: Path) -> Pair:
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
        write_page(out / "compare" / f"{older.key}--{newer.key}.html", page)
    return Pair("Side by side", "compare/{a}--{b}.html", refused)
