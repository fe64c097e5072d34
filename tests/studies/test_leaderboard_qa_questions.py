"""instruct-qa on the leaderboard: what is said of runs that asked other questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reports.instruct_qa_fixture import qa_run, retriever_study, study
from tests.reports.payload import words
from tests.wings.papers.instruct_qa_files import world

import trueground as tg
from trueground.studies.leaderboard.study import leaderboard_data, write_leaderboard

OTHER_FILE = [{"path": "other.jsonl", "sha256": "f" * 64, "bytes": 9}]


def tables(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [table for table in data["studies"] if table["id"] == name]


def counts(row: dict[str, Any]) -> list[int]:
    """Declined and answered where nothing can be answered, then where the gold is."""
    names = ("declined", "missed", "declined_wrongly", "answered")
    return [row["declining"][name] for name in names]


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
    ((row,),) = (table["rows"] for table in tables(found, "abstention"))
    ids = set(map(str, shared))
    (tp, all_none), (fp, all_gold) = declined(none, ids), declined(gold, ids)
    told = row["declining"]
    assert told["common"] == len(ids)
    assert counts(row) == [tp, all_none - tp, fp, all_gold - fp]
    assert told["precision"] == pytest.approx(tp / (tp + fp))
    assert told["recall"] == pytest.approx(tp / all_none)
    assert told["f1"] == pytest.approx(2 * tp / (tp + fp + all_none))
    everything = json.loads((gold / "summary.json").read_text())["metrics"]["p_g"]
    p_g = row["cells"][1][0]
    assert (p_g["mean"], p_g["n"]) == (everything["mean"], everything["n"])
    (warning,) = found["warnings"]
    assert warning.startswith("nq, v2: none with gold: not over the same questions (")
    assert warning.endswith(f"of declining are over the {len(ids)} in common.")
    page = write_leaderboard([tmp_path], tmp_path / "p.html").read_text()
    assert f"{len(ids)} answers in common" in words(page)


def test_a_limit_that_cuts_nothing_off_leaves_the_questions_the_same(tmp_path: Path) -> None:
    skipping = {"without-gold": "skip"}
    for setting in ("irrelevant", "gold"):
        qa_run(
            tmp_path / setting, "our/model-7b", setting, "v2", n=40, changes={"limit": 40},
            options=skipping if setting == "gold" else {},
        )  # fmt: skip
    found = leaderboard_data([tmp_path])
    ((row,),) = (table["rows"] for table in tables(found, "abstention"))
    assert (row["unlike"], row["declining"]["common"], found["warnings"]) == (None, None, [])
    assert sum(counts(row)[:2]) == 38


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
    ((row,),) = (table["rows"] for table in tables(found, "abstention"))
    assert all(line[0]["mean"] is not None for line in row["cells"])
    assert row["declining"] is None
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
        f"nq, v2: none with gold: not over the same questions ({row['unlike']}). The two rates "
        "are shown without precision, recall and F1 of declining."
    ]


def test_of_several_gold_runs_the_one_over_the_same_questions_is_taken(tmp_path: Path) -> None:
    qa_run(tmp_path / "a", "our/model-7b", "gold", "v2", n=150, options={"without-gold": "skip"})
    qa_run(tmp_path / "b", "our/model-7b", "gold", "v2", options={"without-gold": "error"})
    qa_run(tmp_path / "c", "our/model-7b", "irrelevant", "v2")
    found = leaderboard_data([tmp_path])
    ((row,),) = (table["rows"] for table in tables(found, "abstention"))
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
    (row,) = tables(found, "instructions")[0]["rows"]
    for cells, (change,) in zip(row["cells"], row["changes"], strict=True):
        assert all(cells)
        assert (change["difference"], change["relative"]) == (None, None)
        assert change["unlike"] == told
    assert (
        f"nq, retrieved: a with b: not over the same questions ({told}). No difference between "
        in (found["warnings"][0])
    )
    assert len(found["warnings"]) == 1
    assert tables(leaderboard_data([tmp_path / "a"]), "instructions") == []


def test_the_same_questions_are_no_matter_for_a_warning(tmp_path: Path) -> None:
    runs, swept = study(tmp_path / "a"), retriever_study(tmp_path / "b")
    for found in (leaderboard_data([runs], with_published=True), leaderboard_data([swept])):
        assert found["warnings"] == []
        assert {row["unlike"] for table in found["studies"] for row in table["rows"]} == {None}


def test_retrievers_over_other_questions_are_warned_about(tmp_path: Path) -> None:
    for name, changes in (("bm25", {}), ("dense:x", {"input": OTHER_FILE})):
        qa_run(
            tmp_path / name.partition(":")[0], "our/model-7b", "retrieved",
            options={"retriever": name}, changes=changes,
        )  # fmt: skip
    (warning,) = leaderboard_data([tmp_path])["warnings"]
    assert warning.startswith(
        "nq, v1: bm25 with dense: not over the same questions (data (sha256) "
    )


def test_runs_of_the_benchmark_over_questions_of_which_some_have_gold(tmp_path: Path) -> None:
    """A question that its author calls answerable has a P_G, and no gold passage to retrieve."""
    pytest.importorskip("bm25s", reason="the extra `retrieval` is not installed")
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
    for table in tables(found, "abstention"):
        (row,) = table["rows"]
        p_ir, p_g = (line[0] for line in row["cells"])
        told = row["declining"]
        assert (p_ir["n"], p_g["n"], told["common"]) == (len(rows), asked, asked)
        assert counts(row)[:2] == counts(row)[2:]
        assert (told["precision"], told["recall"]) == (0.5, 1.0)
    assert any(f"number of answers {len(rows)} and {asked}" in told for told in found["warnings"])
    golds = {t["group"]: t["rows"][0]["cells"][3][1] for t in tables(found, "instructions")}
    gold, retrieved = golds["questions, gold"], golds["questions, retrieved"]
    assert (gold["mean"], gold["n"], retrieved["n"]) == (1.0, asked, asked)
