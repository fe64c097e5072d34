"""Truly-Ground asked and scored: from the command line and from Python."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests import commands
from tests.wings.papers.truly_ground_files import DISTRACTORS, ORIGINAL, data_folder, write

import trueground as tg
from trueground.errors import OutputError, TruegroundError

F1, RECALL = "grounding_f1(scope=gold,abstain=zero)", "grounding_recall(abstain=zero)"
PRECISION = "grounding_precision(scope=gold,abstain=zero)"
ACCURACY = "answer_accuracy(match=substring,parts=each)"


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    folder = data_folder(tmp_path / "data")
    write(folder / "qId2distractor.json", DISTRACTORS)
    return folder


def test_the_four_tasks_from_the_command_line(data: Path, tmp_path: Path) -> None:
    def trueground(*words: object) -> str:
        env = {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home")}
        done = commands.trueground(*words, cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    trueground("data", "fetch", "truly-ground", "--from", data)
    fact = "fake:Ede Holm built the lighthouse of Varn."
    told = trueground("run", "truly-ground", "--model", fact, "--budget", 200, "--out", "runs")
    tasks = ("original-gold", "original-dist", "conflict-gold", "conflict-dist")
    assert all(task in told for task in tasks)
    for task in tasks:
        run = tmp_path / "runs" / task
        summary, manifest = read(run / "summary.json"), read(run / "manifest.json")
        original = task.startswith("original")
        # One of two facts in full, nothing of the other questions; none of the changed ones.
        assert summary["metrics"][F1]["mean"] == pytest.approx(2 / 9 if original else 0.0)
        assert summary["metrics"][ACCURACY]["mean"] == (0.5 if original else 0.0)
        assert summary["metrics"][ACCURACY]["unscored"] == {"not_applicable": 1}
        assert set(summary["by"]) == {"meta.popularity", "meta.contexts", "meta.answer"}
        assert set(summary["by"]["meta.answer"]) == {"definite", "free-form"}
        by = summary["by"]["meta.popularity"]["high"]
        assert by[F1]["mean"] == pytest.approx(2 / 3 if original else 0.0)
        assert manifest["benchmark"]["name"] == "truly-ground"
        assert manifest["benchmark"]["headline"] == F1
        if task.endswith("dist"):
            options = manifest["benchmark"]["options"]
            names = ("budget", "gold-position", "retriever", "distractors", "tokenizer")
            assert [options[name] for name in names] == [
                "200",
                "random",
                None,
                "2k_distractor",
                "4 characters a token",
            ]
        items = [json.loads(line) for line in (run / "items.jsonl").read_text().splitlines()]
        assert [item["id"] for item in items] == ["Q2", "Q3", "Q10"]
        assert (run / "report.html").is_file()
    help_ = trueground("run", "truly-ground", "--help")
    assert "--gold-position" in help_


def test_an_answer_that_repeats_its_contexts(data: Path, tmp_path: Path) -> None:
    """All facts are in it; distractors in it are outside the gold contexts."""
    scores = {}
    for task in ("original-gold", "original-dist"):
        done = tg.run(
            f"truly-ground/{task}",
            "fake:echo",
            data=data,
            out=tmp_path / task,
            prompt=write_prompt(tmp_path / "bare.txt"),
        )
        scores[task] = {name: done.summary[name].mean for name in (F1, RECALL)}
        scores[task]["precision"] = done.summary[
            "grounding_precision(scope=gold,abstain=zero)"
        ].mean
    gold, dist = scores["original-gold"], scores["original-dist"]
    assert gold[RECALL] == dist[RECALL] == 1.0
    assert dist["precision"] is not None
    assert gold["precision"] is not None
    assert dist["precision"] < gold["precision"]


def write_prompt(path: Path) -> Path:
    path.write_text("{context}\n{question}")
    return path


def test_no_context_has_recall_and_accuracy(data: Path, tmp_path: Path) -> None:
    answer = " ".join(ORIGINAL["Q10"]["atomic_texts"])
    done = tg.run("truly-ground/no-context", f"fake:{answer}", data=data, out=tmp_path / "run")
    found = done.summary
    assert found[RECALL].mean == pytest.approx(1 / 3)
    assert F1 not in found.raw["metrics"]
    assert read(tmp_path / "run/manifest.json")["benchmark"]["headline"] == ACCURACY


@pytest.mark.parametrize("preset", ["greedy", "paper"])
def test_declining_gains_nothing(data: Path, tmp_path: Path, preset: str) -> None:
    """One of three answers is right; it is all the same whether the others are wrong or refuse."""
    right = " ".join(ORIGINAL["Q2"]["atomic_texts"])
    f1 = {}
    for name, other in (("wrong", "Bob painted it in 1723."), ("refuses", "I don't know.")):
        replies = tmp_path / f"{name}.jsonl"
        lines = [{"id": q, "response": right if q == "Q2" else other} for q in ORIGINAL]
        replies.write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = tg.run(
            "truly-ground/original-gold", f"replay:{replies}", data=data, out=tmp_path / name,
            options={"preset": preset}, judge="lexical",
        )  # fmt: skip
        told = read(tmp_path / name / "summary.json")
        headline = read(tmp_path / name / "manifest.json")["benchmark"]["headline"]
        assert told["metrics"][headline]["scored"] == 3
        assert (told["abstention_rate"] > 0) == (name == "refuses")
        f1[name] = done.summary[headline].mean
    assert f1["wrong"] == f1["refuses"] == pytest.approx(1 / 3)


def test_the_papers_preset_judges_by_the_papers_judge(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights are not here, and so the error names it, before anything is asked."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(TruegroundError, match=r"ms-marco-MiniLM-L-12-v2|trueground\[onnx\]"):
        tg.run(
            "truly-ground/original-gold", "fake:no", data=data, out=tmp_path / "run",
            options={"preset": "paper"},
        )  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_another_budget_is_another_run(data: Path, tmp_path: Path) -> None:
    def run(budget: str) -> tg.Result:
        options = {"budget": budget, "gold-position": "end"}
        return tg.run(
            "truly-ground/original-dist", "fake:x", data=data, out=tmp_path / "r", options=options
        )

    first = run("100").summary.raw
    assert run("100").summary.raw == first  # it goes on, and nothing is left to do
    with pytest.raises(OutputError, match="options"):
        run("200")


def test_a_limit_asks_the_first_questions_as_they_were(data: Path, tmp_path: Path) -> None:
    prompts = {}
    for limit in (None, 2):
        out = tmp_path / str(limit)
        tg.run("truly-ground/original-dist", "fake:x", data=data, out=out, limit=limit)
        lines = [json.loads(line) for line in (out / "responses.jsonl").read_text().splitlines()]
        prompts[limit] = {line["id"]: line["prompt_sha256"] for line in lines}
    assert sorted(prompts[2]) == ["Q2", "Q3"]
    assert prompts[2].items() <= prompts[None].items()


@pytest.mark.skipif(not find_spec("bm25s"), reason="the extra `retrieval` is not installed")
def test_several_models_are_asked_the_same(data: Path, tmp_path: Path) -> None:
    (data / "qId2distractor.json").unlink()
    words = ("--model", "fake:a", "--model", "fake:b", "--data", data, "--out", "both")
    done = commands.trueground("run", "truly-ground/conflict-dist", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    hashes = []
    for model in ("fake-a", "fake-b"):
        lines = (tmp_path / "both" / model / "responses.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        hashes.append({line["id"]: line["prompt_sha256"] for line in found})
    assert hashes[0] == hashes[1]
    assert len(hashes[0]) == 3
