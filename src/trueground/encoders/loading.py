"""An encoder's files: finding them, choosing what runs them, and what they say of the model."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from trueground.encoders.base import POOLINGS, EncoderOptions
from trueground.errors import InputError, MissingExtraError, UsageError
from trueground.net import CheckpointSource, RequestedModel

_SETTINGS = (".json", ".txt", ".model")
_INTEGER_STEPS = (b"DynamicQuantizeLinear", b"MatMulInteger", b"QLinearMatMul", b"DequantizeLinear")
# Positions of these begin behind the padding's number.
_OFFSET = ("roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "longformer")
_NO_LENGTH = 1_000_000
_USUAL_WINDOW = 512
_MODES = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
_PARTS = ("Transformer", "Pooling", "Normalize")
DPR_QUESTIONS, DPR_PASSAGES = "DPRQuestionEncoder", "DPRContextEncoder"
Config = Mapping[str, Any]
T = TypeVar("T")


class ModelKind(Enum):
    """`classes` are the endings of the classes that fit, `auto` the class that loads them."""

    TEXT = (
        "bi-encoder",
        "BertModel",
        ("Model", "ForMaskedLM", "ForPreTraining", "Contriever", DPR_QUESTIONS, DPR_PASSAGES),
        "AutoModel",
    )
    PAIR = (
        "cross-encoder or classifier of text pairs",
        "BertForSequenceClassification",
        ("ForSequenceClassification",),
        "AutoModelForSequenceClassification",
    )
    WORDS = (
        "text-to-text model",
        "T5ForConditionalGeneration",
        ("ForConditionalGeneration",),
        "AutoModelForSeq2SeqLM",
    )
    TOKENS = (
        "token classifier",
        "ModernBertForTokenClassification",
        ("ForTokenClassification",),
        "AutoModelForTokenClassification",
    )
    SPANS = (
        "model that finds answers",
        "BertForQuestionAnswering",
        ("ForQuestionAnswering",),
        "AutoModelForQuestionAnswering",
    )

    def __init__(self, what: str, example: str, classes: tuple[str, ...], auto: str) -> None:
        self.what = what
        self.example = example
        self.classes = classes
        self.auto = auto


@dataclass(frozen=True)
class Checkpoint:
    """A model whose files lie in `folder`. `onnx`: the files to run, empty for PyTorch."""

    shown: str
    folder: Path
    signature: str
    config: dict[str, Any]
    onnx: tuple[Path, ...]


def find_checkpoint(model: str, options: EncoderOptions, kind: ModelKind) -> Checkpoint:
    """The folder, or the files fetched from the Hub. UsageError, InputError, MissingExtraError."""
    requested = RequestedModel(model, what="an encoder", extra="onnx", revision=options.revision)
    folder = requested.local_folder()
    if folder is not None:
        if options.revision is not None:
            raise UsageError(f"{model} is a folder; a revision belongs to a name on the Hub")
        files = [f.relative_to(folder).as_posix() for f in _list_files(folder)]
        config = requested.read_config(folder)
        check_kind(model, config, kind)
        onnx, weights = _choose_files(requested, files, options, kind)
        # Such as 1_Pooling/config.json.
        settings = [folder / name for name in files if name.endswith("/config.json")]
        paths = [folder / name for name in weights]
        signature = CheckpointSource.of_folder(folder, paths, settings).signature
    else:
        source = requested.resolve()
        config = requested.read_config(requested.fetch(source, ()))
        check_kind(model, config, kind)
        files = requested.list_files(source)
        onnx, weights = _choose_files(requested, files, options, kind)
        folder = _fetch(requested, source, files, weights, options)
        signature = source.signature
    for name in weights:
        if name.endswith(".safetensors"):
            requested.check_whole(folder / name)
    onnx_files = tuple(folder / name for name in onnx)
    _check_arithmetic(model, onnx_files, options)
    return Checkpoint(model, folder, signature + "".join(f"/{n}" for n in onnx), config, onnx_files)


def _list_files(folder: Path) -> list[Path]:
    """Files at the folder's top and one level below."""
    return sorted(f for f in (*folder.glob("*"), *folder.glob("*/*")) if f.is_file())


def _fetch(
    requested: RequestedModel,
    source: CheckpointSource,
    files: Sequence[str],
    weights: Sequence[str],
    options: EncoderOptions,
) -> Path:
    settings = [
        name
        for name in files
        if name.endswith((*_SETTINGS, ".py") if options.trust_remote_code else _SETTINGS)
        and ("/" not in name or name.endswith("/config.json"))
    ]
    return requested.fetch(source, [*settings, *weights])


def _choose_files(
    requested: RequestedModel, files: Sequence[str], options: EncoderOptions, kind: ModelKind
) -> tuple[list[str], list[str]]:
    """(ONNX files to run, all files with weights); the first is empty for PyTorch."""
    if _runs_onnx(files, options):
        if find_spec("onnxruntime") is None:
            raise MissingExtraError("an encoder on ONNX runtime", "onnx")
        onnx = _onnx_files(requested.shown, files, options, kind)
        beside = [f for f in files if f.startswith(tuple(onnx)) and f not in onnx]
        return onnx, sorted([*onnx, *beside])
    for module in ("torch", "transformers"):
        if find_spec(module) is None:
            raise MissingExtraError("an encoder on PyTorch", "hf")
    weights = [f for f in files if f.endswith(".safetensors") and "/" not in f]
    if not weights:
        raise requested.no_safetensors()
    return [], ["model.safetensors"] if "model.safetensors" in weights else weights


def _runs_onnx(files: Sequence[str], options: EncoderOptions) -> bool:
    if options.backend != "auto":
        return options.backend == "onnx"
    if options.file is not None:
        return True
    if options.dtype != "float32" or options.trust_remote_code:
        return False
    return any(f.endswith(".onnx") for f in files) and find_spec("onnxruntime") is not None


def _onnx_files(
    shown: str, files: Sequence[str], options: EncoderOptions, kind: ModelKind
) -> list[str]:
    """The file that was requested, else the one of the usual name, else the only one."""
    there = [f for f in files if f.endswith(".onnx")]
    usual = "encoder_model.onnx" if kind is ModelKind.WORDS else "model.onnx"
    places = (usual, f"onnx/{usual}")
    chosen = [f for f in places if f in there]
    if options.file is not None:
        chosen = [options.file] if options.file in there else []
    elif options.dtype == "int8":
        raise UsageError(
            f"{shown}: int8 on ONNX runtime needs a quantised file; name it with file=…, one of: "
            f"{', '.join(there) or 'none is there'}"
        )
    elif not chosen and len(there) == 1:
        chosen = there
    if not chosen:
        raise InputError(
            f"{shown}: no {options.file or ' or '.join(places)} there; found "
            f"{', '.join(there) or 'no .onnx file'}. Name one with file=…, or use backend=torch"
        )
    if kind is not ModelKind.WORDS:
        return chosen[:1]
    folder, _, encoder = chosen[0].rpartition("/")
    decoder = (folder + "/" if folder else "") + encoder.replace("encoder", "decoder", 1)
    if decoder not in there or decoder == chosen[0]:
        raise InputError(
            f"{shown}: {chosen[0]} has no decoder beside it; expected encoder_model.onnx and "
            "decoder_model.onnx, exported without a cache of past states"
        )
    return [chosen[0], decoder]


def _check_arithmetic(shown: str, files: Sequence[Path], options: EncoderOptions) -> None:
    """UsageError where the requested dtype is not the one of the ONNX file."""
    if not files:
        return
    if options.dtype in ("float16", "bfloat16"):
        raise UsageError(
            f"{shown}: an ONNX file has its own dtype; leave dtype {options.dtype} out and name "
            "the file with file=…, or use backend=torch"
        )
    quantised = any(_is_quantised(file) for file in files)
    if quantised != (options.dtype == "int8"):
        have, requested = ("int8", "float32") if quantised else ("float32", "int8")
        raise UsageError(
            f"{shown}: {files[0].name} computes in {have}, and dtype is {requested}; "
            f"say dtype={have}, or name another file with file=…"
        )


def _is_quantised(file: Path) -> bool:
    """Whether steps of the graph are in whole numbers; their names stand readable in the file."""
    with file.open("rb") as stream:
        if file.stat().st_size == 0:
            raise InputError(f"{file} is empty; fetch it again")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(step) >= 0 for step in _INTEGER_STEPS)


def check_kind(shown: str, config: Config, kind: ModelKind) -> None:
    """InputError where the folder holds a model of another kind."""
    named = [str(name) for name in config.get("architectures") or ()]
    both = bool(config.get("is_encoder_decoder"))
    fits = any(
        name.endswith(kind.classes) and not name.endswith(("LMHeadModel", "DecoderModel"))
        for name in named
    )
    if kind is ModelKind.WORDS:
        fits = fits and both
    elif kind is ModelKind.TEXT:
        fits = (fits or not named) and not both
    if not fits:
        says = f"architectures {', '.join(named)}" if named else "no architectures"
        raise InputError(
            f"{shown} is no {kind.what}: its config.json says {says}; expected a class such as "
            f"{kind.example}"
        )


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


def class_to_load(config: Config, kind: ModelKind) -> str:
    """The class that loads the weights; the general one takes DPR's passages for questions."""
    return DPR_PASSAGES if kind is ModelKind.TEXT and only_dpr(config) == "passages" else kind.auto


def width_of(shown: str, config: Config) -> int:
    """The number of dimensions of a token's vector. InputError where config.json has none."""
    projected = config.get("projection_dim")
    if is_dpr(config) and isinstance(projected, int) and projected > 0:
        return projected
    for name in ("hidden_size", "dim", "d_model"):
        if isinstance(config.get(name), int):
            return int(config[name])
    raise InputError(f"{shown}: config.json says no hidden_size; expected the vectors' dimensions")


def window_of(shown: str, folder: Path, config: Config, requested: int | None) -> int:
    """The most tokens of one input, special tokens included. UsageError beyond its positions."""
    most = _positions(config)
    if requested is not None:
        if most is not None and requested > most:
            raise UsageError(
                f"window {requested}; {shown} has {most} positions, so expected up to it"
            )
        return requested
    sentence = read_settings(shown, folder, "sentence_bert_config.json").get("max_seq_length")
    declared = read_settings(shown, folder, "tokenizer_config.json").get("model_max_length")
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


def read_settings(shown: str, folder: Path, name: str) -> dict[str, Any]:
    """An optional file of settings, empty where there is none. InputError if it is unreadable."""
    return _read_json(shown, folder, name, dict[str, Any]) or {}


def takes_types(shown: str, folder: Path) -> bool:
    """Return whether the model was trained with types: which of two texts a token belongs to."""
    names = read_settings(shown, folder, "tokenizer_config.json").get("model_input_names")
    return not isinstance(names, list) or "token_type_ids" in names


def _read_json(shown: str, folder: Path, name: str, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode((folder / name).read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{shown}: {name} cannot be read there: {error}") from error


def pooling_of(shown: str, folder: Path, config: Config, requested: str | None) -> str:
    """The pooling that was requested, else that of the files of sentence-transformers, else `mean`.

    DPR has only `cls`. UsageError for another; InputError for files that name what is not known.
    """
    if is_dpr(config):
        if requested not in (None, "cls"):
            raise UsageError(
                f"{shown} is a DPR encoder, whose vector is the first token's; leave "
                f"pooling={requested} out"
            )
        return "cls"
    named = None
    for part in _modules(shown, folder):
        kind = str(part.get("type", "")).rpartition(".")[2]
        if kind not in _PARTS:
            raise InputError(
                f"{shown}: modules.json has a part {kind!r}; expected {', '.join(_PARTS)} and "
                "no others"
            )
        if kind == "Pooling" and requested is None:
            named = named or _pooling_in(shown, folder, str(part.get("path", "")))
    return requested or named or "mean"


def similarity_of(shown: str, folder: Path, config: Config) -> str:
    """`cosine` or `dot`: what the vectors were trained to be compared by. InputError.

    DPR and Contriever: dot. Else what the files of sentence-transformers name, else whether one of
    their parts makes unit vectors; cosine where there are no such files.
    """
    if is_dpr(config) or "Contriever" in (config.get("architectures") or ()):
        return "dot"
    file = "config_sentence_transformers.json"
    named = read_settings(shown, folder, file).get("similarity_fn_name")
    if named is not None and named not in ("cosine", "dot"):
        raise InputError(
            f"{shown}: {file} says the similarity {named!r}; expected cosine or dot. Say one of "
            "them with similarity=…"
        )
    if named is not None:
        return str(named)
    kinds = [str(part.get("type", "")).rpartition(".")[2] for part in _modules(shown, folder)]
    return "dot" if kinds and "Normalize" not in kinds else "cosine"


def _modules(shown: str, folder: Path) -> list[dict[str, Any]]:
    return _read_json(shown, folder, "modules.json", list[dict[str, Any]]) or []


def _pooling_in(shown: str, folder: Path, path: str) -> str:
    file = f"{path}/config.json".removeprefix("/")
    config = read_settings(shown, folder, file)
    modes = [
        _MODES.get(name, name)
        for name, value in config.items()
        if name.startswith("pooling_mode_") and value is True
    ]
    if isinstance(newer := config.get("pooling_mode"), str):
        modes = [newer]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise InputError(
            f"{shown}: {file} says the pooling {' and '.join(modes) or 'nothing'}; expected one "
            f"of {', '.join(POOLINGS)}"
        )
    return modes[0]
