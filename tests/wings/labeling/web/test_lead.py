"""The lead's side: numbers that are those of the commands, disputes, files, the judge."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.commands import trueground
from tests.wings.labeling.web.labeling import SAYS, Browser, Served, make_project, serving

from trueground.wings.labeling.answers import Answer, Answers
from trueground.wings.labeling.files import ShownTask
from trueground.wings.labeling.kinds import get_kind
from trueground.wings.labeling.operations import measure_agreement
from trueground.wings.labeling.web import lead
from trueground.wings.labeling.web.board import TaskBoard
from trueground.wings.labeling.web.gathered import gather
from trueground.wings.labeling.web.lead import LeadDesk
from trueground.wings.labeling.web.serving import open_project
from trueground.wings.labeling.web.watch import RULES, watch
from trueground.wings.papers.builders import people as building

EXAMPLES = Path(__file__).parents[4] / "examples" / "answers.jsonl"


@pytest.fixture(autouse=True)
def _always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine everything takes long, and what takes long is not made anew at once."""
    monkeypatch.setattr(lead, "_SLOW", float("inf"))


def say_by(person: str, share: float = 0.3) -> Any:
    """What somebody says of a task: mostly by its text, sometimes by chance."""

    def say(task: Mapping[str, Any]) -> str:
        text = str(task["shown"])
        chance = random.Random(f"{person} {text}")
        return chance.choice(SAYS) if chance.random() < share else SAYS[len(text) % 3]

    return say


def download(lead: Browser, what: str, path: Path) -> Path:
    reply = lead.ask("GET", f"/api/lead/export?what={what}")
    assert reply.status == 200, reply
    assert reply.headers["Content-Disposition"] == f'attachment; filename="{what}.jsonl"'
    path.write_bytes(reply.body)
    return path


def estimates(page: Any) -> dict[str, Any]:
    """The estimates of the first table of an agreement page by name, and its tasks."""
    table = next(block for block in page["blocks"][0]["blocks"] if block["type"] == "table")
    first, *rows = (row["cells"] for row in table["rows"])
    return {"tasks": first[2]} | {row[0].strip(): row[1] for row in rows}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run over the example answers, with a model's name in each record."""
    folder = tmp_path_factory.mktemp("run")
    words = ("score", EXAMPLES, "--metrics", "support,k_precision", "--out", folder / "run")
    done = trueground(*words, "--quiet")
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.fixture(scope="module")
def worked(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A project of 40 tasks out of the run, which two people have done, with one unclear."""
    folder = tmp_path_factory.mktemp("worked")
    opened = open_project(str(folder / "labels.db"), from_run=[str(run)], sample=40, seed=7)
    with serving(opened) as served:
        ann = served.invite("Ann")
        first = ann.post("/api/next")["task"]["task"]
        unclear = {"state": "unclear", "comment": "two bridges?"}
        assert ann.save(first, None, **unclear).status == 200
        ann.label_all(say_by("Ann"))
        served.invite("Ben").label_all(say_by("Ben"))
        yield served


def test_the_page_and_the_command_give_the_same_numbers(worked: Served, tmp_path: Path) -> None:
    file = download(worked.lead, "answers", tmp_path / "answers.jsonl")
    found = measure_agreement([file]).kinds["support"].fields["support"]
    shown = estimates(worked.lead.get("/api/lead/agreement"))
    pairs = {
        "agreement": found.agreement,
        "Cohen's kappa": found.cohen_kappa,
        "Fleiss' kappa": found.fleiss_kappa,
        "Krippendorff's alpha (ordinal)": found.krippendorff_alpha,
    }
    for name, estimate in pairs.items():
        assert estimate is not None
        assert estimate.value is not None
        assert shown[name]["value"] == estimate.value  # to the last digit
        assert (shown[name]["low"], shown[name]["high"]) == estimate.ci
    assert shown["tasks"] == found.tasks == 39
    told = json.loads(trueground("agreement", file, "--format", "json").stdout)
    kappa = told["kinds"]["support"]["fields"]["support"]["cohen_kappa"]["value"]
    assert kappa == shown["Cohen's kappa"]["value"]


@pytest.mark.long
def test_agreement_follows_the_labels(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "trueground.wings.labeling.web.lead._SLOW", float("inf")
    )  # on a busy machine too
    with serving(make_project(place, tmp_path, 4)) as served:
        nothing = served.lead.get("/api/lead/agreement")
        assert nothing["blocks"][0]["text"] == "No tasks are labeled yet."
        people = [served.invite(name) for name in ("Ann", "Ben")]
        for person in people:
            person.label_all(lambda task: SAYS[task["task"] % 2])
        assert estimates(served.lead.get("/api/lead/agreement"))["agreement"]["value"] == 1
        assert served.lead.get("/api/lead/disputes")["total"] == 0
        assert people[0].save(1, "not").status == 200
        assert estimates(served.lead.get("/api/lead/agreement"))["agreement"]["value"] == 0.75
        assert served.lead.get("/api/lead/disputes")["total"] == 1


@pytest.mark.long
def test_every_two_people_have_a_line(place: str, tmp_path: Path) -> None:
    with serving(make_project(place, tmp_path, 8, overlap=3)) as served:
        for name in ("Ann", "Ben", "Cleo"):
            served.invite(name).label_all(say_by(name))
        page = json.dumps(served.lead.get("/api/lead/agreement"))
        for pair in ("Ann and Ben", "Ann and Cleo", "Ben and Cleo"):
            assert pair in page


def test_disputes_begin_with_the_lowest_agreement_and_are_decided(
    place: str, tmp_path: Path
) -> None:
    with serving(make_project(place, tmp_path, 5, overlap=3)) as served:
        answers = {1: "fff", 2: "fpn", 3: "ffn", 4: "fnf", 5: "fff"}
        words = {one[0]: one for one in SAYS}
        for at, name in enumerate(("Ann", "Ben", "Cleo")):
            person = served.invite(name)
            person.label_all(lambda task, at=at: words[answers[task["task"]][at]])
            if name == "Cleo":
                person.save(5, None, state="unclear", comment="hm")
        found = served.lead.get("/api/lead/disputes")
        listed = [(one["task"], one["agreement"]) for one in found["disputes"]]
        assert [task for task, _ in listed] in ([2, 3, 4, 5], [2, 4, 3, 5])
        assert [share for _, share in listed] == [
            0,
            pytest.approx(1 / 3),
            pytest.approx(1 / 3),
            None,
        ]
        said = found["disputes"][0]["labels"]
        assert [(one["author"], one["values"]["support"]) for one in said] == [
            ("Ann", "fully"), ("Ben", "partially"), ("Cleo", "not"),
        ]  # fmt: skip
        body = {"task": 2, "key": "decision-1", "values": {"support": "maybe"}, "comment": ""}
        assert served.lead.ask("POST", "/api/lead/decide", body).status == 422
        for said_now in ("fully", "not"):  # a lead may change their mind, too
            body = {"task": 2, "key": f"decision-{said_now}", "comment": "see the second passage"}
            made = served.lead.post("/api/lead/decide", body | {"values": {"support": said_now}})
        assert made["label"]["author"] == "lead"
        decided = served.lead.get("/api/lead/disputes")
        assert decided["decided"] == 1
        assert decided["disputes"][0]["decision"]["values"] == {"support": "not"}
        labels = {
            one["id"]: one
            for one in map(
                json.loads,
                download(served.lead, "labels", tmp_path / "labels.jsonl").read_text().splitlines(),
            )
        }
        mine = labels[found["disputes"][0]["id"]]
        assert mine == {
            "kind": "support",
            "id": mine["id"],
            "values": {"support": "not"},
            "how": {"support": "decided"},
            "annotators": 3,
        }
        assert len(labels) == 5
        lines = download(served.lead, "answers", tmp_path / "answers.jsonl").read_text()
        assert '"annotator":"lead"' not in lines  # it takes no part in the agreement
        history = served.lead.get("/api/history/2")["labels"]
        assert [one["author"] for one in history] == ["lead", "lead", "Cleo", "Ben", "Ann"]


def test_lead_page_does_not_depend_on_earlier_reads(place: str, tmp_path: Path) -> None:
    with serving(make_project(place, tmp_path, 6)) as served:
        database = served.opened.database
        ann, ben = served.invite("Ann"), served.invite("Ben")
        found = [gather(database)]

        def check() -> None:
            found.append(gather(database, found[-1]))
            fresh = gather(database)
            assert found[-1].lines() == fresh.lines()
            assert found[-1].merged() == fresh.merged()
            assert (found[-1].rows, found[-1].decisions) == (fresh.rows, fresh.decisions)
            assert found[-1].answers == fresh.answers

        ann.label_all(lambda _: "not", 3)
        check()
        ben.label_all(lambda task: SAYS[task["task"] % 3])
        ann.label_all(lambda _: "fully")
        assert ann.save(1, "partially").status == 200
        check()
        assert len(found[-1].filled) == 12
        same = found[-1].filled.keys() & found[-2].filled.keys()
        assert same
        assert all(found[-1].filled[number] is found[-2].filled[number] for number in same)
        body = {"task": 2, "key": "decision", "values": {"support": "not"}}
        served.lead.post("/api/lead/decide", body)
        check()
        people = {one["name"]: one["id"] for one in served.lead.get("/api/lead/overview")["people"]}
        served.lead.post(f"/api/lead/people/{people['Ann']}/forget")
        check()
        assert b'"Ann"' not in found[-1].lines()


def test_lead_decides_task_that_all_skipped(place: str, tmp_path: Path) -> None:
    with serving(make_project(place, tmp_path, 4)) as served:
        for name in ("Ann", "Ben"):
            person = served.invite(name)
            while (task := person.post("/api/next")["task"]) is not None:
                state = "skipped" if task["task"] < 3 or name == "Ann" else "done"
                said = "fully" if state == "done" else None
                assert person.save(task["task"], said, state=state).status == 200
        counts = {"total": 4, "finished": 0, "started": 2, "untouched": 0, "skipped": 2}
        assert served.lead.get("/api/lead/overview")["tasks"] == {**counts, "unclear": 0}
        found = served.lead.get("/api/lead/disputes")
        assert sorted(one["task"] for one in found["disputes"]) == [1, 2]
        states = [label["state"] for one in found["disputes"] for label in one["labels"]]
        assert states == ["skipped"] * 4
        body = {"task": 1, "key": "decision-1", "values": {"support": "not"}}
        served.lead.post("/api/lead/decide", body)
        file = download(served.lead, "labels", tmp_path / "labels.jsonl")
        merged = [json.loads(line) for line in file.read_text().splitlines()]
        told = {"values": {"support": "not"}, "how": {"support": "decided"}}
        assert [one for one in merged if one | told == one and "annotators" not in one]
        assert len(merged) == 3  # Ben's two and this one


def test_a_decision_is_taken_back(place: str, tmp_path: Path) -> None:
    with serving(make_project(place, tmp_path, 1)) as served:
        for name, said in (("Ann", "fully"), ("Ben", "not")):
            served.invite(name).label_all(lambda _, said=said: said)

        keys = count()

        def decide(values: dict[str, str] | None) -> list[str]:
            body = {"task": 1, "key": f"decision-{next(keys)}", "values": values}
            served.lead.post("/api/lead/decide", body)
            file = download(served.lead, "labels", tmp_path / "labels.jsonl")
            return [json.loads(line)["how"]["support"] for line in file.read_text().splitlines()]

        before = decide(None)
        assert decide({"support": "not"}) == ["decided"] != before
        assert decide(None) == before
        assert served.lead.get("/api/lead/disputes")["disputes"][0]["decision"] is None
        history = served.lead.get("/api/history/1")["labels"]
        states = [(one["author"], one["decision"], one["state"]) for one in history]
        decisions = [("lead", True, "skipped"), ("lead", True, "done"), ("lead", True, "skipped")]
        assert states[:3] == decisions
        assert states[3:] == [("Ben", False, "done"), ("Ann", False, "done")]
        assert served.lead.get("/api/lead/overview")["tasks"]["skipped"] == 0


def test_the_hardest_tasks_lead_to_where_they_are_decided(place: str, tmp_path: Path) -> None:
    with serving(make_project(place, tmp_path, 1)) as served:
        for name, said in (("Ann", "fully"), ("Ben", "not")):
            served.invite(name).label_all(lambda _, said=said: said)
        page = json.dumps(served.lead.get("/api/lead/agreement"))
        assert '"title":"Bridge 0 was built' in page.replace('": "', '":"')
        assert "#/dispute/1" in page
        assert page.count('"disagreement"') == 1
        assert "disagreement 1" not in page


def test_exported_answers_import_to_the_exported_labels(worked: Served, tmp_path: Path) -> None:
    answers = download(worked.lead, "answers", tmp_path / "answers.jsonl")
    labels = download(worked.lead, "labels", tmp_path / "labels.jsonl")
    again = tmp_path / "again.jsonl"
    assert trueground("annotate", "import", answers, "--out", again).returncode == 0
    assert again.read_bytes() == labels.read_bytes()
    assert b'"drawn":{"probability":' in labels.read_bytes()  # as `score --labels` weighs by


def test_exported_labels_validate_the_run(worked: Served, run: Path, tmp_path: Path) -> None:
    labels = download(worked.lead, "labels", tmp_path / "labels.jsonl")
    words = ("validate", run, "--labels", labels, "--metrics", "support", "--format", "json")
    done = trueground(*words)
    assert done.returncode == 0, done.stderr
    auroc = json.loads(done.stdout)["mean"]["support"]["auroc"]["value"]
    page = worked.lead.get("/api/lead/judge")
    assert f"{auroc:.4f}" in json.dumps(page)
    assert '"Calibration"' in json.dumps(page)  # the curve


@pytest.mark.long
def test_calibrating_is_the_command_that_is_shown(worked: Served, tmp_path: Path) -> None:
    download(worked.lead, "labels", tmp_path / "labels.jsonl")
    download(worked.lead, "records", tmp_path / "records.jsonl")
    found = worked.lead.post("/api/lead/calibrate")
    words = shlex.split(found["command"])
    assert words[0] == "trueground"
    done = trueground(*words[1:], "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (tmp_path / "calibration.json").exists()
    page = json.dumps(found["page"])
    assert f"{told['auroc']['value']:.4f}" in page
    assert told["judge"] in page
    assert str(Path("/tmp")) not in page


def test_a_builds_labels_are_read_by_the_build(worked: Served, tmp_path: Path) -> None:
    labels = download(worked.lead, "labels", tmp_path / "labels.jsonl")
    material = building.PeopleLabels(("support",), lambda _: (), labels)
    assert len(material.labels["support"]) >= 39


def test_people_who_stand_out_are_flagged() -> None:
    kind = get_kind("support")
    found = Answers()
    random_ = random.Random(1)
    seconds = {"Guess": 1.0, "Slow": 90.0}
    for number in range(60):
        task = ShownTask(kind, f"q{number}", {}, {})
        right = SAYS[number % 3]
        said = {"Ann": right, "Ben": right, "Cleo": right, "Guess": random_.choice(SAYS),
                "Same": "fully", "Slow": right}  # fmt: skip
        found.tasks["support", task.id] = [
            Answer(task, who, {"support": value}, seconds.get(who, 20.0), "", "")
            for who, value in said.items()
        ]
    found.annotators = ["Ann", "Ben", "Cleo", "Guess", "Same", "Slow"]
    watched = watch(found)
    assert {who: set(one.flags) for who, one in watched.items()} == {
        "Ann": set(), "Ben": set(), "Cleo": set(),
        "Guess": {"fast", "apart"}, "Same": {"apart", "same"},
        "Slow": {"slow"},
    }  # fmt: skip
    assert watched["Ann"].compared == 300
    assert set(RULES) == {"fast", "slow", "apart", "same"}


def test_slow_pages_are_not_computed_for_each_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = make_project(str(tmp_path / "labels.db"), tmp_path)
    with opened.database as database:
        desk = LeadDesk(database, TaskBoard(opened.project))
        now, made = 0.0, []

        def make(seconds: float) -> int:
            nonlocal now
            now += seconds
            made.append(now)
            return len(made)

        monkeypatch.setattr(lead, "_SLOW", 5.0)
        monkeypatch.setattr(lead.time, "monotonic", lambda: now)
        monkeypatch.setattr(lead, "stand_of", lambda _: (now,))  # always another one
        assert desk.keep("judge", lambda: make(10)) == 1
        assert desk.keep("judge", lambda: make(10)) == 1
        now += 49
        assert desk.keep("judge", lambda: make(10)) == 1
        now += 2
        assert desk.keep("judge", lambda: make(1)) == 2
        now += 0.1
        assert desk.keep("judge", lambda: make(1)) == 3  # what is quick is always fresh


def test_the_overview_counts(worked: Served) -> None:
    found = worked.lead.get("/api/lead/overview")
    ann = next(one for one in found["people"] if one["name"] == "Ann")
    assert (ann["done"], ann["unclear"], ann["skipped"], ann["seconds"]) == (39, 1, 0, 2)
    assert ann["flags"] == []
    assert 0 < ann["agreement"] < 1
    assert found["tasks"] == {
        "total": 40,
        "finished": 40,
        "started": 0,
        "untouched": 0,
        "skipped": 0,
        "unclear": 1,
    }
    assert found["address"] == worked.address.url


@pytest.mark.long
def test_the_judge_is_calibrated_as_the_run_had_it(tmp_path: Path) -> None:
    parts = ("--judge", "lexical(threshold=0.7)", "--decomposer", "rules")
    words = ("score", EXAMPLES, "--metrics", "support", *parts, "--out", tmp_path / "run")
    assert trueground(*words, "--quiet").returncode == 0
    opened = open_project(str(tmp_path / "labels.db"), from_run=[str(tmp_path / "run")], overlap=1)
    with serving(opened) as served:
        served.invite("Ann").label_all(say_by("Ann"))
        command = served.lead.post("/api/lead/calibrate")["command"]
    assert shlex.split(command)[6:10] == list(parts)


@pytest.mark.long
def test_claims_are_calibrated_as_claims(tmp_path: Path) -> None:
    """Labels of parts of answers: no run's score is of a part, but the judge can be asked."""
    rows = [
        {
            "id": f"q{k}",
            "question": "?",
            "response": f"Bridge {k} was built in {1800 + k} [1]. It has seven arches [2].",
            "contexts": [f"Bridge {k} was built in {1800 + k}.", f"The ferry {k} is older."],
        }
        for k in range(12)
    ]
    records = tmp_path / "records.jsonl"
    records.write_text("".join(json.dumps(row) + "\n" for row in rows))
    opened = open_project(
        str(tmp_path / "labels.db"), from_run=[str(records)], kind="alignment", overlap=1
    )
    with serving(opened) as served:
        ann = served.invite("Ann")
        while (task := ann.post("/api/next")["task"]) is not None:
            said = "yes" if "built" in task["shown"]["sentence"] else "no"
            body = {"task": task["task"], "key": f"task-{task['task']:05}", "state": "done"}
            ann.post("/api/label", body | {"values": {"aligned": said}})
            part = task["part"]
            words = part["text"][part["start"] : part["end"]]
            assert words.rstrip(". ") in task["shown"]["sentence"]
        found = served.lead.post("/api/lead/calibrate")
        assert "records.jsonl --labels labels.jsonl" in found["command"]
        assert "These labels are for claims" in json.dumps(served.lead.get("/api/lead/judge"))


def test_calibration_too_few_labels_is_explained(place: str, tmp_path: Path) -> None:
    with serving(make_project(place, tmp_path, 3)) as served:
        reply = served.lead.ask("POST", "/api/lead/calibrate", {})
        assert (reply.status, "no labels yet" in reply.json["error"]) == (422, True)
        served.invite("Ann").label_all(lambda _: "fully")
        reply = served.lead.ask("POST", "/api/lead/calibrate", {})
        assert reply.status == 422
        assert "/tmp" not in reply.json["error"]
        assert served.lead.get("/api/lead/judge")["blocks"]
        assert served.lead.ask("GET", "/api/lead/export?what=all").status == 400
        assert served.lead.ask("GET", "/api/lead/disputes?page=0").status == 400
