"""The scorer of perplexities in a build: what it decides, what is kept of it, what it costs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.kalma.making import dropped, made, reasons, rows_of, unless
from tests.wings.papers.builders.kalma.world import GOOD, graph_file
from tests.wings.papers.builders.scripted_server import scripted

from trueground.models.perplexity import UnscoredText
from trueground.wings.papers.builders.build import BuildRequest, BuildSettings, estimate_build

GIVEN = {"alpha": "0", "perplexity": "any", "rounds": "2"}


class Scorer:
    """Finds texts fluent that have a word in them, and cannot rate those that have another."""

    name = signature = "tests:scorer"
    cacheable = True

    def __init__(self, likes: str, cannot: str = "\0", *, passing: bool = False) -> None:
        self.likes, self.cannot, self.passing = likes, cannot, passing
        self.texts: list[str] = []
        self.closed = 0

    async def logprobs(self, text: str) -> list[float]:
        self.texts.append(text)
        await asyncio.sleep(0)
        if self.cannot in text:
            reason = "call_failed" if self.passing else "too_long"
            raise UnscoredText(reason, "no numbers", passing=self.passing)
        return [-0.01 if self.likes in text else -9.0]

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def scorer(monkeypatch: pytest.MonkeyPatch) -> Scorer:
    found = Scorer("notable work")
    monkeypatch.setattr("trueground.models.make_scorer", lambda *_: found)
    return found


def last_round(folder: Path) -> Any:
    (row,) = rows_of(folder, "specific")
    return row["gold_knowledge"][-1]


def test_perplexity_decides_where_alpha_is_zero(tmp_path: Path, scorer: Scorer) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server, [GOOD[0]], **GIVEN)
        assert last_round(tmp_path) == ["Q10", "notable work", "The Salt Road"]
        rated = len(scorer.texts)
        assert f"{GOOD[0]['paragraph']} Anna Harrow is member of Guild of Lanterns." in scorer.texts
        # Kept in the response cache: a change of α rates nothing anew.
        made(tmp_path, server, [GOOD[0]], **{**GIVEN, "alpha": "0.9"})
    assert len(scorer.texts) == rated
    assert scorer.closed == 2


def test_only_near_ties_are_rated_unless_terms_are_scaled(tmp_path: Path, scorer: Scorer) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server, [GOOD[0]], **GIVEN)
        every = len(scorer.texts)
        chosen = {}
        for coherence in ("softmax", "scaled"):
            scorer.texts.clear()
            scorer.signature = f"tests:{coherence}"
            # Of one entry with two graphs a relation has one or both: ln 2 or 0.
            given = {**GIVEN, "alpha": "0.5", "coherence": coherence}
            made(tmp_path, server, [GOOD[0]], **given)
            chosen[coherence] = last_round(tmp_path), len(scorer.texts)
    assert 1 < chosen["softmax"][1] < every == chosen["scaled"][1]
    assert chosen["scaled"][0] == ["Q10", "notable work", "The Salt Road"]


def test_a_candidate_that_can_have_no_perplexity_is_none(tmp_path: Path, scorer: Scorer) -> None:
    scorer.cannot = "Salt Road"
    with scripted(unless({})) as server:
        made(tmp_path, server, [GOOD[0]], **GIVEN)
        assert reasons(tmp_path) == {}
        assert last_round(tmp_path) != ["Q10", "notable work", "The Salt Road"]
        scorer.cannot, scorer.signature = "", "tests:other"
        made(tmp_path, server, [GOOD[0]], **GIVEN)
    (row,) = dropped(tmp_path)
    assert (row["reason"], "too_long" in row["detail"]) == ("unrated", True)


@pytest.mark.parametrize("cache", [True, False])
def test_a_call_that_fails_does_not_cost_the_others(
    tmp_path: Path, scorer: Scorer, cache: bool
) -> None:
    scorer.cannot, scorer.passing = "Salt Road", True
    with scripted(unless({})) as server:
        settings = BuildSettings(cache=cache, max_failed=1.0)
        made(tmp_path, server, [GOOD[0]], settings=settings, **GIVEN)
        assert reasons(tmp_path) == {"quill": "unrated"}
        rated = len(scorer.texts)
        assert rated > 3
        scorer.cannot = "\0"
        made(tmp_path, server, [GOOD[0]], settings=settings, **GIVEN)
    assert len(scorer.texts) == rated + 1  # the one that had failed, and no other
    assert last_round(tmp_path) == ["Q10", "notable work", "The Salt Road"]


def test_the_scorer_is_accounted_for(tmp_path: Path, scorer: Scorer) -> None:
    models = {"writer": "fake:x"}
    with scripted(unless({})) as server:
        made(tmp_path, server, [GOOD[0]], **GIVEN)
        found = json.loads((tmp_path / "out" / "manifest.json").read_bytes())["models"]
        assert found["perplexity"]["name"] == "tests:scorer"
        assert found["perplexity"]["calls"] == len(scorer.texts)
        assert found["perplexity"]["tokens_in"] == 2 * len(scorer.texts)
    options = {"graph": str(graph_file(tmp_path)), **GIVEN, "candidates": "7"}
    expected = estimate_build(
        BuildRequest(
            "kalma", tmp_path / "pairs.jsonl", tmp_path / "new", models=models, options=options
        )
    )
    (one,) = [stage for stage in expected.stages if stage.role == "perplexity"]
    assert (one.stage, one.calls, one.model) == ("round-2", 7, "tests:scorer")
    assert one.tokens_in > 7 * len(GOOD[0]["paragraph"]) / 4
