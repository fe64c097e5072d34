"""KaLMA's files: questions, minimum sets, drawn sets, and what is said of files that are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.kalma_files import (
    EDDA,
    GENERAL,
    MINIMUM,
    NEEDS_SHARED,
    ORLA,
    SHARED,
    SPECIFIC,
    data_folder,
    write,
)

from trueground.benchmarks.data import fetch_data
from trueground.benchmarks.datasets import get_dataset
from trueground.errors import InputError, UsageError
from trueground.text.triples import GraphTriple
from trueground.wings.papers.kalma.source import (
    TRIVIAL,
    draw_sets,
    read_entries,
    read_own,
    read_published,
    read_sets,
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_folder(tmp_path / "clone")


def test_both_files_have_the_same_ids_and_no_prefix(data: Path) -> None:
    specific, files = read_published("specific", data)
    general, _ = read_published("general", data)
    assert [entry.id for entry in specific] == [entry.id for entry in general] == list("0123")
    assert [entry.question for entry in general][:3] == [
        "Who was Orla Venn?",
        "Who was this scholar?",
        "Who is unknown?",
    ]
    assert specific[3].question == "which instrument did Pim Aster play?"
    assert specific[2].graphs == ()
    assert specific[0].graphs == general[0].graphs == tuple(SPECIFIC[0][1])
    assert specific[1].names == (SPECIFIC[1][0],)
    assert [file.name for file in files] == ["complex_question_graph.json"]


def test_a_copy_is_fetched_and_then_found(data: Path) -> None:
    dataset = get_dataset("kalma")
    assert dataset.from_only
    assert "non-commercial" in dataset.license
    with pytest.raises(InputError, match=r"not fetched yet\. .*data fetch kalma"):
        read_published("specific", None)
    fetch_data("kalma", from_path=data / "dataset")
    assert [entry.question for entry in read_published("general", None)[0]] == [
        question.removeprefix("question: ") for question, _ in GENERAL
    ]


def test_sets_are_found_by_either_question(data: Path) -> None:
    specific, files = read_published("specific", data, both=True)
    general, _ = read_published("general", data, both=True)
    assert [file.name[:7] for file in files] == ["complex", "simple_"]
    assert specific[1].names == (SPECIFIC[1][0], "Who was this scholar?")
    sets = read_sets(data / "minimum.json", specific)
    assert sets == read_sets(data / "minimum.json", general)
    assert [None if one is None else len(one) for one in sets] == [4, 1, None, 2]
    rows = [{"question": f"Question:  {GENERAL[1][0]}", "gold_knowledge": MINIMUM[1][1]}]
    lines = data / "sets.jsonl"
    lines.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match="found no set for any of the 4 questions asked"):
        read_sets(lines, specific)
    rows[0]["question"] = "Who was  this scholar?"
    lines.write_text("\n".join(map(json.dumps, rows)))
    assert read_sets(lines, specific)[1] == tuple(MINIMUM[1][1])


def test_a_question_asked_twice_takes_its_sets_in_order(tmp_path: Path) -> None:
    asked = write(tmp_path / "q.json", [["Who?", [ORLA]], ["What?", []], ["Who?", [EDDA]]])
    entries = read_entries(asked)
    one, two = [["Q101", "father", "Ivar Venn"]], [["Q103", "occupation", "astronomer"]]
    both = write(tmp_path / "both.json", [["Who?", one], ["Who?", two]])
    assert read_sets(both, entries) == [tuple(one), None, tuple(two)]
    single = write(tmp_path / "single.json", [["Who?", one]])
    assert read_sets(single, entries) == [tuple(one), None, tuple(one)]
    many = write(tmp_path / "many.json", [["Who?", one]] * 3)
    with pytest.raises(InputError, match=r"found 3 sets for the question 'Who\?'; expected one"):
        read_sets(many, entries)


def test_drawn_sets_grow_and_leave_trivia_out(data: Path) -> None:
    entries, _ = read_published("specific", data)
    general, _ = read_published("general", data)
    sets = {size: draw_sets(entries, size, 3) for size in (1, 2, 5, 50)}
    assert sets[2] == draw_sets(general, 2, 3)
    assert sets[5] != draw_sets(entries, 5, 4)
    for size, drawn in sets.items():
        assert drawn[2] is None
        for entry, one, all_ in zip(entries, drawn, sets[50], strict=True):
            if one is None:
                continue
            assert one == (all_ or ())[:size]
            assert {GraphTriple(*triple).key for triple in one} <= GraphTriple.keys_of(
                entry.graphs or ()
            )
            assert not {GraphTriple.plain_property(triple[1]) for triple in one} & TRIVIAL
    assert sorted(sets[50][0] or ()) == sorted(
        [
            ["Q101", "place of birth", "Tarnby"],
            ["Q101", "occupation", "botanist"],
            ["Q101", "occupation", "illustrator"],
            ["Q101", "notable works", "Moss, Fern: A Year in the Fens"],
            ["Q101", "father", "Ivar Venn"],
            ["Q101", "date_of_birth", "1834-05-02"],
            ["Q102", "occupation", "miller"],
            ["Q102", "place of death", "Tarnby"],
        ]
    )


def test_own_questions_as_lines(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "question": "Who?", "knowledge": [ORLA], "response": "An old answer."},
        {
            "question": "question: And?",
            "gold_knowledge": [["Q1", "n", 3]],
            "absent_knowledge": [],
            "era": 2,
        },
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    (first, second), files = read_own(path)
    assert (first.id, second.id) == ("a", "1")
    assert second.question == "question: And?"
    assert first.graphs == (ORLA,)
    assert (first.minimum, first.absent, second.graphs) == (None, None, None)
    assert (second.minimum, second.absent, second.meta) == ((["Q1", "n", "3"],), (), {"era": 2})
    assert files == [path]
    with pytest.raises(UsageError, match=r"kalma/questions needs your questions\. Add --data FILE"):
        read_own(None)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "has no questions; expected"),
        ([["Who?"]], "entry 1: found list of 1; expected"),
        (["Who?"], 'entry 1: found str "Who\\?"; expected'),
        ([["Who?", [{"name": "Orla"}]]], r"entry 1, field 'knowledge\[0\].qid': found no qid"),
        ([["Who?", [{"qid": "Q1", "n": {}}]]], r"entry 1, field 'knowledge\[0\]"),
        ([["Who?", [{"qid": "Q1"}, {"qid": " Q1"}]]], "found the qid 'Q1' twice; expected each"),
        ([["Who?", [{"qid": " "}]]], "found a blank qid"),
        ([[7, []]], "entry 1, field 'question': found int 7; expected a str"),
        ([[" ", []]], "entry 1: found no question"),
        ([{"id": 1, "question": "a"}, {"id": 1, "question": "b"}], "found the id '1' twice"),
    ],
)
def test_wrong_questions(tmp_path: Path, value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_entries(write(tmp_path / "q.json", value))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([["Who?", [["Q1", "n"]]]], r"entry 1, field 'gold_knowledge\[0\]': found list of 2"),
        ([["Who?", None]], "entry 1: found object"),
        ([7], "entry 1: found int 7; expected"),
        ({"Who?": []}, "isn't a JSON array; expected"),
    ],
)
def test_wrong_sets(tmp_path: Path, value: Any, words: str) -> None:
    entries = read_entries(write(tmp_path / "q.json", [["Who?", []]]))
    with pytest.raises(InputError, match=words):
        read_sets(write(tmp_path / "m.json", value), entries)


def test_folders_without_the_files(data: Path, tmp_path: Path) -> None:
    (data / "dataset").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"found minimum\.json.*Name the published folder"):
        read_published("specific", data)
    with pytest.raises(InputError, match="a file of your own questions is for kalma/questions"):
        read_published("specific", data / "minimum.json")
    with pytest.raises(InputError, match="does not exist; expected the folder"):
        read_published("general", tmp_path / "nowhere")


@pytest.mark.skipif(not SHARED.is_dir(), reason=NEEDS_SHARED)
def test_the_published_files() -> None:
    for task in ("specific", "general"):
        entries, _ = read_published(task, SHARED)
        assert [entry.id for entry in entries] == [str(number) for number in range(1085)]
        assert sum(not entry.graphs for entry in entries) == 98
        assert not [e for e in entries if e.question.lower().startswith("question:")]
        assert len({graph["qid"] for e in entries for graph in e.graphs or ()}) == 1076
        sets = draw_sets(entries, 7, 0)
        assert sum(one is None for one in sets) == 107
