"""The JSON schema of what a model is to reply with, as endpoints and models are told it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trueground.models.base import Reply
from trueground.types import Status

_REFUSES = ("response_format", "json_schema", "guided", "structured", "schema", "grammar")
_REFUSED = ("HTTP 400", "HTTP 422", "HTTP 501")


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a Struct, strict as endpoints want it: all fields, and no others."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = schema["$ref"].rpartition("/")[2]
    strict = {key: _strict(part) for key, part in parts.items()}
    whole = strict.pop(name)
    return whole | ({"$defs": strict} if strict else {})


def as_parameter(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The parameter of a call that asks for it."""
    named = {"name": "reply", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def as_text(schema: Mapping[str, Any]) -> str:
    """The schema as a model reads it in a message."""
    return msgspec.json.encode(schema).decode()


def refuses_schema(reply: Reply) -> bool:
    """Did the endpoint refuse the call, and say that it was because of the schema?"""
    said = (reply.error or "").lower()
    return reply.status is Status.ERROR and any(word in said for word in _REFUSES)


def is_refused(reply: Reply) -> bool:
    """Did the endpoint find something wrong with the call, in whatever words?"""
    return reply.status is Status.ERROR and (reply.error or "").startswith(_REFUSED)


def _strict(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "object" or "properties" not in part:
        return part
    fields = {
        name: {key: value for key, value in field.items() if key != "default"}
        for name, field in part["properties"].items()
    }
    return part | {
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
