"""`trueground errors`, and `score` with a language model's yes or no, as a user types them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.chaos import KEY, ChaosServer
from tests.commands import Done, trueground
from tests.judges.rule_endpoint import shown

LONG = " This was told to us at some length by those who had been there, and who took notes of it."
ROWS = [
    {
        "id": "a",
        "question": "Who built the mill?",
        "references": ["Jo Marsh", "Ann Marsh"],
        "contexts": ["The mill was built by Ann Marsh."],
        "response": "Ann Marsh built the mill." + LONG,
    },
    {
        "id": "b",
        "question": "How many wheels has it?",
        "references": ["four"],
        "contexts": ["It has four wheels."],
        "response": "It has 4." + LONG,
    },
    {
        "id": "c",
        "question": "When?",
        "references": ["1903"],
        "contexts": ["The mill was built in 1903."],
        "response": "I don't know.",
    },
]
METRICS = "f1,recall,llm_correctness,llm_faithfulness"


def by_rule(prompt: str) -> str:
    """Correct: says the reference, in whatever digits. Faithful: says nothing of wheels."""
    parts = shown(prompt)
    (response,) = parts["RESPONSE"]
    if "REFERENCE" in parts:
        return "Yes" if parts["REFERENCE"][0].replace("four", "4") in response else "No"
    return "No" if "4" in response else "Yes"


def run(*words: str | Path, cwd: Path) -> Done:
    env = {**os.environ, "OPENAI_API_KEY": KEY, "TRUEGROUND_HOME": str(cwd / "home")}
    return trueground(*words, cwd=cwd, env=env)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`run`: a run that was scored with a language model."""
    path = tmp_path_factory.mktemp("errors")
    (path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    with ChaosServer(answer=by_rule) as server:
        rater = f"llm:m(base_url={server.base_url},max_attempts=1)"
        words = ("score", "in.jsonl", "--metrics", METRICS, "--rater", rater)
        done = run(*words, "--out", "run", cwd=path)
        assert (done.returncode, len(server.bodies)) == (0, 6), done.stderr
        again = run(*words, "--out", "again", cwd=path)
        assert (again.returncode, len(server.bodies)) == (0, 6)  # all replies were kept
    assert (path / "run/items.jsonl").read_bytes() == (path / "again/items.jsonl").read_bytes()
    return path


def test_score_with_a_language_model(folder: Path) -> None:
    items = [json.loads(line) for line in (folder / "run/items.jsonl").read_text().splitlines()]
    assert [item["scores"]["llm_correctness"] for item in items] == [1, 1, 0]
    assert [item["scores"]["llm_faithfulness"] for item in items] == [1, 0, None]
    assert items[2]["status"]["llm_faithfulness"] == "abstained"
    assert items[0]["evidence"]["llm_correctness"] == {"reference": "Ann Marsh"}
    manifest = json.loads((folder / "run/manifest.json").read_text())
    told = {one["name"]: one["signature"] for one in manifest["comparers"]}
    assert set(told) == {"llm-correctness", "llm-faithfulness"}
    signature = manifest["metrics"]["llm_correctness"]
    assert signature == f"llm_correctness|v:1|prompt:|comparer:{told['llm-correctness']}"
    prompts = {prompt["id"] for prompt in manifest["prompts"]}
    assert prompts == {"comparing/correctness-1", "comparing/faithfulness-1"}
    assert (manifest["calls"], manifest["cache_hits"]) == (6, 0)
    assert KEY not in (folder / "run/manifest.json").read_text()


def test_without_a_rater_nothing_is_sent(folder: Path) -> None:
    for metric in ("llm_correctness", "f1,llm_p_ir"):
        done = run("score", "in.jsonl", "--metrics", metric, "--out", "no", cwd=folder)
        assert (done.returncode, done.stdout) == (2, "")
        assert '--rater "llm:MODEL(base_url=URL)"' in done.stderr
        assert not (folder / "no").exists()


def test_text(folder: Path) -> None:
    done = run("errors", "run", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert " ".join(lines[: lines.index("")]) == (
        "2 of 3 items are correct with f1 of at most 0.3. Who says so: llm_correctness (2). "
        "Not sorted are 2: write a category into the file, or let a language model propose it with "
        "--proposer."
    )
    assert lines[-1] == f"file   {Path('run') / 'errors.jsonl'}"
    assert "paper" not in done.stdout


def test_a_corrected_file(folder: Path) -> None:
    assert run("errors", "run", "--out", "mine.jsonl", "--quiet", cwd=folder).stdout == ""
    rows = [json.loads(line) for line in (folder / "mine.jsonl").read_text().splitlines()]
    rows[0]["category"] = "intrinsic_ambiguity"
    (folder / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for words in (("run", "--out", "mine.jsonl"), ("mine.jsonl",)):
        done = run("errors", *words, "--format", "json", cwd=folder)
        assert (done.returncode, done.stderr) == (0, "")
        found = json.loads(done.stdout)
        assert (found["n"], found["corrected"], found["corrected_as_proposed"]) == (2, 1, 0)
        assert found["categories"]["intrinsic_ambiguity"] == {"n": 1, "share": 0.5}
    lines = run("errors", "mine.jsonl", cwd=folder).stdout.splitlines()
    assert "People gave 1 of the categories." in " ".join(lines)
    assert [line.split() for line in lines if line.endswith("%")] == [
        ["intrinsic_ambiguity", "1", "50.00", "%"],
        ["not", "sorted", "1", "50.00", "%"],
    ]


def test_a_language_model_proposes(folder: Path) -> None:
    with ChaosServer(answer=lambda _: "satisfactory_subset") as server:
        model = f"llm:m(base_url={server.base_url},max_attempts=1)"
        words = ("errors", "run", "--proposer", model, "--out", "llm.jsonl", "--format", "json")
        done = run(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["categories"]["satisfactory_subset"]["n"] == 2
    rows = [json.loads(line) for line in (folder / "llm.jsonl").read_text().splitlines()]
    rows[0]["category"] = "satisfactory_subset"
    (folder / "llm.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = run("errors", "llm.jsonl", cwd=folder).stdout
    assert "People gave 1 of the categories, 1 as proposed." in " ".join(told.split())
    with ChaosServer(lambda *_: "401") as server:
        model = f"llm:n(base_url={server.base_url},max_attempts=1)"
        lost = run("errors", "run", "--proposer", model, "--out", "none.jsonl", cwd=folder)
    assert (lost.returncode, lost.stdout) == (4, "")
    assert KEY not in lost.stderr
    assert not (folder / "none.jsonl").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("errors", "none"), "expected the directory of a finished run"),
        (("errors", "in.jsonl"), "in.jsonl, line 1"),
        (("errors", "run", "--max-f1", "2"), "from 0 to 1"),
        (("errors", "run", "--level", "2"), "--level 2.0: expected a number between 0 and 1"),
        (("errors", "in.jsonl", "--seed", "2"), "--seed is only for a run"),
        (("errors", "run", "--out", "no/such/file"), "does not exist"),
        (("errors", "run", "--out", "run"), "is a folder"),
        (("errors", "run", "--out", "in.jsonl"), "The file was not changed"),
        (("errors", "in.jsonl", "--proposer", "llm:m"), "--proposer is only for a run"),
        (("errors", "run", "--proposer", "people"), "unknown proposer 'people'"),
    ],
)
def test_what_cannot_be_meant(folder: Path, words: tuple[str, ...], told: str) -> None:
    before = (folder / "in.jsonl").read_bytes()
    done = run(*words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "in.jsonl").read_bytes() == before
