"""Where a project's tasks come from, and what the screen points at in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from tests.commands import trueground
from tests.wings.labeling.filling import GOLD, VALID, build_of, fill
from tests.wings.labeling.web.labeling import write_records

from trueground.errors import InputError, UsageError
from trueground.wings.labeling.files import ShownTask
from trueground.wings.labeling.kinds import KINDS, YES_NO, AnnotationTask
from trueground.wings.labeling.operations import export_tasks
from trueground.wings.labeling.web.gathered import gather
from trueground.wings.labeling.web.hints import find_hints, find_place, shorten_title
from trueground.wings.labeling.web.people import People
from trueground.wings.labeling.web.queue import Queue, Save
from trueground.wings.labeling.web.schema import sources, tasks
from trueground.wings.labeling.web.serving import open_project


def export(folder: Path, kind: str, source: Path, **options: Any) -> list[Path]:
    out = folder / f"{kind}-{source.stem}.jsonl"
    done = export_tasks(kind, [str(source)], out, **options)
    return [Path(path) for paths in done.files.values() for path in paths]


def rows_of(place: str, *files: Path, **options: Any) -> Sequence[Any]:
    opened = open_project(place, files, **options)
    with opened.database as database, database.read() as connection:
        return connection.execute(sql.select(tasks).order_by(tasks.c.number)).all()


def test_a_task_of_several_files_is_one(place: str, tmp_path: Path) -> None:
    files = export(tmp_path, "support", write_records(tmp_path / "records.jsonl"), annotators=3)
    rows = rows_of(place, *files)
    assert len(rows) == 6
    first = json.loads(files[0].read_text().splitlines()[0])
    stored = next(row for row in rows if row.id == first["id"])
    assert stored.check == first["check"]
    assert json.loads(stored.shown) == first["shown"]


def test_tasks_that_are_new_are_added(place: str, tmp_path: Path) -> None:
    some = export(tmp_path, "support", write_records(tmp_path / "some.jsonl", 3))
    more = export(tmp_path, "support", write_records(tmp_path / "more.jsonl", 5))
    other = export(tmp_path, "relevance", write_records(tmp_path / "other.jsonl", 2))
    counts = []
    for files in (some, some, more, other):
        opened = open_project(place, files)
        opened.database.close()
        counts.append((opened.added, opened.tasks))
    assert counts == [(3, 3), (0, 3), (2, 5), (4, 9)]


def test_add_tasks_changed_after_export_raises(place: str, tmp_path: Path) -> None:
    (file, _) = export(tmp_path, "support", write_records(tmp_path / "records.jsonl"))
    file.write_text(file.read_text().replace("seven arches", "eight arches"))
    with pytest.raises(InputError, match="was changed after the export"):
        open_project(place, [file])


def test_files_that_are_no_tasks(place: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a line that"):
        open_project(place, [write_records(tmp_path / "records.jsonl")])
    export(tmp_path, "support", tmp_path / "records.jsonl", csv=True)
    with pytest.raises(InputError, match=r"can't be served; use its file of JSON lines"):
        open_project(place, [tmp_path / "support-records-1.csv"])
    with pytest.raises(InputError, match="the project has no tasks"):
        open_project(place)
    with pytest.raises(UsageError, match="--sample selects answers of a run"):
        open_project(place, sample=3)
    with pytest.raises(UsageError, match="no task of the project has a rank"):
        open_project(place, from_run=[str(tmp_path / "records.jsonl")], order="worst")
    with pytest.raises(UsageError, match="made by `trueground build`"):
        open_project(place, from_run=[str(tmp_path / "records.jsonl")], kind="validity")


def test_add_tasks_ignores_filled_in_answers_with_note(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file, _) = export(tmp_path, "support", write_records(tmp_path / "records.jsonl"))
    fill(file, lambda _: {"support": "fully"})
    assert len(rows_of(place, file)) == 6
    assert "6 of its tasks are filled in" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [*KINDS])
def test_every_kind_of_task_is_labeled(kind: str, place: str, tmp_path: Path) -> None:
    """Without knowing them: what a field's form and options allow is saved, and exported back."""
    source = write_records(
        tmp_path / "records.jsonl",
        2,
        references=["1801"],
        gold_facts=["It was built."],
        response_facts=["Bridge was built."],
        response="It was built [1].",
    )
    if not KINDS[kind].of_records:
        known = {"gold-facts": GOLD, "validity": VALID}
        made = known.get(kind)
        if made is None:
            shows = {name: ["a", "b"] if name.endswith("s") else "a" for name in KINDS[kind].shows}
            shows |= {"knowledge": ["a", "b"]} if "knowledge" in shows else {}
            made = [AnnotationTask.of(kind, "x1", shows)]
        source = build_of(tmp_path / "build", made)
    opened = open_project(place, export(tmp_path, kind, source))
    with opened.database as database:
        people, queue = People(database), Queue(database, opened.project)
        ann, _ = people.add("Ann", "annotator")
        task, _, _ = queue.next(ann)
        assert task is not None
        assert task["kind"] == kind
        stored: ShownTask = queue.stored(task["task"]).task
        values: dict[str, Any] = {}
        for field in KINDS[kind].fields:
            options = stored.options(field)
            match field.form:
                case "choice":
                    value: Any = options[0] if options != YES_NO else "yes"
                case "choices":
                    value = list(options[:1])
                case "scale":
                    value = 3
                case "spans":
                    value = [{"start": 0, "end": 2, "type": options[0]}]
                case "text":
                    value = "words"
                case _:
                    value = ["words"]
            if field.is_asked(values):
                values[field.name] = value
        said = queue.save(ann, Save(task["task"], "key-00001", "done", values, "", 1.0))
        assert said["values"].keys() == values.keys()
        again = queue.save(ann, Save(task["task"], "key-00002", "done", said["values"], "", 1.0))
        assert again["values"] == said["values"]
        path = tmp_path / "answers.jsonl"
        path.write_bytes(gather(database).lines())
    done = trueground("annotate", "import", path, "--out", tmp_path / "labels.jsonl")
    assert done.returncode == 0, done.stderr


# Out of runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two runs over the same questions, by models whose names are in their records."""
    folder = tmp_path_factory.mktemp("runs")
    made = []
    for name, years in (("gpt-big", 0), ("llama-small", 1)):
        records = folder / f"{name}.jsonl"
        rows = [json.loads(line) for line in write_records(records, 8).read_text().splitlines()]
        for number, row in enumerate(rows):
            row |= {"model": name, "response": f"It was built in {1800 + number + years}."}
        records.write_text("".join(json.dumps(row) + "\n" for row in rows))
        words = ("score", records, "--metrics", "support,k_precision", "--out", folder / name)
        done = trueground(*words, "--quiet")
        assert done.returncode == 0, done.stderr
        made.append(str(folder / name))
    return made


def test_a_sample_is_drawn_with_its_probability(place: str, runs: list[str]) -> None:
    rows = rows_of(place, from_run=runs[:1], sample=4, seed=3)
    assert len(rows) == 4
    assert {row.drawn for row in rows} == {'{"probability":0.5}'}
    assert {row.rank for row in rows} == {None}


def test_the_worst_are_no_sample(
    place: str, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    opened = open_project(place, from_run=[runs[1]], sample=3, worst="k_precision")
    with opened.database as database, database.read() as connection:
        rows = connection.execute(sql.select(tasks).order_by(tasks.c.rank)).all()
    scores = {}
    for line in (Path(runs[1]) / "items.jsonl").read_text().splitlines():
        item = json.loads(line)
        scores[item["id"]] = item["scores"]["k_precision"]
    assert [scores[row.id.partition("~")[0]] for row in rows] == sorted(scores.values())[:3]
    assert {row.drawn for row in rows} == {None}
    assert opened.project.order == "worst"
    assert "aren't a random sample" in capsys.readouterr().err


def test_all_answers_the_worst_first(place: str, runs: list[str]) -> None:
    rows = rows_of(place, from_run=runs, worst="support")
    assert len(rows) == 16
    assert all(row.rank is not None for row in rows)
    with pytest.raises(UsageError, match="no metric 'suport'"):
        open_project(place, from_run=runs, worst="suport")
    with pytest.raises(InputError, match="a sample of 99"):
        open_project(place, from_run=runs, worst="support", sample=99)


def test_numbers_tell_nothing_of_models_or_scores(place: str, runs: list[str]) -> None:
    rows = rows_of(place, from_run=runs, worst="support")
    marks = "".join(row.id[0] for row in rows)
    assert set(marks) == {"1", "2"}
    assert marks not in ("1" * 8 + "2" * 8, "2" * 8 + "1" * 8, "12" * 8, "21" * 8)
    ranks = [row.rank for row in rows]
    assert ranks not in (sorted(ranks), sorted(ranks, reverse=True))


def test_where_tasks_came_from_is_known_by_the_exports_summary(
    place: str, tmp_path: Path, runs: list[str]
) -> None:
    out = tmp_path / "tasks.jsonl"
    export_tasks("support", runs, out)
    opened = open_project(place, [tmp_path / "tasks-1.jsonl"])
    with opened.database as database, database.read() as connection:
        found = connection.execute(sql.select(sources).order_by(sources.c.mark)).all()
        of = dict.fromkeys(connection.scalars(sql.select(tasks.c.source)))
    assert [(row.mark, row.path) for row in found] == [("1:", runs[0]), ("2:", runs[1])]
    assert set(of) == {row.number for row in found}


def test_a_claim_stands_in_its_answer(place: str, tmp_path: Path) -> None:
    source = write_records(
        tmp_path / "records.jsonl", 2, response_facts=["It has seven  arches.", "No such claim"]
    )
    for row in rows_of(place, *export(tmp_path, "contains", source, pairing="response")):
        part = json.loads(row.part)
        assert part["text"].startswith("Bridge ")
        claim = json.loads(row.shown)["fact"]
        found = part["start"] is not None and part["text"][part["start"] : part["end"]]
        assert found == ("It has seven arches" if "seven" in claim else False)


# What the screen points at


def test_the_likeliest_sentence_comes_first() -> None:
    shown = {
        "question": "When was it built?",
        "contexts": [
            "Ferries are old. The ferry was sold.",
            {"title": "Bridges", "text": "It is wet. The bridge was built in 1911 by Mira."},
        ],
        "response": "Mira built the bridge in 1911.",
    }
    first = find_hints(shown)[0]
    assert (first.show, first.part) == ("contexts", 1)
    passage: Any = shown["contexts"][1]
    assert passage["text"][first.start : first.end] == "The bridge was built in 1911 by Mira."


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"response": "", "contexts": []},
        {"response": "a", "contexts": ["", "   "]},
        {"response": "Mira", "contexts": None},
        {"response": "Mira", "contexts": [1, {"text": None}, ["Mira"]]},
        {"fact": "the of and", "text": "the of and"},
    ],
)
def test_nothing_to_point_at(shown: dict[str, Any]) -> None:
    assert isinstance(find_hints(shown), list)
    assert isinstance(shorten_title(shown), str)


def test_a_long_title_is_cut() -> None:
    assert len(shorten_title({"response": "word " * 100})) <= 90


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("It has seven arches.", "It has seven arches"),
        ("it has\nseven arches", "It has seven arches."),
        ("The bridge has seven big arches", "It has seven arches."),
        ("Ferries are slow", None),
        ("", None),
    ],
)
def test_where_a_claim_stands(claim: str, found: str | None) -> None:
    answer = "The bridge is old. It has seven arches. Nobody sails."
    place = find_place(claim, answer)
    said = None if place.start is None else answer[place.start : place.end]
    assert said == found
