"""The label server under load: how long saving takes while many people label at once.

    python bench/labeling.py [CLIENTS] [TASKS] [SIZE] [DATABASE]

CLIENTS people label TASKS tasks each without a pause, in a process beside the server's. With SIZE
the project has so many tasks more, and one of the people has 40 labels for every 100 of them.
DATABASE is a file that is made, or postgresql://…; without it a file in a temporary folder.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec
import numpy as np
import sqlalchemy as sql
from sqlalchemy import Connection, Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from trueground.testing import synthetic_records
from trueground.text.draws import draw_number
from trueground.wings.labeling.web import schema
from trueground.wings.labeling.web.database import LabelDatabase
from trueground.wings.labeling.web.people import People
from trueground.wings.labeling.web.queue import Queue
from trueground.wings.labeling.web.schema import PLACES
from trueground.wings.labeling.web.serving import open_project


class Load(NamedTuple):
    """What was measured: milliseconds of each save and of each `next`, and seconds of the whole."""

    saves: list[float]
    nexts: list[float]
    seconds: float
    labels: int


def label_all(
    folder: Path, clients: int, tasks: int, database: str | None = None, size: int = 0
) -> Load:
    """Start a server on a new project, and have so many of its tasks done by each of the people."""
    records = folder / "records.jsonl"
    with records.open("wb") as file:
        for row in islice(synthetic_records(tasks), tasks):
            passages = row["passages"] if "passages" in row else row["contexts"]
            line = {**row, "contexts": passages, "question": row.get("question") or "?"}
            file.write(msgspec.json.encode(line) + b"\n")
    place = database or str(folder / "labels.db")
    with open_project(place, from_run=[str(records)], overlap=clients).database as opened:
        tokens = [People(opened).add(f"person {n}", "annotator")[1] for n in range(clients)]
        enlarge(opened, size)
    words = [sys.executable, "-m", "trueground", "annotate", "serve", place]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = next(line for line in process.stdout if line.startswith("lead"))
        url, token = line.split()[1].split("/#token=")
        return asyncio.run(_label(url, token, tokens, tasks))
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def enlarge(database: LabelDatabase, size: int) -> None:
    """Copies of the first task, and the first person's labels of some of them."""
    share = 2 * size // 5

    def fill(connection: Connection) -> None:
        first = connection.execute(sql.select(schema.tasks)).mappings().first()
        start = Queue.count_tasks(connection) + 1
        assert first is not None
        told = {"state": "done", "values": '{"support": "fully"}', "comment": "", "seconds": 3.0}
        told |= {"at": 1.0, "decision": False, "person": 1}
        rows: dict[Table, Iterable[dict[str, Any]]] = {
            schema.tasks: (
                {**first, "number": n, "id": f"{first['id']}-{n}", "place": draw_number(n) % PLACES}
                for n in range(start, start + size)
            ),
            schema.labels: (
                {**told, "number": n, "task": start + n, "key": f"earlier-{n}"}
                for n in range(1, share + 1)
            ),
            schema.work: (
                {"task": start + n, "person": 1, "slot": 0, "label": n} for n in range(1, share + 1)
            ),
        }
        for table, own in rows.items():
            while part := list(islice(own, 10_000)):
                connection.execute(sql.insert(table), part)
            if database.path is None and table is not schema.work:
                connection.exec_driver_sql(
                    f"select setval('{table.name}_number_seq', max(number)) from {table.name}"
                )

    if size:
        database.write(fill)


async def _label(url: str, token: str, tokens: Sequence[str], most: int) -> Load:
    saves, nexts = list[float](), list[float]()
    start = time.perf_counter()
    await asyncio.gather(*(_work(url, one, most, saves, nexts) for one in tokens))
    seconds = time.perf_counter() - start
    async with aiohttp.ClientSession(url, cookie_jar=_jar()) as lead:
        await _post(lead, "/api/enter", {"token": token})
        async with lead.get("/api/lead/export?what=answers") as reply:
            labels = (await reply.read()).count(b"\n")
    return Load(saves, nexts, seconds, labels)


async def _work(url: str, token: str, most: int, saves: list[float], nexts: list[float]) -> None:
    async with aiohttp.ClientSession(url, cookie_jar=_jar()) as session:
        me = await _post(session, "/api/enter", {"token": token})
        told = {"X-CSRF-Token": me["csrf"]}
        for number in range(most):
            start = time.perf_counter()
            task = (await _post(session, "/api/next", {}, told))["task"]
            nexts.append(1e3 * (time.perf_counter() - start))
            assert task is not None
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


def main(clients: int = 20, tasks: int = 200, size: int = 0, database: str | None = None) -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as name:
        load = label_all(Path(name), clients, tasks, database, size)
    assert len(load.saves) == clients * tasks, len(load.saves)
    print(f"load average {os.getloadavg()[0]:.1f}; {load.labels:,} labels in {load.seconds:.1f} s")
    print("| | median ms | p95 ms | longest ms |\n|---|---:|---:|---:|")
    for title, times in (("save", load.saves), ("next", load.nexts)):
        numbers = (*np.percentile(times, [50, 95]), max(times))
        print(f"| {title} | {' | '.join(f'{number:.1f}' for number in numbers)} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:5])
