"""The models of a build: from what a user wrote for each role to what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

import msgspec

from trueground.builders.asking.ask import AskedModel
from trueground.builders.base import Builder
from trueground.errors import UsageError, unknown_name
from trueground.models.asker import OPTIONS
from trueground.models.base import ChatModel, Params
from trueground.models.options import (
    Deadline,
    MaxAttempts,
    MaxConnections,
    ModelOptions,
    RequestsPerMinute,
    Timeout,
    TokensPerMinute,
    check_variable,
)
from trueground.models.registry import make_model
from trueground.options import Option
from trueground.plugins import PartSpec, parse_model_part

_OWN = ("temperature", "max_tokens")


@dataclass(frozen=True)
class EndpointDefaults:
    """What holds for every model that does not say otherwise in its parentheses."""

    base_url: Annotated[
        str | None, Option("Endpoint of all models, as http://localhost:8000/v1.")
    ] = None
    api_key_env: Annotated[
        str | None, Option("Variable that holds the key. Default: OPENAI_API_KEY.")
    ] = None
    max_connections: MaxConnections = 32
    rpm: RequestsPerMinute = None
    tpm: TokensPerMinute = None
    timeout: Timeout = 300.0
    deadline: Deadline = 1_800.0
    max_attempts: MaxAttempts = 6
    temperature: Annotated[
        float | None, Option("Of the model that writes; judges have 0.", min=0.0)
    ] = None
    max_tokens: Annotated[int | None, Option("Longest reply.", min=1)] = None
    seed: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict)

    def options(self) -> ModelOptions:
        """How a model is reached that says nothing of its own."""
        return ModelOptions(
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            max_connections=self.max_connections,
            rpm=self.rpm,
            tpm=self.tpm,
            timeout=self.timeout,
            deadline=self.deadline,
            max_attempts=self.max_attempts,
        )


def make_models(
    builder: Builder, written: Mapping[str, str | ChatModel], endpoint: EndpointDefaults
) -> dict[str, AskedModel]:
    """A model for each role that was given one: `NAME` or `NAME(base_url=URL,api_key_env=KEY,…)`.

    The first role writes: its temperature is the endpoint's own, or --temperature; all others judge
    at temperature 0. UsageError: an unknown role, one that is needed and absent, and what the
    model's kind raises.
    """
    known = [role.name for role in builder.roles]
    for name in written:
        if name not in known:
            raise unknown_name(f"role of a model in {builder.name}", name, known)
    for role in builder.roles:
        if role.needed and role.name not in written:
            option = option_of(builder, role.name)
            raise UsageError(f"build {builder.name} needs {option} NAME: {role.doc}")
    return {
        role: _made(role, model, endpoint, writes=role == known[0])
        for role, model in written.items()
    }


def option_of(builder: Builder, role: str) -> str:
    """The option of the command line that names the model of a role."""
    return "--model" if role == builder.roles[0].name else f"--{role}-model"


def _made(
    role: str, written: str | ChatModel, endpoint: EndpointDefaults, *, writes: bool
) -> AskedModel:
    warm = None if endpoint.temperature is None else float(endpoint.temperature)
    cold = warm if writes else 0.0
    params = Params(
        temperature=cold,
        max_tokens=endpoint.max_tokens,
        seed=endpoint.seed,
        extra=dict(endpoint.extra),
    )
    if not isinstance(written, str):
        return AskedModel(written, params)
    name, given = parse_model_part(role.replace("_", "-"), written)
    given.check((*OPTIONS, *_OWN))
    if "temperature" in given.options:
        none = given.options["temperature"] == "none"
        cold = None if none else given.number("temperature", None, 0)
        params = msgspec.structs.replace(params, temperature=cold)
    if "max_tokens" in given.options:
        params = msgspec.structs.replace(params, max_tokens=given.whole("max_tokens", 1))
    return AskedModel(make_model(name, _options(role, given, endpoint)), params)


def _options(role: str, given: PartSpec, endpoint: EndpointDefaults) -> ModelOptions:
    own = given.options
    for key in (own.get("api_key_env"), endpoint.api_key_env):
        if key is not None:
            check_variable(f"the model of the role {role}: api_key_env", key)
    return replace(
        endpoint.options(),
        base_url=own.get("base_url", endpoint.base_url),
        api_key_env=own.get("api_key_env", endpoint.api_key_env),
        max_connections=given.whole("max_connections", endpoint.max_connections),
        rpm=given.number("rpm", endpoint.rpm, 0.1),
        tpm=given.number("tpm", endpoint.tpm, 1),
        timeout=given.number("timeout", endpoint.timeout, 0.01) or endpoint.timeout,
        max_attempts=given.whole("max_attempts", endpoint.max_attempts),
    )
