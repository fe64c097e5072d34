"""KaLMA asked and scored at an endpoint on loopback: every option, from Python and the shell."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests import commands
from tests.chaos import ChaosServer
from tests.judges.rule_endpoint import shown
from tests.wings.papers.kalma_files import (
    EDDA,
    MINIMUM,
    ORLA,
    SPECIFIC,
    data_folder,
    rule,
    write,
)

import trueground as tg
from trueground.benchmarks.base import Sources, Task, get_benchmark
from trueground.errors import UsageError
from trueground.models.options import ModelOptions

MICRO = tuple(f"citation_{name}_micro" for name in ("correctness", "precision", "recall", "f1"))
CITED = tuple(name.removesuffix("_micro") for name in MICRO)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    return data_folder(tmp_path / "clone")


@pytest.fixture
def server() -> Iterator[ChaosServer]:
    with ChaosServer(answer=rule) as endpoint:
        yield endpoint


def prepared(data: Path | None, name: str = "specific", **options: str) -> Task:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    return get_benchmark("kalma").prepare(name, given, Sources(data=data))


def asked(
    data: Path, server: ChaosServer, out: Path, task: str = "specific", **options: str
) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """Summary, manifest and items of a run."""
    given: dict[str, Any] = {key.replace("_", "-"): value for key, value in options.items()}
    model = ModelOptions(base_url=server.base_url)
    tg.run(f"kalma/{task}", "m", out=out, options=given, data=data, model_options=model)
    summary, manifest = (
        json.loads((out / f"{n}.json").read_bytes()) for n in ("summary", "manifest")
    )
    lines = (out / "items.jsonl").read_text(encoding="utf-8").splitlines()
    with zstandard.open(out / "records.jsonl.zst", "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    items = [json.loads(line) for line in lines]
    return summary, manifest, [{**i, "record": r} for i, r in zip(items, records, strict=True)]


def test_given_graphs_and_minimum_sets(data: Path, server: ChaosServer, tmp_path: Path) -> None:
    minimum = str(data / "minimum.json")
    summary, manifest, items = asked(data, server, tmp_path / "out", minimum=minimum)
    assert [item["id"] for item in items] == ["0", "1", "3"]
    means = {name: summary["metrics"][name]["mean"] for name in MICRO}
    # 4 + 2 + 2 citations, one of each answer wrong; 5 right, of which illustrator, miller, cellist.
    assert means["citation_correctness_micro"] == pytest.approx(5 / 8)
    assert means["citation_precision_micro"] == pytest.approx(3 / 8)
    assert means["citation_recall_micro"] == pytest.approx(3 / 7)
    assert means["citation_f1_micro"] == pytest.approx(2 * 3 / 8 * 3 / 7 / (3 / 8 + 3 / 7))
    assert summary["metrics"]["alignment"]["mean"] is not None
    assert not [name for name in summary["metrics"] if name.startswith("na_")]
    benchmark = manifest["benchmark"]
    assert benchmark["headline"] == "citation_f1_micro"
    assert benchmark["options"]["knowledge"] == "given"
    assert len(benchmark["options"]["minimum"]) == 64
    assert benchmark["notices"] == ["1 of 4 questions have no graph to show and are left out."]
    assert summary["by"] == {}
    assert [item["record"]["meta"]["graphs"] for item in items] == [2, 1, 1]
    body = server.bodies[0]
    assert (body["temperature"], body["max_tokens"]) == (0.5, 1024)
    assert [message["role"] for message in body["messages"]] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip


def test_without_minimum_sets(data: Path, server: ChaosServer, tmp_path: Path) -> None:
    summary, manifest, _ = asked(data, server, tmp_path / "out", "general")
    assert not {"citation_precision", "citation_recall", "citation_f1"} & set(summary["metrics"])
    assert summary["metrics"]["citation_correctness_micro"]["mean"] == pytest.approx(5 / 8)
    assert manifest["benchmark"]["headline"] == "citation_correctness_micro"
    assert manifest["benchmark"]["options"]["minimum"] == "none"
    (told,) = [word for word in manifest["benchmark"]["notices"] if "minimum" in word]
    assert "correctness and alignment only" in told


def test_synthetic_sets_warn_on_every_page(data: Path, server: ChaosServer, tmp_path: Path) -> None:
    _, manifest, items = asked(data, server, tmp_path / "out", synthetic_minimum="2")
    options = manifest["benchmark"]["options"]
    assert (options["minimum"], options["minimum-size"], options["minimum-seed"]) == (
        "synthetic", "2", "0",
    )  # fmt: skip
    (told,) = [word for word in manifest["benchmark"]["notices"] if "synthetic" in word]
    assert "up to 2 triples" in told
    assert all(len(item["record"]["gold_knowledge"]) == 2 for item in items)
    seeded = [
        [q.record.gold_knowledge for q in prepared(data, **given).questions()]
        for given in (
            {"synthetic_minimum": "2"},
            {"synthetic_minimum": "2", "minimum_seed": "0"},
            {"synthetic_minimum": "2", "minimum_seed": "1"},
        )
    ]
    assert seeded[0] == seeded[1] != seeded[2]
    general = prepared(data, "general", synthetic_minimum="2").questions()
    assert [q.record.gold_knowledge for q in general] == seeded[0]


def test_conscious_incompetence(data: Path, server: ChaosServer, tmp_path: Path) -> None:
    minimum = str(data / "minimum.json")
    recalls, absent = [], []
    for number in "0123":
        summary, manifest, items = asked(
            data, server, tmp_path / number, minimum=minimum, remove=number
        )
        options = manifest["benchmark"]["options"]
        assert (options["remove"], options["knowledge"]) == (number, "gold")
        recalls.append(summary["metrics"]["citation_recall_micro"]["mean"])
        gone = [item["record"].get("absent_knowledge") for item in items]
        absent.append(gone)
        assert [i["record"]["gold_knowledge"] for i in items] == [m[1] for m in MINIMUM]
        assert ("na_recall" in summary["metrics"]) == (number != "0")
        if number == "0":
            assert gone == [None] * 3
            continue
        assert [len(one) for one in gone] == [min(int(number), most) for most in (3, 1, 2)]
    # Of seven pieces the rule cites illustrator, miller and cellist where they are shown.
    assert recalls == [pytest.approx(n / 7) for n in (3, 1, 0, 0)]
    for fewer, more in pairwise(absent[1:]):
        assert all(b[: len(a)] == a for a, b in zip(fewer, more, strict=True))


def test_retrieval_accuracy(data: Path, server: ChaosServer, tmp_path: Path) -> None:
    minimum = str(data / "minimum.json")
    right = []
    for accuracy in ("100", "75", "25"):
        summary, manifest, items = asked(
            data, server, tmp_path / accuracy, minimum=minimum, retrieval_accuracy=accuracy
        )
        assert manifest["benchmark"]["options"]["retrieval-accuracy"] == accuracy
        assert manifest["benchmark"]["options"]["replace-seed"] == "0"
        pairs = [(i["id"], g["qid"]) for i in items for g in i["record"]["knowledge"]]
        right.append(
            {
                pair
                for pair in pairs
                if pair in {("0", "Q101"), ("0", "Q102"), ("1", "Q103"), ("3", "Q104")}
            }
        )
        assert sum(item["record"]["meta"]["wrong"] for item in items) == 4 - len(right[-1])
        assert summary["metrics"]["citation_correctness_micro"]["mean"] < 1
    assert [len(one) for one in right] == [4, 3, 1]
    assert right[2] < right[1] < right[0]


def test_linked_graphs(data: Path, server: ChaosServer, tmp_path: Path) -> None:
    pytest.importorskip("ahocorasick")
    _, manifest, items = asked(data, server, tmp_path / "out", knowledge="linked")
    found = [[graph["qid"] for graph in item["record"]["knowledge"]] for item in items]
    assert found == [["Q101", "Q102"], ["Q103"], [], ["Q104"]]
    options = manifest["benchmark"]["options"]
    assert options["recognizer"] == "dictionary"
    assert options["graph"].startswith("json:")
    assert items[2]["status"]["citation_correctness"] == "not_applicable"


def test_gold_graphs_of_another_knowledge_graph(data: Path, tmp_path: Path) -> None:
    graph = write(tmp_path / "graphs.json", [{**EDDA, "field of work": "comets"}])
    minimum = str(data / "minimum.json")
    task = prepared(data, knowledge="gold", graph=str(graph), minimum=minimum)
    shown_ = [question.record.knowledge for question in task.questions()]
    assert [[graph["qid"] for graph in own or ()] for own in shown_] == [[], ["Q103"], []]
    assert (shown_[1] or [])[0]["field of work"] == "comets"
    assert task.options["graph"]


def test_own_questions(
    server: ChaosServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    rows: list[dict[str, Any]] = [
        {
            "id": "orla",
            "question": "Who was Orla?",
            "knowledge": [ORLA],
            "gold_knowledge": [["Q101", "occupation", "botanist"]],
            "absent_knowledge": [["Q102", "occupation", "miller"]],
            "meta": {"era": "old"},
        },
        {"id": "none", "question": "Who else?", "knowledge": [], "gold_knowledge": []},
    ]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    summary, manifest, items = asked(path, server, tmp_path / "out", "questions")
    assert [item["id"] for item in items] == ["orla", "none"]
    assert items[0]["record"]["meta"]["era"] == "old"
    assert items[1]["status"]["citation_recall"] == "not_applicable"
    assert summary["metrics"]["citation_recall_micro"]["mean"] == 1.0
    assert {"na_precision", "na_recall", "na_f1"} <= set(summary["metrics"])
    assert manifest["benchmark"]["notices"] == [
        "1 of 2 questions have no graph to show; their citations are not scored."
    ]
    kalma_form = write(tmp_path / "own.json", [SPECIFIC[1]])
    task = prepared(kalma_form, "questions")
    assert task.metrics == ("citation_correctness", "alignment")
    assert [question.record.id for question in task.questions()] == ["0"]


def test_the_first_round_adds_the_variant(data: Path, server: ChaosServer, tmp_path: Path) -> None:
    first = write(tmp_path / "first.json", [[SPECIFIC[0][0], [["Q102", "occupation", "miller"]]]])
    summary, manifest, items = asked(
        data, server, tmp_path / "out", minimum=str(data / "minimum.json"), first_round=str(first)
    )
    assert items[0]["record"]["meta"]["first_round_knowledge"] == [["Q102", "occupation", "miller"]]
    assert len(manifest["benchmark"]["options"]["first-round"]) == 64
    names = (*CITED, "na_precision", "na_recall", "na_f1")
    assert {f"{name}(variant=reference-code)" for name in names} <= set(summary["metrics"])
    assert "na_recall" not in summary["metrics"]
    (told,) = [word for word in manifest["benchmark"]["notices"] if "first round" in word]
    assert "nothing for 2 of 3 questions with a minimum set" in told


def test_remove_later_keeps_first_round(data: Path, server: ChaosServer, tmp_path: Path) -> None:
    """As the authors do, later pieces only; the set in its order on request."""
    rows = [[question, [pieces[0]]] for question, pieces in MINIMUM]
    given = {
        "minimum": str(data / "minimum.json"),
        "first_round": str(write(tmp_path / "first.json", rows)),
        "remove": "2",
    }
    later = [["Q102", "occupation", "miller"], MINIMUM[0][1][3]], [], [MINIMUM[2][1][1]]
    every = [MINIMUM[0][1][0], later[0][0]], [MINIMUM[1][1][0]], MINIMUM[2][1]
    for name, chosen in (("later", later), ("all", every)):
        options = given if name == "later" else {**given, "remove_from": name}
        _, manifest, items = asked(data, server, tmp_path / name, **options)
        assert [item["record"]["absent_knowledge"] for item in items] == list(chosen)
        assert manifest["benchmark"]["options"]["remove-from"] == name
        fewer = [word for word in manifest["benchmark"]["notices"] if "lose fewer than 2" in word]
        assert [word[:6] for word in fewer] == ["2 of 3" if name == "later" else "1 of 3"]
        assert ("in addition to the first round's" in fewer[0]) == (name == "later")


def test_rated_answers(data: Path, tmp_path: Path) -> None:
    def answer(prompt: str) -> str:
        parts = shown(prompt)
        if "RESPONSE" not in parts:
            return rule(prompt)
        if "KNOWLEDGE" in parts:
            assert all(text.startswith("{qid: Q10") for text in parts["KNOWLEDGE"])
        assert "[" not in parts["RESPONSE"][0]
        return "4"

    with ChaosServer(answer=answer) as server:
        rater = f"llm:r(base_url={server.base_url})"
        out = tmp_path / "out"
        tg.run(
            "kalma/specific",
            "m",
            out=out,
            options={"rated": "2", "rated-seed": "5"},
            data=data,
            model_options=ModelOptions(base_url=server.base_url),
            rater=rater,
        )
        # Two answers, four qualities, three times each.
        assert sum(n for text, n in server.calls.items() if "RESPONSE" in shown(text)) == 24
        first = tg.run(
            "kalma/specific",
            "m",
            out=tmp_path / "first",
            options={"rated": "2"},
            data=data,
            model_options=ModelOptions(base_url=server.base_url),
            rater=rater,
            limit=1,
        )
    assert first.summary["relevance(items=sampled,runs=3)"].scored == 1
    summary = json.loads((out / "summary.json").read_bytes())
    for name in (
        "coherence(items=sampled,runs=3)",
        "consistency(items=sampled,runs=3)",
        "fluency(shown=question,items=sampled,runs=3)",
        "relevance(items=sampled,runs=3)",
    ):
        entry = summary["metrics"][name]
        assert (entry["mean"], entry["scored"]) == (4.0, 2)
        assert entry["unscored"] == {"not_applicable": 1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"remove": "1"}, "--remove removes pieces .* Name a file with --minimum, or use"),
        ({"retrieval_accuracy": "60"}, "--retrieval-accuracy starts from the gold graphs, and"),
        ({"knowledge": "gold"}, "--knowledge gold shows what the minimum sets name"),
        ({"knowledge": "all"}, "--knowledge all: expected one of given, gold, linked"),
        ({"knowledge": "linked", "remove": "1"}, "--remove starts from the gold graphs. Leave"),
        ({"remove": "1", "retrieval_accuracy": "60"}, "exclude each other; study one at a time"),
        ({"minimum": "m", "synthetic_minimum": "3"}, "exclude each other; take the sets"),
        ({"remove": "-1"}, "--remove -1: expected a whole number, 0 or more"),
        ({"remove": "2.5"}, "--remove 2.5: expected a whole number"),
        ({"retrieval_accuracy": "101"}, "--retrieval-accuracy 101: expected a percentage"),
        ({"at_temperature": "warm"}, "--at-temperature warm: expected a number from 0 to 2"),
        ({"at_temperature": "nan"}, "--at-temperature nan: expected a number"),
        ({"synthetic_minimum": "0"}, "--synthetic-minimum 0: expected a whole number, 1 or more"),
        ({"minimum_seed": "1"}, "--minimum-seed is for --synthetic-minimum"),
        ({"replace_seed": "1"}, "--replace-seed is for --retrieval-accuracy"),
        ({"rated_seed": "1"}, "--rated-seed is for --rated"),
        ({"first_round": "f"}, "--first-round is for --minimum"),
        ({"remove_from": "later"}, "--remove-from is for --remove; give that too"),
        ({"remove_from": "all", "remove": "1"}, "--remove-from is for --first-round"),
        (
            {"remove_from": "x", "remove": "1", "minimum": "m", "first_round": "f"},
            "--remove-from x: expected one of later, all",
        ),
        ({"graph": "g"}, "--graph is for --knowledge gold or linked"),
        ({"recognizer": "dictionary"}, "--recognizer is for --knowledge linked"),
    ],
)
def test_make_task_invalid_options_raise_usage_error(
    data: Path, options: dict[str, str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        prepared(data, **options)


def test_own_questions_without_graphs(tmp_path: Path) -> None:
    bare = write(tmp_path / "bare.json", [{"question": "Who?"}])
    with pytest.raises(UsageError, match="takes triples of the questions' graphs"):
        prepared(bare, "questions", synthetic_minimum="3")
    with pytest.raises(UsageError, match="come with no graphs; name a knowledge graph"):
        prepared(bare, "questions", knowledge="linked")


def test_from_the_command_line(data: Path, server: ChaosServer, tmp_path: Path) -> None:
    def trueground(*words: object) -> str:
        env = {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home")}
        done = commands.trueground(*words, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    trueground("data", "fetch", "kalma", "--from", data / "dataset")
    url = ("--base-url", server.base_url)
    trueground(
        *("run", "kalma", "--model", "m", *url, "--synthetic-minimum", 2, "--repeats", 2),
        *("--at-temperature", 0.1, "--at-temperature", 0.9, "--out", "runs"),
    )  # fmt: skip
    runs = sorted(path.parent for path in (tmp_path / "runs").rglob("summary.json"))
    assert len(runs) == 4
    for run in runs:
        manifest = json.loads((run / "manifest.json").read_bytes())
        summary = json.loads((run / "summary.json").read_bytes())
        assert manifest["benchmark"]["options"]["at-temperature"] in ("0.1", "0.9")
        assert summary["n"] == 6
        assert summary["averages"]["meta.repeat"]["citation_f1"]["sd"] == 0.0
        assert "synthetic" in manifest["benchmark"]["notices"][0]
    assert {body["temperature"] for body in server.bodies} == {0.1, 0.9}


def test_the_example_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    text = (Path(__file__).parents[3] / "docs" / "kalma.md").read_text(encoding="utf-8")
    own = tmp_path / "own.jsonl"
    own.write_text(text.partition("```json\n")[2].partition("```")[0])
    model = text.partition('--model "fake:')[2].partition('"')[0]
    tg.run("kalma/questions", f"fake:{model}", data=own, out=tmp_path / "out")
    lines = (tmp_path / "out" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines]
    scores = [[item["scores"][name] for name in CITED[:3]] for item in items]
    assert scores == [[1.0, 1.0, 0.5], [0.0, 0.0, 0.0]]


def test_a_dry_run_writes_nothing(data: Path, tmp_path: Path) -> None:
    words = ["run", "kalma", "--data", data, "--model", "fake:x", "--dry-run", "--out", "runs"]
    done = commands.trueground(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "kalma/specific" in done.stdout
    assert "kalma/general" in done.stdout
    assert not (tmp_path / "runs").exists()
