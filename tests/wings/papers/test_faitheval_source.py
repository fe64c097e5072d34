"""FaithEval's files: layouts, fields, names of datasets, and errors that name the place."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.wings.papers.faitheval_files import (
    COUNTERFACTUAL,
    INCONSISTENT,
    UNANSWERABLE,
    data_folder,
    jsonl,
    parquet,
)

from trueground.benchmarks.datasets import FileRecord, Origin, get_dataset
from trueground.errors import InputError, UsageError
from trueground.types import Choice
from trueground.wings.papers.faitheval import TASKS
from trueground.wings.papers.faitheval.source import (
    DATASETS,
    AnsweredRow,
    ChoiceRow,
    dataset_name,
    read_items,
    task_files,
)
from trueground.wings.papers.faitheval.task import split_documents


@pytest.mark.parametrize("task", TASKS)
def test_jsonl_and_parquet_give_the_same_items(task: str, tmp_path: Path) -> None:
    lines = data_folder(tmp_path / "lines")
    tables = data_folder(tmp_path / "tables", parquet, ".parquet")
    first, second = (
        [
            msgspec.structs.replace(row, place="")
            for row in read_items(task_files(task, folder), task, answers=task == "inconsistent")
        ]
        for folder in (lines, tables)
    )
    assert first == second
    assert len(first) > 1


def test_both_forms_of_choices_and_a_csv_list_of_answers(tmp_path: Path) -> None:
    row = {
        **COUNTERFACTUAL[0],
        "choices": [{"label": "A", "text": "x"}, {"label": "B", "text": "y"}],
    }
    (item,) = read_items([jsonl(tmp_path / "a.jsonl", [row])], "counterfactual")
    assert isinstance(item, ChoiceRow)
    assert item.options == [Choice("A", "x"), Choice("B", "y")]
    (tmp_path / "a.csv").write_text(
        'id,question,context,answers,dataset\n7,Q?,C,"[""one"", ""two""]",RACE\n'
    )
    (item,) = read_items([tmp_path / "a.csv"], "inconsistent", answers=True)
    assert isinstance(item, AnsweredRow)
    assert (item.id, item.answers) == ("7", ["one", "two"])


def test_a_lone_answer_and_an_int_id(tmp_path: Path) -> None:
    row = {"id": 7, "question": "Q?", "context": "C", "answer": "one", "dataset": "RACE"}
    (item,) = read_items([jsonl(tmp_path / "a.jsonl", [row])], "inconsistent", answers=True)
    assert isinstance(item, AnsweredRow)
    assert (item.id, item.answers, item.dataset) == ("7", ["one"], "RACE")


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        ("unanswerable", {"context": None}, "field 'context': found null"),
        ("unanswerable", {"context": 5}, "field 'context': found int 5; expected a str"),
        ("unanswerable", {"subset": None}, "field 'subset': found null"),
        ("unanswerable", {"qid": None}, "field 'qid': found null; expected a str or an int"),
        ("inconsistent", {"answers": None}, "field 'answers': found null"),
        ("inconsistent", {"answers": [1]}, "field 'answers[0]': found int 1; expected a str"),
        (
            "inconsistent",
            {"answers": ["", "a"]},
            "field 'answers[0]': found str \"\"; expected a str that is not",
        ),
        ("counterfactual", {"choices": None}, "field 'choices': found null"),
        (
            "counterfactual",
            {"choices": ["a", "b"]},
            "field 'choices[0]': found str \"a\"; expected [{",
        ),
        (
            "counterfactual",
            {"choices": {"label": ["A"], "text": []}},
            "found 1 labels and 0 texts; expected a text for each label",
        ),
        (
            "counterfactual",
            {"choices": {"label": ["A", "A"], "text": ["x", "y"]}},
            "found the labels A, A",
        ),
        ("counterfactual", {"answerKey": "D"}, 'found str "D"; expected one of A, B, C'),
    ],
)
def test_read_items_invalid_rows_name_the_problem(
    task: str, change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rows = {"unanswerable": UNANSWERABLE, "inconsistent": INCONSISTENT}.get(task, COUNTERFACTUAL)
    path = jsonl(tmp_path / "a.jsonl", [rows[1], {**rows[0], **change}])
    with pytest.raises(InputError) as caught:
        list(read_items([path], task, answers=task == "inconsistent"))
    assert f"{path}, line 2" in str(caught.value)
    assert message in str(caught.value)


def test_ids_are_unique_over_all_files(tmp_path: Path) -> None:
    paths = [jsonl(tmp_path / name, UNANSWERABLE) for name in ("a.jsonl", "b.jsonl")]
    with pytest.raises(InputError, match=r"b\.jsonl, line 1 \(id 'u1'\): found this id a second"):
        list(read_items(paths, "unanswerable"))
    (tmp_path / "c.json").write_text(json.dumps([]))
    with pytest.raises(InputError, match="found no rows for the task unanswerable"):
        list(read_items([tmp_path / "c.json"], "unanswerable"))


def test_files_are_found_by_the_task_in_their_name(tmp_path: Path) -> None:
    folder = data_folder(tmp_path / "inconsistent-and-others")
    assert [f.parent.parent.name for f in task_files("unanswerable", folder)] == [
        "FaithEval-unanswerable-v1.0"
    ]
    alone = jsonl(tmp_path / "x" / "inconsistent.jsonl", INCONSISTENT)
    assert task_files("inconsistent", alone) == [alone]
    with pytest.raises(UsageError, match="named after the task inconsistent, not unanswerable"):
        task_files("unanswerable", alone)
    with pytest.raises(InputError, match=r"no file with 'unanswerable' in its name; found incons"):
        task_files("unanswerable", alone.parent)
    other = jsonl(tmp_path / "mine.jsonl", UNANSWERABLE)
    assert task_files("unanswerable", other) == [other]


def test_fetched_files_are_used_where_none_are_named() -> None:
    with pytest.raises(InputError, match="trueground data fetch faitheval"):
        task_files("inconsistent", None)
    path = jsonl(get_dataset("faitheval").folder / "inconsistent.jsonl", INCONSISTENT)
    record = FileRecord(
        file="inconsistent", local=path.name, size=path.stat().st_size, sha256="0" * 64
    )
    origin = Origin(dataset="faitheval", files=[record])
    (path.parent / "origin.json").write_bytes(msgspec.json.encode(origin))
    assert task_files("inconsistent", None) == [path]


def test_the_dataset_names_a_repository_for_each_task() -> None:
    files = get_dataset("faitheval").files
    assert [file.name for file in files] == list(TASKS)
    for file in files:
        assert file.repo == f"Salesforce/FaithEval-{file.name}-v1.0"
        for path in ("data/test-00000-of-00001.parquet", "test.jsonl", "data/test.parquet"):
            assert fnmatchcase(path, file.pattern)
        assert not fnmatchcase("README.md", file.pattern)
        assert not fnmatchcase("data/train-00000-of-00001.parquet", file.pattern)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        *((name, name) for name in DATASETS),
        ("NaturalQuestionsShort", "NQ"),
        ("naturalquestions", "NQ"),
        ("Natural Questions", "NQ"),
        ("TriviaQA-web", "TriviaQA"),
        ("squad_v2", "SQuAD"),
        ("SQuAD1.1", "SQuAD"),
        ("HOTPOTQA", "HotpotQA"),
        ("Textbook QA", "TextbookQA"),
        ("My Set", "My Set"),
        ("test", "test"),
    ],
)
def test_names_of_datasets(written: str, name: str) -> None:
    assert dataset_name(written) == name


@pytest.mark.parametrize(
    "context",
    [
        "Document:\none\n\nDocument:\ntwo",
        "Document: one\nDocument: two",
        "Document 1: one\n\nDocument 2: two",
        "\n[Document 1]:\none\n\n[Document 2]:\ntwo\n",
    ],
)
def test_two_documents_are_split(context: str) -> None:
    assert split_documents(context) == ["one", "two"]


@pytest.mark.parametrize(
    "context",
    ["one", "Document: one", "before\nDocument: a\nDocument: b", "Document: a\nDocument:\n"],
)
def test_split_documents_without_two_documents_returns_context(context: str) -> None:
    assert split_documents(context) == [context]
