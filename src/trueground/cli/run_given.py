"""What `trueground run` was given, read: models, parameters of their calls, and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import orjson

from trueground.cli._output import command_line
from trueground.errors import UsageError
from trueground.evaluate.parts import Parts
from trueground.evaluate.questions import RunSettings
from trueground.models.base import ChatModel, Params
from trueground.models.options import ModelOptions, check_variable
from trueground.models.pricing import read_prices
from trueground.models.registry import make_model

# The largest whole number that every JSON reader takes as it is, and that of 64 bits for seeds.
_LARGEST, _LARGEST_SEED = 2**53 - 1, 2**63 - 1
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRETS = {"key", "apikey", "token", "secret", "password", "authorization", "credentials"}
# Numbers of vocabulary entries (stop_token_ids), and OpenAI's name for calls that share a cache.
_NO_SECRETS = re.compile(r".*_ids?|prompt_cache_key")


def models_of(given: Mapping[str, Any]) -> list[ChatModel]:
    """The models named, each with its own endpoint where several are given."""
    names: list[str] = given["model"]
    urls = _one_each("--base-url", given["base_url"], names)
    keys = _one_each("--api-key-env", _variables(given["api_key_env"]), names)
    return [
        make_model(
            name,
            ModelOptions(
                base_url=url or None,
                api_key_env=key or None,
                api=given["api"].value,
                max_connections=given["max_connections"],
                rpm=given["rpm"],
                tpm=given["tpm"],
                timeout=given["timeout"],
                deadline=given["deadline"],
                max_attempts=given["max_attempts"],
                wrapper=given["wrapper"],
                batch_size=given["batch_size"],
                quantize=given["quantize"].value if given["quantize"] else None,
                device_map=given["device_map"],
                dtype=given["dtype"],
                trust_remote_code=given["trust_remote_code"],
            ),
        )
        for name, url, key in zip(names, urls, keys, strict=True)
    ]


def _variables(names: list[str] | None) -> list[str] | None:
    """The names as they are. UsageError for what may be a key itself, without showing it."""
    for name in names or ():
        check_variable("--api-key-env", name)
    return names


def check_numbers(given: Mapping[str, Any]) -> None:
    """UsageError for numbers that no model and no file takes: endless ones, too long ones."""
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{option} {value}: expected a finite number")
        most = _LARGEST_SEED if name == "seed" else _LARGEST
        if isinstance(value, int) and value > most:
            raise UsageError(f"{option} {value}: expected a whole number up to {most:,}")


def _one_each(option: str, values: list[str] | None, names: Sequence[str]) -> list[str]:
    values = values or [""]
    if len(values) == 1:
        return values * len(names)
    if len(values) != len(names):
        raise UsageError(
            f"{option} is given {len(values)} times for {len(names)} models; give it once for all, "
            "or once for each --model in the same order"
        )
    return values


def settings_of(given: Mapping[str, Any], parts: Parts) -> RunSettings:
    seed = given["seed"]
    params = Params(
        temperature=given["temperature"],
        top_p=given["top_p"],
        top_k=given["top_k"],
        min_tokens=given["min_tokens"],
        max_tokens=given["max_tokens"],
        seed=seed,
        extra=dict(map(extra, given["param"] or ())),
    )
    return RunSettings(
        params=params,
        limit=given["limit"],
        repeats=given["repeats"],
        by=tuple(given["by"] or ()),
        also=tuple(given["also"] or ()),
        parts=parts,
        seed=0 if seed is None else seed,
        cache=not given["no_cache"],
        retry_failed=given["retry_failed"],
        batch=given["batch"],
        poll_seconds=given["poll"],
        prices=read_prices(given["prices"]) if given["prices"] else None,
        time_limit=given["time_limit"],
        keep_records=not given["no_records"],
        command=command_line(),
    )


def extra(text: str) -> tuple[str, Any]:
    """NAME=JSON, as --param takes it. UsageError for what cannot be read, or is a secret."""
    name, equals, json = (part.strip() for part in text.partition("="))
    if _is_secret(name):
        raise _secret_param(name)
    try:
        if not equals or not name:
            raise ValueError
        value = orjson.loads(json)
    except ValueError:
        raise UsageError(
            f"--param {name!r} cannot be read; write NAME=JSON, as in reasoning_effort='\"low\"'"
        ) from None
    if inner := _secret_within(value):
        raise _secret_param(f"{name} … {inner}")
    return name, value


def _secret_within(value: Any) -> str | None:
    """The first name in the value that holds a secret: headers, and whatever else is nested."""
    if isinstance(value, list):
        return next(filter(None, map(_secret_within, value)), None)
    if not isinstance(value, dict):
        return None
    own = (name for name, inner in value.items() if isinstance(inner, str) and _is_secret(name))
    return next(own, None) or _secret_within(list(value.values()))


def _is_secret(name: str) -> bool:
    """Is a word of the name `key`, `token` or the like? In `max_tokens` there is none."""
    words = {word.lower() for word in _WORD.findall(name)}
    return not words.isdisjoint(_SECRETS) and not _NO_SECRETS.fullmatch(name)


def _secret_param(name: str) -> UsageError:
    return UsageError(
        f"--param {name} looks like a secret, and parameters are written into the run's files. "
        "Put it into an environment variable, and name that with --api-key-env"
    )
