"""Tasks of answered questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.wings.labeling.filling import build_of

from trueground.errors import InputError, UsageError
from trueground.wings.labeling.base import item_of
from trueground.wings.labeling.export import find_tasks, parse_where
from trueground.wings.labeling.files import ShownTask
from trueground.wings.labeling.kinds import KINDS, AnnotationTask
from trueground.wings.labeling.record_parts import Pairing

BRIDGE: dict[str, Any] = {
    "id": "bridge",
    "question": "How many arches has it?",
    "history": [{"role": "user", "content": "Tell me of the bridge at Umber."}],
    "references": ["seven"],
    "contexts": [{"title": "Umber", "text": "The bridge has seven arches."}, "It is of stone."],
    "gold_facts": ["The bridge has seven arches.", "The bridge is at Umber."],
    "response": "It has seven arches [1]. It was built of stone [2][7].",
    "model": "secret-model",
}
EMPTY: dict[str, Any] = {"id": "empty", "response": ""}


def tasks(
    folder: Path, kind: str, *records: dict[str, Any], pairing: Pairing = "gold"
) -> dict[str, dict[str, str]]:
    path = folder / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    found = find_tasks(KINDS[kind], [str(path)], pairing)
    assert all(
        task.id == AnnotationTask.of(kind, item_of(task.id), shown(task)).id for task in found.tasks
    )
    return {item_of(task.id): dict(task.cells) for task in found.tasks}


def shown(task: ShownTask) -> dict[str, Any]:
    assert task.shown is not None
    return dict(task.shown)


def test_facts_in_a_text(tmp_path: Path) -> None:
    found = tasks(tmp_path, "contains", BRIDGE)
    assert list(found) == ["bridge#gold-1", "bridge#gold-2"]
    assert found["bridge#gold-2"] == {
        "text": BRIDGE["response"],
        "fact": "The bridge is at Umber.",
    }


def test_facts_of_the_response_in_its_contexts(tmp_path: Path) -> None:
    record = BRIDGE | {"response_facts": ["It has seven arches."]}
    assert tasks(tmp_path, "contains", record, pairing="response") == {
        "bridge#response-1": {
            "text": "Umber: The bridge has seven arches.\n\nIt is of stone.",
            "fact": "It has seven arches.",
        }
    }
    by_rules = tasks(tmp_path, "contains", BRIDGE, pairing="response")
    assert len(by_rules) == 2
    assert by_rules["bridge#response-1"]["fact"].startswith("It has seven arches")


def test_facts_among_facts(tmp_path: Path) -> None:
    record = BRIDGE | {"response_facts": ["It has seven arches.", "It is of stone."]}
    found = tasks(tmp_path, "contains-list", record)
    assert found["bridge#gold-1"]["facts"] == "[1] It has seven arches.\n[2] It is of stone."
    found = tasks(tmp_path, "contains-list", record, pairing="response")
    assert found["bridge#response-2"]["fact"] == "It is of stone."
    assert found["bridge#response-2"]["facts"].startswith("[1] The bridge has seven arches.")


def test_question_with_what_was_said_before(tmp_path: Path) -> None:
    question = "user: Tell me of the bridge at Umber.\nHow many arches has it?"
    assert tasks(tmp_path, "relevance", BRIDGE)["bridge#context-2"] == {
        "question": question,
        "passage": "It is of stone.",
    }
    assert tasks(tmp_path, "correctness", BRIDGE)["bridge"] == {
        "question": question,
        "references": "[1] seven",
        "response": BRIDGE["response"],
    }
    assert tasks(tmp_path, "support", BRIDGE)["bridge"]["contexts"] == (
        "[1] Umber: The bridge has seven arches.\n[2] It is of stone."
    )


def test_sentences_with_what_they_cite(tmp_path: Path) -> None:
    """There is no passage 7."""
    assert tasks(tmp_path, "alignment", BRIDGE) == {
        "bridge#sentence-1-citation-1": {
            "sentence": "It has seven arches.",
            "citation": "Umber: The bridge has seven arches.",
        },
        "bridge#sentence-2-citation-1": {
            "sentence": "It was built of stone.",
            "citation": "It is of stone.",
        },
    }
    cellist = {
        "id": "c",
        "response": "Ansa Mirel was born in 1922 [qid: Q1, date of birth: 1922-05-04].",
        "knowledge": [{"qid": "Q1", "name": "Ansa Mirel", "date of birth": "1922-05-04"}],
    }
    assert tasks(tmp_path, "alignment", cellist) == {
        "c#sentence-1-citation-1": {
            "sentence": "Ansa Mirel was born in 1922.",
            "citation": "Ansa Mirel: date of birth: 1922-05-04",
        }
    }


def test_records_without_what_is_needed_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(BRIDGE) + "\n" + json.dumps(EMPTY) + "\n")
    assert find_tasks(KINDS["support"], [str(path)]).skipped == {"contexts": 1}
    for kind, lacks in (
        ("support", "contexts"),
        ("contains", "response"),
        ("correctness", "references"),
        ("alignment", "a citation of its knowledge or contexts"),
    ):
        with pytest.raises(InputError, match=f"no tasks of kind {kind} in .*: 1 without {lacks}"):
            tasks(tmp_path, kind, EMPTY)


def test_rows_that_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(BRIDGE) + '\n{"id": "x"}\n')
    with pytest.raises(InputError, match=r"line 2 .*field 'response'"):
        find_tasks(KINDS["support"], [str(path)])
    found = find_tasks(KINDS["support"], [str(path)], on_bad_row="skip")
    assert (len(found.tasks), found.skipped) == (1, {"a form that can be read": 1})


def test_several_runs_are_anonymous(tmp_path: Path) -> None:
    for name in ("gpt", "llama"):
        (tmp_path / name).mkdir()
        packed = zstandard.compress(json.dumps(BRIDGE).encode() + b"\n")
        (tmp_path / name / "records.jsonl.zst").write_bytes(packed)
    runs = [str(tmp_path / "gpt"), str(tmp_path / "llama")]
    found = find_tasks(KINDS["correctness"], runs)
    assert [item_of(task.id) for task in found.tasks] == ["1:bridge", "2:bridge"]
    assert found.sources == {"1": runs[0], "2": runs[1]}
    assert not any("secret" in text for task in found.tasks for text in task.cells.values())
    with pytest.raises(UsageError, match="a source is listed twice"):
        find_tasks(KINDS["correctness"], [runs[0], runs[0]])


def test_folders_without_tasks(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a folder with neither annotate/support\.jsonl nor"):
        find_tasks(KINDS["support"], [str(tmp_path)])
    with pytest.raises(InputError, match=r"has no tasks of kind validity .*; it has none"):
        find_tasks(KINDS["validity"], [str(tmp_path)])
    (tmp_path / "annotate").mkdir()
    path = tmp_path / "annotate" / "validity.jsonl"
    path.write_text('{"kind": "revision", "id": "a", "shown": {}}\n')
    with pytest.raises(InputError, match="line 1: a task of kind 'revision'; expected 'validity'"):
        find_tasks(KINDS["validity"], [str(tmp_path)])
    with pytest.raises(InputError, match="it has validity"):
        find_tasks(KINDS["quality"], [str(tmp_path)])
    path.write_text("prose\n")
    with pytest.raises(InputError, match=r"validity\.jsonl, line 1: not a task"):
        find_tasks(KINDS["validity"], [str(path)])
    line = '{"kind": "contains", "id": "a", "shown": {"text": "a", "fact": "b"}}\n'
    (tmp_path / "annotate" / "contains.jsonl").write_text(line * 2)
    with pytest.raises(InputError, match="line 2: the task id 'a' occurs twice"):
        find_tasks(KINDS["contains"], [str(tmp_path)])
    with pytest.raises(InputError, match="does not exist"):
        find_tasks(KINDS["contains"], [str(tmp_path / "nothing.jsonl")])


def test_an_answer_of_another_model_to_the_same_question_is_another_task(tmp_path: Path) -> None:
    ids = []
    for response in ("It has seven arches.", "It has nine arches.", "It has seven arches."):
        path = tmp_path / "records.jsonl"
        path.write_text(json.dumps(BRIDGE | {"response": response}) + "\n")
        ids.append(find_tasks(KINDS["support"], [str(path)]).tasks[0].id)
    assert ids[0] == ids[2] != ids[1]
    assert [item_of(one) for one in ids] == ["bridge"] * 3


ALIGNED = [
    AnnotationTask.of(
        "alignment", f"p{n}#1", {"sentence": f"Umber has {n} arches.", "citation": "Umber"}
    )
    for n in (5, 6, 7)
]


def test_a_build_may_have_tasks_of_a_kind_that_records_have(tmp_path: Path) -> None:
    one = build_of(tmp_path / "one", ALIGNED[:2])
    for source in (one, one / "annotate" / "alignment.jsonl"):
        found = find_tasks(KINDS["alignment"], [str(source)])
        assert [task.id for task in found.tasks] == [task.id for task in ALIGNED[:2]]


def test_tasks_of_builds_keep_their_ids_beside_other_sources(tmp_path: Path) -> None:
    one = build_of(tmp_path / "one", ALIGNED[:2])
    two = build_of(tmp_path / "two", ALIGNED[1:])
    records = tmp_path / "records.jsonl"
    records.write_text(json.dumps(BRIDGE) + "\n")
    found = find_tasks(KINDS["alignment"], [str(one), str(records), str(two)])
    ids = [task.id for task in found.tasks]
    assert ids[:2] == [task.id for task in ALIGNED[:2]]
    assert [item_of(id_).partition("#")[0] for id_ in ids[2:4]] == ["2:bridge", "2:bridge"]
    assert ids[4:] == [ALIGNED[2].id]
    three = build_of(
        tmp_path / "three", [AnnotationTask("alignment", ALIGNED[0].id, ALIGNED[1].shown)]
    )
    with pytest.raises(InputError, match=r"another source has the task id .* with another text"):
        find_tasks(KINDS["alignment"], [str(one), str(three)])


def test_only_some_records(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    rows = [BRIDGE | {"id": f"q{i}", "meta": {"part": "ab"[i % 2]}} for i in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    def ids(**where: str) -> list[str]:
        found = find_tasks(KINDS["correctness"], [str(path)], where=where)
        return [item_of(task.id) for task in found.tasks]

    assert ids(part="a") == ids(**{"meta.part": "a"}) == ["q0", "q2"]
    assert ids(part="b", id="*3") == ["q3"]
    with pytest.raises(InputError, match="where part=c"):
        ids(part="c")
    with pytest.raises(UsageError, match="write FIELD=VALUE"):
        parse_where(["part"])
    assert parse_where(["a=b=c"]) == {"a": "b=c"}


def test_only_some_tasks_of_a_build(tmp_path: Path) -> None:
    shown = {"question": "q", "paragraph": "p", "knowledge": ["a"]}
    build = build_of(
        tmp_path, [AnnotationTask.of("quality", f"i{n}/{v}", shown) for n in (1, 2) for v in "gs"]
    )
    found = find_tasks(KINDS["quality"], [str(build)], where={"id": "*/g"})
    assert [item_of(task.id) for task in found.tasks] == ["i1/g", "i2/g"]
