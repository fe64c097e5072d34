"""The files that docs/instruct-qa.md shows are questions and documents that can be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import trueground as tg

DOCS = Path(__file__).parents[2] / "docs" / "instruct-qa.md"


def test_the_example_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    text = DOCS.read_text(encoding="utf-8")
    folder = tmp_path / "docs"
    folder.mkdir()
    shown = re.findall(r"^`docs/(\S+)`\n\n```markdown\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(shown) == 2
    for name, content in shown:
        (folder / name).write_text(content, encoding="utf-8")
    [rows] = re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    data = tmp_path / "questions.jsonl"
    data.write_text(rows, encoding="utf-8")
    means = {}
    for setting in ("retrieved", "gold", "closed-book"):
        done = tg.run(
            "instruct-qa/questions",
            model="fake:Dimas Trask founded it in 1100.",
            data=data,
            out=tmp_path / setting,
            options={"corpus": str(folder), "setting": setting},
        )
        means[setting] = done.summary["recall_strict"].mean
        if setting != "closed-book":
            assert done.summary["p_g"].scored == 3
    assert means == dict.fromkeys(means, pytest.approx(2 / 3))
