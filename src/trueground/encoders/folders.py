"""Finding an encoder's files, choosing what runs them, and seeing that they are whole."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trueground.encoders.kinds import WORDS, Kind, check_kind
from trueground.encoders.options import EncoderOptions
from trueground.errors import InputError, MissingExtraError, UsageError
from trueground.net.checkpoints import (
    CheckpointSource,
    Wanted,
    check_whole,
    fetch,
    folder_signature,
    hub_files,
    local_folder,
    no_safetensors,
    read_config,
    resolve,
)

_SETTINGS = (".json", ".txt", ".model")
_INTEGER_STEPS = (b"DynamicQuantizeLinear", b"MatMulInteger", b"QLinearMatMul", b"DequantizeLinear")


@dataclass(frozen=True)
class Checkpoint:
    """A model whose files lie in `folder`. `onnx`: the files to run, empty for PyTorch."""

    shown: str
    folder: Path
    signature: str
    config: dict[str, Any]
    onnx: tuple[Path, ...]


def find_checkpoint(model: str, options: EncoderOptions, kind: Kind) -> Checkpoint:
    """The folder, or the files fetched from the Hub. UsageError, InputError, MissingExtraError."""
    wanted = Wanted(model, what="an encoder", extra="onnx", revision=options.revision)
    folder = local_folder(wanted)
    if folder is not None:
        if options.revision is not None:
            raise UsageError(f"{model} is a folder; a revision belongs to a name on the Hub")
        files = [f.relative_to(folder).as_posix() for f in _tree(folder)]
        config = read_config(wanted, folder)
        check_kind(model, config, kind)
        onnx, weights = _chosen(model, files, options, kind)
        # Such as 1_Pooling/config.json.
        settings = [folder / name for name in files if name.endswith("/config.json")]
        signature = folder_signature(folder, [folder / name for name in weights], settings)
    else:
        source = resolve(wanted)
        config = read_config(wanted, fetch(wanted, source, ()))
        check_kind(model, config, kind)
        files = hub_files(wanted, source)
        onnx, weights = _chosen(model, files, options, kind)
        folder = _fetched(wanted, source, files, weights, options)
        signature = source.signature
    for name in weights:
        if name.endswith(".safetensors"):
            check_whole(model, folder / name)
    paths = tuple(folder / name for name in onnx)
    _check_arithmetic(model, paths, options)
    return Checkpoint(model, folder, signature + "".join(f"/{n}" for n in onnx), config, paths)


def _tree(folder: Path) -> list[Path]:
    """Files at the folder's top and one level below."""
    return sorted(f for f in (*folder.glob("*"), *folder.glob("*/*")) if f.is_file())


def _fetched(
    wanted: Wanted,
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
    return fetch(wanted, source, [*settings, *weights])


def _chosen(
    shown: str, files: Sequence[str], options: EncoderOptions, kind: Kind
) -> tuple[list[str], list[str]]:
    """(ONNX files to run, all files with weights); the first is empty for PyTorch."""
    if _runs_onnx(files, options):
        if find_spec("onnxruntime") is None:
            raise MissingExtraError("an encoder on ONNX runtime", "onnx")
        onnx = _onnx(shown, files, options, kind)
        beside = [f for f in files if f.startswith(tuple(onnx)) and f not in onnx]
        return onnx, sorted([*onnx, *beside])
    for module in ("torch", "transformers"):
        if find_spec(module) is None:
            raise MissingExtraError("an encoder on PyTorch", "hf")
    weights = [f for f in files if f.endswith(".safetensors") and "/" not in f]
    if not weights:
        raise no_safetensors(shown)
    return [], ["model.safetensors"] if "model.safetensors" in weights else weights


def _runs_onnx(files: Sequence[str], options: EncoderOptions) -> bool:
    if options.backend != "auto":
        return options.backend == "onnx"
    if options.file is not None:
        return True
    if options.dtype != "float32" or options.trust_remote_code:
        return False
    return any(f.endswith(".onnx") for f in files) and find_spec("onnxruntime") is not None


def _onnx(shown: str, files: Sequence[str], options: EncoderOptions, kind: Kind) -> list[str]:
    """The file that was asked for, else the one of the usual name, else the only one."""
    there = [f for f in files if f.endswith(".onnx")]
    usual = "encoder_model.onnx" if kind is WORDS else "model.onnx"
    places = (usual, f"onnx/{usual}")
    found = [f for f in places if f in there]
    if options.file is not None:
        found = [options.file] if options.file in there else []
    elif options.dtype == "int8":
        raise UsageError(
            f"{shown}: int8 on ONNX runtime needs a quantised file; name it with file=…, one of: "
            f"{', '.join(there) or 'none is there'}"
        )
    elif not found and len(there) == 1:
        found = there
    if not found:
        raise InputError(
            f"{shown}: no {options.file or ' or '.join(places)} there; found "
            f"{', '.join(there) or 'no .onnx file'}. Name one with file=…, or use backend=torch"
        )
    if kind is not WORDS:
        return found[:1]
    folder, _, encoder = found[0].rpartition("/")
    decoder = (folder + "/" if folder else "") + encoder.replace("encoder", "decoder", 1)
    if decoder not in there or decoder == found[0]:
        raise InputError(
            f"{shown}: {found[0]} has no decoder beside it; expected encoder_model.onnx and "
            "decoder_model.onnx, exported without a cache of past states"
        )
    return [found[0], decoder]


def _check_arithmetic(shown: str, files: Sequence[Path], options: EncoderOptions) -> None:
    """UsageError where the dtype that was said is not the one of the ONNX file."""
    if not files:
        return
    if options.dtype in ("float16", "bfloat16"):
        raise UsageError(
            f"{shown}: an ONNX file has its own dtype; leave dtype {options.dtype} out and name "
            "the file with file=…, or use backend=torch"
        )
    quantised = any(_is_quantised(file) for file in files)
    if quantised != (options.dtype == "int8"):
        have, said = ("int8", "float32") if quantised else ("float32", "int8")
        raise UsageError(
            f"{shown}: {files[0].name} computes in {have}, and dtype is {said}; say dtype={have}, "
            "or name another file with file=…"
        )


def _is_quantised(file: Path) -> bool:
    """Whether steps of the graph are in whole numbers; their names stand readable in the file."""
    with file.open("rb") as stream:
        if file.stat().st_size == 0:
            raise InputError(f"{file} is empty; fetch it again")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(step) >= 0 for step in _INTEGER_STEPS)
