"""Sweeps over prompts: one run for each, and how far the score depends on the wording."""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np
import pytest
from tests.evaluate.questions_file import write_questions
from tests.wings.papers.builders.scripted_server import scripted
from typer.testing import CliRunner, Result

from trueground.cli.app import app
from trueground.errors import TruegroundError
from trueground.stats.paired_tests import Paired
from trueground.studies.comparing import compare
from trueground.studies.prompts import _beyond_chance, prompt_studies

METRIC = "phrase_match_strict"
TEXTS = {
    "short.txt": "Context: {context}\nQuestion: {question}\nOne word:",
    "polite.txt": "Dear model, read {context}\nand answer {question}",
}


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.chdir(tmp_path)
    write_questions(tmp_path / "q.jsonl", 40)
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)


def asked(*more: str, noise: float = 0.0) -> Result:
    """The sweep against a server that answers by question and prompt, with some noise."""
    dice = random.Random(1)

    def answer(body: dict[str, Any]) -> str:
        text = body["messages"][-1]["content"]
        i = int(text.partition("tower [")[2].partition("]")[0])
        right = i % 4 == 0 if text.startswith("Dear") else i % 2 == 0
        return "unknown" if right != (dice.random() < noise) else f"Bob built {i}."

    with scripted(answer) as server:
        words = ["run", "faitheval/unanswerable", "--model", "m", "--base-url", server.url]
        words += ["--data", "q.jsonl", "--out", "sweep", "--no-progress", *more]
        return CliRunner().invoke(app, words)


def prompts(*names: str) -> list[str]:
    return [word for name in names for word in ("--prompt", name)]


def values(name: str) -> list[float]:
    with (Path("sweep") / name / "items.jsonl").open() as file:
        return [json.loads(line)["scores"][METRIC] for line in file]


def test_each_prompt_is_a_run_and_the_runs_are_compared() -> None:
    done = asked(*prompts("default", "short.txt", "polite.txt"), "--format", "json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert [Path(run["out"]).name for run in told["runs"]] == ["default", "short", "polite"]
    (study,) = told["prompts"]
    assert [p["name"] for p in study["prompts"]] == ["default", "short.txt", "polite.txt"]
    found = study["metrics"][METRIC]
    means = [0.5, 0.5, 0.25]
    assert found["means"] == pytest.approx(means)
    assert (found["min"], found["max"], found["range"]) == (0.25, 0.5, 0.25)
    assert found["sd"] == pytest.approx(stdev(means))
    assert (found["flips"]["flipped"], found["flips"]["questions"]) == (10, 40)
    assert found["flips"]["two_differ"] == pytest.approx(2 / 3 * 0.25)
    assert found["flips"]["two_differ_same"] is None
    first, second = found["differences"]
    assert (first["difference"], first["higher"], first["lower"]) == (0.0, 0, 0)
    a, b = (np.array([values(name)]).T for name in ("default", "polite"))
    (by_hand,) = Paired.compare(a, b)
    assert second["ci"] == pytest.approx(by_hand.ci)
    assert (second["p"], second["test"]) == (by_hand.p, "mcnemar")
    assert by_hand.p is not None
    assert second["p_holm"] == pytest.approx(2 * by_hand.p)


def test_terminal_and_page_tell_it() -> None:
    done = asked(*prompts("default", "polite.txt"))
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "m on faitheval/unanswerable, 2 prompts, 40 questions" in text
    assert "unanswerable, " in text
    assert "prompt=polite" in text
    assert "phrase_match_strict: the means span 0.2500, from the prompt with the highest" in text
    assert "10 of 40 questions (25%) change their verdict from prompt to prompt" in text
    assert "polite.txt differs from default" in text
    page = Path("sweep/leaderboard.html").read_text()
    assert "Sensitivity to the prompt" in page
    assert "m, prompt polite.txt" in page
    again = CliRunner().invoke(app, ["report", "sweep", "--out", "again.html"])
    assert again.exit_code == 0, again.output
    assert "2 prompts, 40 questions" in again.stdout
    assert Path("again.html").read_text() == page


def test_a_single_prompt_is_no_sweep() -> None:
    done = asked(*prompts("short.txt"), "--format", "json")
    assert json.loads(done.stdout)["metrics"][METRIC]["mean"] == 0.5
    assert not Path("sweep/leaderboard.html").exists()


def test_a_slip_is_refused_before_anything_is_asked() -> None:
    for names, words in (
        (("short.txt", "short.txt"), "--prompt short.txt is given twice"),
        (("short.txt", "missing.txt"), "missing.txt can't be read"),
    ):
        done = asked(*prompts(*names))
        assert isinstance(done.exception, TruegroundError)
        assert (done.exception.exit_code, words in str(done.exception)) == (2, True)
        assert not Path("sweep").exists()


def test_files_of_one_name_are_told_apart() -> None:
    Path("other").mkdir()
    Path("other/short.txt").write_text(TEXTS["polite.txt"])
    done = asked(*prompts("short.txt", "other/short.txt"), "--format", "json")
    (study,) = json.loads(done.stdout)["prompts"]
    names = [p["name"] for p in study["prompts"]]
    assert all(name.startswith("short.txt ") for name in names)
    assert len(set(names)) == 2


def test_with_repeats_noise_stands_beside_the_prompts() -> None:
    done = asked(*prompts("default", "polite.txt"), "--repeats", "6", noise=0.2)
    assert done.exit_code == 0, done.output
    (study,) = prompt_studies([Path("sweep/default"), Path("sweep/polite")])
    assert (study["questions"], study["repeats"]) == (40, 6)
    flips = study["metrics"][METRIC]["flips"]
    # 2 · 0.2 · 0.8 by noise alone; a quarter of the questions has the other answer.
    assert flips["two_differ_same"] == pytest.approx(0.32, abs=0.06)
    assert flips["two_differ"] == pytest.approx(0.75 * 0.32 + 0.25 * 0.68, abs=0.07)
    assert "under one and the same" in " ".join(done.stdout.split())
    page = Path("sweep/leaderboard.html").read_text()
    assert "under one and the same" in page


def test_what_chance_adds_is_taken_off() -> None:
    """Four equal prompts: the spread beyond chance is about 0; with an effect it comes back."""
    rng = np.random.default_rng(2)
    base = rng.random((500, 1))
    equal = [_beyond_chance(base + rng.normal(0, 1, (500, 4))) or 0.0 for _ in range(300)]
    assert np.mean(np.square(equal)) < 0.5 * 1 / 500
    effect = np.array([0.0, 0.1, 0.2, 0.3])
    found = [_beyond_chance(base + effect + rng.normal(0, 1, (500, 4))) or 0.0 for _ in range(300)]
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(stdev(effect), rel=0.1)


def test_runs_with_repeats_are_compared_by_their_questions(tmp_path: Path) -> None:
    """Three answers against two, and against one: the question counts once, by its mean."""
    asked("--repeats", "3", noise=0.3)
    Path("sweep").rename("a")
    asked("--repeats", "2", "--no-cache", noise=0.3)
    Path("sweep").rename("b")
    found = compare(["a", "b"], metrics=[METRIC])
    (pair,) = found.pairs
    result = pair.metrics[METRIC].result
    means = []
    for run, repeats in (("a", 3), ("b", 2)):
        items = map(json.loads, (Path(run) / "items.jsonl").read_text().splitlines())
        scores = np.array([item["scores"][METRIC] for item in items]).reshape(-1, repeats)
        means.append(scores.mean(axis=1))
    assert (pair.items, result.n) == (40, 40)
    assert (result.mean_a, result.mean_b) == pytest.approx(tuple(m.mean() for m in means))
    (by_hand,) = Paired.compare(means[0][:, None], means[1][:, None])
    assert result.difference == pytest.approx(by_hand.difference)
    assert any("a has 3 answers to each question" in note for note in pair.notes)
    change = next(iter((*pair.metrics[METRIC].changes_lost, *pair.metrics[METRIC].changes_won)))
    assert "#" not in change.id
    assert change.link_a == f"report.html#item-{change.id}%231"
