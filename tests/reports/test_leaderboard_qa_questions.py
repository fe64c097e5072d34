"""instruct-qa on the leaderboard: what is said of runs that asked other questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.instruct_qa_files import world
from tests.reports.instruct_qa_fixture import qa_run, retriever_study, study

import trueground as tg
from trueground.reports.leaderboard.data import leaderboard_data
from trueground.reports.leaderboard.page import write_leaderboard

OTHER_FILE = [{"path": "other.jsonl", "sha256": "f" * 64, "bytes": 9}]


def declined(folder: Path, ids: set[str]) -> tuple[int, int]:
    """How many of these questions were declined, and how many were scored."""
    lines = map(json.loads, (folder / "items.jsonl").read_text().splitlines())
    scores = [line["scores"]["abstained"] for line in lines if line["id"] in ids]
    known = [score for score in scores if score is not None]
    return int(sum(known)), len(known)


@pytest.mark.parametrize(
    ("of_gold", "of_irrelevant", "shared"),
    [
        ({}, {"n": 40, "changes": {"limit": 40}}, range(40)),
        ({"n": 120, "first": 30, "options": {"without-gold": "skip"}}, {}, range(30, 150)),
        (
            {
                "n": 50, "first": 30, "changes": {"limit": 50},
                "options": {"without-gold": "skip"},
            },
            {"n": 50, "changes": {"limit": 50}},
            range(30, 50),
        ),
    ],
)  # fmt: skip
def test_declining_is_counted_over_the_questions_of_both_runs(
    tmp_path: Path, of_gold: dict[str, Any], of_irrelevant: dict[str, Any], shared: range
) -> None:
    gold = qa_run(tmp_path / "gold", "our/model-7b", "gold", "v2", **of_gold)
    none = qa_run(tmp_path / "none", "our/model-7b", "irrelevant", "v2", **of_irrelevant)
    found = leaderboard_data([tmp_path])
    ((row,),) = (table["rows"] for table in found["qa"]["abstention"])
    ids = set(map(str, shared))
    (tp, all_none), (fp, all_gold) = declined(none, ids), declined(gold, ids)
    assert row["common"] == len(ids)
    assert row["confusion"] == {
        "unanswerable": {"abstained": tp, "answered": all_none - tp},
        "answerable": {"abstained": fp, "answered": all_gold - fp},
    }
    assert row["precision"] == pytest.approx(tp / (tp + fp))
    assert row["recall"] == pytest.approx(tp / all_none)
    assert row["f1"] == pytest.approx(2 * tp / (tp + fp + all_none))
    everything = json.loads((gold / "summary.json").read_text())["metrics"]["p_g"]
    assert (row["p_g"]["mean"], row["p_g"]["n"]) == (everything["mean"], everything["n"])
    (warning,) = found["warnings"]
    assert warning.startswith("nq: none with gold: not over the same questions (")
    assert warning.endswith(f"of declining are over the {len(ids)} in common.")
    page = write_leaderboard([tmp_path], tmp_path / "p.html").read_text()
    assert f"{len(ids)}&nbsp;answers in&nbsp;common" in page


def test_a_limit_that_cuts_nothing_off_leaves_the_questions_the_same(tmp_path: Path) -> None:
    skipping = {"without-gold": "skip"}
    for setting in ("irrelevant", "gold"):
        qa_run(
            tmp_path / setting, "our/model-7b", setting, "v2", n=40, changes={"limit": 40},
            options=skipping if setting == "gold" else {},
        )  # fmt: skip
    found = leaderboard_data([tmp_path])
    ((row,),) = (table["rows"] for table in found["qa"]["abstention"])
    assert (row["unlike"], row["common"], found["warnings"]) == (None, None, [])
    assert sum(row["confusion"]["unanswerable"].values()) == 38


@pytest.mark.parametrize("why", ["other data", "no items", "torn items", "no common id"])
def test_without_common_questions_the_two_rates_stand_alone(tmp_path: Path, why: str) -> None:
    changes = {"input": OTHER_FILE} if why == "other data" else {}
    gold = qa_run(tmp_path / "gold", "our/model-7b", "gold", "v2", changes=changes)
    first = 100 if why == "no common id" else 0
    qa_run(tmp_path / "none", "our/model-7b", "irrelevant", "v2", n=100, first=first)
    if why == "no items":
        (gold / "items.jsonl").unlink()
    elif why == "torn items":
        (gold / "items.jsonl").write_text('{"id": "1", "sco')
    elif why == "no common id":
        lines = (gold / "items.jsonl").read_text().splitlines(keepends=True)
        (gold / "items.jsonl").write_text("".join(lines[:100]))
    found = leaderboard_data([tmp_path])
    ((row,),) = (table["rows"] for table in found["qa"]["abstention"])
    assert row["p_ir"]["mean"] is not None
    assert row["p_g"]["mean"] is not None
    assert (row["precision"], row["recall"], row["f1"], row["confusion"]) == (None,) * 4
    expected = {
        "other data": f"data (sha256) {'n' * 12} and {'f' * 12}",
        "no items": "number of answers 100 and 200; ",
        "torn items": "number of answers 100 and 200; ",
        "no common id": "number of answers 100 and 200; no id is in both",
    }[why]
    assert row["unlike"].startswith(expected) or row["unlike"] == expected
    if why.endswith("items"):
        assert str(gold / "items.jsonl") in row["unlike"]
    assert found["warnings"] == [
        f"nq: none with gold: not over the same questions ({row['unlike']}). P_IR and P_G stand by "
        "themselves, without precision, recall and F1 of declining."
    ]


def test_of_several_gold_runs_the_one_over_the_same_questions_is_taken(tmp_path: Path) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "gold", "v2", n=150, options={"without-gold": "skip"})
    qa_run(tmp_path / "b", "our/model-7b", "gold", "v2", options={"without-gold": "error"})
    qa_run(tmp_path / "c", "our/model-7b", "irrelevant", "v2")
    found = leaderboard_data([tmp_path])
    ((row,),) = (table["rows"] for table in found["qa"]["abstention"])
    assert (row["runs"], row["unlike"]) == (["c", "b"], None)


@pytest.mark.parametrize(
    ("of_v2", "told"),
    [
        ({"n": 10, "changes": {"limit": 10}}, "limit none and 10"),
        ({"n": 100}, "number of answers 200 and 100"),
        ({"changes": {"input": OTHER_FILE}}, f"data (sha256) {'n' * 12} and {'f' * 12}"),
        ({"changes": {"repeats": 2}}, "answers to each question 1 and 2"),
    ],
)
def test_other_questions_make_no_difference(
    tmp_path: Path, of_v2: dict[str, Any], told: str
) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "retrieved", "v1")
    qa_run(tmp_path / "b", "our/model-7b", "retrieved", "v2", **of_v2)
    found = leaderboard_data([tmp_path])
    (row,) = found["qa"]["instructions"][0]["rows"]
    for change in row["changes"].values():
        assert change["v1"]
        assert change["v2"]
        assert (change["difference"], change["relative"]) == (None, None)
    assert row["unlike"] == told
    assert found["warnings"] == [
        f"nq: a with b: not over the same questions ({told}). No difference is told between them."
    ]
    assert leaderboard_data([tmp_path / "a"])["qa"]["instructions"] == []


def test_the_same_questions_are_no_matter_for_a_warning(tmp_path: Path) -> None:
    runs, swept = study(tmp_path / "a"), retriever_study(tmp_path / "b")
    for found in (leaderboard_data([runs], with_published=True), leaderboard_data([swept])):
        assert found["warnings"] == []
        rows = [
            row
            for part in ("abstention", "instructions", "retrievers")
            for table in found["qa"][part]
            for row in table["rows"]
        ]
        assert {row["unlike"] for row in rows} == {None}


def test_retrievers_over_other_questions_are_warned_about(tmp_path: Path) -> None:
    for name, changes in (("bm25", {}), ("dense:x", {"input": OTHER_FILE})):
        qa_run(
            tmp_path / name.partition(":")[0], "our/model-7b", "retrieved",
            options={"retriever": name}, changes=changes,
        )  # fmt: skip
    (warning,) = leaderboard_data([tmp_path])["warnings"]
    assert warning.startswith("nq: bm25 with dense: not over the same questions (data (sha256) ")


def test_runs_of_the_benchmark_over_questions_of_which_some_have_gold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question that its author calls answerable has a P_G, and no gold passage to retrieve."""
    pytest.importorskip("bm25s", reason="the extra `retrieval` is not installed")
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    questions, corpus = world(tmp_path)
    rows = [json.loads(line) for line in questions.read_text().splitlines()]
    for row in rows[:3]:
        del row["gold"]
        row["answerable"] = True
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for setting in ("gold", "irrelevant", "retrieved"):
        for version in ("v1", "v2"):
            tg.run(
                "instruct-qa/questions",
                "fake:I don't know.",
                data=questions,
                out=tmp_path / "runs" / f"{setting}-{version}",
                options={
                    "corpus": str(corpus), "setting": setting, "instruction": version,
                    "irrelevant-rank": "30", "without-gold": "skip",
                },
            )  # fmt: skip
    found = leaderboard_data([tmp_path / "runs"])
    asked = len(rows) - 3
    for table in found["qa"]["abstention"]:
        (row,) = table["rows"]
        assert (row["p_ir"]["n"], row["p_g"]["n"], row["common"]) == (len(rows), asked, asked)
        assert row["confusion"]["unanswerable"] == row["confusion"]["answerable"]
        assert (row["precision"], row["recall"]) == (0.5, 1.0)
    (warning,) = found["warnings"]
    assert f"number of answers {len(rows)} and {asked}" in warning
    golds = {t["setting"]: t["rows"][0]["gold"] for t in found["qa"]["instructions"]}
    assert golds["gold"] == {"share": 1.0, "found": asked, "n": asked}
    assert golds["retrieved"]["n"] == asked
