"""Labels of people: they choose gold facts, they vote, and labels of other texts count nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.wings.papers.builders.grounding import towns
from tests.wings.papers.builders.grounding.stages import FACTS, FACTUAL
from tests.wings.papers.builders.grounding.test_output import INSTANCES
from tests.wings.papers.builders.scripted_server import scripted

from trueground.errors import InputError
from trueground.wings.labeling.base import Label
from trueground.wings.labeling.kinds import AnnotationTask
from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.base import BatchStage, Rejected
from trueground.wings.papers.builders.build import BuildSettings, Built
from trueground.wings.papers.builders.grounding.items import Factual, Instance
from trueground.wings.papers.builders.grounding.plan import (
    KINDS,
    gold_task,
    judged,
    labeled_stage,
    tasks_of,
)
from trueground.wings.papers.builders.people import PeopleLabels

GOLD = gold_task(FACTUAL).id


def given(path: Path, *labels: Label) -> PeopleLabels:
    file = path / "labels.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in labels))
    return PeopleLabels(KINDS, tasks_of, file)


def choosing(people: PeopleLabels) -> BatchStage[Factual, Factual]:
    assert "gold-facts" in people.labels
    return labeled_stage(people)


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (["2", 3], (1, 2)),
        (["2"], (1,)),
        ([], "no_gold_facts"),
        (["9"], "unlabeled"),
        ("2", "unlabeled"),
        (None, "unlabeled"),
    ],
)
def test_people_choose_gold_facts_or_the_pair_falls(
    tmp_path: Path, gold: Any, expected: Any
) -> None:
    values = {} if gold is None else {"gold": gold}
    stage = choosing(given(tmp_path, Label("gold-facts", GOLD, values, {"gold": "open"}, 3)))
    (made,) = stage.work([FACTUAL])
    if isinstance(expected, tuple):
        assert isinstance(made, Factual)
        assert made.labeled == expected
    else:
        assert isinstance(made, Rejected)
        assert (made.id, made.reason) == ("p1", expected)
        assert GOLD in made.detail


def test_a_pair_that_nobody_was_asked_about_keeps_what_models_propose(tmp_path: Path) -> None:
    stage = choosing(given(tmp_path, Label("gold-facts", GOLD, {"gold": []})))
    other = msgspec.structs.replace(FACTUAL, facts=FACTS[:2])
    assert stage.work([other]) == [other], "the task has changed"


def task(kind: str, item: Instance) -> AnnotationTask:
    return next(one for one in tasks_of(item) if one.kind == kind)


def test_what_people_vote_down_or_leave_open_falls(tmp_path: Path) -> None:
    first, second = INSTANCES
    for values, expected in (
        ({"right": "yes"}, None),
        ({"right": "no"}, "voted_down"),
        ({}, "unlabeled"),
    ):
        people = given(tmp_path, Label("revision", task("revision", first).id, values))
        made = people.stage(Instance).work([first, second])
        assert [getattr(one, "reason", None) for one in made] == [expected, "unlabeled"]


def test_labels_of_other_texts_are_refused(tmp_path: Path) -> None:
    """None of them counts, and nobody is told that people had a look."""
    people = given(tmp_path, Label("candidate", "p1~00000000", {"keep": "yes"}))
    with pytest.raises(InputError, match="none of its labels is for a task of this build"):
        people.stage(Instance).work(INSTANCES)
    with pytest.raises(InputError, match="found no label of the kinds candidate, gold-facts"):
        given(tmp_path, Label("contains", "p1"))


def test_a_pair_that_fell_by_its_gold_facts_is_a_task_of_this_build(tmp_path: Path) -> None:
    """Its label is heard, so the labels are no strangers; and its tasks stay with the others."""
    people = given(tmp_path, Label("gold-facts", GOLD, {"gold": []}, {"gold": "agreed"}, 3))
    choosing(people).work([FACTUAL])
    other = INSTANCES[1]
    assert people.stage(Instance).work([other]) == [other]
    assert GOLD in {task.id for task in people.tasks}
    account = people.account(judged)
    assert account is not None
    (kind,) = account["kinds"]
    assert (kind["kind"], kind["labeled"]) == ("gold-facts", 1)


def test_people_and_judge_are_compared_over_what_was_voted_down_too(tmp_path: Path) -> None:
    tasks = [task("candidate", one) for one in INSTANCES]
    said = zip(tasks, ("yes", "no"), strict=True)
    people = given(
        tmp_path, *(Label("candidate", t.id, {"keep": v}, {"keep": "agreed"}, 3) for t, v in said)
    )
    kept = [one for one in people.stage(Instance).work(INSTANCES) if isinstance(one, Instance)]
    assert kept == INSTANCES[:1]
    account = people.account(judged)
    assert account is not None
    (kind,) = account["kinds"]
    (field,) = kind["fields"]
    assert (field["judge"]["n"], field["judge"]["raw"]) == (2, 0.5)
    assert len(people.tasks) == 6


def once(documents: Path, out: Path, url: str, labels: Path | None = None) -> Built:
    """A build of a few documents."""
    model = f"m(base_url={url})"
    return build(
        "grounding",
        documents,
        out,
        models={"writer": model, "judge": model},
        options={"popularity-share": "0.5", "distractors": "0"},
        settings=BuildSettings(cache=False, labels=labels),
    )


def tasks(out: Path, kind: str) -> list[AnnotationTask]:
    decode = msgspec.json.Decoder(AnnotationTask).decode
    return [decode(line) for line in (out / "annotate" / f"{kind}.jsonl").read_bytes().splitlines()]


def test_labels_of_a_build(tmp_path: Path) -> None:
    """Those of another build leave everything as it was; its own take gold facts and questions."""
    documents = towns.write_documents(tmp_path / "documents.jsonl")
    documents.write_text("".join(documents.read_text().splitlines(True)[10:14]))
    out, file = tmp_path / "out", tmp_path / "labels.jsonl"
    with scripted(towns.reply) as server:
        first = once(documents, out, server.url)
        assert "No people have labeled these items; only models have judged them." in str(
            first.summary["notices"]
        )
        before = {path: path.read_bytes() for path in (out / "dataset").iterdir()}
        file.write_bytes(msgspec.json.encode(Label("gold-facts", "t~1", {"gold": ["1"]})))
        with pytest.raises(InputError, match="for a task of this build"):
            once(documents, out, server.url, file)
        assert {path: path.read_bytes() for path in (out / "dataset").iterdir()} == before
        every = tasks(out, "gold-facts")
        assert len(every) == first.items
        none = Label("gold-facts", every[0].id, {"gold": []}, {"gold": "agreed"}, 3)
        file.write_bytes(msgspec.json.encode(none))
        asked = len(server.calls)
        second = once(documents, out, server.url, file)
        assert len(server.calls) == asked
    assert second.items == first.items - 1
    (fell,) = [one for one in rows(out) if one["stage"] == "labeled"]
    assert (fell["id"], fell["reason"]) == (every[0].item, "no_gold_facts")
    assert "No people" not in str(second.summary["notices"])
    assert second.summary["quality"]["human"] is not None
    assert {task.id for task in tasks(out, "gold-facts")} == {task.id for task in every}


def rows(out: Path) -> list[Any]:
    return [json.loads(line) for line in (out / "dropped.jsonl").read_text().splitlines()]
