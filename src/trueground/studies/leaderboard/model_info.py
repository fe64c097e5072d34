"""Facts about models: family, size, training (`models.json` and the shipped table)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.files import home

OWN_FILE = "models.json"
# Spellings of older tables.
_KEY_ALIASES = {"organisation": "organization"}
# Matches "7b", "0.5B", "llama2:70b-chat". "8x7b" isn't 56b, and "fp16b1" isn't a size.
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
_SPACES = re.compile(r"[\s_]+")


class ModelInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model.

    Attributes:
        size: Billions of parameters, or None if it isn't public.
        base: The model or generation that it was made from, "" if it isn't public.
        aliases: Other names under which it is run.
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
    """Return all models by every name that `find_model` looks up.

    Args:
        extra: A table that overrides the user's table, which overrides the shipped one.

    Raises:
        InputError: A file isn't a table of models.
    """
    by_name = dict(_shipped())
    user_table = home() / OWN_FILE
    for path in (user_table if user_table.is_file() else None, extra):
        if path is None:
            continue
        try:
            models = _decode_table(path.read_bytes())
        except OSError as error:
            raise InputError(f"the models table {path} cannot be read: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(
                f"the models table {path}: {error}. Expected a JSON list such as "
                '[{"name": "my-model", "family": "My", "organization": "Me", "size": 7}]'
            ) from error
        by_name |= _by_name(models)
    return MappingProxyType(by_name)


def find_model(name: str, models: Models | None = None) -> ModelInfo | None:
    """Return the model with that name or alias, or None.

    Args:
        name: In any case, with or without the prefix of an organization or `hf:`.
        models: What `load_models` returned. Default: the shipped table and the user's table.
    """
    models = load_models() if models is None else models
    key = _key(name.removeprefix("hf:"))
    return models.get(key) or models.get(key.rpartition("/")[2])


def size_of(name: str, facts: ModelInfo | None) -> tuple[float, str] | None:
    """Return billions of parameters and their source: the table, or the name ("…-7b-…")."""
    if facts is not None and facts.size:
        return facts.size, "models table"
    sizes = [float(size) for size in _SIZE.findall(name.rpartition("/")[2])]
    return (sizes[0], "name") if len(sizes) == 1 and sizes[0] > 0 else None


@cache
def _shipped() -> Models:
    file = files("trueground.studies.leaderboard") / "models_table.json"
    return _by_name(msgspec.json.decode(file.read_bytes(), type=list[ModelInfo]))


def _decode_table(data: bytes) -> list[ModelInfo]:
    """Decode a user's table, with the keys of older ones. Raise msgspec.MsgspecError."""
    rows: Any = msgspec.json.decode(data)
    if isinstance(rows, list):
        rows = [_rename_keys(row) for row in rows]
    return msgspec.convert(rows, list[ModelInfo])


def _rename_keys(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {_KEY_ALIASES.get(key, key): value for key, value in row.items()}


def _by_name(models: list[ModelInfo]) -> dict[str, ModelInfo]:
    by_name = {}
    for model in models:
        for name in (model.name, *model.aliases):
            by_name[_key(name)] = model
    return by_name


def _key(name: str) -> str:
    return _SPACES.sub("-", name.strip().lower())
