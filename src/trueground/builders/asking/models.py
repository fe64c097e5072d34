"""The models of a build: from what a user wrote for each role to what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from trueground.builders.asking.ask import AskedModel
from trueground.builders.base import Builder
from trueground.builders.settings import EndpointDefaults
from trueground.errors import UsageError, unknown_name
from trueground.models.base import ChatModel, Params
from trueground.models.options import OPTIONS, ModelOptions, check_variable
from trueground.models.registry import make_model
from trueground.plugins import PartSpec, parse_model_part

_OWN = ("temperature", "max_tokens")


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
