"""The label server under load: how long saving takes while many people label at once.

    python bench/labelling.py [CLIENTS] [TASKS] [DATABASE]

CLIENTS people label TASKS tasks each without a pause, in a process beside the server's. DATABASE is
a file that is made, or postgresql://…; without it a file in a temporary folder.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from trueground.testing import synthetic_records


class Load(NamedTuple):
    """What was measured: milliseconds of each save and of each `next`, and seconds of the whole."""

    saves: list[float]
    nexts: list[float]
    seconds: float
    labels: int


def label_all(folder: Path, clients: int, tasks: int, database: str | None = None) -> Load:
    """Start a server on a new project, and have all its tasks done by all people."""
    records = folder / "records.jsonl"
    with records.open("wb") as file:
        for row in islice(synthetic_records(tasks), tasks):
            passages = row["passages"] if "passages" in row else row["contexts"]
            line = {**row, "contexts": passages, "question": row.get("question") or "?"}
            file.write(msgspec.json.encode(line) + b"\n")
    words = [sys.executable, "-m", "trueground", "annotate", "serve"]
    words += [database or str(folder / "labels.db"), "--from-run", str(records)]
    words += ["--overlap", str(clients)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = next(line for line in process.stdout if line.startswith("lead"))
        url, token = line.split()[1].split("/#token=")
        return asyncio.run(_label(url, token, clients))
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


async def _label(url: str, token: str, clients: int) -> Load:
    saves, nexts = list[float](), list[float]()
    async with aiohttp.ClientSession(url, cookie_jar=_jar()) as lead:
        me = await _post(lead, "/api/enter", {"token": token})
        told = {"X-CSRF-Token": me["csrf"]}
        links = [
            (await _post(lead, "/api/lead/people", {"name": f"person {n}"}, told))["link"]
            for n in range(clients)
        ]
        start = time.perf_counter()
        await asyncio.gather(*(_work(url, link, saves, nexts) for link in links))
        seconds = time.perf_counter() - start
        async with lead.get("/api/lead/export?what=answers") as reply:
            labels = (await reply.read()).count(b"\n")
    return Load(saves, nexts, seconds, labels)


async def _work(url: str, link: str, saves: list[float], nexts: list[float]) -> None:
    async with aiohttp.ClientSession(url, cookie_jar=_jar()) as session:
        me = await _post(session, "/api/enter", {"token": link.rpartition("=")[2]})
        told = {"X-CSRF-Token": me["csrf"]}
        for number in range(10**6):
            start = time.perf_counter()
            task = (await _post(session, "/api/next", {}, told))["task"]
            nexts.append(1e3 * (time.perf_counter() - start))
            if task is None:
                return
            said = task["options"]["support"][number % 3]
            save = {"task": task["task"], "key": f"save-{number:08}", "state": "done"}
            save |= {"values": {"support": said}, "comment": "", "seconds": 1.5}
            start = time.perf_counter()
            await _post(session, "/api/label", save, told)
            saves.append(1e3 * (time.perf_counter() - start))


def _jar() -> aiohttp.CookieJar:
    return aiohttp.CookieJar(unsafe=True)  # also of addresses without a name


async def _post(
    session: aiohttp.ClientSession, path: str, body: Any, headers: dict[str, str] | None = None
) -> Any:
    async with session.post(path, json=body, headers=headers) as reply:
        found = await reply.json()
        assert reply.status == 200, (path, reply.status, found)
        return found


def main(clients: int = 20, tasks: int = 200, database: str | None = None) -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as name:
        load = label_all(Path(name), clients, tasks, database)
    assert load.labels == clients * tasks, load.labels
    print(f"load average {os.getloadavg()[0]:.1f}; {load.labels:,} labels in {load.seconds:.1f} s")
    print("| | median ms | p95 ms | longest ms |\n|---|---:|---:|---:|")
    for title, times in (("save", load.saves), ("next", load.nexts)):
        numbers = (*np.percentile(times, [50, 95]), max(times))
        print(f"| {title} | {' | '.join(f'{number:.1f}' for number in numbers)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
