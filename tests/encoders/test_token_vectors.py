"""States of tokens, and texts in more than two parts, against transformers called directly."""

# ruff: noqa: E402 - without the extras nothing below can be imported
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")

from tests.encoders import tiny
from tests.encoders.tiny_roberta import WINDOW, tiny_roberta

from trueground.encoders.base import EncoderOptions
from trueground.encoders.models import CrossEncoder, LayerEncoder
from trueground.errors import InputError, UsageError

OPTIONS = EncoderOptions(cache=False)
TEXTS = ("the city", "", "Zürich, 1952: city? the", "city " * 9, "it is the capital of the river")


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.tiny_text_encoder(tmp_path_factory.mktemp("bert") / "model")


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_roberta(tmp_path_factory.mktemp("roberta") / "model")


def plain(folder: Path, layer: int, text: str) -> Any:
    """Unit vectors of one text by the library alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
    found = states.hidden_states[layer][0].numpy()
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.mark.parametrize("layer", [1, 2])
def test_states_are_those_of_the_layer(bert: Path, layer: int) -> None:
    encoder = LayerEncoder(bert, layer, OPTIONS)
    for text, found in zip(TEXTS, encoder.states(TEXTS), strict=True):
        np.testing.assert_allclose(found.vectors, plain(bert, layer, text), atol=2e-6)
        assert found.special.tolist() == [True] + [False] * (len(found.special) - 2) + [True]
    assert encoder.lengths(TEXTS) == [len(found.special) - 2 for found in encoder.states(TEXTS)]
    encoder.close()
    assert len(encoder.states(["the city"])[0].vectors) == 4


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_a_tokenizer_by_bytes_reads_a_space_first(roberta: Path, layer: int) -> None:
    """As the bert-score library does; so the first word has the tokens of any other."""
    encoder = LayerEncoder(roberta, layer, OPTIONS)
    for text, found in zip(TEXTS, encoder.states(TEXTS), strict=True):
        np.testing.assert_allclose(found.vectors, plain(roberta, layer, " " + text), atol=2e-6)
    (found,) = encoder.states(["city the city"])
    assert found.ends.tolist() == [0, 4, 8, 13, 0]
    assert encoder.lengths(["city the city"]) == [3]
    assert (encoder.window, encoder.specials) == (WINDOW, 2)


def test_states_do_not_depend_on_other_texts(roberta: Path) -> None:
    encoder = LayerEncoder(roberta, 2, OPTIONS)
    texts = [word * n for n in range(1, 24) for word in ("the ", "river city ", "é ")]
    together = encoder.states(texts)
    backwards = encoder.states(texts[::-1])[::-1]
    for text, one, other in zip(texts, together, backwards, strict=True):
        assert one.vectors.tobytes() == other.vectors.tobytes()
        assert one.vectors.tobytes() == encoder.states([text])[0].vectors.tobytes()
    assert encoder.states([]) == []


def test_where_tokens_end(bert: Path) -> None:
    (found,) = LayerEncoder(bert, 1, OPTIONS).states(["the city [SEP] é"])
    #      [CLS]  the city [  s  e  p  ]  é  [SEP]
    assert found.ends.tolist() == [0, 3, 8, 10, 11, 12, 13, 14, 16, 0]


def test_layer_encoder_invalid_layer_or_file_raises(bert: Path, tmp_path: Path) -> None:
    for layer in (0, 3):
        with pytest.raises(UsageError, match=f"layer {layer}; .* has 2, so expected 1 to 2"):
            LayerEncoder(bert, layer, OPTIONS)
    with pytest.raises(UsageError, match="an ONNX file gives the states of its last layer only"):
        LayerEncoder(bert, 1, EncoderOptions(backend="onnx"))
    with pytest.raises(InputError, match="is no bi-encoder"):
        LayerEncoder(tiny.tiny_causal(tmp_path / "causal"), 1, OPTIONS)
    one, two = LayerEncoder(bert, 1, OPTIONS), LayerEncoder(bert, 2, OPTIONS)
    assert one.signature != two.signature
    assert one.signature.endswith("+layer1")


PARTS = (
    ("the river", "a river in the city", "what is it ?"),
    ("paris [SEP] rome", "rome", "which city ?"),
    ("old", "new", "", "team"),
    ("the river", "a river in the city"),
)


def _asked(folder: Path, parts: Sequence[str]) -> Any:
    """Logits of one input whose ids are put together by hand."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokens = [tokenizer.tokenize(part.replace("[SEP]", "[ sep ]")) for part in parts]
    ids = [tokenizer.cls_token_id]
    types = [0]
    for number, part in enumerate(tokens):
        ids += [*tokenizer.convert_tokens_to_ids(part), tokenizer.sep_token_id]
        types += [min(number, 1)] * (len(part) + 1)
    with torch.inference_mode():
        given = {"input_ids": torch.tensor([ids]), "token_type_ids": torch.tensor([types])}
        return model(**given).logits[0].numpy()


@pytest.mark.parametrize("backend", ["torch", "onnx"])
def test_more_than_two_texts(tmp_path: Path, backend: str) -> None:
    if backend == "onnx":
        pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
        pytest.importorskip("onnx", reason="onnx, which exports the model, is not installed")
    folder = tiny.tiny_pair_scorer(tmp_path, ("LABEL_0", "LABEL_1"), onnx=backend == "onnx")
    scorer = CrossEncoder(folder, EncoderOptions(backend=backend, cache=False))
    found = scorer.scores(PARTS)
    for parts, logits in zip(PARTS, found, strict=True):
        np.testing.assert_allclose(logits, _asked(folder, parts), atol=5e-6)
    assert found[::-1].tobytes() == scorer.scores(PARTS[::-1]).tobytes()


def test_token_vectors_second_text_is_cut_off_at_window(tmp_path: Path) -> None:
    folder = tiny.tiny_pair_scorer(tmp_path, ("LABEL_0", "LABEL_1"))
    scorer = CrossEncoder(folder, EncoderOptions(cache=False, window=16))
    long = "river " * 40
    # 16 tokens: [CLS] the city [SEP] 11 of the river [SEP]
    expected = scorer.scores([("the city", "river " * 11)])
    assert scorer.scores([("the city", long, "who ?")]).tobytes() == expected.tobytes()
    assert scorer.scores([("the city", long)]).tobytes() == expected.tobytes()
    with pytest.raises(InputError, match="leaves no room for the second"):
        scorer.scores([(long, "city", "who ?")])
