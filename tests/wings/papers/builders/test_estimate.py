"""A dry run: what a build would ask, without a call and without a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.building import built, contents, home, source
from tests.wings.papers.builders.little import answering
from tests.wings.papers.builders.scripted_server import scripted

from trueground.errors import UsageError
from trueground.models.prices import Price
from trueground.wings.papers.builders.build import BuildRequest, BuildSettings, estimate_build
from trueground.wings.papers.builders.flow import BuildEstimate
from trueground.wings.papers.builders.settings import EndpointDefaults

__all__ = ["home"]
MODELS = {"writer": "w", "judge": "j"}


def dry(folder: Path, url: str, n: int = 5, models: Any = None, **settings: Any) -> BuildEstimate:
    given = BuildSettings(endpoint=EndpointDefaults(base_url=url), **settings)
    path = source(folder, n)
    return estimate_build(
        BuildRequest("little", path, folder / "out", models=models or MODELS, settings=given)
    )


def calls(found: BuildEstimate) -> dict[str, int]:
    return {one.stage: one.calls for one in found.stages}


def test_before_and_after(home: Path) -> None:
    with scripted(answering()) as server:
        found = dry(home, server.url)
        assert not server.calls
        assert not (home / "out").exists()
        assert (found.items, found.done) == (5, 0)
        assert calls(found) == {"write": 10, "check": 10}
        assert calls(dry(home, server.url, limit=2)) == {"write": 4, "check": 4}
        built(home, server)
        before = contents(home / "out")
        found = dry(home, server.url)
        assert (found.done, calls(found)) == (15, {"write": 0, "check": 0})
        found = dry(home, server.url, models={"writer": "w", "judge": "new"})
        assert calls(found) == {"write": 0, "check": 10}
        own = home / "mine.txt"
        own.write_text("Write: {text}")
        found = dry(home, server.url, prompts={"little_write": own})
        assert calls(found) == {"write": 10, "check": 10}
        assert len(server.calls) == 20
    assert contents(home / "out") == before


def test_what_it_would_cost(home: Path) -> None:
    prices = {"w": Price(1_000_000.0, 0.0), "j": Price(0.0, 1_000_000.0)}
    with scripted(answering()) as server:
        found = dry(home, server.url, prices=prices)
        write, check = found.stages
        assert write.usd == pytest.approx(write.tokens_in)
        assert check.usd == check.tokens_out == 50
        with pytest.raises(UsageError, match="table of prices"):
            dry(home, server.url, prices={"w": prices["w"]})


def test_a_source_without_items(home: Path) -> None:
    with scripted(answering()) as server:
        found = dry(home, server.url, n=0)
        assert (found.items, calls(found)) == (0, {"write": 0, "check": 0})
        made = built(home, server, n=0)
    assert made.items == 0
    assert (home / "out/dataset/answers.jsonl").read_bytes() == b""
