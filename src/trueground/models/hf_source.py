"""Where a Hugging Face model lies, and whether what is asked for can be had; nothing is loaded."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from typing import Any

import msgspec

from trueground.errors import MissingExtraError, UsageError
from trueground.models.options import ModelOptions
from trueground.net import checkpoints
from trueground.net.checkpoints import (
    CheckpointSource,
    Wanted,
    folder_signature,
    local_folder,
    no_safetensors,
    read_config,
    resolve,
)

_DTYPES = ("auto", "float32", "float16", "bfloat16")
_WHAT = "a model hf:…"


def needed(module: str) -> Any:
    """A module of the `hf` extra; see `checkpoints.needed`."""
    return checkpoints.needed(module, _WHAT, "hf")


def check(options: ModelOptions) -> None:
    """See that what is asked for can be had, before anything is loaded."""
    for module in ("torch", "transformers", "accelerate"):
        if find_spec(module) is None:
            raise MissingExtraError(_WHAT, "hf")
    if options.batch_size < 1:
        raise UsageError(f"batch size {options.batch_size}; expected 1 or more")
    if options.dtype is not None and options.dtype not in _DTYPES:
        raise UsageError(f"dtype {options.dtype!r}; expected one of {', '.join(_DTYPES)}")
    if options.quantize is not None:
        if not needed("torch").cuda.is_available():
            raise UsageError(
                "4-bit quantization needs an NVIDIA GPU, and PyTorch finds none on this machine; "
                "leave quantization out, or run where there is one"
            )
        if find_spec("bitsandbytes") is None:
            raise MissingExtraError("4-bit quantization", "hf-4bit")


def find(name: str, options: ModelOptions) -> CheckpointSource:
    """The folder of that name, or else the model on the Hub. Raises InputError."""
    wanted = Wanted(name, prefix="hf:", what=_WHAT)
    folder = local_folder(wanted)
    if folder is None:
        source = resolve(wanted)
        return CheckpointSource(source.where, source.revision, source.signature + _changes(options))
    read_config(wanted, folder)
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise no_safetensors(wanted.shown)
    signature = folder_signature(folder, weights)
    return CheckpointSource(str(folder), None, signature + _changes(options))


def _changes(options: ModelOptions) -> str:
    """What of the options changes the answers."""
    changes = [c for c in (options.dtype, options.quantize) if c is not None]
    if options.wrapper is not None:
        changes.append(hashlib.sha256(options.wrapper.read_bytes()).hexdigest()[:16])
    if options.extra:
        canonical = msgspec.json.encode(options.extra, order="sorted")
        changes.append(hashlib.sha256(canonical).hexdigest()[:16])
    return "".join(f"+{change}" for change in changes)
