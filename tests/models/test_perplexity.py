"""Log-probabilities of texts: words, endpoints in every form and mood, the cache."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, strategies as st
from tests.loopback import LoopbackServer

from trueground.errors import UnreachableError, UsageError
from trueground.models.endpoint_scorer import EndpointScorer
from trueground.models.options import ModelOptions
from trueground.models.perplexity import UnscoredText, WordScorer, perplexity
from trueground.models.registry import make_scorer

TEXT = "The ferry leaves at seven – every day."
KEY = "sk-perplexity-never-to-be-seen"
Body = dict[str, Any]
Answer = Body | tuple[int, Body] | str


def tokens_of(text: str) -> list[str]:
    return re.findall(r"\s?\S+|\s+", text)


def numbers_of(text: str) -> list[float]:
    """What the server's model holds likely, all tokens but the first."""
    return [-0.25 * len(token) for token in tokens_of(text)[1:]]


class LogprobServer(LoopbackServer):
    """Answers plain completions as `answer(body)` says; keeps every body in `calls`."""

    def __init__(self, answer: Callable[[Body], Answer]) -> None:
        super().__init__()
        self.calls: list[Body] = []
        self._answer = answer

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/completions", self._complete)
        return app

    async def _complete(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        body = await request.json()
        self.calls.append(body)
        found = self._answer(body)
        if isinstance(found, str):
            return web.Response(text=found, content_type="application/json")
        status, value = found if isinstance(found, tuple) else (200, found)
        return web.Response(status=status, text=json.dumps(value), content_type="application/json")


def completion(**choice: Any) -> Body:
    return {"model": "m", "choices": [{"index": 0, **choice}]}


def refusing(words: str) -> tuple[int, Body]:
    return 400, {"error": {"message": words, "type": "invalid_request_error"}}


def echo(body: Body, generated: str = " on", begin: str = "") -> Answer:
    """The prompt sent back, and a token more where one is asked for."""
    if not body.get("echo"):
        return refusing("this server only repeats prompts")
    text = body["prompt"]
    more = [generated] if body["max_tokens"] else []
    tokens = [*([begin] if begin else []), *tokens_of(text), *more]
    first = [-0.25 * len(tokens_of(text)[0])] if begin else []
    numbers = [None, *first, *numbers_of(text), *([-0.01] * len(more))]
    logprobs = {"tokens": tokens, "token_logprobs": numbers, "top_logprobs": None}
    return completion(text=text + "".join(more), logprobs=logprobs)


def no_zero(body: Body) -> Answer:
    if body["max_tokens"] == 0:
        return refusing("max_tokens must be at least 1, got 0")
    return echo(body)


def prompt_logprobs(body: Body, beside: bool = False) -> Answer:
    """vLLM's own form; `beside` adds the likeliest token to each entry."""
    if "prompt_logprobs" not in body:
        return refusing("echo is not supported")
    rows: list[Any] = [None]
    for at, (token, number) in enumerate(
        zip(tokens_of(body["prompt"])[1:], numbers_of(body["prompt"]), strict=True)
    ):
        row = {str(at + 7): {"logprob": number, "rank": 1 + at % 3, "decoded_token": token}}
        if beside and at % 3:
            best = {"3": {"logprob": -0.001, "rank": 1, "decoded_token": "x"}}
            row = best | row if at % 2 else row | best
        rows.append(row)
    return completion(text=" on", logprobs=None, prompt_logprobs=rows)


def odd(change: Callable[[Body], Any]) -> Callable[[Body], Answer]:
    """An echo whose logprobs are changed."""

    def answer(body: Body) -> Answer:
        made = echo(body)
        if isinstance(made, dict):
            change(made["choices"][0])
        return made

    return answer


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def ask(server: LogprobServer, *texts: str, attempts: int = 1) -> list[list[float] | Exception]:
    """The numbers of texts, one after the other; what was raised where there are none."""

    async def every() -> list[list[float] | Exception]:
        scorer = make_scorer("m", ModelOptions(base_url=server.base_url, max_attempts=attempts))
        found: list[list[float] | Exception] = []
        try:
            for text in texts:
                try:
                    found.append(await scorer.logprobs(text))
                except (UnscoredText, UsageError, UnreachableError) as error:
                    found.append(error)
        finally:
            await scorer.close()
        return found

    return asyncio.run(every())


def test_perplexity_by_hand() -> None:
    assert perplexity([math.log(0.5), math.log(0.125)]) == pytest.approx(4.0)
    assert perplexity([0.0, 0.0]) == 1.0
    assert perplexity([-9999.0]) == math.inf
    with pytest.raises(ValueError, match="no log-probabilities"):
        perplexity([])


@given(st.lists(st.floats(-50, 0), min_size=1, max_size=30))
def test_perplexity_lies_between_those_of_its_tokens(numbers: list[float]) -> None:
    found = perplexity(numbers)
    assert math.exp(-max(numbers)) * 0.999 <= found <= math.exp(-min(numbers)) * 1.001
    assert perplexity(numbers * 2) == pytest.approx(found)


def test_words_are_no_language_model() -> None:
    scorer = make_scorer("fake:words")
    assert isinstance(scorer, WordScorer)
    assert asyncio.run(scorer.logprobs("one three\n seventy")) == [-2.5, -3.5]
    with pytest.raises(UnscoredText, match="too_short"):
        asyncio.run(scorer.logprobs(" one "))


@pytest.mark.parametrize(
    ("answer", "calls"),
    [
        (echo, 1),
        (no_zero, 2),
        (prompt_logprobs, 3),
        (lambda body: prompt_logprobs(body, beside=True), 3),
    ],
    ids=["echo", "one token", "prompt_logprobs", "prompt_logprobs and the best"],
)
def test_every_form_gives_the_same(answer: Callable[[Body], Answer], calls: int) -> None:
    with LogprobServer(answer) as server:
        assert ask(server, TEXT, "Two words") == [numbers_of(TEXT), [-1.5]]
    # What the endpoint offers is found out once.
    assert len(server.calls) == calls + 1
    assert {call["prompt"] for call in server.calls} == {TEXT, "Two words"}
    assert all(call["model"] == "m" and call["temperature"] == 0 for call in server.calls)


def test_many_at_once_find_the_form_once() -> None:
    texts = [f"{TEXT} {number}" for number in range(30)]

    async def every(url: str) -> list[list[float]]:
        scorer = EndpointScorer("m", ModelOptions(base_url=url))
        try:
            return list(await asyncio.gather(*map(scorer.logprobs, texts)))
        finally:
            await scorer.close()

    with LogprobServer(prompt_logprobs) as server:
        assert asyncio.run(every(server.base_url)) == [numbers_of(text) for text in texts]
    assert len(server.calls) == 32


def test_a_mark_at_the_beginning_makes_the_first_token_count() -> None:
    with LogprobServer(lambda body: echo(body, begin="<s>")) as server:
        assert ask(server, "Two words") == [[-0.75, -1.5]]


def test_an_endpoint_that_generates_although_nothing_is_asked_for() -> None:
    with LogprobServer(lambda body: echo(body | {"max_tokens": 5})) as server:
        assert ask(server, TEXT) == [numbers_of(TEXT)]


@pytest.mark.parametrize("with_count", [True, False], ids=["count", "offsets"])
def test_tokens_that_do_not_join_to_the_text(with_count: bool) -> None:
    """Halves of characters: the endpoint's own count says where the prompt ends."""

    def answer(body: Body) -> Answer:
        made = echo(body | {"max_tokens": 1})
        if not isinstance(made, dict):
            return made
        logprobs = made["choices"][0]["logprobs"]
        tokens = logprobs["tokens"]
        logprobs["text_offset"] = [sum(map(len, tokens[:at])) for at in range(len(tokens))]
        logprobs["tokens"] = [token.replace("–", "\ufffd\ufffd") for token in tokens]
        made["usage"] = {"prompt_tokens": len(tokens) - 1} if with_count else None
        return made

    with LogprobServer(answer) as server:
        assert ask(server, TEXT) == [numbers_of(TEXT)]


def test_an_endpoint_that_gives_none_is_named_once_and_for_all() -> None:
    with LogprobServer(lambda body: completion(text="hello", logprobs=None)) as server:
        (error,) = ask(server, TEXT)
    assert isinstance(error, UsageError)
    assert "gives no log-probabilities of a prompt" in str(error)
    assert server.base_url in str(error)
    assert "hf:PATH" in str(error)
    assert len(server.calls) == 3


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda c: c.update(logprobs=None), "no logprobs"),
        (lambda c: c.update(logprobs=[1]), "no logprobs"),
        (lambda c: c["logprobs"].update(tokens=[]), "no lists"),
        (lambda c: c["logprobs"].update(tokens=None), "no lists"),
        (lambda c: c["logprobs"].update(tokens=[1] * 8), "is no text"),
        (lambda c: c["logprobs"]["token_logprobs"].pop(), "log-probabilities of them"),
        (lambda c: c["logprobs"]["token_logprobs"].__setitem__(2, None), "NoneType"),
        (lambda c: c["logprobs"]["token_logprobs"].__setitem__(2, "-1"), "found str"),
        (lambda c: c["logprobs"]["token_logprobs"].__setitem__(2, True), "found bool"),
        (lambda c: c["logprobs"]["token_logprobs"].__setitem__(2, math.nan), "NaN"),
        (lambda c: c["logprobs"]["token_logprobs"].__setitem__(2, 0.7), "above 0"),
        (lambda c: c["logprobs"]["token_logprobs"].__setitem__(2, 10**400), "above 0"),
        (lambda c: (c.update(text="on"), c["logprobs"].update(tokens=["o"] * 8)), "not sent back"),
        (lambda c: c["logprobs"].update(tokens=["\ufffd"] * 8), "which tokens"),
    ],
)
def test_odd_numbers_are_never_taken(change: Callable[[Body], Any], found: str) -> None:
    assert len(tokens_of(TEXT)) == 8
    with LogprobServer(odd(change)) as server:
        (error,) = ask(server, TEXT)
        assert isinstance(error, UsageError)
        assert found in str(error)

    # The same from an endpoint that has given good ones fails this text alone.
    def later(body: Body) -> Answer:
        return odd(change)(body) if body["prompt"] == TEXT else echo(body)

    with LogprobServer(later) as server:
        first, error, last = ask(server, "Two words", TEXT, "Two words")
    assert first == last == [-1.5]
    assert isinstance(error, UnscoredText)
    assert (error.reason, error.passing) == ("call_failed", True)
    assert found in error.detail


@pytest.mark.parametrize(
    "rows",
    [
        [],
        {"0": 1},
        [None, None],
        [None, []],
        [None, {}],
        [None, {"1": -0.5}],
        [None, {"1": {"rank": 1}}],
        [None, {"1": {"logprob": "-1"}}],
        [None, {"1": {"logprob": -1}, "2": {"logprob": -2}}],
        [None, {str(n): {"logprob": -1, "rank": n} for n in range(3)}],
    ],
)
def test_odd_prompt_logprobs_are_never_taken(rows: Any) -> None:
    def answer(body: Body) -> Answer:
        return completion(text="", prompt_logprobs=rows)

    with LogprobServer(answer) as server:
        assert isinstance(ask(server, TEXT)[0], UsageError)


def test_minus_infinity_is_a_number() -> None:
    def answer(body: Body) -> Answer:
        return json.dumps(echo(body)).replace("-1.5,", "-Infinity,")

    with LogprobServer(answer) as server:
        assert ask(server, TEXT) == [[-9999.0 if n == -1.5 else n for n in numbers_of(TEXT)]]


@pytest.mark.parametrize(
    "reply", ["", "[]", "{}", '{"choices": []}', '{"choices": [3]}', "[" * 9000]
)
def test_replies_without_an_answer(reply: str) -> None:
    with LogprobServer(lambda body: reply) as server:
        (error,) = ask(server, TEXT)
    assert isinstance(error, UsageError | UnscoredText)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_failures_that_pass_are_tried_again(status: int) -> None:
    def answer(body: Body) -> Answer:
        if len(server.calls) % 2:
            return status, {"error": {"message": "busy"}}
        return echo(body)

    with LogprobServer(answer) as server:
        assert ask(server, TEXT, attempts=3) == [numbers_of(TEXT)]
    assert len(server.calls) == 2


def test_a_failure_that_does_not_pass_fails_one_text() -> None:
    def answer(body: Body) -> Answer:
        return (500, {"error": "broken"}) if body["prompt"] == TEXT else echo(body)

    with LogprobServer(answer) as server:
        first, error, last = ask(server, "Two words", TEXT, "Two words")
    assert first == last == [-1.5]
    assert isinstance(error, UnscoredText)
    assert error.passing
    assert "broken" in error.detail


def test_a_server_that_stumbles_over_a_form_is_asked_in_the_next() -> None:
    def answer(body: Body) -> Answer:
        return (500, {"error": "assert"}) if body.get("echo") else prompt_logprobs(body)

    with LogprobServer(answer) as server:
        assert ask(server, TEXT) == [numbers_of(TEXT)]


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_that_never_works_ends_the_build(status: int) -> None:
    with LogprobServer(lambda body: (status, {"error": "broken"})) as server:
        *first, last = ask(server, "a b", "c d", "e f")
    assert all(isinstance(error, UnscoredText) and error.passing for error in first)
    assert isinstance(last, UnreachableError)
    assert "broken" in str(last)


def test_scorer_without_server_or_access_raises_unreachable() -> None:
    with LogprobServer(lambda body: (401, {"error": {"message": f"no: {KEY}"}})) as server:
        (error,) = ask(server, TEXT)
        assert isinstance(error, UnreachableError)
        assert KEY not in str(error)
    (error,) = ask(server, TEXT)  # it is gone
    assert isinstance(error, UnreachableError)
    assert "can't be reached" in str(error)


def test_a_server_without_plain_completions() -> None:
    with LogprobServer(lambda body: (404, {"detail": "Not Found"})) as server:
        (error,) = ask(server, TEXT)
    assert isinstance(error, UsageError)
    assert "Not Found" in str(error)


def test_texts_that_cannot_be_scored() -> None:
    def answer(body: Body) -> Answer:
        if len(body["prompt"]) > 50:
            return refusing("This model's maximum context length is 9 tokens")
        return echo(body)

    with LogprobServer(answer) as server:
        long, empty, one, half, good = ask(server, "x " * 30, " \n", "one", "a \ud800b", TEXT)
    assert isinstance(long, UnscoredText)
    assert (long.reason, long.passing) == ("too_long", False)
    for error in (empty, one):
        assert isinstance(error, UnscoredText)
        assert error.reason == "too_short"
    assert isinstance(half, UnscoredText)
    assert half.reason == "call_failed"
    assert good == numbers_of(TEXT)


def test_signatures_hold_what_matters_and_no_address() -> None:
    one = make_scorer("m(base_url=http://a:1/v1)")
    same = make_scorer("m", ModelOptions(base_url="http://key:secret@b:1/v1"))
    other = make_scorer("m", ModelOptions(base_url="http://a:1/v1", extra={"add_bos": True}))
    assert one.signature == same.signature != other.signature
    assert "secret" not in repr(same) + same.signature


def test_a_base_url_makes_every_name_one_behind_it() -> None:
    scorer = make_scorer("hf:x(base_url=http://a:1/v1)")
    assert isinstance(scorer, EndpointScorer)
    assert scorer.name == "hf:x"
    assert isinstance(make_scorer("fake:words", ModelOptions(base_url="http://a:1")), WordScorer)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("", "no name"),
        ("  (base_url=http://a/v1)", "no name"),
        ("fake:echo", "can't score perplexities"),
        ("hf:", "can't score perplexities"),
        ("m(base_url=nowhere)", "is invalid"),
        ("m(speed=3)", "speed"),
        ("m(api_key_env=sk-1234-5678)", "name of an environment variable"),
        ("m(max_connections=0)", "max_connections"),
    ],
)
def test_make_scorer_rejects_invalid_names(written: str, found: str) -> None:
    with pytest.raises(UsageError, match=found):
        make_scorer(written)


def test_extra_parameters_that_would_change_what_is_asked() -> None:
    with pytest.raises(UsageError, match="'echo'"):
        make_scorer("m", ModelOptions(base_url="http://a:1/v1", extra={"echo": False}))
