"""Small Hugging Face models with random weights, saved as real ones are."""

from __future__ import annotations

import string
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors
from tokenizers.models import BPE

PAD, BOS, EOS = 0, 1, 2
WINDOW = 256
PRINTABLE = string.ascii_letters + string.digits + " .,"
CHAT_TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
NO_SYSTEM_TEMPLATE = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    + CHAT_TEMPLATE
)
SILENT_TEMPLATE = CHAT_TEMPLATE.replace("messages %}[", "messages if m.role != 'system' %}[")
THINKING_TEMPLATE = CHAT_TEMPLATE.replace("[assistant] ", "[assistant] <think>\n")


def tiny_tokenizer(chat_template: str | None = None, ends: bool = False) -> Any:
    """A token for each byte. `ends`: texts end with </s> (T5), else they begin with <s>."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = ["<pad>", "<s>", "</s>", *letters]
    tokenizer = Tokenizer(BPE(vocab={n: i for i, n in enumerate(names)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>" if ends else "<s> $A", special_tokens=[("<s>", BOS), ("</s>", EOS)]
    )
    tokenizer.add_special_tokens(["<pad>", "<s>", "</s>"])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )
    fast.chat_template = chat_template
    return fast


def save_decoder(
    folder: Path,
    chat_template: str | None = CHAT_TEMPLATE,
    seed: int = 0,
    *,
    tokenizer: Any = None,
    window: int = WINDOW,
) -> Path:
    """A Llama of 2 layers in float32, with another tokenizer than ours where one is given."""
    torch.manual_seed(seed)
    if tokenizer is None:
        tokenizer = tiny_tokenizer(chat_template)
    config = _llama(tokenizer, max_position_embeddings=window)
    return _save(transformers.LlamaForCausalLM(config), tokenizer, folder)


def save_seq2seq(folder: Path, seed: int = 0) -> Path:
    """A T5 of 2 + 2 layers in float32, without a chat template."""
    torch.manual_seed(seed)
    tokenizer = tiny_tokenizer(ends=True)
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        initializer_factor=3.0,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=PAD,
    )
    return _save(transformers.T5ForConditionalGeneration(config), tokenizer, folder)


def save_parrot(
    folder: Path, text: str, after: str = " ", chat_template: str | None = CHAT_TEMPLATE
) -> Path:
    """A Llama that says `text` and ends, when the prompt ends with the character `after`.

    What comes next depends on the last token alone, so all characters must differ.
    """
    tokenizer = tiny_tokenizer(chat_template)
    said = tokenizer(after + text, add_special_tokens=False)["input_ids"] + [EOS]
    assert len(set(said)) == len(said)
    size = 264  # not less than the vocabulary: an axis for each token
    config = _llama(tokenizer, hidden_size=size, num_hidden_layers=1)
    model = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        model.model.norm.weight.fill_(1.0)
        model.model.embed_tokens.weight.copy_(torch.eye(len(tokenizer), size))
        for token, following in pairwise(said):
            model.lm_head.weight[following, token] = 1.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _llama(tokenizer: Any, **changes: Any) -> Any:
    settings = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": WINDOW,
        # Large, so that different prompts get different answers.
        "initializer_range": 0.6,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
    }
    return transformers.LlamaConfig(**settings | changes)


def _save(model: Any, tokenizer: Any, folder: Path) -> Path:
    """As readable ASCII speakers: other bytes would show as the replacement character."""
    readable = {*tokenizer(PRINTABLE, add_special_tokens=False)["input_ids"], EOS}
    model.generation_config.suppress_tokens = [
        token for token in range(len(tokenizer)) if token not in readable
    ]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
