"""A judge reads each new sentence beside what it cites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import trueground
from tests.wings.papers.builders.kalma.making import (
    dropped,
    made,
    reasons,
    rows_of,
    said,
    summary,
    unless,
)
from tests.wings.papers.builders.kalma.world import GOOD, graph_file, kind_of, pairs_file, part
from tests.wings.papers.builders.scripted_server import last_text, scripted

from trueground.errors import UsageError
from trueground.wings.papers.builders.build import BuildSettings

NOBODY = "No model has checked that the sentences say what they cite."


def denied(text: str) -> dict[str, str]:
    old, cited = part(text, "PARAGRAPH"), part(text, "CITATION")
    return {"paragraph": f"{old} It is false that {said(text)} {cited} was ever heard of."}


def asked(server: Any, kind: str) -> list[str]:
    texts = map(last_text, server.calls)
    return [text for text in texts if "=== BEGIN" in text and kind_of(text) == kind]


def test_a_sentence_that_denies_its_triple_falls_before_a_question_is_paid(tmp_path: Path) -> None:
    def prior_turns(text: str) -> dict[str, Any]:
        lines = part(text, "SENTENCES").splitlines()
        told = [line for line in lines if "] sentence: " in line]
        good = [n for n, line in enumerate(told, 1) if "It is false" not in line]
        return {"reason": "It denies the fact.", "said": good}

    rules = {("extend", "Mira Quill learned"): denied, ("said", "Mira Quill learned"): prior_turns}
    with scripted(unless(rules)) as server:
        made(tmp_path, server, judge=True)
        assert len(asked(server, "said")) == 3  # one call an item
        assert not any("Mira Quill learned" in text for text in asked(server, "specific"))
        shown = part(next(t for t in asked(server, "said") if "from Inkford" in t), "SENTENCES")
    assert reasons(tmp_path) == {"mira": "not_said"}
    (fell,) = dropped(tmp_path)
    assert "It denies the fact." in fell["detail"]
    assert fell["made"].startswith("It is false that")
    # The sentences of rounds 2 and 3 without brackets, and their triples.
    assert shown.splitlines() == [
        "[1] sentence: Of Anna Harrow the member of is Guild of Lanterns.",
        "[1] fact: Anna Harrow: member of: Guild of Lanterns",
        "[2] sentence: Of Tobias Quill the date of birth is 1661-03-09.",
        "[2] fact: Tobias Quill: date of birth: 1661-03-09",
    ]
    assert NOBODY not in summary(tmp_path)["notices"]


def test_a_judge_that_names_sentences_that_are_not_there_is_not_believed(tmp_path: Path) -> None:
    with scripted(
        unless({("said", "Mira Quill learned"): {"reason": "x", "said": [1, 2, 3]}})
    ) as server:
        made(tmp_path, server, judge=True)
    assert reasons(tmp_path) == {"mira": "wrong_fields"}


@pytest.mark.parametrize(
    ("judge", "options"), [(False, {}), (True, {"require_said": "no"}), (True, {"rounds": "1"})]
)
def test_where_nobody_is_asked_that_is_said(
    tmp_path: Path, judge: bool, options: dict[str, str]
) -> None:
    with scripted(unless({("extend", "Mira Quill learned"): denied})) as server:
        made(tmp_path, server, judge=judge, **options)
        assert not asked(server, "said")
    assert len(rows_of(tmp_path, "specific")) == 3
    assert NOBODY in summary(tmp_path)["notices"]


def test_it_cannot_be_required_without_a_judge(tmp_path: Path) -> None:
    with (
        scripted(unless({})) as server,
        pytest.raises(UsageError, match="--require-said yes needs --judge-model"),
    ):
        made(tmp_path, server, require_said="yes")


def test_the_prompt_can_be_replaced(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("My own words.\n{paragraph}\n{sentences}\n")
    with scripted(unless({})) as server:
        made(tmp_path, server, judge=True, settings=BuildSettings(prompts={"said": own}))
        assert all(text.startswith("My own words.") for text in asked(server, "said"))
    assert reasons(tmp_path) == {}


def test_questions_that_the_judge_doubts_and_that_are_kept_are_told(tmp_path: Path) -> None:
    doubt = {"reason": "no", "authentic": "no", "needed": []}
    with scripted(unless({("judge", "Mira Quill learned"): doubt})) as server:
        made(tmp_path, server, GOOD, judge=True)
        words = "2 of 6 questions were found not authentic by the judge and kept."
        assert words in summary(tmp_path)["notices"]
        assert words in json.loads((tmp_path / "out/manifest.json").read_bytes())["notices"]
        made(tmp_path, server, GOOD, judge=True, require_authentic="yes")
    assert not any("not authentic" in one for one in summary(tmp_path)["notices"])


def test_the_command_line_asks_the_judge_unless_told_otherwise(tmp_path: Path) -> None:
    pairs, graph = pairs_file(tmp_path, GOOD), graph_file(tmp_path)
    with scripted(unless({})) as server:
        words = ["build", "kalma", pairs, "--graph", graph, "--alpha", "1"]
        words += ["--rounds", "2", "--out", tmp_path / "out", "--base-url", server.url]
        words += ["--model", "m", "--judge-model", "j", "--quiet"]
        assert trueground(*words).returncode == 0
        assert len(asked(server, "said")) == 3
        own = [*words, "--require-said", "no", "--out", tmp_path / "no"]
        assert trueground(*own).returncode == 0
        assert len(asked(server, "said")) == 3
