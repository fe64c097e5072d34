"""What is written like a special token is text, also where the vocabulary has it as a piece."""

from __future__ import annotations

import pytest

tokenizers = pytest.importorskip("tokenizers", reason="the onnx extra is not installed")

from pathlib import Path  # noqa: E402 - without the extra nothing below can be used

from trueground.encoders.tokens import Tokenizer, plain, read_tokenizer  # noqa: E402

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
    tokenizer = Tokenizer("m", folder, 64, pairs=False)
    (row,) = tokenizer.singles([text])
    assert row.ids.tolist()[-1] == 1
    assert not {0, 1, 3} & set(row.ids.tolist()[:-1])
    assert tokenizer.lengths([text]) == [len(row.ids) - 1]
    (both,) = tokenizer.prompts([("a", text)])
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


def test_a_special_token_that_cannot_be_spelled_is_left_out(tmp_path: Path) -> None:
    """One letter alone, and a normalizer that puts letters together again."""
    from tokenizers import models, normalizers

    pieces = [("<unk>", -9.0), ("ab", 0.0), ("a", -5.0), ("b", -5.0), ("c", -5.0), ("d", 0.0)]
    made = tokenizers.Tokenizer(models.Unigram(pieces, 0, False))
    made.normalizer = normalizers.Replace(" ", "")
    made.add_special_tokens(["ab", "d"])
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = read_tokenizer("m", tmp_path)
    assert [found.tokens for found in plain(tokenizer, ["cabc", "cdc"])] == [["c", "c"]] * 2


def bert(folder: Path, single: str = "[CLS] $A [SEP]") -> Tokenizer:
    """As BERT's, with words for tokens and a window of 8; `single` as of another model."""
    from tokenizers import models, pre_tokenizers, processors

    special = [(piece, number) for number, piece in enumerate(("[PAD]", "[CLS]", "[SEP]"))]
    words = ["[UNK]", *"abcdefghijk", "sep", "[", "]"]
    vocabulary = dict(special) | {word: 3 + number for number, word in enumerate(words)}
    made = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens([piece for piece, _ in special])
    made.post_processor = processors.TemplateProcessing(single=single, special_tokens=special)
    made.save(str(folder / "tokenizer.json"))
    return Tokenizer("m", folder, 8, pairs=False)


def test_between_turns_stands_the_models_own_separator(tmp_path: Path) -> None:
    tokenizer = bert(tmp_path)
    spelled = {number: token for token, number in tokenizer._tokenizer.get_vocab().items()}

    def read(*turns: str) -> str:
        (row,) = tokenizer.turns([turns])
        assert not row.types.any()
        return " ".join(spelled[number] for number in row.ids.tolist())

    assert read("a b") == "[CLS] a b [SEP]"
    assert read("a", "b c", "d") == "[CLS] a [SEP] b c [SEP] d [SEP]"
    # What a user writes stays text, a question that is too long loses its end, and a conversation
    # its beginning: the question stands last.
    assert read("a [sep]", "b") == "[CLS] a [ sep ] [SEP] b [SEP]"
    assert read("a b c d e f g h") == "[CLS] a b c d e f [SEP]"
    assert read("a b c d e", "f", "g h") == "[CLS] e [SEP] f [SEP] g h [SEP]"
    rows = [["a"], ["b", "c"]]
    together = [row.ids.tolist() for row in tokenizer.turns(rows)]
    assert together == [tokenizer.turns([one])[0].ids.tolist() for one in rows]
    assert (
        tokenizer.turns([["a", "b"]])[0].ids.tolist()
        == tokenizer.turns([("a", "b")])[0].ids.tolist()
    )


@pytest.mark.parametrize("single", ["$A", "[CLS] $A"])
def test_turns_stand_behind_each_other_where_nothing_ends_a_text(
    single: str, tmp_path: Path
) -> None:
    tokenizer = bert(tmp_path, single)
    assert (
        tokenizer.turns([["a", "b c"]])[0].ids.tolist()
        == tokenizer.singles(["a b c"])[0].ids.tolist()
    )
