"""What is done is not done again: outcomes stand under all that they depend on."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.wings.papers.builders.building import built, contents, home, manifest, reasons, source
from tests.wings.papers.builders.little import Line, answering
from tests.wings.papers.builders.scripted_server import all_text, scripted

from trueground.errors import InputError, ProtocolError
from trueground.options.shared import do_nothing
from trueground.testing import FakeModel
from trueground.wings.papers.builders.base import Rejected, SourceStep, Stage
from trueground.wings.papers.builders.client import ModelClient, RoleModel
from trueground.wings.papers.builders.flow import (
    FailureLimit,
    Flow,
    count_workers,
    read_source,
    run_stage,
)
from trueground.wings.papers.builders.store import STORE, BuildStore

__all__ = ["home"]


def asked(server: Any, since: int = 0) -> Counter[str]:
    """Calls by model."""
    return Counter(body["model"] for body in server.calls[since:])


def test_a_build_from_end_to_end(home: Path) -> None:
    with scripted(answering(bad=lambda text: "NUMBER 3" in text)) as server:
        made = built(home, server)
    assert made.items == 8
    assert reasons(made) == {"read": {"blank": 1}, "check": {"bad": 2}}
    assert asked(server) == {"w": 10, "j": 10}
    out = home / "out"
    lines = (out / "dataset/answers.jsonl").read_bytes().splitlines()
    rows = [msgspec.json.decode(line) for line in lines]
    good = [f"line5-{i}{second}" for i in (1, 2, 3, 5) for second in ("", "-2")]
    assert [row["id"] for row in rows] == good
    assert rows[1]["response"] == "AGAIN LINE NUMBER 0"
    fallen = [msgspec.json.decode(x) for x in (out / "dropped.jsonl").read_bytes().splitlines()]
    assert [row["id"] for row in fallen] == ["line5-6", "line5-4", "line5-4-2"]
    assert (out / "annotate/validity.jsonl").read_bytes().count(b"\n") == 8
    told = manifest(out)
    assert told["status"] == "finished"
    assert (told["models"]["writer"]["calls"], told["models"]["judge"]["calls"]) == (10, 10)
    assert told["models"]["judge"]["params"]["temperature"] == 0.0


def test_nothing_changed_nothing_asked(home: Path) -> None:
    with scripted(answering()) as server:
        built(home, server)
        before, calls = contents(home / "out"), len(server.calls)
        for cache in (True, False):
            built(home, server, cache=cache)
            assert len(server.calls) == calls
    assert contents(home / "out") == before
    told = manifest(home / "out")
    assert told["sessions"] == 3
    assert told["models"]["writer"]["calls"] == 10  # of all sessions


def test_a_changed_judge_judges_and_nobody_writes(home: Path) -> None:
    with scripted(answering()) as server:
        built(home, server, cache=False)
        since = len(server.calls)
        built(home, server, models={"writer": "w", "judge": "other"}, cache=False)
        assert asked(server, since) == {"other": 10}
        assert manifest(home / "out")["models"]["judge"]["calls"] == 10
        since = len(server.calls)
        built(home, server, cache=False)  # back to the first: its outcomes are still there
        assert asked(server, since) == {}


def test_a_changed_prompt_changes_its_stage_and_what_comes_of_it(home: Path) -> None:
    own = home / "mine.txt"
    own.write_text("Write it in capitals, please.\n{text}")
    with scripted(answering()) as server:
        built(home, server, cache=False)
        since = len(server.calls)
        # Other words, the same texts: the judge has nothing new to read.
        built(home, server, cache=False, prompts={"little_write": own})
        assert asked(server, since) == {"w": 10}
        since = len(server.calls)
        own.write_text("Tell if this is good.\n{text}")
        built(home, server, cache=False, prompts={"little_judge": own})
        assert asked(server, since) == {"j": 10}


def test_only_new_items_are_worked_on(home: Path) -> None:
    with scripted(answering()) as server:
        path = source(home, 3)
        built(home, server, n=3, cache=False)
        since = len(server.calls)
        path.write_text(path.read_text().replace("number 1", "number one"))
        from trueground.wings.papers.builders.api import build
        from trueground.wings.papers.builders.build import BuildSettings
        from trueground.wings.papers.builders.settings import EndpointDefaults

        settings = BuildSettings(endpoint=EndpointDefaults(base_url=server.url), cache=False)
        models = {"writer": "w", "judge": "j"}
        build("little", path, home / "out", models=models, settings=settings)
        assert asked(server, since) == {"w": 2, "j": 2}
        assert all("ONE" in all_text(b).upper() for b in server.calls[since:])


def test_parameters_of_calls_count(home: Path) -> None:
    with scripted(answering()) as server:
        built(home, server)
        since = len(server.calls)
        built(home, server, endpoint={"temperature": 1})
        assert asked(server, since) == {"w": 10}  # the judge's temperature is 0 in any case
        since = len(server.calls)
        built(home, server, endpoint={"temperature": 1.0})
        assert not asked(server, since)


def test_stages_that_are_gone_leave_no_file(home: Path) -> None:
    with scripted(answering()) as server:
        built(home, server)
        built(home, server, options={"stages": 1})
        assert [p.name for p in sorted((home / "out/stages").iterdir())] == [
            "01-read.jsonl",
            "02-write.jsonl",
        ]


def test_the_limit_is_of_source_items(home: Path) -> None:
    with scripted(answering()) as server:
        made = built(home, server, limit=2)
        assert asked(server) == {"w": 4, "j": 4}
    assert made.items == 4
    assert made.summary["stages"][0]["in"] == 2
    assert made.summary["left_out"] == manifest(home / "out")["left_out"] == 4


def test_a_limit_beyond_the_source_leaves_nothing_out() -> None:
    rows = [Line("a", "x"), Rejected("blank", id="b"), Line("c", "y")]
    read = SourceStep("read", "Read", Line, lambda: rows, {"blank": "nothing"})
    assert read_source(read, 2)[2] == 0
    items, flowed, left_out = read_source(read, 1)
    assert ([i.id for i in items], flowed.n_in, left_out) == (["a"], 2, 1)


def stage(work: Any, **more: Any) -> Stage[Line, Line]:
    return Stage("s", "S", Line, work, reasons={"known": "it is known"}, **more)


def done(folder: Path, one: Stage[Line, Line], n: int = 3) -> Any:
    items = [Line(str(i), f"text {i}") for i in range(n)]
    limit = FailureLimit(1.0, n)
    with BuildStore(folder) as store:
        flow = Flow(ModelClient({}), store, limit, do_nothing)
        return asyncio.run(run_stage(one, items, flow))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ([Rejected("unheard", id="a")], "reason 'unheard', which it doesn.t declare"),
        ([Line("same", "x")], "the id 'same' twice"),
        ([msgspec.json.decode('{"id": 1}')], "can.t be read"),
    ],
)
def test_a_stage_that_breaks_its_promise(tmp_path: Path, made: list[Any], words: str) -> None:
    async def work(_item: Line, _ask: Any) -> list[Any]:
        return made

    with pytest.raises(ProtocolError, match=words):
        done(tmp_path, stage(work))


def test_what_may_pass_is_tried_again(tmp_path: Path) -> None:
    tried: Counter[str] = Counter()

    async def work(item: Line, _ask: Any) -> list[Line | Rejected]:
        tried[item.id] += 1
        if item.id == "1":
            raise Rejected("known", "for now", transient=True)
        return [Rejected("call_failed", id=item.id)] if item.id == "2" else [item]

    for n in (1, 2):
        kept, flowed = done(tmp_path, stage(work))
        assert [item.id for item in kept] == ["0"]
        assert [one.id for one in flowed.retried] == ["1", "2"]
        assert tried == {"0": 1, "1": n, "2": n}


def test_what_cannot_be_read_is_made_again_and_no_more(tmp_path: Path) -> None:
    tried: Counter[str] = Counter()

    async def work(item: Line, _ask: Any) -> list[Line]:
        tried[item.id] += 1
        return [item]

    done(tmp_path, stage(work), 5)
    with closing(sqlite3.connect(tmp_path / STORE)) as file, file:
        change = "UPDATE outcome SET value = ? WHERE CAST(value AS TEXT) LIKE ?"
        file.execute(change, (b'{"items": [\xff\xfe\0', "%text 1%"))
        file.execute(change, (b'{"items": [{"id": "2", "t": 1}]}', "%text 2%"))  # another version's
        file.execute("DELETE FROM outcome WHERE CAST(value AS TEXT) LIKE '%text 4%'")
    kept, _ = done(tmp_path, stage(work), 5)
    assert [item.id for item in kept] == ["0", "1", "2", "3", "4"]
    assert tried == {"0": 1, "1": 2, "2": 2, "3": 1, "4": 2}
    done(tmp_path, stage(work), 5)
    assert sum(tried.values()) == 8


@pytest.mark.parametrize("content", [b"no database at all, but text" * 50, b"\0" * 4096])
def test_a_damaged_store(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STORE).write_bytes(content)
    with pytest.raises(InputError, match="remove it and rerun the same command"):
        BuildStore(tmp_path)
    assert (tmp_path / STORE).read_bytes() == content


def test_a_store_of_another_program_or_version(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / STORE)) as file, file:
        file.execute("CREATE TABLE other (x)")
    for read_only in (False, True):
        with pytest.raises(InputError, match="of another version or another program"):
            BuildStore(tmp_path, read_only=read_only)


def test_reading_makes_no_store(tmp_path: Path) -> None:
    with BuildStore(tmp_path / "none", read_only=True) as store:
        assert store.outcomes("s") == {}
    assert not (tmp_path / "none").exists()


def test_many_thousand_items_without_a_model(tmp_path: Path) -> None:
    async def work(item: Line, _ask: Any) -> list[Line]:
        return [item]

    assert len(done(tmp_path, stage(work), 5_000)[0]) == 5_000
    assert len(done(tmp_path, stage(work), 5_000)[0]) == 5_000


def test_as_many_items_at_once_as_the_fastest_model_takes() -> None:
    async def work(item: Line, _ask: Any) -> list[Line]:
        return [item]

    slow, fast = FakeModel("x", concurrency=2), FakeModel("x", concurrency=30)
    client = ModelClient({"slow": RoleModel(slow), "fast": RoleModel(fast)})
    both = stage(work, roles=("slow", "fast", "absent"))
    assert count_workers(both, client) == 30
    assert count_workers(replace(both, roles=("slow",)), client) == 2
    assert count_workers(replace(both, roles=()), client) == count_workers(
        replace(both, roles=("absent",)), client
    )
