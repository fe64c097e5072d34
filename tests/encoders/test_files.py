"""What cannot be an encoder, or cannot be run so, is told in words before anything is computed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders import tiny

from trueground.encoders.base import EncoderOptions
from trueground.encoders.models import BiEncoder, CrossEncoder, FirstTokenModel
from trueground.encoders.tokens import make_token_counter
from trueground.errors import InputError, UsageError

pytest.importorskip("torch", reason="the hf extra is not installed")
pytest.importorskip("transformers", reason="the hf extra is not installed")
ort = pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
pytest.importorskip("onnx", reason="onnx, which exports the models of this test, is not installed")


Spoil = Callable[[Path], object]
TORCH = EncoderOptions(backend="torch", cache=False)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.tiny_text_encoder(tmp_path_factory.mktemp("sound"), onnx=True)


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "model"
    shutil.copytree(sound, copy)
    return copy


def cut(file: str, size: int) -> Spoil:
    return lambda folder: (folder / file).write_bytes((folder / file).read_bytes()[:size])


def without(file: str) -> Spoil:
    return lambda folder: (folder / file).unlink()


def saying(file: str, **changes: Any) -> Spoil:
    def change(folder: Path) -> None:
        old = json.loads((folder / file).read_text())
        (folder / file).write_text(json.dumps({**old, **changes}))

    return change


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (without("model.safetensors"), "has no *.safetensors"),
        (cut("model.safetensors", 20_000), "is incomplete or damaged. It has"),
        (cut("model.safetensors", 100), "or its header is incomplete"),
        (without("tokenizer.json"), "no tokenizer.json there"),
        (cut("tokenizer.json", 500), "tokenizer.json cannot be read as a tokenizer"),
        (without("config.json"), "config.json can't be read"),
        (cut("config.json", 30), "config.json can't be read"),
        (cut("modules.json", 30), "modules.json cannot be read there"),
        (saying("config.json", architectures=["GPT2LMHeadModel"]), "is no bi-encoder"),
        (saying("1_Pooling/config.json", pooling_mode_lasttoken=True), "says the pooling mean and"),
        (
            lambda f: (f / "modules.json").write_text('[{"type": "models.Dense", "path": "x"}]'),
            "a part 'Dense'",
        ),
    ],
)
def test_a_broken_folder(spoil: Spoil, words: str, folder: Path) -> None:
    spoil(folder)
    with pytest.raises(InputError) as told:
        BiEncoder(folder, TORCH)
    assert words in str(told.value)
    assert str(folder) in str(told.value)


def test_weights_that_lack_a_part_are_not_made_up(folder: Path) -> None:
    saying("config.json", num_hidden_layers=3)(folder)
    with pytest.raises(InputError, match="which would be random numbers"):
        BiEncoder(folder, TORCH).encode(["one"])


def test_config_and_weights_of_different_models(folder: Path) -> None:
    saying("config.json", hidden_size=48)(folder)
    encoder = BiEncoder(folder, EncoderOptions(backend="onnx", cache=False))
    with pytest.raises(InputError, match="The files do not belong together"):
        encoder.encode(["one"])


def test_other_kinds_are_refused(sound: Path, tmp_path: Path) -> None:
    causal = tiny.tiny_causal(tmp_path / "causal")
    words = tiny.tiny_text_to_text(tmp_path / "words")
    for make, wrong in (
        (CrossEncoder, (causal, words, sound)),
        (BiEncoder, (causal, words)),
        (FirstTokenModel, (causal, sound)),
    ):
        for model in wrong:
            with pytest.raises(InputError, match=r"is no .*config\.json says architectures"):
                make(model, TORCH)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "tensorflow"}, "expected one of auto, onnx, torch"),
        ({"dtype": "int4"}, "expected one of float32, int8"),
        ({"device": "tpu"}, "expected one of auto, cpu, cuda"),
        ({"batch_rows": 0}, "expected 1 or more"),
        ({"batch_rows": 16, "device": "cpu"}, "on a CPU the number of rows is fixed"),
        ({"window": 2}, "expected 8 tokens or more"),
        ({"backend": "torch", "file": "model.onnx"}, "names an ONNX file"),
        ({"backend": "onnx", "dtype": "int8"}, "one of: onnx/model.onnx"),
        ({"backend": "onnx", "dtype": "float16"}, "an ONNX file has its own dtype"),
        ({"file": "onnx/model.onnx", "dtype": "int8"}, "computes in float32, and dtype is int8"),
        ({"device": "cuda", "dtype": "int8"}, "int8 runs on the CPU"),
        ({"revision": "main"}, "is a folder; a revision belongs to a name on the Hub"),
        ({"trust_remote_code": True, "backend": "onnx"}, "brings no code"),
    ],
)
def test_encoder_invalid_option_raises(options: dict[str, Any], words: str, sound: Path) -> None:
    with pytest.raises(UsageError) as told:
        BiEncoder(sound, EncoderOptions(**{"cache": False, **options}))
    assert words in str(told.value)


def test_which_backend_is_chosen(folder: Path) -> None:
    assert "+onnxruntime-" in BiEncoder(folder).signature
    assert "+int8+" in BiEncoder(folder, EncoderOptions(dtype="int8")).signature
    shutil.move(folder / "onnx" / "model.onnx", folder / "other.onnx")
    assert "/other.onnx+onnxruntime-" in BiEncoder(folder).signature
    with pytest.raises(InputError, match=r"no none\.onnx there; found other\.onnx"):
        BiEncoder(folder, EncoderOptions(file="none.onnx"))
    (folder / "other.onnx").unlink()
    assert "+torch-" in BiEncoder(folder).signature
    with pytest.raises(InputError, match=r"found no \.onnx file"):
        BiEncoder(folder, EncoderOptions(backend="onnx"))


def test_a_broken_onnx_file(folder: Path) -> None:
    cut("onnx/model.onnx", 5_000)(folder)
    with pytest.raises(InputError, match=r"model\.onnx cannot be loaded"):
        BiEncoder(folder, EncoderOptions(cache=False)).encode(["one"])


def test_a_quantised_onnx_file(folder: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantised = folder / "onnx" / "model_int8.onnx"
    quantize_dynamic(folder / "onnx" / "model.onnx", quantised, weight_type=QuantType.QInt8)
    with pytest.raises(UsageError, match="say dtype=int8"):
        BiEncoder(folder, EncoderOptions(file="onnx/model_int8.onnx"))
    options = EncoderOptions(file="onnx/model_int8.onnx", dtype="int8", cache=False)
    texts = ["the city", "who won the film " * 6, "a river", "old team"]
    together = BiEncoder(folder, options).encode(texts)
    apart = BiEncoder(folder, options)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(apart.encode([text])[0], vector)
    exact = BiEncoder(folder, EncoderOptions(cache=False)).encode(texts)
    assert 0.9 < (exact * together).sum(axis=1).min() < 0.999999


def test_counting_tokens(folder: Path) -> None:
    texts = ["the city", "", "Zurich, river", "the city " * 500]
    for where in (folder, folder / "tokenizer.json", str(folder)):
        assert make_token_counter(where)(texts) == [2, 0, 8, 1000]
    assert make_token_counter(folder)([]) == []
    with pytest.raises(InputError, match="the folder doesn't exist"):
        make_token_counter(folder / "none")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"no tokenizer\.json there"):
        make_token_counter(folder)


def test_older_files_of_a_tokenizer(folder: Path) -> None:
    """vocab.txt alone, as older folders of BERT have it."""
    expected = make_token_counter(folder)(["the city of Zurich"])
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    names = sorted(vocabulary, key=vocabulary.__getitem__)
    (folder / "vocab.txt").write_text("\n".join(names) + "\n")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    assert make_token_counter(folder)(["the city of Zurich"]) == expected
