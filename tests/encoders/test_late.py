"""Late interaction: against plain transformers, to the bit whatever is beside it."""

# ruff: noqa: E402 - without the extras nothing below can be imported
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")
pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
pytest.importorskip("onnx", reason="onnx, which exports the model of this test, is not installed")

from tests.encoders import tiny

from trueground.encoders.base import EncoderOptions
from trueground.encoders.models import BiEncoder

PAIRS = (
    ("the city was old", "the city of the river was old and new."),
    ("who won the song?", "a team won a song in the year 1. " * 5),
    ("city " * 14, "river"),
    ("[SEP] the river", "the river"),
    ("true " * 300, "false " * 300),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.tiny_text_encoder(tmp_path_factory.mktemp("late"), onnx=True)


def made(folder: Path, backend: str = "torch", dtype: str = "float32") -> BiEncoder:
    return BiEncoder(folder, EncoderOptions(backend=backend, dtype=dtype, cache=False))


@pytest.mark.parametrize("backend", ["torch", "onnx"])
def test_as_plain_calls_for_each_text(backend: str, folder: Path) -> None:
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def states(text: str) -> Any:
        given = tokenizer(text, return_tensors="pt", truncation=True, max_length=tiny.WINDOW)
        with torch.inference_mode():
            return model(given["input_ids"]).last_hidden_state[0].numpy()

    def unit(vectors: Any) -> Any:
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)

    found = made(folder, backend).compare(PAIRS)
    for number in (0, 1, 2, 4):  # transformers reads "[SEP]" as a special token
        claim, evidence = (states(text) for text in PAIRS[number])
        nearest = np.sort((unit(claim[1:-1]) @ unit(evidence[1:-1]).T).max(axis=1))
        fifth = nearest[: max(1, round(len(nearest) / 5))].mean()
        cosine = unit(claim.mean(axis=0)) @ unit(evidence.mean(axis=0))
        expected = (cosine, nearest.mean(), fifth, nearest[0])
        assert found[number] == pytest.approx(expected, abs=1e-5), PAIRS[number]


@pytest.mark.parametrize(
    ("backend", "dtype"), [("torch", "float32"), ("torch", "int8"), ("onnx", "float32")]
)
def test_to_the_bit_whatever_is_asked_beside(backend: str, dtype: str, folder: Path) -> None:
    together = made(folder, backend, dtype).compare(PAIRS)
    apart = made(folder, backend, dtype)
    for pair, numbers in reversed(list(zip(PAIRS, together, strict=True))):
        assert np.array_equal(apart.compare([pair])[0], numbers)


def test_nothing_is_like_nothing(folder: Path) -> None:
    found = made(folder).compare([("", "the river"), ("the river", ""), ("", "")])
    assert not found.any()
    assert made(folder).compare([]).shape == (0, 4)


def test_a_text_is_like_itself(folder: Path) -> None:
    assert made(folder).compare([(PAIRS[0][0], PAIRS[0][0])])[0] == pytest.approx([1] * 4)


def test_computed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = BiEncoder(folder)
    first = kept.compare(PAIRS)
    kept.close()
    again = BiEncoder(folder)
    monkeypatch.setattr(again, "_compare", lambda _pairs: pytest.fail("computed again"))
    assert np.array_equal(again.compare(PAIRS), first)
    again.close()
