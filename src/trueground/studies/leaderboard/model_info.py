"""What is known about models: family, size, training (`models.json` and the shipped table)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

import msgspec

from trueground.errors import InputError
from trueground.files import home

OWN_FILE = "models.json"
# "7b", "0.5B", "llama2:70b-chat"; not "8x7b", whose size is no product, and not "fp16b1".
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
_SPACES = re.compile(r"[\s_]+")


class ModelInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model. `size` is in billions of parameters, None where it is not public.

    `base` is the model, or the generation, that it was made from ("" where that is not public);
    `aliases` are other names under which it is run.
    """

    name: str
    family: str
    organization: str
    size: float | None = None
    base: str = ""
    training: str = ""
    open: bool | None = None
    aliases: tuple[str, ...] = ()


Models = Mapping[str, ModelInfo]


def load_models(extra: Path | None = None) -> Models:
    """All models by every name that `find_model` looks for. InputError: a file that is no table."""
    found = dict(_shipped())
    own = home() / OWN_FILE
    for path in (own if own.is_file() else None, extra):
        if path is None:
            continue
        try:
            models = msgspec.json.decode(path.read_bytes(), type=list[ModelInfo])
        except OSError as error:
            raise InputError(f"the models table {path} cannot be read: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(
                f"the models table {path}: {error}. Expected a JSON list such as "
                '[{"name": "my-model", "family": "My", "organization": "Me", "size": 7}]'
            ) from error
        found |= _by_name(models)
    return MappingProxyType(found)


def find_model(name: str, models: Models | None = None) -> ModelInfo | None:
    """The model of that name or alias, in any case, also behind an organization's or `hf:` prefix.

    `models` is what `load_models` gave; without it the shipped table and the user's own are read.
    """
    models = load_models() if models is None else models
    key = _key(name.removeprefix("hf:"))
    return models.get(key) or models.get(key.rpartition("/")[2])


def size_of(name: str, facts: ModelInfo | None) -> tuple[float, str] | None:
    """Billions of parameters and who says so: the models table, else the name ("…-7b-…")."""
    if facts is not None and facts.size:
        return facts.size, "models table"
    sizes = [float(size) for size in _SIZE.findall(name.rpartition("/")[2])]
    return (sizes[0], "name") if len(sizes) == 1 and sizes[0] > 0 else None


@cache
def _shipped() -> Models:
    file = files("trueground.studies.leaderboard") / "models_table.json"
    return _by_name(msgspec.json.decode(file.read_bytes(), type=list[ModelInfo]))


def _by_name(models: list[ModelInfo]) -> dict[str, ModelInfo]:
    return {_key(name): model for model in models for name in (model.name, *model.aliases)}


def _key(name: str) -> str:
    return _SPACES.sub("-", name.strip().lower())
