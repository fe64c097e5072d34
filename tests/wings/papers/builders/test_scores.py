"""Log-probabilities in a build: asked for once, kept in its folder and in the cache."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.models.test_perplexity import KEY, TEXT, LogprobServer, echo, numbers_of

from trueground.errors import UsageError
from trueground.models.perplexity import LogprobRunner
from trueground.models.registry import make_scorer
from trueground.net.cache import ResponseCache
from trueground.types import Usage
from trueground.wings.papers.builders.client import ModelClient
from trueground.wings.papers.builders.store import BuildStore


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def asked(
    written: str, cache: ResponseCache | None, log: BuildStore | None, n: int = 2
) -> tuple[list[list[float]], Usage]:
    async def use() -> tuple[list[list[float]], Usage]:
        scorer = LogprobRunner(make_scorer(written))
        try:
            client = ModelClient({}, cache, log, scorer=scorer)
            found = await asyncio.gather(*(client.logprobs(TEXT) for _ in range(n)))
            return found, scorer.usage
        finally:
            await scorer.close()

    return asyncio.run(use())


def test_kept_numbers_are_not_asked_for_again(tmp_path: Path) -> None:
    with LogprobServer(echo) as server:
        model = f"m(base_url={server.base_url})"
        found, spent = asked(model, None, None, 9)
        assert found == [numbers_of(TEXT)] * 9
        each = len(server.calls)
        asked(model, None, None)
        assert len(server.calls) > each
        each = len(server.calls)
        log = BuildStore(tmp_path)
        asked(model, None, log)
        calls = len(server.calls)
        assert calls > each
        log.close()
        log = BuildStore(tmp_path)
        found, spent = asked(model, None, log)
        log.close()
        assert found == [numbers_of(TEXT)] * 2
        assert (len(server.calls), spent) == (calls, Usage(cache_hits=2))
        with ResponseCache(tmp_path / "c.sqlite") as cache:
            asked(model, cache, None)
        calls = len(server.calls)
        with ResponseCache(tmp_path / "c.sqlite") as cache:
            found, spent = asked(model, cache, None)
            assert (found, spent.calls, len(server.calls)) == ([numbers_of(TEXT)] * 2, 0, calls)
            asked(f"other(base_url={server.base_url})", cache, None)
            assert len(server.calls) > calls


def test_a_kept_value_that_cannot_be_read_is_replaced(tmp_path: Path) -> None:
    class Kept(ResponseCache):
        def get(self, key: str) -> bytes | None:
            found = super().get(key)
            return found if found is None else msgspec.msgpack.encode("no list")

    with LogprobServer(echo) as server, Kept(tmp_path / "c.sqlite") as cache:
        asked(f"m(base_url={server.base_url})", cache, None)
        calls = len(server.calls)
        found, _ = asked(f"m(base_url={server.base_url})", cache, None, 1)
        assert found == [numbers_of(TEXT)]
        assert len(server.calls) > calls


def test_what_costs_nothing_is_not_kept(tmp_path: Path) -> None:
    log = BuildStore(tmp_path)
    with ResponseCache(tmp_path / "c.sqlite") as cache:
        found, spent = asked("fake:words", cache, log)
        assert not cache._waiting
    assert not log._rows("SELECT key FROM reply")
    log.close()
    assert found[0] == found[1]
    assert spent.calls == 2


def test_a_builder_without_a_scorer() -> None:
    with pytest.raises(UsageError, match="no scorer"):
        asyncio.run(ModelClient({}).logprobs(TEXT))
