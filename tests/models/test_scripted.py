"""A model that answers from a script."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from trueground.errors import InputError
from trueground.models.base import ChatModel, ChatRequest, Message, Reply, TokenUsage
from trueground.models.options import ModelOptions
from trueground.models.registry import make_model
from trueground.models.replay import ScriptedModel
from trueground.types import Status


def script(folder: Path, *lines: dict[str, Any] | str) -> Path:
    file = folder / "replies.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return file


def reply(model: ChatModel, *texts: str) -> Reply:
    messages = tuple(Message("user", text) for text in texts)
    return asyncio.run(model.generate(ChatRequest(messages)))


def test_the_first_line_that_fits_answers(tmp_path: Path) -> None:
    file = script(
        tmp_path,
        {"contains": ["ferry", "Lume"], "reply": {"answer": "séven", "n": 1}},
        "",
        {"contains": ["ferry"], "reply": "both\nlines"},
        {"contains": ["ferry"], "reply": "never"},
    )
    model = ScriptedModel(str(file))
    assert json.loads(reply(model, "The ferry", "to Lume").text) == {"answer": "séven", "n": 1}
    assert reply(model, "The ferry") == Reply(
        text="both\nlines", finish_reason="stop", model=f"fake:@{file}", usage=TokenUsage(2, 2)
    )


def test_no_line_fits(tmp_path: Path) -> None:
    file = script(tmp_path, {"contains": ["ferry"], "reply": "x"})
    found = reply(ScriptedModel(str(file)), "Ferry")
    assert found.status is Status.ERROR
    assert found.error == (
        f"no line of {file} matches these messages; add a line with texts in them"
    )


def test_a_line_without_texts_always_fits(tmp_path: Path) -> None:
    model = ScriptedModel(str(script(tmp_path, {"contains": [], "reply": ""})))
    assert reply(model, "anything").text == ""
    assert reply(model, "anything").status is None


def test_is_reached_by_name_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, {"contains": [], "reply": "hey"})
    monkeypatch.chdir(tmp_path)
    model = make_model("fake:@replies.jsonl", ModelOptions())
    assert isinstance(model, ScriptedModel)
    assert not model.cacheable
    assert reply(model, "?").text == "hey"


def test_signature_is_that_of_the_content(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abc"]
    for folder, text in zip(folders, ("x", "x", "y"), strict=True):
        folder.mkdir()
        script(folder, {"contains": [], "reply": text})
    one, same, other = (ScriptedModel(str(folder / "replies.jsonl")) for folder in folders)
    assert one.signature == same.signature != other.signature


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"contains": ["a"]', "Expected"),
        ('["a"]', "got `array`"),
        ('{"reply": "x"}', "missing required field `contains`"),
        ('{"contains": "a", "reply": "x"}', "`$.contains`"),
        ('{"contains": ["a"], "reply": 5}', "`$.reply`"),
        ('{"contains": ["a"], "reply": "x", "role": "writer"}', "unknown field `role`"),
        ('{"contains": ["\\ud800"], "reply": "x"}', "Expected"),
        ("[" * 100_000, "Expected"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, found: str) -> None:
    file = script(tmp_path, {"contains": [], "reply": "x"}, line)
    with pytest.raises(InputError) as error:
        ScriptedModel(str(file))
    assert str(error.value).startswith(f"{file}, line 2: ")
    assert found in str(error.value)


def test_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.jsonl"):
        with pytest.raises(InputError, match=r"fake:@.* can't be read .*contains"):
            ScriptedModel(str(path))
    with pytest.raises(InputError, match="is empty"):
        ScriptedModel(str(script(tmp_path)))
    (tmp_path / "bytes").write_bytes(b'{"contains": ["\xff"], "reply": ""}\n')
    with pytest.raises(InputError, match="line 1"):
        ScriptedModel(str(tmp_path / "bytes"))
