"""How a model is reached and loaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from trueground.components import ComponentSpec
from trueground.errors import UsageError
from trueground.options import Option, declared_options, split_pair

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRETS = {"key", "apikey", "token", "secret", "password", "authorization", "credentials"}
# Numbers of vocabulary entries (stop_token_ids), and OpenAI's name for calls that share a cache.
_NO_SECRETS = re.compile(r".*_ids?|prompt_cache_key")

# What may stand in the parentheses of `NAME:MODEL(…)`; a part's own options come beside them.
OPTIONS = ("base_url", "api_key_env", "max_connections", "rpm", "tpm", "timeout", "max_attempts")


def parse_extra(texts: Sequence[str]) -> dict[str, Any]:
    """NAME=JSON, as --param takes it. UsageError for what cannot be read, or is a secret."""
    import orjson

    extra = {}
    form = "NAME=JSON, as in reasoning_effort='\"low\"'"
    for text in texts:
        name, _, _ = text.partition("=")
        if _is_secret(name):
            raise _secret_param(name.strip())
        name, json = split_pair("--param", text, form, secret=True)
        try:
            extra[name] = orjson.loads(json)
        except ValueError:
            raise UsageError(f"--param {name!r} cannot be read; write {form}") from None
        if inner := _secret_within(extra[name]):
            raise _secret_param(f"{name} … {inner}")
    return extra


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


Extra = Annotated[
    dict[str, Any],
    Option(
        "Extra request parameter, as NAME=JSON. Repeatable.",
        "--param",
        metavar="NAME=JSON",
        type=list[str] | None,
        parse=parse_extra,
    ),
]


@dataclass(frozen=True)
class EndpointOptions:
    """How to reach a model, and how fast to call it."""

    base_url: str | None = None
    api_key_env: str | None = None
    max_connections: Annotated[int, Option("Maximum number of concurrent requests.", min=1)] = 32
    rpm: Annotated[float | None, Option("Maximum requests per minute.", min=0.1)] = None
    tpm: Annotated[float | None, Option("Maximum tokens per minute.", min=1)] = None
    timeout: Annotated[float, Option("Timeout of one attempt, in seconds.", min=0.01)] = 300.0
    deadline: Annotated[
        float, Option("Timeout of a request with all attempts, in seconds.", min=0.01)
    ] = 1_800.0
    max_attempts: Annotated[int, Option("Maximum attempts per request.", min=1)] = 6

    def __post_init__(self) -> None:
        declared_options(type(self)).check(vars(self))

    @staticmethod
    def check_variable(option: str, name: str) -> None:
        """UsageError for what may be a key itself and no variable's name, without showing it."""
        if not _VARIABLE.fullmatch(name):
            raise UsageError(
                f"{option} expects the name of an environment variable, such as OPENAI_API_KEY, "
                "and was given something else. If it was the key itself: put it into a variable, "
                "and give that name"
            )


@dataclass(frozen=True)
class ModelOptions(EndpointOptions):
    """Options of one model. What a kind of model has no use for, it ignores.

    `timeout` (seconds) is for one attempt, `deadline` for a call with all its attempts; `rpm` and
    `tpm` are requests and tokens per minute.
    """

    api: Annotated[Literal["chat", "completions"], Option("API of the endpoint.")] = "chat"
    wrapper: Annotated[
        Path | None,
        Option("Template file with {system} and {user}, for models without a chat template."),
    ] = None
    batch_size: Annotated[int, Option("hf: number of prompts per batch.", min=1)] = 8
    quantize: Annotated[Literal["4bit"] | None, Option("hf: quantize the model (needs a GPU).")] = (
        None
    )
    device_map: Annotated[str | None, Option("hf: device, such as auto, cpu or cuda.")] = None
    dtype: Annotated[str | None, Option("hf: number type, such as float32 or bfloat16.")] = None
    trust_remote_code: Annotated[
        bool, Option("hf: allow running code from the model's repository.")
    ] = False
    extra: dict[str, Any] = field(default_factory=dict)


def endpoint_options(
    given: ComponentSpec, who: str, base: ModelOptions | None = None
) -> ModelOptions:
    """What a part `NAME:MODEL(…)` says of its endpoint, else what `base` says. UsageError.

    `who` is the part in words.
    """
    base, own = base or ModelOptions(), given.options
    for variable in (base.api_key_env, own.get("api_key_env")):
        if variable is not None:
            EndpointOptions.check_variable(f"{who}: api_key_env", variable)
    return replace(
        base,
        base_url=own.get("base_url", base.base_url),
        api_key_env=own.get("api_key_env", base.api_key_env),
        max_connections=given.whole("max_connections", base.max_connections),
        rpm=given.number("rpm", base.rpm, 0.1),
        tpm=given.number("tpm", base.tpm, 1),
        timeout=given.number("timeout", base.timeout, 0.01) or base.timeout,
        max_attempts=given.whole("max_attempts", base.max_attempts),
    )
