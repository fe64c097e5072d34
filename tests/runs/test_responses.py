"""What was answered is never lost, whatever the end of the file looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueground.errors import InputError
from trueground.models.base import Reply, TokenLogprob, TokenUsage
from trueground.runs.responses import Response, ResponseLog
from trueground.types import Status

PROMPT = "ab" * 32
OTHER = "cd" * 32


def line(id_: str, reply: Reply, prompt: str = PROMPT) -> Response:
    return Response.of(id_, prompt, reply, 0.5, False)


def test_answers_come_back_and_the_later_one_wins(tmp_path: Path) -> None:
    with ResponseLog(tmp_path / "r.jsonl") as log:
        log.append(line("a", Reply(status=Status.ERROR, error="500")))
        log.append(line("b", Reply(text="ünï\n", usage=TokenUsage(3, 4), model="m")))
        log.append(line("a", Reply(text="second")))
    with ResponseLog(tmp_path / "r.jsonl") as log:
        assert len(log) == 2
        assert [r.response for r in log] == ["second", "ünï\n"]
        found = log.get("b")
        assert found is not None
        assert (found.usage, found.model, found.latency_s) == (TokenUsage(3, 4), "m", 0.5)
        assert log.get("c") is None
        assert found.reply() == Reply(text="ünï\n", usage=TokenUsage(3, 4), model="m")


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_torn_end_is_cut_off_and_written_anew(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "r.jsonl"
    with ResponseLog(path) as log:
        log.append(line("a", Reply(text="first")))
        log.append(line("b", Reply(text="second")))
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with ResponseLog(path) as log:
        assert log.has("a", PROMPT)
        assert not log.has("b", PROMPT)
        log.append(line("b", Reply(text="second")))
    assert path.read_bytes() == whole


def test_what_counts_as_answered(tmp_path: Path) -> None:
    with ResponseLog(tmp_path / "r.jsonl") as log:
        log.append(line("fine", Reply(text="")))
        log.append(line("cut", Reply(text="half", status=Status.TRUNCATED)))
        log.append(line("bad", Reply(status=Status.ERROR, error="400")))
        log.append(
            line("gone", Reply(status=Status.ERROR, error="down", finish_reason="unreachable"))
        )
        log.append(
            line("fine", Reply(status=Status.ERROR, error="down", finish_reason="unreachable"))
        )
    with ResponseLog(tmp_path / "r.jsonl") as log:
        assert {i for i in ("fine", "cut", "bad", "gone") if log.has(i, PROMPT)} == {
            "fine",
            "cut",
            "bad",
        }
        assert not log.has("bad", PROMPT, retry_failed=True)
        assert log.has("cut", PROMPT, retry_failed=True)
        assert not log.has("fine", OTHER)
        half = log.get("cut")
        assert half is not None
        assert half.response == "half"
        assert half.status is Status.TRUNCATED


def test_a_line_that_is_no_reply_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"id": "a", "prompt_sha256": "' + PROMPT + '"}\nnonsense\n')
    with pytest.raises(InputError, match=r"r\.jsonl, line 2"):
        ResponseLog(path)
    assert path.read_text().endswith("nonsense\n")
    with ResponseLog(tmp_path / "odd.jsonl") as log:
        log.append(line("a", Reply(text="x")))
    odd = (tmp_path / "odd.jsonl").read_text().replace('"response":"x"', '"response":5')
    (tmp_path / "odd.jsonl").write_text(odd)
    with ResponseLog(tmp_path / "odd.jsonl") as log, pytest.raises(InputError, match="line of 'a'"):
        log.get("a")


def test_what_json_cannot_hold_is_made_fit(tmp_path: Path) -> None:
    odd = Reply(
        text="a\ud800b",
        usage=TokenUsage(10**30, -5),
        logprobs=[TokenLogprob("\ud800", float("-inf"), {"x": float("-inf")})],
    )
    with ResponseLog(tmp_path / "r.jsonl") as log:
        log.append(line("a", odd))
    with ResponseLog(tmp_path / "r.jsonl") as log:
        found = log.get("a")
        assert found is not None
        assert (found.response, found.usage) == ("a?b", TokenUsage())
        assert found.logprobs == [TokenLogprob("?", -9999.0, {"x": -9999.0})]
