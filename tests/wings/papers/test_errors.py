"""Error categories of a run: which items, what is written, what people's corrections become."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import KEY, ChaosServer
from tests.judges.rule_endpoint import shown
from tests.texts import errors_text

import trueground as tg
from trueground.errors import InputError, OutputError, UnreachableError, UsageError
from trueground.judges.comparing.llm import ErrorCategory
from trueground.types import Status
from trueground.wings.papers.errors.lines import (
    GROUPS,
    NAME,
    Line,
    count_categories,
    figure_3,
    read_errors,
)
from trueground.wings.papers.errors.study import sort_errors

LONG = " and much more is said of it here, at some length and to no end that one could see."
ROWS: list[dict[str, Any]] = [
    {"id": "more", "question": "who?", "references": ["Ada Lovelace"], "response": "Ada Lovelace"},
    {"id": "number", "question": "how many?", "references": ["four"], "response": "4"},
    {"id": "wrong", "question": "who?", "references": ["Ada"], "response": "Bob"},
    {"id": "told-wrong", "question": "who?", "references": ["Eve"], "response": "Eve"},
    {"id": "high", "question": "who?", "references": ["Ada"], "response": "Ada"},
]
MORE = "semantic_equivalence/more_elaborate_answers"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def rows() -> list[dict[str, Any]]:
    made = [{**row, "response": row["response"] + LONG * (row["id"] != "high")} for row in ROWS]
    made[1]["human"] = {"correct": 1}
    made[1]["history"] = [{"role": "user", "content": "Of the seasons."}]
    made[3]["human"] = {"correct": 0}
    return made


def score(path: Path, metrics: str = "f1,recall", **rest: Any) -> Path:
    tg.score(rest.pop("rows", None) or rows(), metrics=metrics, out=path, **rest)
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def correct(path: Path, **categories: str | None) -> None:
    """Fill in categories, as a person does in an editor."""
    changed = [{**row, **({"category": categories[row["id"]]} if row["id"] in categories else {})}
               for row in lines(path)]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in changed), "utf-8")


def test_correct_items_with_a_low_f1_and_nothing_else(tmp_path: Path) -> None:
    run = score(tmp_path / "run")
    found = sort_errors(run)
    assert (found["n"], found["of"], found["at_most"]) == (2, 5, 0.3)
    assert found["correct_by"] == {"human.correct": 1, "recall": 1}
    assert (found["by"], found["without"]) == ({}, {"not_applicable": 2})
    first, second = lines(run / NAME)
    assert first == {
        "id": "more",
        "question": "who?",
        "references": ["Ada Lovelace"],
        "response": rows()[0]["response"],
        "f1": pytest.approx(4 / 23),
        "recall": 1.0,
        "correct_by": "recall",
        "proposed": None,
        "by": None,
        "reason": None,
        "evidence": None,
        "category": None,
        "status": "not_applicable",
        "reply": None,
        "history": [],
        "task": None,
        "selected": True,
        "metric": "f1",
        "score": pytest.approx(4 / 23),
    }
    assert (second["proposed"], second["history"]) == (None, ["user: Of the seasons."])
    assert found["categories"][MORE] == {"n": 0, "share": 0.0}
    assert found["source"] is None
    text = errors_text(found)
    assert "Not sorted are 2: write a category into the file" in " ".join(text.split())
    assert MORE.rpartition("/")[2] not in text  # no table of nothing
    correct(run / NAME, more=MORE)
    found = read_errors(run / NAME)
    assert found["categories"][MORE] == {"n": 1, "share": 0.5}
    assert found["categories"]["semantic_equivalence"]["n"] == 1
    text = errors_text(found)
    assert "People gave 1 of the categories." in " ".join(text.split())
    assert "\nnot sorted " in text
    correct(run / NAME, more=None)
    assert sort_errors(run, at_most=0.01)["n"] == 1
    assert sort_errors(run, at_most=1, out=tmp_path / "all.jsonl")["n"] == 3


def test_a_model_that_was_asked_comes_before_recall(tmp_path: Path) -> None:
    run = score(tmp_path / "run", "f1,recall,llm_correctness", rater="llm:fake:No")
    assert sort_errors(run)["correct_by"] == {"human.correct": 1}
    run = score(tmp_path / "yes", "f1,recall,llm_correctness", rater="llm:fake:Yes")
    assert sort_errors(run)["correct_by"] == {"human.correct": 1, "llm_correctness": 2}
    run = score(tmp_path / "odd", "f1,recall,llm_correctness", rater="llm:fake:Perhaps")
    assert sort_errors(run)["correct_by"] == {"human.correct": 1, "recall": 1}
    # Two judges of which neither is the one to ask: as if there were none.
    packaged = files("trueground.judges.comparing") / "prompts" / "correctness-1.txt"
    for name in ("a", "b"):
        (tmp_path / name).write_text(packaged.read_text("utf-8") + name, "utf-8")
    two = ",".join(f"llm_correctness(prompt={tmp_path / name})" for name in ("a", "b"))
    run = score(tmp_path / "two", f"f1,recall,{two}", rater="llm:fake:No")
    assert sort_errors(run)["correct_by"] == {"human.correct": 1, "recall": 1}


def test_sort_errors_keeps_corrections_of_people(tmp_path: Path) -> None:
    run = score(tmp_path / "run")
    sort_errors(run)
    correct(run / NAME, more="granularity")
    changed = lines(run / NAME)
    changed[0]["note"] = "asked the authors"
    (run / NAME).write_text("".join(json.dumps(row) + "\n\n" for row in changed), "utf-8-sig")
    found = sort_errors(run)
    assert (found["corrected"], found["corrected_as_proposed"]) == (1, 0)
    assert found["categories"]["granularity"]["n"] == 1
    assert found["categories"][MORE]["n"] == 0
    again = lines(run / NAME)
    assert (again[0]["category"], again[0]["note"]) == ("granularity", "asked the authors")
    assert again[0]["proposed"] is None
    of_run = ("run", "of", "metric", "at_most", "label", "by_label")
    assert read_errors(run / NAME) == {k: v for k, v in found.items() if k not in of_run}


def test_earlier_proposals_of_the_same_answers_stay(tmp_path: Path) -> None:
    """Those of a model, which cost something, and those of rules that older versions had."""
    run = score(tmp_path / "run")
    sort_errors(run)
    proposal = {"proposed": MORE, "by": "rules-2", "reason": "r", "status": "scored"}
    old = [row | proposal for row in lines(run / NAME)]
    (run / NAME).write_text("".join(json.dumps(row) + "\n" for row in old), "utf-8")
    found = sort_errors(run)
    assert (found["by"], found["categories"][MORE]["n"]) == ({"rules-2": 2}, 2)
    assert lines(run / NAME) == old
    other = rows()
    other[0]["response"] += " Indeed."
    found = sort_errors(score(tmp_path / "second", rows=other), out=run / NAME)
    assert (found["by"], found["without"]) == ({"rules-2": 1}, {"not_applicable": 1})


def test_an_item_that_is_not_selected_any_more_keeps_its_category(tmp_path: Path) -> None:
    run = score(tmp_path / "run")
    sort_errors(run)
    correct(run / NAME, more=MORE)
    found = sort_errors(run, at_most=0.01)
    assert (found["n"], found["left_out"], found["corrected"]) == (1, 1, 0)
    assert [row["selected"] for row in lines(run / NAME)] == [True, False]
    assert "kept for people" in " ".join(errors_text(found).split())
    back = sort_errors(run)
    assert (back["n"], back["left_out"], back["corrected_as_proposed"]) == (2, 0, 0)


def test_a_note_of_a_person_stays_without_a_category(tmp_path: Path) -> None:
    run = score(tmp_path / "run")
    sort_errors(run)
    changed = [row | {"note": "?"} if row["id"] == "more" else row for row in lines(run / NAME)]
    (run / NAME).write_text("".join(json.dumps(row) + "\n" for row in changed), "utf-8")
    for _ in range(2):
        found = sort_errors(run, at_most=0.01)
        assert (found["n"], found["left_out"]) == (1, 1)
        assert [(row["id"], row.get("note")) for row in lines(run / NAME)] == [
            ("number", None),
            ("more", "?"),
        ]
    assert sort_errors(run)["left_out"] == 0
    assert [row.get("note") for row in lines(run / NAME)] == ["?", None]
    other = rows()
    other[0]["response"] += " Indeed."
    kept = (run / NAME).read_bytes()
    with pytest.raises(OutputError, match=r"edits of people for other answers .*\(1: more\)"):
        sort_errors(score(tmp_path / "second", rows=other), out=run / NAME)
    assert (run / NAME).read_bytes() == kept


def test_corrections_of_other_answers_are_not_taken_over(tmp_path: Path) -> None:
    run = score(tmp_path / "run")
    sort_errors(run)
    other = rows()
    other[0]["response"] += " Indeed."
    second = score(tmp_path / "second", rows=other)
    assert sort_errors(second, out=run / NAME)["n"] == 2  # nobody had corrected anything yet
    correct(run / NAME, more=MORE)
    kept = (run / NAME).read_bytes()
    with pytest.raises(OutputError, match=r"other answers than this run's \(1: more\)"):
        sort_errors(run)
    assert (run / NAME).read_bytes() == kept


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"id": "more"}\n', "line 1: .*missing required field"),
        ("not json\n", "line 1"),
        ("[1]\n", "line 1: .*expected a line as written"),
    ],
)
def test_a_file_that_is_something_else_stays(tmp_path: Path, text: str, words: str) -> None:
    run = score(tmp_path / "run")
    file = tmp_path / "mine.jsonl"
    file.write_text(text)
    with pytest.raises(OutputError, match=words):
        sort_errors(run, out=file)
    with pytest.raises(InputError, match=words):
        read_errors(file)
    assert file.read_text() == text


def test_a_category_that_does_not_exist(tmp_path: Path) -> None:
    run = score(tmp_path / "run")
    sort_errors(run)
    correct(run / NAME, more="symbolic")
    with pytest.raises(InputError, match=r"line 1 \(id 'more'\).*symbolic_equivalence"):
        read_errors(run / NAME)
    twice = [*lines(run / NAME)[1:], *lines(run / NAME)[1:]]
    (run / NAME).write_text("".join(json.dumps(row) + "\n" for row in twice))
    with pytest.raises(InputError, match="'number' occurs twice"):
        read_errors(run / NAME)


def test_a_run_that_cannot_be_sorted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected the directory of a finished run"):
        sort_errors(tmp_path)
    run = score(tmp_path / "run", "exact_match,recall")
    with pytest.raises(InputError, match=r"has no f1; it has exact_match, recall\. Score with"):
        sort_errors(run)
    bare = score(tmp_path / "bare", keep_records=False)
    with pytest.raises(InputError, match="without --no-records"):
        sort_errors(bare)
    two = score(tmp_path / "two", "f1(lang=de),f1(normalizer=unicode-1),recall")
    with pytest.raises(UsageError, match="2 metrics named f1"):
        sort_errors(two)
    one = score(tmp_path / "one", "f1(normalizer=unicode-1),recall")
    assert sort_errors(one)["n"] == 2
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="from 0 to 1"):
            sort_errors(one, at_most=bad)


def test_a_language_model_proposes(tmp_path: Path) -> None:
    run = score(tmp_path / "run")

    def answer(prompt: str) -> str:
        if shown(prompt)["REFERENCE"] == ["four"]:
            assert shown(prompt)["CONVERSATION"] == ["user: Of the seasons."]
            return "it is symbolic_equivalence I think"
        return "Synonymous answers"

    seen: list[tuple[str, int, int | None]] = []
    with ChaosServer(answer=answer) as server:
        model = f"llm:m(base_url={server.base_url},max_attempts=1)"
        found = sort_errors(run, proposer=model, progress=lambda *told: seen.append(told))
        assert (len(server.bodies), seen) == (2, [("ask", 2, 2)])
        sort_errors(run, proposer=model)
        assert len(server.bodies) == 2  # replies are kept
        sort_errors(run, proposer=model, cache=False)
        assert len(server.bodies) == 4
    first, second = lines(run / NAME)
    assert first["proposed"] == "semantic_equivalence/synonymous_answers"
    assert first["by"].startswith("llm:error-category-2/")
    assert (second["proposed"], second["status"]) == (None, "unparseable")
    assert second["reply"] == "it is symbolic_equivalence I think"
    assert found["without"] == {"unparseable": 1}
    assert "no category: unparseable" in errors_text(found)
    correct(run / NAME, number="symbolic_equivalence")
    assert read_errors(run / NAME)["without"] == {}


def test_a_model_that_is_not_there_leaves_the_file_alone(tmp_path: Path) -> None:
    run = score(tmp_path / "run")
    sort_errors(run)
    kept = (run / NAME).read_bytes()
    with ChaosServer(lambda *_: "401") as server, pytest.raises(UnreachableError):
        sort_errors(run, proposer=f"llm:m(base_url={server.base_url},max_attempts=1)")
    assert (run / NAME).read_bytes() == kept
    for proposer, words in (
        ("rule", "unknown proposer 'rule'"),
        ("llm", "needs a model"),
        ("rules", "unknown proposer 'rules'"),
        ("llm:fake:x(shown=each)", "unknown option"),
    ):
        with pytest.raises(UsageError, match=words):
            sort_errors(run, proposer=proposer)
    assert (run / NAME).read_bytes() == kept


def line(proposed: str | None, task: str | None = "instruct_qa/nq", **rest: Any) -> Line:
    told: dict[str, Any] = {
        "question": "q",
        "references": ["r"],
        "response": "u",
        "f1": 0.0,
        "recall": 1.0,
        "correct_by": "recall",
        "by": "llm:x",
        "reason": None,
    }
    return Line(id="a", proposed=proposed, task=task, **{**told, **rest})


def test_the_papers_division_stands_beside_its_benchmark() -> None:
    own = [line(category) for category in ErrorCategory.NAMES]
    found = count_categories(own)
    assert found["n"] == len(ErrorCategory.NAMES)
    assert found["categories"]["incomplete_reference"] == {
        "n": 2,
        "share": 2 / 12,
        "published": 0.1547,
    }
    assert found["categories"]["symbolic_equivalence"]["published"] is None
    text = errors_text(found).splitlines()
    assert "Paper: Adlakha et al. 2023, Figure 3" in text
    (row,) = [row for row in text if "more_elaborate_answers" in row]
    assert row.split("/")[-1].split() == ["more_elaborate_answers", "1", "8.33", "%", "60.81", "%"]
    for task in ("faitheval/unanswerable", "instruct-qa/questions", "instruct-qa", None):
        found = count_categories([*own, line(None, task)])
        assert found["source"] is None
        assert "published" not in found["categories"]["none"]
    assert count_categories([])["source"] is None
    assert "0 items are correct" in errors_text(count_categories([]))


def test_the_papers_numbers_have_names_that_exist() -> None:
    shares = figure_3()
    assert len(shares) == 6
    assert set(shares) <= {*ErrorCategory.NAMES, *GROUPS}
    kinds = sum(v for k, v in shares.items() if k.startswith("incomplete_reference/"))
    assert kinds == pytest.approx(shares["incomplete_reference"], abs=1e-9)
    assert shares["semantic_equivalence/more_elaborate_answers"] == 0.6081


def test_shares_are_of_all_items() -> None:
    found = count_categories(
        [line(None, status=Status.ERROR), line("none"), line(None, category="none")]
    )
    assert found["categories"]["none"] == {"n": 2, "share": 2 / 3, "published": None}
    assert found["without"] == {"error": 1}
