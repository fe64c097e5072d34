"""Tokenizers and chat templates of five families of models, small and written for the tests.

Each has what its family is known for: the way of writing spaces, the control tokens, special and
not, and how its template treats white space, system messages and thoughts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import transformers
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from tokenizers.models import BPE, Unigram

CORPUS = [
    "The tower was built in 1889 for the World's Fair, and it is 330 metres tall.",
    "user assistant system model: you are a helpful assistant. Answer only from the context!",
    "start of turn, end of turn; begin and end of text. Who wrote it? She did, in Paris.",
    "if a < b and b > c: print('[x]', {1: 2}) | sort > out.txt",
] * 3
_BYTES = [f"<0x{number:02X}>" for number in range(256)]
_SPLIT = r"'s|'t| ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"

LLAMA_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}"
    "<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
QWEN_TEMPLATE = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are helpful.<|im_end|>\n"
    "{% endif %}{% for m in messages %}{% set content = m.content %}"
    "{% if m.role == 'assistant' and '</think>' in content %}"
    "{% set content = content.split('</think>')[-1].lstrip('\n') %}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if '/no_think' in messages[0].content %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
MISTRAL_TEMPLATE = (
    "{{ bos_token }}{% set first = '' %}{% if messages[0].role == 'system' %}"
    "{% set first = messages[0].content + '\n\n' %}{% set messages = messages[1:] %}{% endif %}"
    "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ first if loop.first else '' }}"
    "{{ m.content }}[/INST]{% else %} {{ m.content | trim }}{{ eos_token }}{% endif %}{% endfor %}"
)
GEMMA_TEMPLATE = (
    "{{ bos_token }}{% if messages[0].role == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}{% for m in messages %}"
    "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}"
    "<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
PHI_TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% else %}{{ eos_token }}{% endif %}"
)


@dataclass(frozen=True)
class Family:
    """`turns`: the tokens that begin a turn; `ordinary`: added tokens that are only text."""

    name: str
    build: Callable[[], Any]
    turns: tuple[str, ...]
    ordinary: tuple[str, ...] = ()

    def attacks(self, tokenizer: Any) -> list[str]:
        """The texts of all added tokens, without those that are only text."""
        texts = [token.content for token in tokenizer.added_tokens_decoder.values()]
        return [text for text in texts if text not in self.ordinary]


def _fast(tokenizer: Tokenizer, template: str | None, **names: str) -> Any:
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    fast.chat_template = template
    return fast


def _plain(names: Sequence[str]) -> list[AddedToken]:
    return [AddedToken(name, special=False, normalized=False) for name in names]


def _by_bytes(special: Sequence[str], other: Sequence[str], **settings: bool) -> Tokenizer:
    """Byte-level BPE, as of GPT-2, Llama 3 and Qwen."""
    tokenizer = Tokenizer(BPE(**settings))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens(list(special))
    tokenizer.add_tokens(_plain(other))
    return tokenizer


def _by_pieces(
    added: Sequence[AddedToken], normalizer: Any, pre_tokenizer: Any, decoder: Any
) -> Tokenizer:
    """BPE of letters with a token for each byte, as of SentencePiece's models.

    The added tokens are in the vocabulary too, and merges of letters lead to them: converted
    tokenizers of this kind have such merges.
    """
    trained = Tokenizer(BPE())
    if normalizer is not None:
        trained.normalizer = normalizer
    if pre_tokenizer is not None:
        trained.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=300, show_progress=False)
    trained.train_from_iterator(CORPUS, trainer)
    settings = json.loads(trained.to_str())
    model = settings["model"]
    names = [*(token.content for token in added), *_BYTES, *model["vocab"]]
    merges = [tuple(merge) for merge in model["merges"]]
    for token in added:
        text = token.content
        names += [text[:size] for size in range(1, len(text))] + list(text)
        merges += [(text[:size], text[size]) for size in range(1, len(text))]
    vocabulary = {name: number for number, name in enumerate(dict.fromkeys(names))}
    merges = list(dict.fromkeys(merges))
    tokenizer = Tokenizer(
        BPE(vocab=vocabulary, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer


def _begin_with(tokenizer: Tokenizer, name: str) -> None:
    token = (name, tokenizer.token_to_id(name))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{name} $A", special_tokens=[token]
    )


def _llama() -> Any:
    special = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>"]
    special += ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|python_tag|>"]
    tokenizer = _by_bytes(special, (), ignore_merges=True)
    _begin_with(tokenizer, "<|begin_of_text|>")
    names = {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"}
    return _fast(tokenizer, LLAMA_TEMPLATE, **names)


def _qwen() -> Any:
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    other = ["<tool_call>", "</tool_call>", "<|fim_prefix|>", "<think>", "</think>"]
    tokenizer = _by_bytes(special, other)
    tokenizer.normalizer = normalizers.NFC()
    end = "<|endoftext|>"
    return _fast(tokenizer, QWEN_TEMPLATE, eos_token="<|im_end|>", pad_token=end, unk_token=end)


_MISTRAL_SPECIAL = ("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]")


def _mistral() -> Any:
    tokenizer = _by_pieces(
        [AddedToken(name, special=True, normalized=False) for name in _MISTRAL_SPECIAL],
        None,
        pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
    )
    _begin_with(tokenizer, "<s>")
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return _fast(tokenizer, MISTRAL_TEMPLATE, **names)


def _gemma() -> Any:
    special = ("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>")
    other = ("<unused0>", "\n\n", "▁▁", "<table>", "</table>", "covid-19")
    tokenizer = _by_pieces(
        [
            *(AddedToken(name, special=True, normalized=False) for name in special),
            *_plain(other),
        ],
        normalizers.Replace(" ", "▁"),
        pre_tokenizers.Split(" ", "merged_with_previous"),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
    )
    _begin_with(tokenizer, "<bos>")
    names = {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>"}
    return _fast(tokenizer, GEMMA_TEMPLATE, **names)


def _phi() -> Any:
    special = ("<unk>", "<s>", "<|endoftext|>")
    striping = ("<|assistant|>", "<|system|>", "<|end|>", "<|user|>")
    tokenizer = _by_pieces(
        [
            *(AddedToken(name, special=True, normalized=False) for name in special),
            *(AddedToken(n, special=True, normalized=False, rstrip=True) for n in striping),
            AddedToken("</s>", special=False, normalized=False, rstrip=True),
        ],
        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
        None,
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
    )
    _begin_with(tokenizer, "<s>")
    end = "<|endoftext|>"
    names = {"bos_token": "<s>", "eos_token": end, "pad_token": end, "unk_token": "<unk>"}
    return _fast(tokenizer, PHI_TEMPLATE, **names)


FAMILIES = (
    Family("llama", _llama, ("<|start_header_id|>",)),
    Family("qwen", _qwen, ("<|im_start|>",)),
    Family("mistral", _mistral, ("[INST]", "[/INST]")),
    Family("gemma", _gemma, ("<start_of_turn>",), ("\n\n", "▁▁", "covid-19")),
    Family("phi", _phi, ("<|user|>", "<|assistant|>", "<|system|>")),
)


def unigram(template: str | None = QWEN_TEMPLATE) -> Any:
    """Pieces with scores under NFKC and lower case, whose control tokens match after both.

    The control tokens are pieces of the vocabulary too, as those of T5.
    """
    added = ["<pad>", "</s>", "<|im_start|>", "<|im_end|>", "<|mask|>"]
    letters = sorted({*"".join(CORPUS).lower(), *"".join(added), "▁", "é"} - {" "})
    pieces = [("<unk>", 0.0), *((name, 0.0) for name in added)]
    pieces += [(letter, -5.0) for letter in letters]
    pieces += [(word, -3.0) for word in ("▁the", "▁tower", "im", "end", "start", "▁in")]
    tokenizer = Tokenizer(Unigram(pieces, unk_id=0, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    tokenizer.add_special_tokens(
        [
            AddedToken("<unk>", special=True, normalized=False),
            AddedToken("<pad>", special=True, normalized=False),
            AddedToken("</s>", special=True, normalized=True),
            AddedToken("<|im_start|>", special=True, normalized=True, lstrip=True),
            AddedToken("<|im_end|>", special=True, normalized=True, single_word=True),
            AddedToken("<|mask|>", special=True, normalized=True, lstrip=True, rstrip=True),
        ]
    )
    return _fast(tokenizer, template, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
