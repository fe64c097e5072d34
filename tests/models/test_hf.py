"""Local Hugging Face models: tiny ones with random weights, loaded through the real code."""

# ruff: noqa: E402 - without the extra nothing below can be imported
from __future__ import annotations

import asyncio
import json
import math
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
pytest.importorskip("transformers", reason="the hf extra is not installed")

from tests.models import tiny_models as tiny

from trueground.errors import InputError, UsageError
from trueground.models import hf
from trueground.models.base import ChatRequest, Message, Params, Reply
from trueground.models.hf import HFModel
from trueground.models.hf_generate import Loaded
from trueground.models.options import ModelOptions
from trueground.types import Status

P = Params
TEXTS = ("Who?", "What is the capital, then?", "a", "b c d e f g h", "long " * 20, "W", "x" * 99)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_decoder(tmp_path_factory.mktemp("decoder"))


@pytest.fixture(scope="module")
def seq2seq(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_seq2seq(tmp_path_factory.mktemp("seq2seq"))


@pytest.fixture(scope="module")
def parrot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Says "Paris;no" whatever it is asked."""
    return tiny.save_parrot(tmp_path_factory.mktemp("parrot"), "Paris;no")


@pytest.fixture(params=["decoder", "seq2seq"])
def folder(request: pytest.FixtureRequest) -> Path:
    path: Path = request.getfixturevalue(request.param)
    return path


def asked(text: str, params: P = P(max_tokens=12), draw: int = 0) -> ChatRequest:  # noqa: B008
    return ChatRequest((Message("system", "Be brief."), Message("user", text)), params, draw)


def replies(
    folder: Path, requests: Sequence[ChatRequest], alone: bool = False, **options: Any
) -> list[Reply]:
    """The replies to requests made at once, or one after the other."""

    async def gather() -> list[Reply]:
        model = HFModel(str(folder), ModelOptions(**options))
        try:
            if alone:
                return [await model.generate(request) for request in requests]
            return await asyncio.gather(*map(model.generate, requests))
        finally:
            await model.close()

    return asyncio.run(gather())


def one(folder: Path, request: ChatRequest, **options: Any) -> Reply:
    (reply,) = replies(folder, [request], **options)
    return reply


@pytest.mark.parametrize(
    "params",
    [P(max_tokens=12), P(max_tokens=12, temperature=0.9, top_p=0.9, top_k=20, seed=7)],
    ids=["greedy", "sampled"],
)
def test_a_batch_changes_no_answer(folder: Path, params: P) -> None:
    requests = [asked(text, params) for text in TEXTS]
    alone = replies(folder, requests, alone=True, dtype="float32")
    assert replies(folder, requests, dtype="float32", batch_size=3) == alone
    assert len({reply.text for reply in alone}) > 4
    assert all(reply.usage.tokens_out <= 12 for reply in alone)


def test_draws_differ_and_repeat(decoder: Path) -> None:
    params = P(max_tokens=12, temperature=1.0, seed=3)
    requests = [asked("Who?", params, draw) for draw in range(6)]
    first = replies(decoder, requests)
    assert len({reply.text for reply in first}) == 6
    assert replies(decoder, requests, batch_size=2) == first
    seeds = [asked("Who?", P(max_tokens=12, temperature=1.0, seed=seed)) for seed in (4, 5, 3)]
    *others, same = [reply.text for reply in replies(decoder, seeds)]
    assert same == first[0].text
    assert not {reply.text for reply in first} & set(others)


def test_without_a_seed_draws_are_fresh(decoder: Path) -> None:
    request = asked("Who?", P(max_tokens=12, temperature=1.0))
    assert len({reply.text for reply in replies(decoder, [request] * 4)}) > 1


def test_draws_follow_the_model(seq2seq: Path) -> None:
    """The frequency of each first token is its probability at that temperature."""
    draws = 1_200
    params = P(max_tokens=1, temperature=1.5, top_k=4, seed=0)
    requests = [asked("Who?", params, draw) for draw in range(draws)]
    counts = Counter(r.text for r in replies(seq2seq, requests, batch_size=100))
    (first,) = one(seq2seq, asked("Who?", P(max_tokens=1, logprobs=300))).logprobs or []
    # Unreadable bytes are never said, and share one key here.
    likely = sorted((v, t) for t, v in first.top.items() if t in tiny.PRINTABLE or t == "</s>")
    weights = {text: math.exp(value / 1.5) for value, text in likely[-4:]}
    assert set(counts) <= {text.replace("</s>", "") for text in weights}
    for text, weight in weights.items():
        share = weight / sum(weights.values())
        error = 4 * math.sqrt(share * (1 - share) / draws)
        assert counts[text.replace("</s>", "")] / draws == pytest.approx(share, abs=error)


def test_an_answer_ends_where_the_model_ends_it(parrot: Path) -> None:
    reply = one(parrot, asked("Where?", P(max_tokens=50, logprobs=2)))
    assert (reply.text, reply.finish_reason, reply.status) == ("Paris;no", "stop", None)
    assert reply.usage.tokens_out == len("Paris;no") + 1
    assert reply.usage.tokens_in == len("[system] Be brief.\n[user] Where?\n[assistant] ")
    assert reply.model == HFModel(str(parrot), ModelOptions()).signature
    first = (reply.logprobs or [])[0]
    assert first.token == "P"
    assert first.logprob == max(first.top.values()) < 0
    assert len(reply.logprobs or []) == reply.usage.tokens_out


def test_the_token_limit_cuts(parrot: Path) -> None:
    reply = one(parrot, asked("Where?", P(max_tokens=3)))
    assert (reply.text, reply.finish_reason) == ("Par", "length")
    assert reply.status is Status.TRUNCATED
    whole = one(parrot, asked("Where?", P(max_tokens=9)))
    assert (whole.text, whole.status) == ("Paris;no", None)


def test_256_tokens_without_a_limit(seq2seq: Path) -> None:
    assert one(seq2seq, asked("Who?", P())).usage.tokens_out == 256


def test_stop_strings_are_cut_off(parrot: Path) -> None:
    stopped, *others = replies(
        parrot, [asked("?", P(max_tokens=50, stop=(";", "is;")))] * 3, batch_size=3
    )
    assert (stopped.text, stopped.finish_reason, stopped.status) == ("Par", "stop", None)
    assert stopped.usage.tokens_out == len("Paris;")
    assert others == [stopped, stopped]


def test_a_stop_string_of_one_row_leaves_the_others(decoder: Path) -> None:
    whole = replies(decoder, [asked(text) for text in TEXTS])
    stop = whole[0].text[3]
    cut = replies(decoder, [asked(text, P(max_tokens=12, stop=(stop,))) for text in TEXTS])
    assert [r.text for r in cut] == [r.text.split(stop)[0] for r in whole]
    assert len({r.usage.tokens_out for r in cut}) > 1
    assert cut[0].finish_reason == "stop"


def test_min_tokens_put_the_end_off(parrot: Path) -> None:
    reply = one(parrot, asked("Where?", P(min_tokens=20, max_tokens=30)))
    assert reply.text.startswith("Paris;no")
    assert reply.usage.tokens_out >= 20


def test_a_prompt_beyond_the_window_is_too_long(decoder: Path) -> None:
    fits, long = replies(decoder, [asked("x"), asked("x" * 300)])
    assert fits.status in (None, Status.TRUNCATED)
    assert long.status is Status.TOO_LONG
    assert long.error is not None
    assert "339 tokens" in long.error
    assert f"window has {tiny.WINDOW}" in long.error
    assert one(decoder, asked("x", P(max_tokens=250))).status is Status.TOO_LONG


def test_relative_positions_have_no_window(seq2seq: Path) -> None:
    reply = one(seq2seq, asked("x" * 1_000))
    assert reply.usage.tokens_in > 1_000
    assert reply.status is not Status.TOO_LONG


def test_thoughts_are_kept_apart(tmp_path: Path) -> None:
    tiny.save_parrot(tmp_path, "mu</think>OK", "\n", tiny.THINKING_TEMPLATE)
    reply = one(tmp_path, asked("Where?", P(max_tokens=50)))
    assert (reply.text, reply.reasoning) == ("OK", "mu")
    cut = one(tmp_path, asked("Where?", P(max_tokens=5)))
    assert (cut.text, cut.reasoning, cut.status) == ("", "mu</t", Status.TRUNCATED)


@pytest.mark.parametrize("template", [tiny.NO_SYSTEM_TEMPLATE, tiny.SILENT_TEMPLATE])
def test_a_template_without_system_gets_it_in_the_question(tmp_path: Path, template: str) -> None:
    tiny.save_decoder(tmp_path, template)
    with_system = one(tmp_path, asked("Who?"))
    merged = Message("user", "Be brief.\n\nWho?")
    assert with_system == one(tmp_path, ChatRequest((merged,), P(max_tokens=12)))


def test_template_that_rejects_all_messages_is_reported(tmp_path: Path) -> None:
    tiny.save_decoder(tmp_path, "{{ raise_exception('only tool calls') }}")
    with pytest.raises(UsageError, match=r"only tool calls.*--wrapper"):
        one(tmp_path, asked("Who?"))


def test_template_options_reach_the_template(tmp_path: Path) -> None:
    tiny.save_decoder(tmp_path, tiny.CHAT_TEMPLATE + "{{ mood }}")
    plain = one(tmp_path, asked("Who?"))
    extra = {"chat_template_kwargs": {"mood": "gloomy"}}
    by_call = one(tmp_path, asked("Who?", P(max_tokens=12, extra=extra)))
    assert by_call.usage.tokens_in == plain.usage.tokens_in + len("gloomy")
    assert one(tmp_path, asked("Who?"), extra=extra).text == by_call.text


def test_a_wrapper_lays_the_messages_out(decoder: Path, seq2seq: Path, tmp_path: Path) -> None:
    wrapper = tmp_path / "wrapper.txt"
    wrapper.write_text("Q: {user} A:")
    # One token more for <s>, or </s>.
    tokens = len("Q: Be brief.\n\nWho? A:") + 1
    assert one(decoder, asked("Who?"), wrapper=wrapper).usage.tokens_in == tokens
    assert one(seq2seq, asked("Who?"), wrapper=wrapper).usage.tokens_in == tokens
    wrapper.write_text("<s>Q: {user} A:")
    assert one(decoder, asked("Who?"), wrapper=wrapper).usage.tokens_in == tokens


def test_extra_parameters_reach_the_library(decoder: Path) -> None:
    plain = one(decoder, asked("Who?"))
    changed = one(decoder, asked("Who?", P(max_tokens=12, extra={"repetition_penalty": 3.0})))
    assert changed.text != plain.text
    with pytest.raises(UsageError, match="color"):
        replies(decoder, [asked(t, P(max_tokens=12, extra={"color": 1})) for t in TEXTS])


def test_failure_in_batch_fails_one_request(decoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory that holds one row of at most 60 tokens, or several short ones."""
    load = hf.load

    def with_little_memory(*args: Any) -> Loaded:
        loaded = load(*args)
        forward = loaded.model.forward

        def limited(*args: Any, **kwargs: Any) -> Any:
            if kwargs["input_ids"].numel() > 120:
                raise torch.OutOfMemoryError("no memory for this")
            return forward(*args, **kwargs)

        loaded.model.forward = limited
        return loaded

    requests = [asked(text) for text in (*TEXTS[:4], "y" * 90)]
    free = replies(decoder, requests)
    monkeypatch.setattr("trueground.models.hf.load", with_little_memory)
    tight = replies(decoder, requests)
    assert tight[:4] == free[:4]
    assert tight[4].status is Status.ERROR
    assert tight[4].error == "OutOfMemoryError: no memory for this"


def test_parameters_are_not_mixed(parrot: Path) -> None:
    limits = [3, 5, 3, 50, 5, 3, 7]
    requests = [asked("Where?", P(max_tokens=limit)) for limit in limits]
    texts = [reply.text for reply in replies(parrot, requests, batch_size=2)]
    assert texts == ["Paris;no"[:limit] for limit in limits]


def test_the_event_loop_stays_free(decoder: Path) -> None:
    async def count_meanwhile() -> int:
        model = HFModel(str(decoder), ModelOptions())
        call = asyncio.create_task(model.generate(asked("Who?", P(max_tokens=100))))
        beats = 0
        while not call.done():
            await asyncio.sleep(0.001)
            beats += 1
        await model.close()
        return beats

    assert asyncio.run(count_meanwhile()) > 10


def test_closing_ends_an_answer_early(seq2seq: Path) -> None:
    async def give_up() -> float:
        model = HFModel(str(seq2seq), ModelOptions())
        await model.generate(asked("Who?"))
        calls = [
            asyncio.create_task(model.generate(asked(text, P(max_tokens=100_000))))
            for text in TEXTS * 3
        ]
        await asyncio.sleep(0.2)
        start = asyncio.get_running_loop().time()
        await model.close()
        took = asyncio.get_running_loop().time() - start
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        return took

    assert asyncio.run(give_up()) < 5


def test_a_call_given_up_disturbs_no_other(decoder: Path) -> None:
    async def give_one_up() -> list[Any]:
        model = HFModel(str(decoder), ModelOptions(batch_size=2))
        calls = [asyncio.create_task(model.generate(asked(text))) for text in TEXTS]
        await asyncio.sleep(0)
        calls[5].cancel()
        ends = await asyncio.gather(*calls, return_exceptions=True)
        await model.close()
        return ends

    ends = asyncio.run(give_one_up())
    assert isinstance(ends.pop(5), asyncio.CancelledError)
    others = [asked(text) for text in (*TEXTS[:5], *TEXTS[6:])]
    assert ends == replies(decoder, others)


def test_signature_is_that_of_the_content(decoder: Path, tmp_path: Path) -> None:
    def signature(folder: Path, **options: Any) -> str:
        return HFModel(str(folder), ModelOptions(**options)).signature

    copy = tmp_path / "elsewhere" / decoder.name
    shutil.copytree(decoder, copy)
    plain = signature(decoder)
    assert plain == signature(copy, batch_size=3, device_map="cpu")
    assert str(tmp_path) not in plain
    wrapper = tmp_path / "wrapper.txt"
    wrapper.write_text("{user}")
    changed = [
        signature(copy, dtype="float16"),
        signature(copy, wrapper=wrapper),
        signature(copy, extra={"repetition_penalty": 1.1}),
    ]
    tiny.save_decoder(copy, seed=1)  # the same names and sizes
    changed.append(signature(copy))
    assert len({plain, *changed}) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int3"}, "dtype 'int3'; expected one of auto, float32"),
        ({"batch_size": 0}, "--batch-size 0: expected a whole number, 1 or more"),
        ({"wrapper": Path("nowhere.txt")}, "nowhere.txt can't be read"),
        pytest.param(
            {"quantize": "4bit"},
            "4-bit quantization needs an NVIDIA GPU",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU"),
        ),
    ],
)
def test_options_that_cannot_be_had(options: dict[str, Any], message: str) -> None:
    """They are told before the model is looked for."""
    with pytest.raises((InputError, UsageError), match=message):
        HFModel("no/such/model", ModelOptions(**options))


def test_a_folder_that_is_no_model(tmp_path: Path, decoder: Path) -> None:
    def error(name: str) -> str:
        with pytest.raises(InputError) as caught:
            HFModel(name, ModelOptions())
        return str(caught.value)

    assert "the folder doesn't exist" in error("/nowhere/model")
    assert "the folder doesn't exist" in error("./model")
    assert "config.json can't be read" in error(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    assert "config.json can't be read" in error(str(tmp_path))
    assert "is a file" in error(str(tmp_path / "config.json"))
    shutil.copy(decoder / "config.json", tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"not to be unpickled")
    assert "has no *.safetensors" in error(str(tmp_path))


def test_weights_that_are_broken_or_not_whole(decoder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    copy = tmp_path / "model"
    shutil.copytree(decoder, copy)
    weights = copy / "model.safetensors"
    tensors = load_file(weights)
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, weights, metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"lack 1 parts .*layers\.1\.mlp\.up_proj"):
        one(copy, asked("Who?"))
    weights.write_bytes(b"\0" * 100)
    with pytest.raises(InputError, match=r"can.t be loaded"):
        one(copy, asked("Who?"))


def test_code_of_a_model_is_not_run(decoder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "model"
    shutil.copytree(decoder, copy)
    config = json.loads((copy / "config.json").read_text())
    config["model_type"] = "own_kind"
    config["auto_map"] = {"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model"}
    (copy / "config.json").write_text(json.dumps(config))
    ran = tmp_path / "ran"
    (copy / "code.py").write_text(f"open({str(ran)!r}, 'w').close()")
    with pytest.raises(UsageError, match="--trust-remote-code"):
        one(copy, asked("Who?"))
    assert not ran.exists()
