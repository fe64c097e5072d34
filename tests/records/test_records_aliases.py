"""Files as other tools write them: column names, nested forms, lists as Python prints them."""

from __future__ import annotations

import csv
import io
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tests.commands import trueground
from tests.records.record_files import read

from trueground.errors import BadRowsError, InputError, UsageError
from trueground.records.python_literals import parse_python
from trueground.records.reading import RecordSource
from trueground.types import Passage

TEXT = "Ada wrote it in 1843."
QUESTION, ANSWER, REFERENCE = "When was it written?", "It was written in 1843.", "1843"

# A row as each tool writes it; what must come out is the same of all.
TOOLS: dict[str, dict[str, Any]] = {
    "ragas": {
        "user_input": QUESTION,
        "retrieved_contexts": [TEXT],
        "response": ANSWER,
        "reference": REFERENCE,
        "reference_contexts": None,
    },
    "ragas 0.1": {
        "question": QUESTION,
        "contexts": [TEXT],
        "answer": ANSWER,
        "ground_truth": REFERENCE,
    },
    "deepeval": {
        "input": QUESTION,
        "actual_output": ANSWER,
        "expected_output": REFERENCE,
        "retrieval_context": [TEXT],
        "context": None,
        "name": None,
    },
    "ragchecker": {
        "query_id": "0",
        "query": QUESTION,
        "gt_answer": REFERENCE,
        "response": ANSWER,
        "retrieved_context": [{"doc_id": "d1", "text": TEXT}],
    },
    "trulens": {
        "query": QUESTION,
        "expected_response": REFERENCE,
        "output": ANSWER,
        "context": TEXT,
    },
    "langchain": {
        "input": QUESTION,
        "context": [{"page_content": TEXT, "metadata": {"source": "a.pdf"}, "type": "Document"}],
        "answer": ANSWER,
        "reference": REFERENCE,
    },
    "langchain's RetrievalQA": {
        "query": QUESTION,
        "result": ANSWER,
        "source_documents": [{"page_content": TEXT, "metadata": {"source": "a.pdf"}}],
        "reference": REFERENCE,
    },
    "llamaindex": {
        "query": QUESTION,
        "response": ANSWER,
        "source_nodes": [
            {"node": {"id_": "n1", "text": TEXT, "metadata": {"page": 3}}, "score": 0.8},
        ],
        "reference_answer": REFERENCE,
    },
    "squad": {
        "question": QUESTION,
        "context": TEXT,
        "answers": {"text": [REFERENCE], "answer_start": [16]},
        "prediction": ANSWER,
    },
    "plain": {
        "prompt": QUESTION,
        "documents": [TEXT],
        "completion": ANSWER,
        "expected": REFERENCE,
    },
}


@pytest.mark.parametrize("tool", TOOLS)
def test_files_of_other_tools_are_scored(tool: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(TOOLS[tool]) + "\n")
    done = trueground(
        "score", "a.jsonl", "--metrics", "faithfulness,f1,k_precision_pp", "--out", "o",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("trueground: columns: ")]
    assert len(said) == 1
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())["metrics"]
    assert {name: entry["scored"] for name, entry in summary.items()} == {
        "grounding_precision": 1,
        "f1": 1,
        "k_precision_pp": 1,
    }
    [record] = read(tmp_path / "a.jsonl")
    assert (record.question, record.response, record.references) == (QUESTION, ANSWER, [REFERENCE])
    assert [passage.text for passage in record.contexts or ()] == [TEXT]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("how", ["list", "pandas", "csv of pandas", "json", "parquet"])
def test_the_same_in_python_and_in_tables(tool: str, how: str, tmp_path: Path) -> None:
    row = TOOLS[tool]
    source: Any = [row, row]
    if how == "pandas":
        source = pd.DataFrame(source)
    elif how == "csv of pandas":
        source = tmp_path / "a.csv"
        pd.DataFrame([row, row]).to_csv(source, index=False)  # lists as Python prints them
    elif how == "json":
        source = tmp_path / "a.json"
        source.write_text(json.dumps([row, row], indent=1))
    elif how == "parquet":
        source = tmp_path / "a.parquet"
        pl.DataFrame([row, row]).write_parquet(source)
    for record in read(source):
        assert (record.question, record.response) == (QUESTION, ANSWER)
        assert record.references == [REFERENCE]
        assert [passage.text for passage in record.contexts or ()] == [TEXT]


def test_ids_titles_and_sources_of_passages_are_kept() -> None:
    contexts = [
        TOOLS["ragchecker"]["retrieved_context"][0],
        TOOLS["langchain"]["context"][0],
        TOOLS["llamaindex"]["source_nodes"][0],
        {"id_": "n2", "text_resource": {"text": "t"}, "metadata": {"title": "T"}},
        {"text": "own", "id": 7, "doc_id": "x", "gold": True},
        "plain",
    ]
    [record] = read([{"response": "x", "contexts": contexts}])
    assert record.contexts == [
        Passage(TEXT, id="d1"),
        Passage(TEXT, source="a.pdf"),
        Passage(TEXT, id="n1"),
        Passage("t", id="n2", title="T"),
        Passage("own", id=7, gold=True),
        Passage("plain"),
    ]


@dataclass
class Document:
    page_content: str
    metadata: dict[str, Any]


class Sample:
    """What pydantic models have in common."""

    def model_dump(self) -> dict[str, Any]:
        return {"user_input": "q", "response": "r", "retrieved_contexts": ["c"]}


def test_objects_of_other_tools_are_read() -> None:
    [record] = read([{"answer": "x", "context": [Document("c", {"source": "s"})]}])
    assert record.contexts == [Passage("c", source="s")]
    [record] = read([Sample()])
    assert (record.question, record.response, record.contexts) == ("q", "r", [Passage("c")])


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["results", "examples"])
def test_an_object_around_the_rows(name: str, indent: int | None, tmp_path: Path) -> None:
    rows = [TOOLS["ragchecker"], {**TOOLS["ragchecker"], "response": "]}"}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({name: rows, "metrics": {"overall": {}}}, indent=indent))
    assert [record.response for record in read(path)] == [ANSWER, "]}"]


def test_what_follows_the_rows_must_be_one_object(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    line = json.dumps({"results": [{"response": "x"}], "n": 1})
    for text in (line + "\n" + line, line[:-1], line[:-3] + "]"):
        path.write_text(text)
        with pytest.raises(InputError, match="in what follows the first array"):
            read(path)
    path.write_text(line[:24])
    with pytest.raises(BadRowsError, match="ends in the middle of a record"):
        read(path)


# What is not taken.


def columns_said(rows: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> str:
    RecordSource.open(rows).check()
    return capsys.readouterr().err


def test_a_column_of_our_name_wins_and_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"response": "r", "answer": "a", "contexts": ["c"], "documents": ["d"], "question": "q"}
    assert columns_said([{**row, "query": "x", "references": [], "expected": "e"}], capsys) == ""
    [record] = read([row])
    assert (record.response, record.contexts) == ("r", [Passage("c")])
    assert record.meta == {"answer": "a", "documents": ["d"]}


def test_two_columns_that_could_each_be_it_are_not_taken(tmp_path: Path) -> None:
    row = {"query": "q", "documents": ["d"], "passages": ["p"], "answer": "a"}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row) + "\n")
    done = trueground("score", path, "--metrics", "k_precision", "--out", tmp_path / "o")
    assert done.returncode == 3
    assert "--map contexts=passages or --map contexts=documents" in done.stderr
    [record] = read(path)
    assert (record.contexts, record.meta) == (None, {"documents": ["d"], "passages": ["p"]})
    path.write_text(json.dumps({**row, "output": "b"}) + "\n")
    with pytest.raises(BadRowsError, match="add --map response=answer or --map response=output"):
        read(path)
    done = trueground("score", path, "--map", "response=output", "--out", tmp_path / "p")
    assert done.returncode == 3  # whether answers decline is all that can be told
    assert (
        "nothing could be scored but whether answers decline: no record has contexts" in done.stderr
    )


def test_values_of_another_shape_are_another_thing(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"response": "r", "prompt": [{"role": "user", "content": "hi"}], "documents": [3]}]
    assert columns_said(rows, capsys) == ""
    [record] = read(rows)
    assert record.meta == {"prompt": rows[0]["prompt"], "documents": [3]}
    # A wrong value in a column that is otherwise right is a bad row.
    with pytest.raises(BadRowsError, match="row 2, field 'response': found int 5"):
        read([{"answer": "a"}, {"answer": 5}])


def test_answers_are_references_only_beside_a_response() -> None:
    [record] = read([{"output": "r", "answers": ["a", "b"]}])
    assert record.references == ["a", "b"]
    with pytest.raises(BadRowsError, match="--map response=answers"):
        read([{"answers": ["a"]}])


def test_a_mapping_settles_what_it_names() -> None:
    row = {"answer": "a", "output": "o", "query": "q", "text": ["t"]}
    [record] = read([row], mapping={"response": "answer", "contexts": "text"})
    assert (record.response, record.question, record.contexts) == ("a", "q", [Passage("t")])
    assert record.meta == {"output": "o"}
    [record] = read([row], mapping={"references": "answer"})
    assert (record.response, record.references) == ("o", ["a"])


def test_a_column_that_comes_late_is_seen(tmp_path: Path) -> None:
    rows = [{"answer": f"a{i}"} for i in range(500)]
    rows[300]["documents"] = ["d"]  # type: ignore[assignment]
    found = read(rows)
    assert found[300].contexts == [Passage("d")]
    rows[400]["response"] = "own"
    with pytest.raises(BadRowsError) as caught:
        read(rows)
    assert caught.value.total == 499


def test_each_file_has_its_own_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.csv"
    one.write_text('{"id": "a", "output": "x"}\n')
    two.write_text("id,answer\nb,\nc,y\n")
    assert [r.response for r in read([str(one), str(two)])] == ["x", "", "y"]
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"trueground: columns of {one}: response ← output",
        f"trueground: columns of {two}: response ← answer",
    ]


def test_null_columns_are_not_there() -> None:
    [record] = read([{"answer": "a", "contexts": None, "documents": ["d"], "output": None}])
    assert (record.response, record.contexts) == ("a", [Passage("d")])


# What is said where something is missing.


def test_a_file_without_contexts_says_which_column_may_hold_them(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for rest, column in [
        ({"chunks": ["c c"]}, "chunks"),
        ({"stuff": ["a text", "another"], "note": "short"}, "stuff"),
        ({"blob": "long " * 80, "note": "short"}, "blob"),
        ({"rag docs": "a text"}, "'contexts=rag docs'"),
    ]:
        path.write_text(json.dumps({"response": "x", **rest}) + "\n")
        done = trueground("score", path, "--out", tmp_path / "o", "--overwrite")
        assert done.returncode == 3
        option = column if column.startswith("'") else f"contexts={column}"
        assert "WARNING: no record has contexts" in done.stderr
        assert f"add --map {option}" in done.stderr
    path.write_text('{"response": "x", "references": ["x"]}\n')
    done = trueground("score", path, "--metrics", "f1", "--out", tmp_path / "p")
    assert (done.returncode, done.stderr) == (0, "")


def test_whether_answers_decline_alone_is_a_run_only_where_it_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "x"}\n')
    for options, code in (((), 3), (("--metrics", "abstained"), 0)):
        out = ("--out", tmp_path / "o", "--overwrite")
        assert trueground("score", path, *options, *out).returncode == code
    path.write_text('{"response": "x", "answerable": true}\n')
    assert trueground("score", path, "--out", tmp_path / "p").returncode == 0


def test_deepeval_rows_with_both_contexts_are_read_by_what_was_retrieved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [{**TOOLS["deepeval"], "context": ["What should have been found."]}, TOOLS["deepeval"]]
    said = columns_said(rows, capsys)
    assert "contexts ← retrieval_context (context, what should have been retrieved, is not" in said
    for record in read(rows):
        assert [passage.text for passage in record.contexts or ()] == [TEXT]


def test_a_result_is_the_answer_where_nothing_else_is(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"question": "q", "contexts": ["c"], "answer": "a", "result": "passed"}
    assert columns_said([row], capsys) == "trueground: columns: response ← answer\n"
    del row["answer"]
    assert columns_said([row], capsys) == "trueground: columns: response ← result\n"


def test_columns_in_capitals_are_read_where_nothing_else_could_be_meant(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Question,Contexts,Answer,Ground Truth\nq,c,a,g\n")
    [record] = read(path)
    assert (record.question, record.response, record.references) == ("q", "a", ["g"])
    assert [passage.text for passage in record.contexts or ()] == ["c"]
    assert read([{"response": "r", "Response": "other"}])[0].meta == {"Response": "other"}
    with pytest.raises(BadRowsError, match="'Answer' and 'answer' could each be it"):
        read([{"Answer": "a", "answer": "b"}])


def test_a_bad_row_names_the_columns_of_the_file() -> None:
    with pytest.raises(BadRowsError, match=r"no such field in object \{query, text, documents\}"):
        read([{"query": "q", "text": "a", "documents": ["d"]}])


def test_a_run_that_scored_nothing_exits_3(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "x"}\n')
    done = trueground("score", path, "--metrics", "support,f1", "--out", tmp_path / "o")
    assert done.returncode == 3
    assert "nothing could be scored; support: 1 missing_field (it needs contexts)" in done.stderr
    path.write_text('{"response": "x"}\n{"response": "y", "references": ["y"]}\n')
    done = trueground("score", path, "--metrics", "support,f1", "--out", tmp_path / "p")
    assert done.returncode == 0


def test_like_errors_are_one_with_three_examples() -> None:
    rows: list[dict[str, Any]] = [{"response": "x", "contexts": ["a", i]} for i in range(2000)]
    with pytest.raises(BadRowsError) as caught:
        read([*rows, {"id": 1.5, "response": "x"}])
    lines = str(caught.value).splitlines()
    assert len(lines) == 6
    assert [line.partition(",")[0] for line in lines[:3]] == ["records"] * 3
    assert lines[3] == "… and 1,997 more rows like these"
    assert lines[4] == "… and 1 more invalid rows"
    assert lines[5].startswith("Found 2001 invalid rows")


# Lists in cells.


def as_csv(**cells: str) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, cells)
    writer.writeheader()
    writer.writerow(cells)
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['a', \"b's\", 'c\\n\\'d']", ["a", "b's", "c\n'd"]),
        ("['one [1], two'\n 'three']", ["one [1], two", "three"]),  # numpy prints no commas
        ("array(['a', 'b'], dtype=object)", ["a", "b"]),
        ("('a',)", ["a"]),
        ("[{'text': 'a', 'n': 1.5, 'm': -2, 'gold': True, 'id': None}]",
         [{"text": "a", "n": 1.5, "m": -2, "gold": True, "id": None}]),
        ("[Document(metadata={'source': 'x'}, page_content='Hi, (x)=')]",
         [{"metadata": {"source": "x"}, "page_content": "Hi, (x)="}]),
        ("['\\xe9\\u00e9\\U0001F600\\\\']", ["éé😀\\"]),
        ("[]", []),
    ],
)  # fmt: skip
def test_what_python_prints_is_read(text: str, value: Any) -> None:
    assert parse_python(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "", "]", "['a'", "['a'] 'b'", "[1] Ada wrote it.", "[b'x']", "[:]", "[=]", "{'a': 1, 'b'}",
        "__import__('os').system('x')", "[x for x in y]", "'a' * 9", "['\\U00110000']",
        "[see above]", "[lambda: 1]", "{a: 1}", "f(x)", "f()", "[a=1]", "None, object",
        "[" * 100_000, "(" * 60 + ")" * 60, "[" + "1," * 1_100_000 + "]", "[" + "-" * 1_000_000,
        "['" + "\\" * 1_000_001, "'" * 100_001, "[" + "9" * 5_000 + "]", "[…]", "['a', ...]",
    ],
)  # fmt: skip
def test_hostile_texts_are_refused_soon(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ValueError):  # noqa: PT011 - of the parser's or of Python's own
        parse_python(text)
    assert time.process_time() - start < 10


def test_a_large_cell_of_a_python_list(tmp_path: Path) -> None:
    long = 'it\'s "so"\n' * 150_000
    path = tmp_path / "a.csv"
    path.write_text(as_csv(answer="x", contexts=str([long, "b"])))
    [record] = read(path)
    assert record.contexts == [Passage(long), Passage("b")]


def test_what_a_list_in_a_cell_may_hold(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for cell, says in [
        ("['a\\x00']", "NUL"),
        ("['\\ud800']", "surrogate"),
        ("[1e999]", "Infinity"),
        ("[nan]", "as Python prints it"),
        ("[['a']]", "contexts\\[0\\]"),
        ("[1] Ada wrote it.", "as Python prints it"),
    ]:
        path.write_text(as_csv(response="x", contexts=cell))
        with pytest.raises(BadRowsError, match=says):
            read(path)


def test_contexts_that_are_one_text_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(as_csv(actual_output="x", retrieval_context="[1] a\n\nb \n\n"))
    [record] = read(path, split_contexts="\n\n")
    assert record.contexts == [Passage("[1] a"), Passage("b")]
    words = ("--metrics", "k_recall", "--out", tmp_path / "o")
    done = trueground("score", path, "--split-contexts", "\\n\\n", *words)
    assert done.returncode == 0, done.stderr
    for text, texts in [("[1] a", ["[1] a"]), ('["a", "b"]', ["a", "b"]), ("a", ["a"])]:
        [record] = read([{"response": "x", "contexts": text}], split_contexts="|")
        assert [passage.text for passage in record.contexts or ()] == texts
    with pytest.raises(UsageError, match="--split-contexts is empty"):
        RecordSource.open(path, split_contexts="")


def test_skipping_rows_of_a_file_without_a_response_tells_the_column(tmp_path: Path) -> None:
    rows = [{"id": i, "reply": "x"} for i in range(3)]
    with pytest.raises(InputError, match="all 3 rows are bad") as caught:
        RecordSource.open(rows, on_bad_row="skip").check()
    assert "add --map response=reply" in str(caught.value)
