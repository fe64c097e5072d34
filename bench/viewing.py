"""`trueground view` on a run of many answers: seconds until it can be used, and memory.

    python bench/viewing.py [--answers 1000000] [--run FOLDER]

Scores made records of that many answers with the default set of metrics, unless a run is named.
Starts the server as a user does and asks it over HTTP: the first opening, with the index to make;
then, with a fresh server, the page, filters, orders, searches and pages of the list, single
answers. Every question is asked once: nothing is remembered of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
from bench.run import synthetic_records

PAGES = [
    ("first page, worst first", "list?page=0"),
    ("last page", "list?page=999999"),
    ("order by a metric", "list?sort=-f1"),
    ("order by another", "list?sort=%2Bsupport"),
    ("order by id", "list?sort=-id"),
    ("verdict", "list?verdict=partly_grounded"),
    ("reason", "list?kind=name"),
    ("score between", "list?metric=k_f1&low=0.1&high=0.2"),
    ("status", "list?metric=p_ir&status=not_applicable"),
    ("field", "list?by.model=model-3"),
    ("search, a rare word", "list?q=kustwin"),
    ("search, a common word", "list?q=the"),
    ("search, one letter", "list?q=a"),
    ("search, a word and a letter", "list?q=wustpor+r"),
    (
        "all together",
        "list?q=the+grel&verdict=not_grounded&kind=name&by.model=model-3&sort=-rouge_l&page=3",
    ),
    ("one answer", "item?id=r{middle}"),
    ("one answer, filtered list", "item?q=the&sort=-f1&id=r{last}"),
]


def make_run(n: int, folder: Path) -> Path:
    """A run of so many answers, really scored."""
    import orjson

    source, out = folder / "answers.jsonl", folder / "run"
    rows = enumerate(synthetic_records(n, seed=2))
    with source.open("wb") as file:
        while chunk := list(islice(rows, 10_000)):
            more = ({**row, "model": f"model-{k % 7}"} for k, row in chunk)
            file.write(b"".join(orjson.dumps(row) + b"\n" for row in more))
    command = [sys.executable, "-m", "trueground", "score", str(source), "--out", str(out)]
    subprocess.run([*command, "--by", "model", "--quiet", "--workers", "2"], check=True)
    source.unlink()
    return out


class Memory:
    """The largest resident memory of a server, and of the processes that it starts, in bytes."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.server = self.workers = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._end.wait(0.02):
            self.server = max(self.server, resident(self._pid))
            self.workers = max([self.workers, *map(resident, children(self._pid))])

    def stop(self) -> None:
        self._end.set()
        self._thread.join()


def resident(pid: int) -> int:
    """Resident bytes of a process now."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> list[int]:
    """The processes that it has started."""
    found = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    except OSError:
        pass
    return found


@contextmanager
def served(run: Path, home: Path) -> Iterator[tuple[str, Memory]]:
    """The address of the run's pages, while the server runs."""
    options = ["--port", "0", "--no-browser", "--no-token"]
    command = [sys.executable, "-m", "trueground", "view", str(run), *options]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TRUEGROUND_HOME": str(home)},
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    memory = Memory(process.pid)
    try:
        yield address, memory
    finally:
        memory.stop()
        process.terminate()
        process.communicate()


def ask(url: str) -> tuple[Any, float]:
    """The JSON there, and the seconds that it took."""
    start = time.perf_counter()
    with urllib.request.urlopen(url, timeout=300) as reply:
        found = json.loads(reply.read())
    return found, time.perf_counter() - start


def measure(run: Path, home: Path, pages: Sequence[str] = ()) -> dict[str, Any]:
    """Seconds and bytes of everything; `pages` are asked in place of PAGES."""
    found: dict[str, Any] = {}
    with served(run, home) as (url, memory):
        start = time.perf_counter()
        page, seconds = ask(url + "page")
        found["first look"] = seconds
        while page["going"]:
            time.sleep(0.3)
            page, _ = ask(url + "state")
        found["index"] = time.perf_counter() - start
        total = ask(url + "list?page=0")[0]["total"]
    found["worker MB"], found["server MB while indexing"] = (
        memory.workers / 1e6,
        memory.server / 1e6,
    )
    with served(run, home) as (url, memory):
        _, found["page"] = ask(url + "page")
        for name, path in zip(pages, pages, strict=True) if pages else PAGES:
            reply, seconds = ask(url + path.format(middle=total // 2, last=total - 1))
            found[name] = seconds
            assert reply
    found["server MB"], found["answers"] = memory.server / 1e6, total
    return found


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser()
    options.add_argument("--answers", type=int, default=1_000_000)
    options.add_argument("--run", type=Path)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = chosen.run or make_run(chosen.answers, Path(folder))
        found = measure(run, Path(folder) / "home")
    print(f"\n{found.pop('answers'):,} answers\n\n| what | |\n|---|---:|")
    for name, value in found.items():
        unit = f"{value:,.0f} MB" if "MB" in name else f"{value:,.3f} s"
        print(f"| {name.replace(' MB', '')} | {unit} |")


if __name__ == "__main__":
    main()
