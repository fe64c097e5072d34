"""Options for reaching an endpoint and for loading a model."""

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
# Not secrets: numbers of vocabulary entries (stop_token_ids), and OpenAI's key of its prompt cache.
_NO_SECRETS = re.compile(r".*_ids?|prompt_cache_key")

# Options in the parentheses of `NAME:MODEL(…)` that every component with a model has.
OPTIONS = ("base_url", "api_key_env", "max_connections", "rpm", "tpm", "timeout", "max_attempts")


def parse_extra(texts: Sequence[str]) -> dict[str, Any]:
    """Parse the NAME=JSON of --param. UsageError if one is invalid or looks like a secret."""
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
            raise UsageError(f"--param {name!r} isn't valid JSON; expected {form}") from None
        inner = _secret_within(extra[name])
        if inner:
            raise _secret_param(f"{name} … {inner}")
    return extra


def _secret_within(value: Any) -> str | None:
    """Return the first name in a nested value that looks like a secret, or None."""
    if isinstance(value, list):
        return next(filter(None, map(_secret_within, value)), None)
    if not isinstance(value, dict):
        return None
    names = [name for name, inner in value.items() if isinstance(inner, str) and _is_secret(name)]
    if names:
        return str(names[0])
    return _secret_within(list(value.values()))


def _is_secret(name: str) -> bool:
    """Return whether a name contains a word such as `key` or `token`, unlike `max_tokens`."""
    name_parts = {word.lower() for word in _WORD.findall(name)}
    return not name_parts.isdisjoint(_SECRETS) and not _NO_SECRETS.fullmatch(name)


def _secret_param(name: str) -> UsageError:
    return UsageError(
        f"--param {name} looks like a secret, but parameters are written to the run's files. Put "
        "the secret into an environment variable, and pass its name with --api-key-env"
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
    """Options for reaching an endpoint, and limits for calls."""

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
        """Raise UsageError unless this is the name of a variable, without showing a key."""
        if not _VARIABLE.fullmatch(name):
            raise UsageError(
                f"{option} expects the name of an environment variable, such as OPENAI_API_KEY, "
                "but got something else. If you passed the key itself, put it into an environment "
                "variable and pass the name of the variable"
            )


@dataclass(frozen=True)
class ModelOptions(EndpointOptions):
    """Options of a model. Each kind of model ignores options that don't apply to it.

    Attributes:
        base_url: Address of an OpenAI-compatible endpoint. Default: OPENAI_BASE_URL, else OpenAI.
        api_key_env: Name of the environment variable with the API key. Default: OPENAI_API_KEY.
        max_connections: Maximum number of calls at the same time.
        rpm: Maximum requests per minute.
        tpm: Maximum tokens per minute.
        timeout: Timeout of one attempt in seconds.
        deadline: Timeout of a call with all attempts in seconds.
        max_attempts: Maximum attempts per call.

    Example:
        >>> tg.ModelOptions(base_url="http://localhost:8000/v1", rpm=60)
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
    spec: ComponentSpec, who: str, base: ModelOptions | None = None
) -> ModelOptions:
    """Return the options of a component's endpoint.

    Args:
        spec: The component, `NAME:MODEL(…)`.
        who: The component, as errors call it.
        base: The options that the spec doesn't have.

    Raises:
        UsageError: An option is invalid.
    """
    base, options = base or ModelOptions(), spec.options
    for variable in (base.api_key_env, options.get("api_key_env")):
        if variable is not None:
            EndpointOptions.check_variable(f"{who}: api_key_env", variable)
    return replace(
        base,
        base_url=options.get("base_url", base.base_url),
        api_key_env=options.get("api_key_env", base.api_key_env),
        max_connections=spec.whole("max_connections", base.max_connections),
        rpm=spec.number("rpm", base.rpm, 0.1),
        tpm=spec.number("tpm", base.tpm, 1),
        timeout=spec.number("timeout", base.timeout, 0.01) or base.timeout,
        max_attempts=spec.whole("max_attempts", base.max_attempts),
    )
