"""The worst items of a run: by verdict, support, support_min; unscored ones last; ties in order."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import trueground as tg
from trueground.runs.worst import WorstOrder
from trueground.testing import FakeDecomposer, FakeJudge

JUDGE = FakeJudge({"a": 0.9, "b": 0.5, "c": 0.1, "d": 0.4}, default=0.0)


def score(texts: list[str], metrics: str = "support,support_min", **rest: Any) -> tg.Result:
    rows = [
        {"id": f"i{n}", "question": "q", "response": t, "contexts": ["x"]}
        for n, t in enumerate(texts)
    ]
    return tg.score(rows, metrics=metrics, judge=JUDGE, decomposer=FakeDecomposer(), **rest)


def ids(result: tg.Result, n: int = 20) -> list[str]:
    return [str(id_) for id_ in result.worst(n)["id"]]


def test_not_grounded_first_then_the_lowest_support_then_the_weakest_claim() -> None:
    #        not: 0.5  partly: 0.9 and 0.1   0.9  0.0  declines         0.5 again
    texts = ["b", "a|c", "a", "nothing", "I don't know.", "b", "b|d|c", "d|d|c"]
    result = score(texts, metrics="support,support_min")
    assert ids(result) == ["i3", "i7", "i6", "i0", "i5", "i1", "i2", "i4"]
    assert ids(result, 2) == ["i3", "i7"]
    assert result.worst(0).is_empty()
    frame = result.worst(6)
    assert frame.columns == [
        *("id", "question", "response", "verdict", "score", "unsupported", "reasons")
    ]
    row = frame.to_dicts()[5]
    assert (row["question"], row["response"], row["verdict"]) == ("q", "a|c", "partly_grounded")
    assert row["unsupported"] == ["c"]
    assert len(row["reasons"]) == 1
    assert row["score"] == 0.5


def test_the_same_from_memory_from_a_folder_and_from_any_number_of_workers(tmp_path: Path) -> None:
    rows = [
        {
            "response": f"It has {i % 7} rooms and {i % 5} doors. It is old.",
            "contexts": ["It has 3 rooms."],
        }
        for i in range(600)
    ]
    outs: list[Path | None] = [None, tmp_path / "one", tmp_path / "two"]
    found = [
        tg.score(rows, metrics="support,support_min", out=out, workers=workers)
        for out, workers in zip(outs, (1, 1, 2), strict=True)
    ]
    for n in (1, 20, 1000):
        frames = [result.worst(n).to_dicts() for result in found]
        assert frames[0] == frames[1] == frames[2]
        assert len(frames[0]) == min(n, 600)
    for number, result in enumerate(found):
        result.write_csv(tmp_path / f"{number}.csv")
    assert len({(tmp_path / f"{number}.csv").read_bytes() for number in range(3)}) == 1
    with (tmp_path / "0.csv").open(encoding="utf-8", newline="") as file:
        listed = [row["id"] for row in csv.DictReader(file)]
    assert listed == [row["id"] for row in found[0].worst(600).to_dicts()]


def test_without_records_there_are_no_texts(tmp_path: Path) -> None:
    result = score(["a", "c"], out=tmp_path / "o", keep_records=False)
    row = result.worst(1).to_dicts()[0]
    assert (row["id"], row["question"], row["response"]) == ("i1", None, None)
    assert row["unsupported"] == ["c"]


def test_less_is_worse_or_better_as_the_metric_has_it() -> None:
    assert WorstOrder(["f1", "support_min", "support", "k_precision"]).metrics == [
        "support",
        "support_min",
    ]
    assert WorstOrder(["f1", "k_precision"]).metrics == ["k_precision"]
    assert WorstOrder(["rouge_1", "rouge_2"]).metrics == ["rouge_1"]
    assert WorstOrder(["support@other", "f1"]).metrics == ["f1"]
    assert WorstOrder([]).metrics == []
    rows = [{"id": "a", "response": "I don't know.", "answerable": True}]
    rows.append({"id": "b", "response": "Paris is old.", "answerable": True})
    assert ids(tg.score(rows, metrics="p_g")) == ["a", "b"]  # declining is the mistake


def test_claims_against_all_contexts_are_shown_before_those_against_some() -> None:
    rows = [{"response": "c", "contexts": [{"text": "x", "gold": True}]}]
    both = "support(scope=gold),support"
    result = tg.score(rows, metrics=both, judge=JUDGE, decomposer=FakeDecomposer())
    assert result.worst(1)["unsupported"].to_list() == [["c"]]
