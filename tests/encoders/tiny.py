"""Small encoders with random weights, saved as published ones are: a folder for each.

Torch, transformers and tokenizers are imported inside: a test module skips before it calls these.
"""

from __future__ import annotations

import json
import string
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WINDOW = 128
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_TEXT = """
the a an of in on at to and or is are was were it he she they that this with for from by as not no
yes true false premise hypothesis supports fact context question answer which who what when where
city river capital president wrote won born film song team year old new first 0 1
"""
_WORDS = tuple(_TEXT.split())


def tiny_text_encoder(
    folder: Path,
    *,
    onnx: bool = False,
    pooling: str = "mean",
    window: int = WINDOW,
    seed: int = 0,
) -> Path:
    """A BERT of 2 layers with the files of sentence-transformers around it; 32 dimensions."""
    import transformers

    model = transformers.BertModel(_bert(seed), add_pooling_layer=False)
    _save(model, folder, _wordpiece())
    _write(folder / "sentence_bert_config.json", {"max_seq_length": window})
    kinds = ("Transformer", "Pooling", "Normalize")
    _write(
        folder / "modules.json",
        [
            {"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{kind}"}
            for i, (p, kind) in enumerate(zip(("", "1_Pooling", "2_Normalize"), kinds, strict=True))
        ],
    )
    modes = {"mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens"}
    _write(
        folder / "1_Pooling" / "config.json",
        {f"pooling_mode_{name}": mode == pooling for mode, name in modes.items()},
    )
    if onnx:
        _export(model, folder / "onnx" / "model.onnx", _PAIR_INPUTS, "last_hidden_state")
    return folder


def tiny_pair_scorer(
    folder: Path,
    labels: Sequence[str] = ("LABEL_0",),
    *,
    onnx: bool = False,
    seed: int = 0,
) -> Path:
    """A BERT with a classification head: one label as cross-encoders, three as NLI models."""
    import transformers

    config = _bert(seed, id2label=dict(enumerate(labels)), num_labels=len(labels))
    model = transformers.BertForSequenceClassification(config)
    _save(model, folder, _wordpiece())
    if onnx:
        _export(model, folder / "model.onnx", _PAIR_INPUTS, "logits")
    return folder


def tiny_token_classifier(
    folder: Path,
    labels: Sequence[str] = ("LABEL_0", "LABEL_1"),
    *,
    onnx: bool = False,
    seed: int = 0,
) -> Path:
    """A ModernBERT that labels tokens, as LettuceDetect's models are."""
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer = _wordpiece()
    config = transformers.ModernBertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=WINDOW,
        initializer_range=0.4,
        local_attention=16,
        pad_token_id=0,
        cls_token_id=2,
        sep_token_id=3,
        bos_token_id=2,
        eos_token_id=3,
        id2label=dict(enumerate(labels)),
        num_labels=len(labels),
    )
    model = transformers.ModernBertForTokenClassification(config)
    _save(model, folder, tokenizer)
    if onnx:
        _export(model, folder / "model.onnx", _PAIR_INPUTS[:2], "logits")
    return folder


def tiny_text_to_text(folder: Path, *, onnx: bool = False, seed: int = 0) -> Path:
    """A T5 of 2 + 2 layers; "0", "1", "yes", "no", "true" and "false" are one token each."""
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer = _wordpiece(ends=True)
    config = transformers.T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        initializer_factor=3.0,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=0,
    )
    model = transformers.T5ForConditionalGeneration(config)
    _save(model, folder, tokenizer)
    if onnx:
        _export_t5(model, folder)
    return folder


def tiny_answer_finder(folder: Path, seed: int = 0) -> Path:
    """A BERT that finds the words of a text that answer a question."""
    import transformers

    _save(transformers.BertForQuestionAnswering(_bert(seed)), folder, _wordpiece())
    return folder


def tiny_causal(folder: Path, seed: int = 0) -> Path:
    """A GPT-2: what none of the three kinds takes."""
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer = _wordpiece()
    config = transformers.GPT2Config(
        vocab_size=tokenizer.get_vocab_size(),
        n_embd=16,
        n_layer=1,
        n_head=2,
        n_positions=64,
        bos_token_id=2,
        eos_token_id=3,
    )
    _save(transformers.GPT2LMHeadModel(config), folder, tokenizer)
    return folder


def _bert(seed: int, **changes: Any) -> Any:
    import torch
    import transformers

    torch.manual_seed(seed)
    return transformers.BertConfig(
        vocab_size=_wordpiece().get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=WINDOW,
        # Large, so that different texts get different numbers.
        initializer_range=0.4,
        **changes,
    )


def _wordpiece(ends: bool = False) -> Any:
    """Common words whole, everything else letter by letter. `ends`: as T5, without a beginning."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = string.ascii_lowercase + string.digits
    names = dict.fromkeys(
        [*_SPECIAL, *_WORDS, *letters, *string.punctuation, *(f"##{c}" for c in letters)]
    )
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP]" if ends else "[CLS] $A [SEP]",
        pair="$A [SEP] $B [SEP]" if ends else "[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.add_special_tokens(list(_SPECIAL))
    return tokenizer


def _save(model: Any, folder: Path, tokenizer: Any) -> None:
    import transformers

    model.eval()
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        eos_token="[SEP]",
        model_max_length=WINDOW,
    ).save_pretrained(folder)


def _write(file: Path, value: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(value), encoding="utf-8")


_PAIR_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def _export(model: Any, file: Path, inputs: Sequence[str], output: str) -> None:
    """With a free number of rows and tokens, as the published exports have."""
    import torch

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, *given: Any) -> Any:
            named = dict(zip(inputs, given, strict=True))
            return getattr(self.inner(**named), output)

    _to_onnx(
        Whole(), tuple(torch.ones(2, 16, dtype=torch.long) for _ in inputs), file, inputs, output
    )


def _export_t5(model: Any, folder: Path) -> None:
    import torch

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

    class Encoder(Whole):
        def forward(self, ids: Any, mask: Any) -> Any:
            return self.inner.encoder(input_ids=ids, attention_mask=mask).last_hidden_state

    class Decoder(Whole):
        def forward(self, mask: Any, ids: Any, states: Any) -> Any:
            return self.inner(
                encoder_outputs=(states,), attention_mask=mask, decoder_input_ids=ids
            ).logits

    ids = torch.ones(2, 16, dtype=torch.long)
    _to_onnx(
        Encoder(),
        (ids, ids),
        folder / "encoder_model.onnx",
        ("input_ids", "attention_mask"),
        "last_hidden_state",
    )
    _to_onnx(
        Decoder(),
        (ids, ids[:, :1], torch.ones(2, 16, model.config.d_model)),
        folder / "decoder_model.onnx",
        ("encoder_attention_mask", "input_ids", "encoder_hidden_states"),
        "logits",
    )


def _to_onnx(
    module: Any, example: tuple[Any, ...], file: Path, inputs: Sequence[str], output: str
) -> None:
    import torch

    file.parent.mkdir(exist_ok=True)
    axes = {name: {0: "rows", 1: f"{name}_tokens"} for name in inputs}
    with warnings.catch_warnings():
        # The exporter warns of its own deprecation and of every branch it cannot follow.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            example,
            str(file),
            input_names=list(inputs),
            output_names=[output],
            dynamic_axes=axes | {output: {0: "rows"}},
            dynamo=False,
        )
