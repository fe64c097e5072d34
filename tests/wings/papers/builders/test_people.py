"""Labels of people in a build: what the account counts, and what the frame says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.wings.papers.builders.building import built, home, manifest
from tests.wings.papers.builders.little import BUILDER, Line, answering, prepare
from tests.wings.papers.builders.scripted_server import scripted

from trueground.errors import InputError
from trueground.wings.labeling.base import Label
from trueground.wings.labeling.kinds import AnnotationTask
from trueground.wings.papers.builders.build import NO_PEOPLE, OWN_WORK
from trueground.wings.papers.builders.people import PeopleLabels
from trueground.wings.papers.builders.registry import BUILDERS

__all__ = ["home"]
LINES = [Line(str(number), f"text {number}") for number in range(8)]


def tasks_of(item: Line) -> Iterator[AnnotationTask]:
    yield AnnotationTask.of("validity", item.id, {"question": item.text})


def judged(item: Line, task: AnnotationTask) -> Mapping[str, str]:
    assert task.item == item.id
    return {"if": "yes" if int(item.id) < 4 else "no", "only_if": "unclear"}


def write(path: Path, said: Callable[[int], Mapping[str, str]], lines: list[Line]) -> Path:
    rows = []
    for number, line in enumerate(lines):
        (task,) = tasks_of(line)
        how = {"if": "agreed" if number % 2 else "majority", "only_if": "agreed"}
        rows.append(msgspec.json.encode(Label("validity", task.id, dict(said(number)), how, 3)))
    path.write_bytes(b"\n".join(rows) + b"\n")
    return path


def test_what_people_voted_down_counts_too(tmp_path: Path) -> None:
    said = write(
        tmp_path / "l.jsonl",
        lambda n: {"if": "yes" if n in (0, 1, 2, 5) else "no", "only_if": "yes"},
        LINES[:7],
    )
    people = PeopleLabels(("validity", "candidate"), tasks_of, said)
    kept = [one for one in people.stage(Line).work(LINES) if isinstance(one, Line)]
    assert [line.id for line in kept] == ["0", "1", "2", "5"]
    account = people.account(judged)
    assert account is not None
    (kind,) = account["kinds"]
    assert (kind["kind"], kind["tasks"], kind["labeled"]) == ("validity", 8, 7)
    assert kind["annotators"] == {"3": 7}
    first, second = kind["fields"]
    assert first["values"] == {"no": 3, "yes": 4}
    assert first["how"] == {"agreed": 3, "majority": 4}
    assert first["confirmed"] == 4
    # Judge and people: yes yes of 0, 1, 2; yes no of 3; no yes of 5; no no of 4, 6.
    assert first["judge"]["n"] == 7
    assert first["judge"]["raw"] == pytest.approx(5 / 7)
    assert first["judge"]["kappa"] == pytest.approx((5 / 7 - 25 / 49) / (1 - 25 / 49))
    assert second["judge"] is None  # the judge said neither yes nor no


def test_no_labels_no_account() -> None:
    people = PeopleLabels(("validity",), tasks_of, None)
    assert people.stage(Line).work(LINES) == LINES
    assert people.account(judged) is None
    assert len(people.tasks) == 8


def with_people(options: Any, material: Any) -> Any:
    plan = prepare(options, material)
    people = PeopleLabels(("validity",), tasks_of, material.labels)

    def finish(items: Any) -> Any:
        made = replace(plan.finish(items), tasks=people.tasks)
        return replace(made, human=people.account(lambda *_: {"if": "yes"}))

    stages = [*plan.stages, people.stage(Line)]
    return replace(plan, stages=stages, finish=finish, people=people)


@pytest.fixture
def labeled(home: Path) -> Path:
    BUILDERS["little"] = replace(BUILDER, prepare=with_people)
    return home


def test_the_frame_says_who_has_judged(labeled: Path) -> None:
    with scripted(answering()) as server:
        said = built(labeled, server, n=2).summary["notices"]
        assert said == ["made for a test", NO_PEOPLE]
        own = {"writer": "w", "judge": "j", "second": "w"}
        said = built(labeled, server, n=2, models=own).summary["notices"]
        assert said == ["made for a test", OWN_WORK.format(name="w"), NO_PEOPLE]
        assert manifest(labeled / "out")["notices"] == said
        lines = [Line("line2-1", "LINE NUMBER 0"), Line("line2-2", "LINE NUMBER 1")]
        both = write(labeled / "l", lambda n: {"if": "no" if n else "yes", "only_if": "yes"}, lines)
        made = built(labeled, server, n=2, labels=both)
    assert made.summary["notices"] == ["made for a test"]
    assert made.items == 1
    (kind,) = made.summary["quality"]["human"]["kinds"]
    assert (kind["tasks"], kind["labeled"]) == (4, 2)
    assert kind["fields"][0]["judge"]["raw"] == 0.5
    for file in ("card.md", "report.html"):
        text = (made.path / file).read_text()
        assert "People have labeled 2 of 4 tasks" in text
        assert "50.0 % of 2" in text


def test_foreign_labels_replace_nothing(labeled: Path) -> None:
    with scripted(answering()) as server:
        made = built(labeled, server, n=2)
        before = {
            file: file.read_bytes()
            for name in ("dataset", "annotate")
            for file in (made.path / name).iterdir()
        }
        foreign = write(labeled / "l", lambda _: {"if": "yes", "only_if": "yes"}, LINES)
        with pytest.raises(InputError, match="none of its labels is for a task of this build"):
            built(labeled, server, n=2, labels=foreign)
    assert all(file.read_bytes() == content for file, content in before.items())
    assert manifest(made.path)["status"] == "failed"
