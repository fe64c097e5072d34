"""`build contexts` end to end: good, bad and adversarial replies, and what is left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.contexts.world import (
    ADDED,
    NEW,
    OLD,
    Reply,
    World,
    choice_record,
    context,
    made_up,
    read_rows,
    record,
    verdict,
    with_answer,
    with_option,
    without_answer,
    write_records,
)
from tests.wings.papers.builders.scripted_server import ScriptedServer, scripted
from typer.testing import CliRunner

from trueground.cli.app import app
from trueground.errors import InputError
from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.build import NO_PEOPLE, OWN_WORK, BuildSettings, Built
from trueground.wings.papers.builders.contexts import stages
from trueground.wings.papers.builders.settings import EndpointDefaults

GERMAN = (
    "Das Dorf liegt an einer rauen Küste und lebt seit langer Zeit vom Fang der Fische. Jeden "
    "Freitag wird vor der alten Kirche ein kleiner Markt gehalten, zu dem auch die Bauern kommen. "
    "Niemand weiß heute noch genau, wer damals die beiden steinernen Molen errichten ließ."
)
OTHER_WORDS = (
    "People here like to sing while they mend what is torn. Their songs tell about storms, about "
    "ships that never came home, about a woman who waited on those cliffs until her hair turned "
    "white. Visitors can hear them on summer nights when all windows stand open."
)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")


def run(
    server: ScriptedServer,
    source: Path,
    out: Path,
    options: Mapping[str, str] | None = None,
    second: bool = False,
    **settings: Any,
) -> Built:
    models = {"writer": "big", "judge": "small"} | ({"second-judge": "other"} if second else {})
    endpoint = EndpointDefaults(base_url=server.url, max_attempts=1)
    made = BuildSettings(endpoint=endpoint, **settings)
    return build("contexts", source, out, models=models, options=options, settings=made)


def changed(good: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return good | fields


def u(**fields: Any) -> dict[str, Any]:
    return changed(without_answer("X"), **fields)


def i(**fields: Any) -> dict[str, Any]:
    return changed(with_answer("X"), **fields)


QUOTE = f"was built by {NEW} in 1871"
UNANSWERABLE: list[tuple[str, Reply, str, str]] = [
    ("unanswerable", "Certainly! I removed the name.", "write", "not_json"),
    ("unanswerable", "", "write", "empty_reply"),
    ("unanswerable", {"context": 3}, "write", "wrong_fields"),
    ("unanswerable", u(context="  "), "write", "wrong_fields"),
    ("unanswerable", u(justification=""), "write", "wrong_fields"),
    ("unanswerable", u(context=context("NAMED").upper()), "check", "unchanged"),
    ("unanswerable", u(context=GERMAN, added=[GERMAN]), "check", "other_language"),
    ("unanswerable", u(context=f"{context('X')} {ADDED}"), "check", "old_answer_left"),
    ("unanswerable", u(context="A village by the sea."), "check", "too_short"),
    ("unanswerable", u(context=" ".join([ADDED] * 15)), "check", "too_much_added"),
    ("unanswerable", u(context=OTHER_WORDS, added=[OTHER_WORDS]), "check", "changed_too_much"),
    ("unanswerable", u(added=[]), "check", "no_distractor"),
    ("unanswerable", u(added=["A sentence that stands nowhere."]), "check", "no_distractor"),
    ("unanswerable", u(added=["A small museum shows old nets"]), "check", "no_distractor"),
    ("unanswerable", u(context=f"=== BEGIN CONTEXT abc ===\n{ADDED}"), "check", "echo"),
    ("unanswerable", u(context=f"\x07{context('X')}"), "check", "control_characters"),
    ("judge-unanswerable", verdict(OLD, True, "x"), "valid", "old_answer_supported"),
    ("judge-unanswerable", verdict(OLD, False, ""), "valid", "old_answer_supported"),
    ("judge-unanswerable", verdict("the church", False, ""), "valid", "other_answer"),
    ("judge-unanswerable", verdict("unknown", False, "", ("Bo", "x")), "valid", "other_answer"),
    ("judge-unanswerable", "It is fine.", "judge", "not_json"),
    ("judge-unanswerable", {"answer": "unknown", "holds": "no"}, "judge", "wrong_fields"),
]
INCONSISTENT: list[tuple[str, Reply, str, str]] = [
    ("answer", made_up("HOLM"), "answer", "same_answer"),
    ("answer", made_up("Ede Holm the Younger"), "answer", "same_answer"),
    ("answer", made_up("unknown"), "answer", "no_new_answer"),
    ("answer", made_up("word " * 40), "answer", "no_new_answer"),
    ("answer", made_up(""), "answer", "no_new_answer"),
    ("answer", made_up("Lorn"), "answer", "answer_in_original"),
    ("answer", "Let me think about it.", "answer", "not_json"),
    ("inconsistent", i(context=context("NAMED")), "check", "unchanged"),
    (
        "inconsistent",
        i(context=f"{with_answer('X')['context']} Holm is honored."),
        "check",
        "old_answer_left",
    ),
    ("inconsistent", i(context=with_answer("X", "Sella")["context"]), "check", "new_answer_absent"),
    ("inconsistent", i(context=f"{OTHER_WORDS} {NEW} {QUOTE}."), "check", "changed_too_much"),
    ("inconsistent", i(evidence=["It was surely she."]), "check", "evidence_not_found"),
    ("inconsistent", i(context=f"Document: {with_answer('X')['context']}"), "check", "echo"),
    ("judge-inconsistent", verdict("unknown", False, ""), "valid", "not_supported"),
    ("judge-inconsistent", verdict("unknown", True, QUOTE), "valid", "not_supported"),
    ("judge-inconsistent", verdict(NEW, True, ""), "valid", "quote_not_found"),
    ("judge-inconsistent", verdict(NEW, True, "not a word of it"), "valid", "quote_not_found"),
    ("judge-inconsistent", verdict(NEW, True, QUOTE, ("Ro Vick", "x")), "valid", "other_answer"),
    ("judge-inconsistent", verdict(NEW, True, QUOTE, (OLD, "x")), "valid", "old_answer_supported"),
    ("judge-inconsistent", verdict(OLD, True, QUOTE), "valid", "old_answer_supported"),
]
LAMP = with_option("X")
COUNTERFACTUAL: list[tuple[str, Reply, str, str]] = [
    (
        "counterfactual",
        changed(LAMP, context=LAMP["context"].replace("\n", " ")),
        "check",
        "one_paragraph",
    ),
    (
        "counterfactual",
        changed(LAMP, context=f"{LAMP['evidence'][0]}\n\nShort."),
        "check",
        "too_short",
    ),
    (
        "counterfactual",
        changed(LAMP, context=LAMP["context"].replace("cold", "hot")),
        "check",
        "new_answer_absent",
    ),
    ("counterfactual", changed(LAMP, evidence=[]), "check", "evidence_not_found"),
    ("counterfactual", "[1, 2]", "write", "not_json"),
    (
        "judge-counterfactual",
        verdict("cold sand", True, "sheds cold sand", ("light", "x")),
        "valid",
        "old_answer_supported",
    ),
    (
        "judge-counterfactual",
        verdict("A", True, "sheds cold sand"),
        "valid",
        "old_answer_supported",
    ),
    ("judge-counterfactual", verdict("light", False, ""), "valid", "not_supported"),
]
TASK_OF = {"answer": "inconsistent"}
# Bad villages: each has one bad reply, in one of its tasks.
BAD = {
    f"Bad{number}": case
    for number, case in enumerate([*UNANSWERABLE, *INCONSISTENT, *COUNTERFACTUAL])
}


def test_kept_set_is_exactly_the_known_good_one(tmp_path: Path) -> None:
    choices = {name for name, case in BAD.items() if "counterfactual" in case[0]}
    rows = [choice_record(n) if n in choices else record(n) for n in BAD]
    rows += [record("Good"), choice_record("Fine")]
    odd = {(name, case[0]): _own(case[1], name) for name, case in BAD.items()}
    with scripted(World(odd)) as server:
        built = run(server, write_records(tmp_path / "s.jsonl", rows), tmp_path / "out")
    expected, reasons = set(), {}
    for row in rows:
        tasks = ["counterfactual"] if "choices" in row else ["unanswerable", "inconsistent"]
        expected |= {f"{row['id']}/{task}" for task in tasks}
    for name, (step, _, stage, reason) in BAD.items():
        task = TASK_OF.get(step, step.removeprefix("judge-"))
        expected.remove(f"{name}/{task}")
        reasons[f"{name}/{task}"] = (stage, reason)
    dropped = read_rows(tmp_path / "out/dropped.jsonl")
    assert {row["id"]: (row["stage"], row["reason"]) for row in dropped} == reasons
    assert ids(tmp_path / "out/dataset") == expected
    assert built.items == len(expected)
    refused = {row["id"]: row["made"] for row in dropped if row["stage"] in ("check", "valid")}
    assert all(made["new_context"] and made["question"] for made in refused.values())
    assert not (tmp_path / "out/dataset/rejected.jsonl").exists()
    made_up = {row["reason"]: row.get("made") for row in dropped if row["stage"] == "answer"}
    assert made_up["answer_in_original"]["new_answer"] == "Lorn"


def _own(reply: Reply, name: str) -> Any:
    """The unchanged passage must be the village's own."""
    return json.loads(json.dumps(reply).replace("NAMED", name))


def ids(dataset: Path) -> set[str]:
    return {
        f"{row['qid']}/{task}"
        for task in ("unanswerable", "inconsistent", "counterfactual")
        if (dataset / f"{task}.jsonl").exists()
        for row in read_rows(dataset / f"{task}.jsonl")
    }


@pytest.fixture
def good(tmp_path: Path) -> Path:
    rows = [record(name) for name in ("Aa", "Bbb", "Cc", "Ddd")] + [choice_record("Lamp")]
    source = write_records(tmp_path / "s.jsonl", rows)
    with scripted(World()) as server:
        run(server, source, tmp_path / "out")
    return tmp_path / "out"


def test_rows_in_the_benchmark_s_form(good: Path) -> None:
    gone = read_rows(good / "dataset/unanswerable.jsonl")[0]
    assert gone["answers"] == ["unknown"]
    assert gone["subset"] == "SQuAD"
    assert OLD not in gone["context"]
    assert gone["distractors"] == [ADDED]
    both = read_rows(good / "dataset/inconsistent.jsonl")
    assert {row["documents"][0]["which"] for row in both} == {"new", "original"}
    for row in both:
        assert row["answers"] == [OLD, NEW]
        first = NEW if row["documents"][0]["which"] == "new" else OLD
        assert row["documents"][0]["answer"] == first
        assert row["context"].startswith("Document:\n")
        assert row["context"].index(first) < row["context"].index(OLD if first == NEW else NEW)
        assert "It says so.\nThere was one mention." in row["justification"]
        assert row["validation"]["judge"]["holds"] is True
    lamp = read_rows(good / "dataset/counterfactual.jsonl")[0]
    assert (lamp["answerKey"], lamp["original_key"], lamp["answer"]) == ("B", "A", "cold sand")
    tasks = read_rows(good / "annotate/validity.jsonl")
    assert len(tasks) == 9
    assert tasks[0]["shown"]["answer"] == "unknown"


@pytest.mark.parametrize(
    ("task", "reply", "metric", "more"),
    [
        ("unanswerable", "unknown", "phrase_match_strict", ()),
        ("inconsistent", "conflict", "phrase_match_strict(task=inconsistent)", ()),
        ("counterfactual", "B", "choice_accuracy", ("--only-phrase-filtered", "words")),
        ("inconsistent", OLD, "answer_accuracy", ("--documents", "original")),
        ("inconsistent", NEW, "answer_accuracy", ("--documents", "new")),
        (
            "inconsistent",
            "Holm",
            "answer_accuracy",
            ("--documents", "original", "--original", "dataset/originals.jsonl"),
        ),
        (
            "original",
            "Holm",
            "answer_accuracy",
            ("--of", "unanswerable", "--original", "dataset/originals.jsonl"),
        ),
        (
            "original",
            "A",
            "choice_accuracy",
            ("--of", "counterfactual", "--closed-book", "--original", "dataset/originals.jsonl"),
        ),
    ],
)
def test_built_files_score_as_expected(
    good: Path, task: str, reply: str, metric: str, more: tuple[str, ...]
) -> None:
    given = [str(good / m) if m.startswith("dataset/") else m for m in more]
    command = ["run", f"faitheval/{task}", "--data", str(good / "dataset"), *given]
    out = str(good.parent / "run")
    result = CliRunner().invoke(app, [*command, "--model", f"fake:{reply}", "--out", out])
    assert result.exit_code == 0, result.output
    summary = json.loads(next(Path(out).rglob("summary.json")).read_bytes())
    found = {name: m for name, m in summary["metrics"].items() if name.startswith(metric)}
    assert found
    assert {m["mean"] for m in found.values()} == {1.0}


def test_second_judge_is_asked_of_a_sample_and_measured(tmp_path: Path) -> None:
    names = ["Aa", "Bb", "Cc", "Dd", "Ee", "Ff"]
    source = write_records(tmp_path / "s.jsonl", [record(name) for name in names])
    bad = verdict(OLD, True, "x")
    odd: dict[tuple[str, ...], Reply] = {
        ("Aa", "judge-unanswerable"): bad,
        ("Bb", "judge-unanswerable", "other"): bad,
        ("Cc", "judge-unanswerable", "other"): "prose",
    }
    options = {"task": "unanswerable"}
    with scripted(World(odd)) as server:
        built = run(server, source, tmp_path / "out", options, second=True)
        drop = options | {"second": "drop"}
        dropped = run(server, source, tmp_path / "drop", drop, second=True)
        one = run(server, source, tmp_path / "one", options | {"second-sample": "1"}, second=True)
        few = run(server, source, tmp_path / "few", options | {"second-sample": "2"}, second=True)
    found = json.loads((tmp_path / "out/dataset/agreement.json").read_bytes())
    assert found["items"] == 5
    assert found["agreement"] == pytest.approx(0.8)
    assert found["table"] == [[3, 1], [0, 1]]
    assert found["kappa"] == pytest.approx(0.24 / 0.44)
    low, high = found["kappa_ci"]
    assert low <= found["kappa"] <= high
    assert any("second judge saw 5 items" in notice for notice in built.summary["notices"])
    assert any("saw 1 item and" in notice for notice in one.summary["notices"])
    assert built.items == 5
    assert dropped.items == 3
    assert few.items == 5
    sampled = [
        row for row in read_rows(tmp_path / "few/stages/07-sample.jsonl") if row.get("sampled")
    ]
    assert len(sampled) == 2


def label(task: str, annotators: int = 3, **values: str) -> dict[str, Any]:
    return {"kind": "validity", "id": task, "values": values, "annotators": annotators}


def test_majority_of_people_decides(good: Path) -> None:
    tasks = [row["id"] for row in read_rows(good / "annotate/validity.jsonl")]
    up, down, open_, none, *others = tasks
    labels = [
        label(up, **{"if": "yes", "only_if": "yes"}),
        label(down, **{"if": "yes", "only_if": "no"}),
        label(open_, annotators=2, **{"if": "yes"}),
    ]
    file = write_records(good.parent / "labels.jsonl", labels)
    with scripted(World()) as server:
        built = run(server, good.parent / "s.jsonl", good, labels=file)
        assert not server.calls  # nothing is asked again
    item = {task: task.rpartition("~")[0] for task in tasks}
    assert ids(good / "dataset") == {item[up]}
    reasons = {row["id"]: row["reason"] for row in read_rows(good / "dropped.jsonl")}
    unlabeled = [item[task] for task in (open_, none, *others)]
    assert reasons == {item[down]: "voted_down", **dict.fromkeys(unlabeled, "unlabeled")}
    assert NO_PEOPLE not in built.summary["notices"]
    assert [row["id"] for row in read_rows(good / "annotate/validity.jsonl")] == tasks
    row = read_rows(next((good / "dataset").glob("*able.jsonl")))[0]
    assert row["validation"]["people"] == {"if": "yes", "only_if": "yes", "annotators": 3}


def test_agreement_with_people_counts_what_they_voted_down(good: Path) -> None:
    """The judge said yes to all of them, whatever their task; two of nine are voted down."""
    tasks = [row["id"] for row in read_rows(good / "annotate/validity.jsonl")]
    labels = [
        label(task, **{"if": "yes", "only_if": "no" if n < 2 else "yes"})
        for n, task in enumerate(tasks)
    ]
    with scripted(World()) as server:
        file = write_records(good.parent / "labels.jsonl", labels)
        built = run(server, good.parent / "s.jsonl", good, labels=file)
    (said,) = built.summary["quality"]["human"]["kinds"]
    assert (said["tasks"], said["labeled"]) == (9, 9)
    judge = {field["field"]: field["judge"] for field in said["fields"]}
    assert (judge["if"]["n"], judge["if"]["raw"]) == (9, 1.0)
    assert (judge["only_if"]["n"], judge["only_if"]["raw"]) == (9, pytest.approx(7 / 9))
    assert judge["only_if"]["kappa"] == pytest.approx(0.0)
    found = built.summary["quality"]["answerable"]["by"]["task"]
    assert found["unanswerable"]["yes"] == 0
    assert found["inconsistent"]["yes"] == found["inconsistent"]["asked"] > 0


def test_labels_of_other_texts_do_not_count(good: Path) -> None:
    before = (good / "dataset/unanswerable.jsonl").read_bytes()
    tasks = [row["id"] for row in read_rows(good / "annotate/validity.jsonl")]
    yes = {"if": "yes", "only_if": "yes"}
    old = write_records(good.parent / "labels.jsonl", [label(task, **yes) for task in tasks])
    source = good.parent / "s.jsonl"
    rows = read_rows(source)
    moved = "It moved to Norn Bay last year."
    changed = [row | {"context": f"{row['context']} {moved}"} for row in rows[:1]] + rows[1:]
    odd = {
        ("Aa", "unanswerable"): u(context=f"{without_answer('Aa')['context']} {moved}"),
        ("Aa", "inconsistent"): i(context=f"{with_answer('Aa')['context']} {moved}"),
    }
    with scripted(World(odd)) as server:
        run(server, write_records(source, changed), good, labels=old)
    fell = {row["id"]: row["reason"] for row in read_rows(good / "dropped.jsonl")}
    assert fell == dict.fromkeys(["Aa/unanswerable", "Aa/inconsistent"], "unlabeled")
    assert (good / "dataset/unanswerable.jsonl").read_bytes() != before


def test_labels_of_another_build_are_refused(good: Path) -> None:
    before = (good / "dataset/unanswerable.jsonl").read_bytes()
    yes = {"if": "yes", "only_if": "yes"}
    file = write_records(good.parent / "labels.jsonl", [label("Zz/unanswerable~12345678", **yes)])
    with scripted(World()) as server, pytest.raises(InputError, match="none of its labels"):
        run(server, good.parent / "s.jsonl", good, labels=file)
    assert (good / "dataset/unanswerable.jsonl").read_bytes() == before


def test_checks_are_done_once(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(*_: Any) -> None:
        raise AssertionError("checked again")

    monkeypatch.setattr(stages, "check_context", again)
    monkeypatch.setattr(stages, "weigh", again)
    with scripted(World()) as server:
        assert run(server, good.parent / "s.jsonl", good).items == 9
        with pytest.raises(AssertionError, match="checked again"):
            run(server, good.parent / "s.jsonl", good, {"kept": "0.7"})


def test_a_model_that_judges_itself_is_named(tmp_path: Path) -> None:
    source = write_records(tmp_path / "s.jsonl", [record("Aa")])
    with scripted(World()) as server:
        settings = BuildSettings(endpoint=EndpointDefaults(base_url=server.url))
        models = {"writer": "big", "judge": "big"}
        built = build("contexts", source, tmp_path / "out", models=models, settings=settings)
    assert OWN_WORK.format(name="big") in built.summary["notices"]
    assert NO_PEOPLE in built.summary["notices"]
    assert built.summary["run"].count("faitheval/") == 2
