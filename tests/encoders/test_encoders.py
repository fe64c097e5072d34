"""Encoders on both backends: equal to one plain call for each text, whatever is asked beside it."""

# ruff: noqa: E402 - without the extras nothing below can be imported
from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")
pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
pytest.importorskip("onnx", reason="onnx, which exports the models of this test, is not installed")

from tests.encoders import tiny

from trueground.encoders.base import EncoderOptions, Floats
from trueground.encoders.models import BiEncoder, CrossEncoder, Encoder, FirstTokenModel
from trueground.errors import InputError, UsageError

NLI = ("contradiction", "entailment", "neutral")
WORDS = ("The city", "an old film,", "who won?", "river", "(1952)", "no; yes", "Zürich", "new team")
RUNS = (("torch", "float32"), ("onnx", "float32"), ("torch", "int8"))
Asked = Callable[[Encoder, Sequence[str]], Floats]


def some_texts(number: int = 60, seed: int = 0) -> list[str]:
    """Of all lengths, also empty, beyond the window, and exactly as long as a tile."""
    draw = random.Random(seed)
    made = [" ".join(draw.choices(WORDS, k=draw.randint(0, 24))) for _ in range(number)]
    exact = ["city " * (length - 2) for length in (16, 32, 48, 128)]
    return [*made, *exact, "", "river " * 300]


TEXTS = some_texts()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    top = tmp_path_factory.mktemp("tiny")
    return {
        "text": tiny.tiny_text_encoder(top / "text", onnx=True),
        "cross": tiny.tiny_pair_scorer(top / "cross", onnx=True),
        "nli": tiny.tiny_pair_scorer(top / "nli", NLI, onnx=True, seed=1),
        "words": tiny.tiny_text_to_text(top / "words", onnx=True),
    }


def made(folders: dict[str, Path], kind: str, backend: str, dtype: str = "float32") -> Any:
    make = {"text": BiEncoder, "words": FirstTokenModel}.get(kind, CrossEncoder)
    options = EncoderOptions(backend=backend, dtype=dtype, cache=False)
    return make(str(folders[kind]), options)


def numbers(encoder: Any, kind: str, texts: Sequence[str]) -> Floats:
    if kind == "text":
        found: Floats = encoder.encode(texts)
    elif kind == "words":
        found = encoder.first_token(texts, ("1", "0"))
    else:
        found = encoder.scores([(f"fact {text[:20]}", text) for text in texts])
    return found


def plainly(folders: dict[str, Path], kind: str, texts: Sequence[str]) -> Floats:
    """One call of `transformers` for each text, without padding."""
    folder = folders[kind]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    auto = {"text": "AutoModel", "words": "AutoModelForSeq2SeqLM"}
    name = auto.get(kind, "AutoModelForSequenceClassification")
    model = getattr(transformers, name).from_pretrained(folder).eval()
    rows = []
    for text in texts:
        pair = kind in ("cross", "nli")
        given = tokenizer(
            # As lists: an empty second text given alone would be taken for none.
            *(([f"fact {text[:20]}"], [text]) if pair else ([text],)),
            truncation="only_second" if pair else True,
            max_length=tiny.WINDOW,
            return_token_type_ids=kind != "words",
            return_tensors="pt",
        )
        with torch.inference_mode():
            if kind == "text":
                states = model(**given).last_hidden_state[0].mean(dim=0)
                rows.append((states / states.norm()).numpy())
            elif kind == "words":
                start = torch.zeros(1, 1, dtype=torch.long)
                logits = model(**given, decoder_input_ids=start).logits[0, 0]
                tokens = tokenizer.convert_tokens_to_ids(["1", "0"])
                rows.append(logits[tokens].numpy())
            else:
                rows.append(model(**given).logits[0].numpy())
    return np.stack(rows)


@pytest.mark.parametrize("backend", ["torch", "onnx"])
@pytest.mark.parametrize("kind", ["text", "cross", "nli", "words"])
def test_as_one_plain_call_for_each_text(kind: str, backend: str, folders: dict[str, Path]) -> None:
    found = numbers(made(folders, kind, backend), kind, TEXTS)
    expected = plainly(folders, kind, TEXTS)
    assert found.shape == expected.shape
    assert found.dtype == np.float32
    # Float32 throughout; ONNX runtime has its own exponential, and the weights here are large.
    tolerance = (2e-5 if backend == "torch" else 1e-4) * max(1.0, float(np.abs(expected).max()))
    assert np.abs(found - expected).max() < tolerance
    assert np.ptp(found, axis=0).min() > 1e-3


@pytest.mark.parametrize(("backend", "dtype"), RUNS)
@pytest.mark.parametrize("kind", ["text", "cross", "nli", "words"])
def test_to_the_bit_whatever_is_asked_beside(
    kind: str, backend: str, dtype: str, folders: dict[str, Path]
) -> None:
    encoder = made(folders, kind, backend, dtype)
    together = numbers(encoder, kind, TEXTS)
    order = random.Random(1).sample(range(len(TEXTS)), len(TEXTS))
    for size in (1, 3, len(TEXTS)):
        apart = made(folders, kind, backend, dtype)
        again = np.empty_like(together)
        for start in range(0, len(order), size):
            part = order[start : start + size]
            again[part] = numbers(apart, kind, [TEXTS[place] for place in part])
        assert np.array_equal(again, together), size


@pytest.mark.parametrize(("backend", "dtype"), RUNS)
@pytest.mark.parametrize("kind", ["text", "cross", "words"])
def test_to_the_bit_with_any_number_of_threads(
    kind: str,
    backend: str,
    dtype: str,
    folders: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for threads in ("1", "4"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        encoder = made(folders, kind, backend, dtype)
        found.append(numbers(encoder, kind, TEXTS))
        tiles = [t for t in threading.enumerate() if t.name.startswith("trueground-tiles")]
        assert len(tiles) == int(threads)
        encoder.close()
    assert np.array_equal(*found)


def test_texts_that_are_written_like_special_tokens(folders: dict[str, Path]) -> None:
    """A text cannot end itself, begin another one, or hide a part as padding."""
    encoder = made(folders, "text", "torch")
    whole, split, words = encoder.encode(["city [SEP] river [PAD]", "city", "city river"])
    assert encoder.lengths(["city [SEP] river [PAD]", "[ SEP ]"]) == [12, 5]
    assert not np.array_equal(whole, split)
    assert not np.array_equal(whole, words)
    rows = encoder.tokenizer.singles(["city [SEP] river [CLS] [PAD]"])
    assert [list(row.ids).count(3) for row in rows] == [1]
    assert not {0, 2} & set(rows[0].ids[1:])


def test_prompts_in_parts(folders: dict[str, Path]) -> None:
    """Between parts stands the token that ends a text, as if it were written there."""
    asked = made(folders, "words", "torch")
    (row,) = asked.tokenizer.prompts([("the city", "river")])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["words"])
    assert row.ids.tolist() == tokenizer("the city[SEP]river")["input_ids"]
    assert asked.prompt_lengths([("the city", "river"), "the city", ""]) == [5, 3, 1]
    found = asked.first_token([("the city", "river"), "the city river", "the city[SEP]river"], "01")
    assert len(np.unique(found, axis=0)) == 3


def test_int8_is_near_to_float32(folders: dict[str, Path]) -> None:
    exact = made(folders, "text", "torch").encode(TEXTS)
    rough = made(folders, "text", "torch", "int8").encode(TEXTS)
    cosines = (exact * rough).sum(axis=1)
    assert 0.97 < cosines.min() < 0.999999


def test_encoder_attributes_describe_model(folders: dict[str, Path]) -> None:
    encoder = made(folders, "text", "torch")
    assert (encoder.window, encoder.specials) == (128, 2)
    assert encoder.name == str(folders["text"])
    assert encoder.lengths(["the city", "", "Zurich", "river " * 300]) == [2, 0, 6, 300]
    assert np.allclose(np.linalg.norm(encoder.encode(TEXTS), axis=1), 1)
    assert encoder.encode([]).shape == (0, 32)
    scorer = made(folders, "nli", "onnx")
    assert (scorer.labels, scorer.specials) == (NLI, 3)
    assert scorer.scores([]).shape == (0, 3)
    assert made(folders, "cross", "onnx").labels == ("score",)
    asked = made(folders, "words", "torch")
    assert asked.specials == 1
    assert asked.first_token([], ["1"]).shape == (0, 1)


def test_signatures_tell_weights_and_arithmetic(folders: dict[str, Path], tmp_path: Path) -> None:
    def signature(folder: Path, **options: Any) -> str:
        return BiEncoder(folder, EncoderOptions(**options)).signature

    mine = folders["text"]
    other = tiny.tiny_text_encoder(tmp_path / "text", seed=7)
    pooled = tiny.tiny_text_encoder(tmp_path / "cls" / "text", seed=7, pooling="cls")
    signatures = [
        signature(mine),
        signature(mine, backend="torch"),
        signature(mine, dtype="int8"),
        signature(mine, dtype="float16"),
        signature(mine, window=64),
        signature(other),
        signature(pooled),
    ]
    assert len(set(signatures)) == len(signatures)
    assert signature(mine) == signatures[0]
    assert "/onnx/model.onnx+onnxruntime-" in signatures[0]
    assert re.search(r"\+torch-\d+\.\d+\+int8\+128", signatures[2])
    assert str(tmp_path) not in "".join(signatures)


def test_pairs_are_cut_in_the_second_text_only(folders: dict[str, Path]) -> None:
    scorer = made(folders, "cross", "torch")
    fact = "the city"
    fits = "river " * (128 - 3 - 2)
    whole, longer, other = scorer.scores(
        [(fact, fits), (fact, fits + "film"), (fact, "film " + fits)]
    )
    assert whole == longer
    assert whole != other
    with pytest.raises(InputError, match="first text of a pair has 200 tokens"):
        scorer.scores([("city " * 200, "river")])


def test_a_window_of_the_users_own(folders: dict[str, Path]) -> None:
    narrow = BiEncoder(folders["text"], EncoderOptions(window=10, cache=False))
    short, long = narrow.encode(["city " * 8, "city " * 8 + "river"])
    assert np.array_equal(short, long)
    with pytest.raises(UsageError, match="128 positions"):
        BiEncoder(folders["text"], EncoderOptions(window=129))
    # A T5 has no last position.
    wide = FirstTokenModel(folders["words"], EncoderOptions(window=300, cache=False))
    prompts = ["city " * 200, "city " * 199 + "river"]
    first, second = wide.first_token(prompts, ["yes"])
    assert first != second


@pytest.mark.parametrize(("pooling", "first"), [("cls", True), ("max", False)])
def test_poolings_of_the_folder(pooling: str, first: bool, tmp_path: Path) -> None:
    folder = tiny.tiny_text_encoder(tmp_path, pooling=pooling)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = BiEncoder(folder, EncoderOptions(cache=False)).encode(WORDS)
    for text, vector in zip(WORDS, found, strict=True):
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        expected = states[0] if first else states.max(dim=0).values
        assert np.abs(vector - (expected / expected.norm()).numpy()).max() < 1e-5


def test_words_must_be_one_token(folders: dict[str, Path]) -> None:
    asked = made(folders, "words", "torch")
    assert asked.first_token(["the city"], ["yes", "no", "true"]).shape == (1, 3)
    with pytest.raises(UsageError, match="no token of its own for the word 'maybe'"):
        asked.first_token(["the city"], ["yes", "maybe"])
    with pytest.raises(UsageError, match="'嗯'"):
        asked.first_token([], ["嗯"])


def test_close_gives_memory_back_and_asking_again_loads(folders: dict[str, Path]) -> None:
    for backend in ("torch", "onnx"):
        encoder = made(folders, "text", backend)
        before = encoder.encode(WORDS)
        encoder.close()
        encoder.close()
        assert np.array_equal(encoder.encode(WORDS), before)


def test_encoder_cached_results_need_no_model(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(a, b) for a in WORDS for b in WORDS]

    def all_kinds() -> list[Floats]:
        options = EncoderOptions(backend="torch")
        encoder = BiEncoder(folders["text"], options)
        scorer = CrossEncoder(folders["nli"], options)
        asked = FirstTokenModel(folders["words"], options)
        found = [
            encoder.encode(TEXTS),
            scorer.scores(pairs),
            asked.first_token(TEXTS, ["1", "0"]),
        ]
        for part in (encoder, scorer, asked):
            part.close()
        return found

    first = all_kinds()

    def broken(*_given: Any) -> Any:
        raise AssertionError("the model was asked")

    monkeypatch.setattr("trueground.encoders.backends.TorchBackend.run", broken)
    for before, again in zip(first, all_kinds(), strict=True):
        assert np.array_equal(before, again)
