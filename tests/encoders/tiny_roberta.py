"""A small RoBERTa with random weights, saved as published ones are: tokens by bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

WINDOW = 96
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# In the way of GPT-2: Ġ is the space before a word, so "city" and " city" are different tokens.
_MERGES = ("c i", "ci t", "cit y", "Ġ city", "t h", "th e", "Ġ the")


def tiny_roberta(
    folder: Path, labels: Sequence[str] = (), *, layers: int = 3, seed: int = 0
) -> Path:
    """A masked language model, or with labels a classifier; 32 dimensions."""
    import torch
    import transformers

    torch.manual_seed(seed)
    tokenizer = _tokenizer()
    more = {"id2label": dict(enumerate(labels)), "num_labels": len(labels)} if labels else {}
    config = transformers.RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=WINDOW + 2,
        type_vocab_size=1,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        initializer_range=0.4,
        **more,
    )
    kind = (
        transformers.RobertaForSequenceClassification if labels else transformers.RobertaForMaskedLM
    )
    kind(config).eval().save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_max_length=WINDOW,
        model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)
    return folder


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    merges = [tuple(pair.split()) for pair in _MERGES]
    names = dict.fromkeys(
        [*_SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(m) for m in merges)]
    )
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    tokenizer.add_special_tokens(list(_SPECIAL))
    return tokenizer
