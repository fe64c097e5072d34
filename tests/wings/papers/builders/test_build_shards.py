"""A build that several ask: nothing is paid for twice, and it ends as a build of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.building import FAST, built, contents, home, source
from tests.wings.papers.builders.little import answering
from tests.wings.papers.builders.scripted_server import ScriptedServer, scripted

from trueground.errors import OutputError, WorkerError
from trueground.wings.papers.builders.build import (
    BuildRequest,
    BuildSettings,
    ask_shard,
    join_shards,
)
from trueground.wings.papers.builders.settings import EndpointDefaults

__all__ = ["home"]


def shard(folder: Path, server: ScriptedServer, number: int, of: int, **settings: Any) -> bool:
    return ask_shard(
        BuildRequest(
            "little",
            source(folder, 8),
            folder / "out",
            models={"writer": "w", "judge": "j"},
            settings=BuildSettings(
                endpoint=EndpointDefaults(base_url=server.url, **FAST),
                shard=(number, of),
                cache=False,
                **settings,
            ),
        )
    )


def test_rounds_of_shards(home: Path) -> None:
    with scripted(answering(bad=lambda text: "NUMBER 3" in text)) as server:
        plain = built(home, server, n=8, out="plain", cache=False)
        wanted = sorted(map(str, server.calls))
        server.calls.clear()
        # The first round ends before the stage that must see all lines.
        assert [shard(home, server, number, 3) for number in range(3)] == [False] * 3
        assert {call["model"] for call in server.calls} == {"w"}
        assert not shard(home, server, 1, 3)  # done already: nobody is asked
        with pytest.raises(OutputError):
            built(home, server, n=8, out="out/shards/00001-of-00003/work", cache=False)
        assert not join_shards(home / "out")
        assert not (home / "out/shards").exists()
        # The second goes to the end.
        assert [shard(home, server, number, 2) for number in range(2)] == [True, True]
        assert join_shards(home / "out")
        assert sorted(map(str, server.calls)) == wanted  # the calls of one process, each once
        whole = built(home, server, n=8, cache=False)
        assert len(server.calls) == len(wanted)
    assert whole.items == plain.items
    assert contents(home / "out") == contents(home / "plain")


def test_what_is_missing_is_named(home: Path) -> None:
    with scripted(answering()) as server:
        shard(home, server, 0, 3)
        with pytest.raises(WorkerError, match=r"unfinished shards of 3: 2, 3.*--shard 2/3"):
            join_shards(home / "out")
    with pytest.raises(WorkerError, match="--shard 1/N"):
        join_shards(home / "nothing")
