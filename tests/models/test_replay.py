"""Answers from a file of responses."""

from __future__ import annotations

import asyncio
import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from trueground.errors import InputError
from trueground.models.base import (
    ChatRequest,
    Message,
    Reply,
    TokenLogprob,
    TokenUsage,
)
from trueground.models.replay import ReplayModel
from trueground.types import Status


def model_of(tmp_path: Path, *lines: dict[str, Any] | str) -> ReplayModel:
    file = tmp_path / "responses.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return ReplayModel(str(file))


def asked(text: str, draw: int = 0) -> ChatRequest:
    return ChatRequest((Message("user", text),), draw=draw)


def test_replies_are_whole(tmp_path: Path) -> None:
    line = {
        "id": "q1",
        "response": "Paris — “yes”\u2028",
        "finish_reason": "stop",
        "usage": {"tokens_in": 5, "tokens_out": 2, "cached": 1},
        "reasoning": "hm",
        "refusal": True,
        "model": "m-1",
        "latency_s": 0.2,
        "error": None,
        "logprobs": [{"token": "P", "logprob": -0.5, "top": {"Q": -0.9}}],
        "whatever": {"else": [1]},
    }
    assert model_of(tmp_path, line).reply_for("q1") == Reply(
        text="Paris — “yes”\u2028",
        finish_reason="stop",
        reasoning="hm",
        refusal=True,
        model="m-1",
        usage=TokenUsage(5, 2, 1),
        logprobs=[TokenLogprob("P", -0.5, {"Q": -0.9})],
    )


def test_replay_of_failed_call_fails(tmp_path: Path) -> None:
    model = model_of(
        tmp_path,
        {"id": "a", "response": None, "error": "HTTP 500"},
        {"id": "b", "response": None},
        {"id": "c", "response": None, "status": "too_long", "error": "9 tokens, window 8"},
        {"id": "d", "response": "Par", "finish_reason": "length"},
        {"id": "e", "response": "Par", "status": "truncated"},
        {"id": "f", "response": "Par", "truncated": True},
        {"id": "g", "response": ""},
        {"id": "h", "response": None, "error": "no route", "finish_reason": "unreachable"},
    )
    replies = [model.reply_for(id_) for id_ in "abcdefgh"]
    assert [(r.status, r.error, r.text) for r in replies if r] == [
        (Status.ERROR, "HTTP 500", ""),
        (Status.ERROR, "the response on file is null", ""),
        (Status.TOO_LONG, "9 tokens, window 8", ""),
        (Status.TRUNCATED, None, "Par"),
        (Status.TRUNCATED, None, "Par"),
        (Status.TRUNCATED, None, "Par"),
        (None, None, ""),
        (Status.ERROR, "no route", ""),
    ]
    # The file itself was reached.
    assert [r.finish_reason for r in replies if r] == [*[None] * 3, "length", *[None] * 4]


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        ("", None, None),  # a file of one's own, which says that this is the answer
        ("", "stop", None),
        ("", "tool_calls", Status.ERROR),
        ("Let me look.", "function_call", Status.ERROR),
        ("", "content_filter", Status.ERROR),
        ("Par", "content_filter", None),
        ("", "unknown", Status.ERROR),
        ("", "max_tokens", Status.TRUNCATED),
        ("Par", "MAX_TOKENS", Status.TRUNCATED),
    ],
)
def test_replay_of_reply_without_answer_is_an_error(
    tmp_path: Path, text: str, finish: str | None, status: Status | None
) -> None:
    model = model_of(tmp_path, {"id": "a", "response": text, "finish_reason": finish})
    reply = model.reply_for("a")
    assert reply is not None
    assert reply.status is status
    assert (reply.error is None) == (status is not Status.ERROR)


def test_the_last_line_of_an_id_counts(tmp_path: Path) -> None:
    model = model_of(
        tmp_path,
        {"id": 7, "response": None, "error": "HTTP 500"},
        "",
        {"id": "8", "response": "other"},
        {"id": "7", "response": "again"},
    )
    assert (model.reply_for("7") or Reply()).text == "again"
    assert model.reply_for("9") is None


def test_prompts_find_their_replies(tmp_path: Path) -> None:
    sha = asked("Where?").prompt_sha256
    model = model_of(
        tmp_path,
        {"id": "a", "prompt_sha256": sha, "response": "here"},
        {"prompt_sha256": sha, "response": "there"},
    )

    async def texts() -> list[Reply]:
        return [await model.generate(r) for r in (asked("Where?"), asked("?"), asked("Where?", 1))]

    found, none, second_draw = asyncio.run(texts())
    assert found.text == "there"
    assert none == second_draw
    assert none.status is Status.ERROR
    assert none.error == f"no response for this item in {tmp_path / 'responses.jsonl'}"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"id": "a"', "truncated. Expected one JSON object per line"),
        ("[1]", "Expected `object`, got `array`"),
        ('{"id": "a"}', "missing required field `response`"),
        ('{"id": "a", "response": 5}', "`$.response`"),
        ('{"id": [], "response": ""}', "`$.id`"),
        ('{"response": "a"}', "neither `id` nor `prompt_sha256`"),
        ('{"id": "a", "response": "", "status": "scored"}', "expected truncated, too_long, error"),
        ('{"id": "a", "response": "", "status": "fine"}', "`$.status`"),
        ('{"id": "a", "response": "", "x": ' + "[" * 100_000, "Expected one JSON object per line"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, found: str) -> None:
    with pytest.raises(InputError) as error:
        model_of(tmp_path, {"id": "x", "response": "a"}, line)
    assert str(error.value).startswith(f"{tmp_path / 'responses.jsonl'}, line 2: ")
    assert found in str(error.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_bytes(b'{"id": "a", "response": "\xff\xfe"}\n')
    with pytest.raises(InputError, match=r"r\.jsonl, line 1"):
        ReplayModel(str(file))


def test_a_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text('{"id": "a", "response": "b"}\n{"id": "c", "resp')
    with pytest.raises(InputError, match=r"line 2: .*may have been cut off"):
        ReplayModel(str(file))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.jsonl"):
        with pytest.raises(InputError, match=r"replay:.* cannot be read .*responses\.jsonl"):
            ReplayModel(str(path))


def test_signature_is_that_of_the_content(tmp_path: Path) -> None:
    one = model_of(tmp_path, {"id": "a", "response": "b"})
    (tmp_path / "elsewhere").mkdir()
    same = model_of(tmp_path / "elsewhere", {"id": "a", "response": "b"})
    other = model_of(tmp_path, {"id": "a", "response": "c"})
    assert one.signature == same.signature != other.signature
    (tmp_path / "elsewhere" / "responses.jsonl").write_text("{")
    with pytest.raises(InputError, match="was changed while it was replayed"):
        same.reply_for("a")


def test_texts_are_not_kept_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "large.jsonl"
    with file.open("w") as out:
        for number in range(20_000):
            out.write(json.dumps({"id": number, "response": f"{number} " + "x" * 2_000}) + "\n")
    tracemalloc.start()
    model = ReplayModel(str(file))
    replies = [(model.reply_for(str(n)) or Reply()).text.split()[0] for n in range(0, 20_000, 999)]
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert replies == [str(n) for n in range(0, 20_000, 999)]
    assert used < 10_000_000 < file.stat().st_size


ROWS = [{"id_": 1, "question": "?", "answer": "Paris", "prompt": "p", "indices": [3]}]
OUTPUTS = {"1": {"input": "p", "output": "Paris"}, "Q2": {"input": "q", "output": ""}}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("value", [ROWS, OUTPUTS, [{"id": "1", "response": "Paris"}], ROWS[0]])
def test_answers_as_their_authors_publish_them(
    value: Any, indent: int | None, tmp_path: Path
) -> None:
    file = tmp_path / "results.json"
    if isinstance(value, dict) and "answer" in value:
        indent = None  # a row of JSON lines
    file.write_text(json.dumps(value, indent=indent) + "\n")
    model = ReplayModel(str(file))
    assert model.reply_for("1") == Reply(text="Paris")
    assert model.reply_for("Q2") == (Reply(text="") if value is OUTPUTS else None)
    before = model.signature
    file.write_text(file.read_text() + " ")
    assert ReplayModel(str(file)).signature != before


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([{"id": 1}], "entry 1: Object missing required field `response`"),
        ([{"answer": "a"}], "entry 1: neither `id` nor `prompt_sha256`"),
        ({"Q0": {"output": 5}}, "Expected `str | null`"),
        ([3], "Expected `object`, got `int`"),
    ],
)
def test_replay_without_answer_has_reason(value: Any, found: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(value))
    with pytest.raises(InputError, match=re.escape(found)):
        ReplayModel(str(file))
