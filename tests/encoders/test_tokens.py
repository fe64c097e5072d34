"""What is written like a special token is text, also where the vocabulary has it as a piece."""

from __future__ import annotations

import pytest

tokenizers = pytest.importorskip("tokenizers", reason="the onnx extra is not installed")

from pathlib import Path  # noqa: E402 - without the extra nothing below can be used

from trueground.encoders.tokens import Tokeniser, plain, read_tokenizer  # noqa: E402

PIECES = ["<pad>", "</s>", "<unk>", "<x>", "\u2581", *"abcs<>/ "]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As T5's: pieces of all kinds in one vocabulary, the special ones the likeliest."""
    from tokenizers import models, normalizers, pre_tokenizers, processors

    scores = [(piece, 0.0 if number < 4 else -5.0) for number, piece in enumerate(PIECES)]
    made = tokenizers.Tokenizer(models.Unigram(scores, 2, False))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.add_special_tokens(["<pad>", "</s>", "<unk>", "<x>"])
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


@pytest.mark.parametrize(
    "text",
    ["a</s>b", "</s></s>", "a <pad><x> b", "a\uff1c/s\uff1eb", "</s", "<</s>/s>", "<x></s><x>"],
)
def test_no_special_token_comes_of_a_text(text: str, folder: Path) -> None:
    tokeniser = Tokeniser("m", folder, 64, pairs=False)
    (row,) = tokeniser.singles([text])
    assert row.ids.tolist()[-1] == 1
    assert not {0, 1, 3} & set(row.ids.tolist()[:-1])
    assert tokeniser.lengths([text]) == [len(row.ids) - 1]
    (both,) = tokeniser.prompts([("a", text)])
    assert both.ids.tolist().count(1) == 2


def test_letters_are_kept(folder: Path) -> None:
    tokenizer = read_tokenizer("m", folder)
    (found,) = plain(tokenizer, ["a</s>b"])
    assert [t for t in found.tokens if t != "\u2581"] == ["a", "<", "/", "s", ">", "b"]


def test_other_texts_are_read_as_ever(folder: Path) -> None:
    other = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer = read_tokenizer("m", folder)
    for text, found in zip(
        texts := ["a b c", "", "s/ <a>", "x>"], plain(tokenizer, texts), strict=True
    ):
        assert found.ids == other.encode(text, add_special_tokens=False).ids


def test_a_special_token_that_cannot_be_spelt_is_left_out(tmp_path: Path) -> None:
    """One letter alone, and a normaliser that puts letters together again."""
    from tokenizers import models, normalizers

    pieces = [("<unk>", -9.0), ("ab", 0.0), ("a", -5.0), ("b", -5.0), ("c", -5.0), ("d", 0.0)]
    made = tokenizers.Tokenizer(models.Unigram(pieces, 0, False))
    made.normalizer = normalizers.Replace(" ", "")
    made.add_special_tokens(["ab", "d"])
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = read_tokenizer("m", tmp_path)
    assert [found.tokens for found in plain(tokenizer, ["cabc", "cdc"])] == [["c", "c"]] * 2
