"""The summary as a terminal shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.texts import run_text, sweep_text

import trueground as tg


def test_a_breakdown_that_no_item_has_is_not_shown() -> None:
    records = [{"id": "a", "response": "x", "meta": {"kind": "old"}}, {"id": "b", "response": "y"}]
    result = tg.score(records, metrics="abstained", by="meta.kind")
    assert "by meta.kind" in run_text(result.summary.raw, None)
    raw = dict(result.summary.raw)
    raw["by"] = {"meta.kind": {"(none)": raw["by"]["meta.kind"]["(none)"]}}
    assert "by meta.kind" not in run_text(raw, None)


def repeated(values: dict[str, list[str]]) -> dict[str, Any]:
    """The summary of questions that were asked several times."""
    records = [
        {"id": f"{id_}#{k}", "response": said, "references": ["1931"], "group": id_,
         "meta": {"repeat": str(k)}}
        for id_, answers in values.items()
        for k, said in enumerate(answers, 1)
    ]  # fmt: skip
    return dict(tg.score(records, metrics="exact_match,f1", by="meta.repeat").summary.raw)


def test_repeats_have_one_spread_per_metric() -> None:
    raw = repeated({"a": ["1931", "1913", "1931"], "b": ["1931", "1913", "1913"]})
    shown = run_text(raw, None)
    assert "± sd over 3 repeats" in shown
    line, noise, *rest = (line for line in shown.splitlines() if line.startswith("exact_match "))
    assert line.split() == ["exact_match", "0.5000", "0.3333", "…", "0.6667", "0.5000", "6"]
    assert "3 answers to each of 2 questions" in shown
    assert noise.split()[:5] == ["exact_match", "0.5000", "0.3333", "…", "0.6667"]
    assert rest[0].split() == ["exact_match", "67", "%"]
    assert noise.endswith("2 of 2")
    assert "by meta.repeat" not in shown
    assert "sd over" not in run_text(repeated({"a": ["1931"], "b": ["1931"]}), None)


def test_several_runs_tell_the_spread_of_their_headline() -> None:
    raw = repeated({"a": ["1931", "1913", "1931"], "b": ["1931", "1913", "1913"]})
    plain = dict(repeated({"a": ["1931"], "b": ["1931"]}), averages={})
    manifest = {"model": {"name": "m"}, "benchmark": {"headline": "exact_match", "notices": []}}
    shown = sweep_text([("t", raw, manifest, Path("a")), ("t", plain, manifest, Path("b"))])
    first, second = (line.split() for line in shown.splitlines()[1:3])
    assert "± sd over repeats" in shown
    assert first[6] == "0.5000"
    assert second[6] == "–"
    assert "sd over" not in sweep_text([("t", plain, manifest, Path("b"))])


def test_a_run_of_a_benchmark_says_its_verdicts_where_claims_were_checked() -> None:
    manifest = {
        "model": {"name": "m"},
        "benchmark": {"name": "b", "task": "t", "headline": "support", "notices": []},
        "outcomes": {"answered": 1},
        "calls": 1,
        "cache_hits": 0,
        "tokens": {"in": 1, "out": 1},
    }
    record = {"response": "It is old.", "contexts": ["It is old."], "references": ["x"]}
    for metrics, said in (("support", True), ("f1", False)):
        raw = tg.score([record], metrics=metrics).summary.raw
        shown = run_text(raw, None, manifest)
        assert ("Of 1 answer 100 % are grounded." in shown) is said
        assert metrics in shown
