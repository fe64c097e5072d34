"""The files that docs/instruct-qa.md shows are questions and documents that can be run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import trueground as tg
from trueground.cli.app import app

DOCS = Path(__file__).parents[3] / "docs" / "instruct-qa.md"


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page; the files that it shows lie in the working directory."""
    monkeypatch.chdir(tmp_path)
    text = DOCS.read_text(encoding="utf-8")
    (tmp_path / "docs").mkdir()
    shown = re.findall(r"^`(docs/\S+)`\n\n```markdown\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(shown) == 3
    for name, content in shown:
        Path(name).write_text(content, encoding="utf-8")
    [rows] = re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    Path("questions.jsonl").write_text(rows, encoding="utf-8")
    return text


@pytest.mark.usefixtures("text")
def test_the_example_of_the_docs(tmp_path: Path) -> None:
    means = {}
    for setting in ("retrieved", "gold", "closed-book"):
        done = tg.run(
            "instruct-qa/questions",
            model="fake:Dimas Trask founded it in 1100.",
            data="questions.jsonl",
            out=tmp_path / setting,
            options={"corpus": "docs", "setting": setting},
        )
        means[setting] = done.summary["recall_strict"].mean
        if setting != "closed-book":
            assert done.summary["p_g"].scored == 3
    assert means == dict.fromkeys(means, pytest.approx(2 / 3))


def test_the_command_about_declining(text: str) -> None:
    """Every question has gold passages and an irrelevant one; the note is as the page says."""
    [command] = re.findall(r"^trueground (run .*\n.*--setting irrelevant.*)$", text, re.MULTILINE)
    words = shlex.split(command.replace("\\\n", " ").replace("gpt-4o", '"fake:I don\'t know."'))
    done = CliRunner().invoke(app, [*words, "--format", "json", "--out", "out"])
    assert done.exit_code == 0, done.output
    gold, irrelevant = json.loads(done.stdout)
    for found, metric in ((gold, "p_g"), (irrelevant, "p_ir")):
        assert (found["metrics"][metric]["mean"], found["metrics"][metric]["n"]) == (1.0, 3)
    told = re.findall(r"(\d) of 3 questions: too few passages were found", done.stderr)
    assert [f"{count} of 3 questions is asked with a drawn passage" in text for count in told] == [
        True
    ]
    assert "left out" not in done.stderr
