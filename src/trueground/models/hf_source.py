"""Where a Hugging Face model lies, and whether what is asked for can be had; nothing is loaded."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError, MissingExtraError, UsageError
from trueground.models.options import ModelOptions

_DTYPES = ("auto", "float32", "float16", "bfloat16")
_SETTINGS = (".json", ".jinja", ".model", ".txt", ".py")
_SAMPLES = 256
_BLOCK = 4096


@dataclass(frozen=True)
class Source:
    """A model that was found: a folder, or a name on the Hub at one commit."""

    where: str
    revision: str | None
    signature: str


def needed(module: str) -> Any:
    """A module of the `hf` extra. Typed Any, so that type checks do not depend on the extra."""
    # Their Hub client reports its use unless told not to; the user asked for a model only.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError("hf:… models", "hf") from error


def check(options: ModelOptions) -> None:
    """See that what is asked for can be had, before anything is loaded."""
    for module in ("torch", "transformers", "accelerate"):
        if find_spec(module) is None:
            raise MissingExtraError("hf:… models", "hf")
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


def find(name: str, options: ModelOptions) -> Source:
    """The folder of that name, or else the model on the Hub. Raises InputError."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _folder(name, folder, options)
    if folder.exists():
        raise InputError(f"hf:{name} is a file; give the folder with config.json and the weights")
    if name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1:
        raise InputError(
            f"hf:{name}: there is no such folder; give a folder with config.json, tokenizer and "
            "*.safetensors, or a name on the Hugging Face Hub such as ORGANISATION/MODEL"
        )
    return _on_hub(name, options)


def _folder(name: str, folder: Path, options: ModelOptions) -> Source:
    try:
        msgspec.json.decode((folder / "config.json").read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"hf:{name}: config.json cannot be read there: {error}") from error
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise no_safetensors(name)
    digest = hashlib.sha256()
    for file in sorted(f for f in folder.iterdir() if f.suffix in _SETTINGS and f.is_file()):
        digest.update(f"{file.name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode())
    for file in weights:
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        for block in _samples(file):
            digest.update(block)
    # Not the whole path: the same model elsewhere gives the same answers.
    signature = f"hf/{folder.resolve().name}@{digest.hexdigest()[:16]}"
    return Source(str(folder), None, signature + _changes(options))


def no_safetensors(name: str) -> InputError:
    """Other formats of weights can hold code that runs when they are opened."""
    return InputError(
        f"hf:{name}: no *.safetensors there, and other formats of weights are not loaded; "
        "convert the model with its save_pretrained(), which writes safetensors"
    )


def _samples(file: Path) -> Iterator[bytes]:
    """Blocks spread over the file: a model trained further has the same names and sizes."""
    size = file.stat().st_size
    step = max(_BLOCK, size // _SAMPLES)
    with file.open("rb") as stream:
        for offset in range(0, size, step):
            stream.seek(offset)
            yield stream.read(_BLOCK)


def _on_hub(name: str, options: ModelOptions) -> Source:
    hub = needed("huggingface_hub")
    try:
        config = Path(hub.hf_hub_download(name, "config.json"))
    except Exception as error:  # the Hub's client has exceptions of several families
        raise InputError(
            f"hf:{name}: no such folder here, and the Hugging Face Hub did not give the model "
            f"({reason(error)}). Check the name and the network; a gated model needs HF_TOKEN. "
            f"Without network, run `hf download {name} --local-dir FOLDER` where there is one, "
            "copy the folder and give hf:FOLDER."
        ) from error
    commit = config.parent.name
    return Source(name, commit, f"hf/{name}@{commit[:16]}{_changes(options)}")


def _changes(options: ModelOptions) -> str:
    """What of the options changes the answers."""
    changes = [c for c in (options.dtype, options.quantize) if c is not None]
    if options.wrapper is not None:
        changes.append(hashlib.sha256(options.wrapper.read_bytes()).hexdigest()[:16])
    if options.extra:
        canonical = msgspec.json.encode(options.extra, order="sorted")
        changes.append(hashlib.sha256(canonical).hexdigest()[:16])
    return "".join(f"+{change}" for change in changes)


def reason(error: Exception) -> str:
    """Kind and first line of an error of another library."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
