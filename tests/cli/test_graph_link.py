"""`trueground graph link` as a user types it, over a file of invented graphs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from trueground.errors import GraphError, InputError, OutputError, TruegroundError, UsageError
from trueground.wings.graphs.command import link

pytest.importorskip("ahocorasick", reason="the graph extra is not installed")


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("link")(link)
app.command("other")(lambda: None)

RUCK = {"qid": "Q10", "name": "Anna Ruck", "occupation": "explorer", "instance of": "human"}
SINGER = {
    "qid": "Q2",
    "name": "Anna Ruck",
    "occupation": ["singer", "actor"],
    "instance of": "human",
}
HOLM = {"qid": "Q20", "name": "Ede Holm", "spouse": "Anna Ruck", "instance of": "human"}
SHIP = {"qid": "Q30", "name": "Brenta", "instance of": "ship"}
ENTRIES = [
    ["When did the explorer Anna Ruck leave with the Brenta?", [RUCK]],
    ["Who was Ede Holm?", [HOLM]],
    ["Who was Anna Ruck?", [RUCK]],
    ["Who is Nobody?", []],
]


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    return wrote(tmp_path / "graphs.json", [RUCK, SINGER, HOLM, SHIP])


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return wrote(tmp_path / "questions.json", ENTRIES)


def wrote(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["link", *map(str, words)])


def told(*words: object) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.exception
    return result.stdout


def refused(kind: type[TruegroundError], *words: object) -> str:
    result = run(*words)
    assert isinstance(result.exception, kind), result.exception
    return str(result.exception)


def test_entities_are_shown_with_reasons_and_scores(questions: Path, graph: Path) -> None:
    text = told(questions, graph)
    assert "  Anna Ruck: Q10 Anna Ruck  (in the question: explorer; best of 2)" in text
    assert "  Brenta: Q30 Brenta" in text
    assert "4 questions, 4 entities in 3 of them; 2 chosen from several of that name" in text
    flat = " ".join(text.split())
    assert "2 of 4 found are right, of 3 gold; just the gold ones in 2 questions" in flat
    assert "micro 0.500 0.667 0.571" in flat


def test_signs_that_steer_a_terminal_are_not_printed(tmp_path: Path) -> None:
    sign = "\x1b[31m\x07"
    graph = [{**HOLM, "name": f"Ede{sign} Holm", "spouse": f"a{sign}b"}]
    question = f"Who\nwas {sign} Ede{sign} Holm of a{sign}b and {sign}Holm?"
    text = told(wrote(tmp_path / "q.json", [[question, []]]), wrote(tmp_path / "g.json", graph))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert text.splitlines()[0].startswith("Who was \\x1b[31m\\x07 Ede\\x1b[31m")
    assert "Q20 Ede\\x1b[31m\\x07 Holm" in text


def test_types_leave_other_things_out(questions: Path, graph: Path) -> None:
    value = json.loads(told(questions, graph, "--types", "human", "--format", "json"))
    assert value["types"] == ["human"]
    assert value["recognizer"] == "dictionary"
    assert value["graph"] == str(graph)
    first = value["links"][0]
    assert first["found"] == [
        {
            "name": "Anna Ruck",
            "start": 22,
            "end": 31,
            "qid": "Q10",
            "label": "Anna Ruck",
            "matched": ["explorer"],
            "candidates": 2,
        }
    ]
    assert value["retrieval"]["precision"] == pytest.approx(2 / 3)
    assert value["retrieval"]["macro_recall"] == pytest.approx(2 / 3)


def test_out_has_the_form_that_is_read(questions: Path, graph: Path, tmp_path: Path) -> None:
    out = tmp_path / "linked.json"
    text = told(questions, graph, "--out", out)
    assert f"file   {out}" in text
    written = json.loads(out.read_text(encoding="utf-8"))
    assert [question for question, _ in written] == [question for question, _ in ENTRIES]
    assert written[1] == [
        "Who was Ede Holm?",
        [{"qid": "Q20", "name": "Ede Holm", "spouse": "Anna Ruck", "instance of": "human"}],
    ]
    assert written[3][1] == []
    again = json.loads(told(out, graph, "--format", "json"))
    assert again["retrieval"]["precision"] == 1.0
    assert again["retrieval"]["exact"] == 4
    assert "exists; choose another --out" in refused(OutputError, questions, graph, "--out", out)
    told(questions, graph, "--out", out, "--overwrite", "--quiet")
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize(
    ("name", "text", "gold"),
    [
        ("q.txt", "Who was Ede Holm?\n\nWho is Nobody?\r\n", None),
        ("q.jsonl", '{"question": "Who was Ede Holm?"}\n{"question": "Who is Nobody?"}\n', None),
        ("q.jsonl", '{"question": "Ede Holm?", "gold": ["Q20", "Q20"]}\n{"question": "No"}\n', 1),
        (
            "q.json",
            '[{"question": "Ede Holm?", "knowledge": [{"qid": "Q20"}, {"qid": "Q9"}]}]',
            2,
        ),
        ("q.json", ' [["Ede Holm?", [["Q20", "spouse", "Anna Ruck"], ["Q20", "x", "y"]]]]', 1),
        ("q.csv", 'question,gold\nEde Holm?,"[""Q20""]"\n', 1),
    ],
)
def test_questions_come_in_many_forms(
    name: str, text: str, gold: int | None, graph: Path, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    value = json.loads(told(path, graph, "--format", "json"))
    assert [f["qid"] for f in value["links"][0]["found"]] == ["Q20"]
    if gold is None:
        assert value["retrieval"] is None
        assert len(value["links"]) == 2
    else:
        assert value["retrieval"]["gold"] == gold
        assert value["retrieval"]["questions"] == 1
        assert value["retrieval"]["recall"] == 1 / gold


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("q.json", b'[["a?", []], ["b?"]]', r"entry 2: found list of 1; expected \[question"),
        ("q.json", b'[["a?", [{"name": "x"}]]]', "entry 1, number 1: found .*expected an id"),
        ("q.json", b'[["a?", "Q1"]]', 'entry 1: found str "Q1"; expected a list of ids'),
        ("q.json", b'[["", []]]', 'entry 1: found str ""; expected a question'),
        ("q.json", b'[["a?", []', "entry 1"),
        ("q.json", b"[1]", "entry 1: found int 1; expected"),
        ("q.json", b"[]", "has no questions"),
        ("q.json", b'[["\xff", []]]', "entry 1"),
        ("q.txt", b"\n\n", "has no questions"),
        ("q.txt", b"\xff", "save it as UTF-8 text"),
        ("q.jsonl", b'{"text": "a"}\n', "field 'question': found null; expected a question"),
        ("q.jsonl", b'{"question": "a", "gold": "Q1"}\n', "field 'gold': found str"),
        ("q.csv", b'question,gold\na,"[Q1"\n', "field 'gold': found "),
        ("q.json.gz", b"no archive", "not a sound gzip archive"),
    ],
)
def test_what_is_no_question_is_named(
    name: str, content: bytes, expected: str, graph: Path, tmp_path: Path
) -> None:
    import re

    path = tmp_path / name
    path.write_bytes(content)
    message = refused(InputError, path, graph)
    assert message.startswith(str(path))
    assert re.search(expected, message), message


def test_other_errors_tell_the_next_step(questions: Path, graph: Path, tmp_path: Path) -> None:
    assert "does not exist" in refused(InputError, tmp_path / "none.json", graph)
    assert "does not exist" in refused(InputError, tmp_path / "none.txt", graph)
    assert "doesn't exist" in refused(GraphError, questions, tmp_path / "none.json")
    assert "'dictionary'" in refused(UsageError, questions, graph, "--recognizer", "dictonary")
    assert "its types: human, ship" in refused(GraphError, questions, graph, "--types", "city")
    assert "is a folder" in refused(OutputError, questions, graph, "--out", tmp_path)
