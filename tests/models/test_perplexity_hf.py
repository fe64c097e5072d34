"""Log-probabilities from tiny local models, against plain torch."""

# ruff: noqa: E402 - without the extra nothing below can be imported
from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
pytest.importorskip("transformers", reason="the hf extra is not installed")

import transformers
from tests.models import tiny_models as tiny

from trueground.errors import InputError, UsageError
from trueground.models import hf
from trueground.models.hf_generate import Loaded
from trueground.models.options import ModelOptions
from trueground.models.perplexity import UnscoredText, perplexity
from trueground.models.registry import make_scorer

TEXTS = ("Who?", "The ferry leaves at seven.", "ab", "x" * 99, "Fähre – 渡轮", "a b c d e f " * 9)


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.save_decoder(tmp_path_factory.mktemp("decoder"))


def scored(folder: Path, *texts: str, batch_size: int = 4) -> list[list[float]]:
    async def every() -> list[list[float]]:
        options = ModelOptions(batch_size=batch_size, dtype="float32")
        scorer = make_scorer(f"hf:{folder}", options)
        try:
            return list(await asyncio.gather(*map(scorer.logprobs, texts)))
        finally:
            await scorer.close()

    return asyncio.run(every())


def plainly(folder: Path, text: str) -> list[float]:
    """One text alone, token by token."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokens = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.no_grad():
        shares = torch.log_softmax(model(tokens).logits[0].double(), dim=-1)
    return [float(shares[at, token]) for at, token in enumerate(tokens[0].tolist()[1:])]


def test_numbers_are_those_of_plain_torch(decoder: Path) -> None:
    for text, found in zip(TEXTS, scored(decoder, *TEXTS), strict=True):
        expected = plainly(decoder, text)
        assert len(found) == len(text.encode())  # a token for each byte, after <s>
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert perplexity(found) == pytest.approx(math.exp(-sum(expected) / len(expected)), 1e-5)


def test_the_loss_of_the_library_agrees(decoder: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(decoder)
    tokens = torch.tensor([transformers.AutoTokenizer.from_pretrained(decoder)(TEXTS[1]).input_ids])
    with torch.no_grad():
        loss = float(model(tokens, labels=tokens).loss)
    assert perplexity(scored(decoder, TEXTS[1])[0]) == pytest.approx(math.exp(loss), rel=1e-5)


def test_a_batch_changes_nothing(decoder: Path) -> None:
    alone = scored(decoder, *TEXTS, batch_size=1)
    for together, one in zip(scored(decoder, *TEXTS, batch_size=6), alone, strict=True):
        assert together == pytest.approx(one, rel=1e-5, abs=1e-5)


def test_a_text_up_to_the_window_and_not_one_token_more(decoder: Path) -> None:
    (found,) = scored(decoder, "x" * (tiny.WINDOW - 1))
    assert len(found) == tiny.WINDOW - 1
    with pytest.raises(UnscoredText, match="257 tokens; the model's window has 256") as error:
        scored(decoder, "x" * tiny.WINDOW)
    assert error.value.reason == "too_long"


@pytest.mark.parametrize(("text", "reason"), [("", "too_short"), ("a\ud800", "call_failed")])
def test_texts_that_cannot_be_scored(decoder: Path, text: str, reason: str) -> None:
    with pytest.raises(UnscoredText) as error:
        scored(decoder, text)
    assert error.value.reason == reason


def test_a_batch_that_fails_is_halved(decoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = scored(decoder, *TEXTS)
    whole = hf._logprobs

    def small(loaded: Loaded, rows: list[list[int]]) -> list[list[float] | UnscoredText]:
        if len(rows) > 1:
            raise RuntimeError("out of memory")
        return whole(loaded, rows)

    monkeypatch.setattr(hf, "_logprobs", small)
    for found, one in zip(scored(decoder, *TEXTS, batch_size=6), expected, strict=True):
        assert found == pytest.approx(one, rel=1e-5, abs=1e-5)


def test_a_model_that_computes_nan_is_not_believed(tmp_path: Path) -> None:
    folder = tiny.save_decoder(tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.lm_head.weight.fill_(math.nan)
    model.save_pretrained(folder)
    with pytest.raises(UnscoredText, match="computes no probabilities: found NaN"):
        scored(folder, "abc")


def test_encoder_decoders_and_folders_without_a_model(tmp_path: Path) -> None:
    folder = tiny.save_seq2seq(tmp_path / "t5")
    with pytest.raises(UsageError, match="encoder-decoder"):
        scored(folder, "abc")
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError):
        scored(tmp_path / "none", "abc")


def test_an_end_that_the_tokenizer_adds_does_not_count(tmp_path: Path) -> None:
    folder = tiny.save_decoder(tmp_path)
    before = scored(folder, "abc")[0]
    tiny.tiny_tokenizer(ends=True).save_pretrained(folder)
    (found,) = scored(folder, "abc")
    assert len(found) == 2  # nothing stands before the first letter now
    assert len(before) == 3


def test_signature_is_that_of_the_content(decoder: Path, tmp_path: Path) -> None:
    other = tiny.save_decoder(tmp_path, seed=1)
    one, two = make_scorer(f"hf:{decoder}"), make_scorer(f"hf:{other}")
    half = make_scorer(f"hf:{decoder}", ModelOptions(dtype="bfloat16"))
    assert len({one.signature, two.signature, half.signature}) == 3
    assert str(decoder) not in one.signature
