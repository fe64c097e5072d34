"""The three kinds of encoder, and what a model's config.json says about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError, UsageError

# Positions of these begin behind the padding's number.
_OFFSET = ("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer")
_NO_LENGTH = 1_000_000
_USUAL_WINDOW = 512


@dataclass(frozen=True)
class Kind:
    """`classes` are the endings of the classes that are meant, `auto` the class that loads them."""

    what: str
    classes: tuple[str, ...]
    auto: str


DPR_QUESTIONS, DPR_PASSAGES = "DPRQuestionEncoder", "DPRContextEncoder"
TEXT = Kind(
    "bi-encoder",
    ("Model", "ForMaskedLM", "ForPreTraining", "Contriever", DPR_QUESTIONS, DPR_PASSAGES),
    "AutoModel",
)
PAIR = Kind(
    "cross-encoder or classifier of text pairs",
    ("ForSequenceClassification",),
    "AutoModelForSequenceClassification",
)
WORDS = Kind("text-to-text model", ("ForConditionalGeneration",), "AutoModelForSeq2SeqLM")
SPANS = Kind("model that finds answers", ("ForQuestionAnswering",), "AutoModelForQuestionAnswering")
Config = Mapping[str, Any]


def check_kind(shown: str, config: Config, kind: Kind) -> None:
    """InputError where the folder holds a model of another kind."""
    given = [str(name) for name in config.get("architectures") or ()]
    both = bool(config.get("is_encoder_decoder"))
    fits = any(
        name.endswith(kind.classes) and not name.endswith(("LMHeadModel", "DecoderModel"))
        for name in given
    )
    if kind is WORDS:
        fits = fits and both
    elif kind is TEXT:
        fits = (fits or not given) and not both
    if not fits:
        found = f"architectures {', '.join(given)}" if given else "no architectures"
        raise InputError(
            f"{shown} is no {kind.what}: its config.json says {found}; expected a class such as "
            f"{_example(kind)}"
        )


def _example(kind: Kind) -> str:
    return {
        TEXT: "BertModel",
        PAIR: "BertForSequenceClassification",
        WORDS: "T5ForConditionalGeneration",
        SPANS: "BertForQuestionAnswering",
    }[kind]


def labels_of(config: Config) -> tuple[str, ...]:
    """The names of a classifier's outputs, lower case; ("score",) where there is one."""
    named = {int(number): str(name) for number, name in (config.get("id2label") or {}).items()}
    count = len(named) or int(config.get("num_labels") or 2)
    if count == 1:
        return ("score",)
    return tuple(named.get(number, f"label_{number}").lower() for number in range(count))


def is_dpr(config: Config) -> bool:
    """Whether it is one of a pair of DPR: questions and passages have an encoder each."""
    return config.get("model_type") == "dpr"


def only_dpr(config: Config) -> str | None:
    """What alone one of DPR's encoders knows, `questions` or `passages`; None for other models."""
    if not is_dpr(config):
        return None
    named = config.get("architectures") or ()
    return "passages" if DPR_PASSAGES in named else "questions"


def class_of(config: Config, kind: Kind) -> str:
    """The class that loads the weights; the general one takes DPR's passages for questions."""
    return DPR_PASSAGES if kind is TEXT and only_dpr(config) == "passages" else kind.auto


def width_of(shown: str, config: Config) -> int:
    """The number of dimensions of a token's vector. InputError where config.json has none."""
    projected = config.get("projection_dim")
    if is_dpr(config) and isinstance(projected, int) and projected > 0:
        return projected
    for name in ("hidden_size", "dim", "d_model"):
        if isinstance(config.get(name), int):
            return int(config[name])
    raise InputError(f"{shown}: config.json says no hidden_size; expected the vectors' dimensions")


def window_of(shown: str, folder: Path, config: Config, asked: int | None) -> int:
    """The most tokens of one input, special tokens included. UsageError where more are asked."""
    most = _positions(config)
    if asked is not None:
        if most is not None and asked > most:
            raise UsageError(f"window {asked}; {shown} has {most} positions, so expected up to it")
        return asked
    sentence = settings(shown, folder, "sentence_bert_config.json").get("max_seq_length")
    declared = settings(shown, folder, "tokenizer_config.json").get("model_max_length")
    for length in (sentence, declared):
        if isinstance(length, int) and 0 < length < _NO_LENGTH:
            return length if most is None else min(length, most)
    return most or _USUAL_WINDOW


def _positions(config: Config) -> int | None:
    """How many positions the model knows; None where they are relative, without an end."""
    kind = str(config.get("model_type"))
    if kind.endswith("t5") or (
        kind.startswith("deberta") and config.get("position_biased_input") is False
    ):
        return None
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int) or positions < 1:
        return None
    if kind in _OFFSET:
        padding = config.get("pad_token_id")
        return positions - 1 - (padding if isinstance(padding, int) else 1)
    return positions


def settings(shown: str, folder: Path, name: str) -> dict[str, Any]:
    """An optional file of settings, empty where there is none. InputError if it is unreadable."""
    try:
        return msgspec.json.decode((folder / name).read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{shown}: {name} cannot be read there: {error}") from error
