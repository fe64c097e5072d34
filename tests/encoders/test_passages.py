"""Encoders for retrieval: equal to one plain call of `transformers` for each text or passage."""

# ruff: noqa: E402 - without the extras nothing below can be imported
from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the hf extra is not installed")
transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")
pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
pytest.importorskip("onnx", reason="onnx, which exports the models of this test, is not installed")

from tests.encoders import tiny
from tests.encoders.tiny_retrieval import tiny_contriever, tiny_dpr

from trueground.encoders.base import EncoderOptions, Floats, Pair
from trueground.encoders.models import BiEncoder
from trueground.errors import InputError, UsageError

WORDS = ("The city", "an old film,", "who won?", "river", "(1952)", "no; yes", "Zürich", "[SEP]")
PLAIN = ("the city of film", "who won the first song", "river", "he wrote it in 1952")


def some_passages(number: int = 40, seed: int = 0) -> list[Pair]:
    """Titles and texts of all lengths, also empty, and beyond the window in either and in both."""
    draw = random.Random(seed)

    def words(most: int) -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(0, most)))

    made = [(words(6), words(30)) for _ in range(number)]
    long = "river " * 200
    made += [("", "the city"), ("the city", ""), ("", ""), (long, "the"), ("a", long)]
    return [*made, (long, long), ("city " * 60, "film " * 70)]


PASSAGES = some_passages()


def encoder(folder: Path, **options: Any) -> BiEncoder:
    given: dict[str, Any] = {"backend": "torch", "similarity": "auto", "cache": False}
    return BiEncoder(folder, EncoderOptions(**(given | options)))


def plain_dpr(folder: Path, half: str, passages: list[Pair]) -> Floats:
    """`pooler_output`, the tokens' types all zero, title and text cut off as the library does."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, f"DPR{half}Encoder").from_pretrained(folder).eval()
    rows = []
    for title, text in passages:
        both = (title, text) if title else (text,)
        given = tokenizer(*both, truncation="longest_first", max_length=tiny.WINDOW)
        with torch.inference_mode():
            found = model(input_ids=torch.tensor([given["input_ids"]]))
        rows.append(found.pooler_output[0].numpy())
    return np.array(rows)


@pytest.mark.parametrize("projection", [0, 12])
def test_a_passage_of_dpr_is_a_pair_and_its_vector_the_pooled_output(
    tmp_path: Path, projection: int
) -> None:
    folder = tiny_dpr(tmp_path / "ctx", "Context", projection=projection)
    made = encoder(folder)
    assert (made.similarity, made.only, made.width) == ("dot", "passages", projection or 32)
    # `transformers` takes an empty second text for none.
    plain = [
        pair for pair in PASSAGES if "[SEP]" not in " ".join(pair) and (pair[1] or not pair[0])
    ]
    found = made.encode_passages(plain)
    np.testing.assert_allclose(found, plain_dpr(folder, "Context", plain), rtol=0, atol=1e-5)
    assert not np.allclose(np.linalg.norm(found, axis=1), 1)


def test_a_question_of_dpr(tmp_path: Path) -> None:
    folder = tiny_dpr(tmp_path / "q", "Question", seed=1)
    made = encoder(folder)
    assert made.only == "questions"
    expected = plain_dpr(folder, "Question", [("", text) for text in PLAIN])
    np.testing.assert_allclose(made.encode(PLAIN), expected, rtol=0, atol=1e-5)
    unit = encoder(folder, similarity="cosine").encode(PLAIN)
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(unit, expected / lengths, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dpr", [True, False])
def test_a_vector_is_the_same_to_the_last_bit_whatever_stands_beside_it(
    tmp_path: Path, dpr: bool
) -> None:
    make = tiny_dpr(tmp_path / "m", "Context", projection=12) if dpr else None
    made = encoder(make or tiny_contriever(tmp_path / "m"))
    together = made.encode_passages(PASSAGES)
    backwards = made.encode_passages(PASSAGES[::-1])[::-1]
    alone = np.concatenate([made.encode_passages([passage]) for passage in PASSAGES])
    assert together.tobytes() == backwards.tobytes() == alone.tobytes()


def test_dpr_on_onnx_gives_what_it_gives_on_torch(tmp_path: Path) -> None:
    folder = tiny_dpr(tmp_path / "ctx", "Context", projection=12, onnx=True)
    on_torch = encoder(folder).encode_passages(PASSAGES)
    on_onnx = encoder(folder, backend="onnx").encode_passages(PASSAGES)
    np.testing.assert_allclose(on_onnx, on_torch, rtol=0, atol=1e-4)


def test_contriever_is_the_mean_of_its_tokens_without_unit_length(tmp_path: Path) -> None:
    folder = tiny_contriever(tmp_path / "contriever")
    made = encoder(folder)
    assert (made.similarity, made.only) == ("dot", None)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    rows = []
    for text in PLAIN:
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        rows.append(states.mean(dim=0).numpy())
    np.testing.assert_allclose(made.encode(PLAIN), np.array(rows), rtol=0, atol=1e-5)
    joined = [tuple(text.split(" ", 1)) for text in PLAIN if " " in text]
    found = made.encode_passages([(title, text) for title, text in joined])
    assert found.tobytes() == made.encode([text for text in PLAIN if " " in text]).tobytes()


def test_similarity_is_read_from_sentence_transformers_files(tmp_path: Path) -> None:
    folder = tiny.tiny_text_encoder(tmp_path / "st")
    assert encoder(folder).similarity == "cosine"
    parts = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(parts[:2]))
    made = encoder(folder)
    assert made.similarity == "dot"
    assert not np.allclose(np.linalg.norm(made.encode(PLAIN), axis=1), 1)
    said = folder / "config_sentence_transformers.json"
    said.write_text('{"similarity_fn_name": "cosine"}')
    assert encoder(folder).similarity == "cosine"
    said.write_text('{"similarity_fn_name": null}')
    assert encoder(folder).similarity == "dot"
    said.write_text('{"similarity_fn_name": "euclidean"}')
    with pytest.raises(InputError, match=r"euclidean.*similarity="):
        encoder(folder)
    assert encoder(folder, similarity="dot").similarity == "dot"
    (folder / "modules.json").unlink()
    said.unlink()
    assert encoder(folder).similarity == "cosine"


def test_another_pooling_and_what_dpr_does_not_have(tmp_path: Path) -> None:
    folder = tiny.tiny_text_encoder(tmp_path / "st")
    mean, first = (encoder(folder, pooling=name) for name in ("mean", "cls"))
    assert encoder(folder).signature == mean.signature != first.signature
    assert not np.allclose(mean.encode(PLAIN), first.encode(PLAIN))
    dpr = tiny_dpr(tmp_path / "q", "Question")
    assert encoder(dpr, pooling="cls").width == 32
    with pytest.raises(UsageError, match="leave pooling=mean out"):
        encoder(dpr, pooling="mean")
    with pytest.raises(UsageError, match="one of mean, cls, max"):
        encoder(folder, pooling="median")


def test_vectors_are_kept_by_similarity_and_pooling_and_passages_are_not_kept(
    tmp_path: Path,
) -> None:
    folder = tiny.tiny_text_encoder(tmp_path / "st")
    changes: list[dict[str, Any]] = [{}, {"similarity": "dot"}, {"pooling": "max"}]
    first = []
    for options in changes:
        made = encoder(folder, cache=True, **options)
        first.append(made.encode(PLAIN))
        made.close()
    for options, expected in zip(changes, first, strict=True):
        made = encoder(folder, cache=True, **options)
        assert made.encode(PLAIN).tobytes() == expected.tobytes()
        made.close()
    assert not np.allclose(first[0], first[1])
    made = encoder(folder, cache=True)
    store = made.store  # type: ignore[attr-defined]
    made.encode_passages(PASSAGES)
    assert store.held_bytes == 0
    made.encode(PLAIN)
    assert store.held_bytes > 0
    made.close()


def test_without_options_it_is_the_text_encoder_that_judges_use(tmp_path: Path) -> None:
    folder = tiny.tiny_text_encoder(tmp_path / "st")
    parts = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(parts[:2]))
    options = EncoderOptions(backend="torch", cache=False)
    judge = BiEncoder(folder, options)
    assert judge.signature == BiEncoder(folder, options).signature
    assert judge.signature.endswith("+mean")
    np.testing.assert_allclose(np.linalg.norm(judge.encode(PLAIN), axis=1), 1, atol=1e-6)
