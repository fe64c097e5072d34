"""A model that has a role in a build; why an item falls where asking it comes to nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trueground.builders.asking.schemas import is_refused, refuses_schema
from trueground.builders.fallen import Fallen
from trueground.models.asker import Spent
from trueground.models.base import ChatModel, Params, Reply
from trueground.types import Status

CALL_FAILED = "call_failed"
# Why an item falls in any stage that asks, beside the stage's own reasons.
REASONS: Mapping[str, str] = {
    CALL_FAILED: "the call failed; the next run asks again",
    "truncated": "the reply was cut off at the token limit",
    "too_long": "the prompt is too long for the model",
    "refused": "the model declined to answer",
    "empty_reply": "the reply was empty, twice",
    "not_json": "the reply held no JSON, twice",
    "wrong_fields": "the reply's JSON lacked a field or had a wrong one, twice",
}


@dataclass
class AskedModel:
    """A model that has a role, and how it is asked."""

    model: ChatModel
    params: Params = field(default_factory=Params)
    spent: Spent = field(default_factory=Spent)
    structured: bool = True  # until the endpoint says that it offers no JSON schema
    schema_refused: bool = False  # whether it said so in words
    taken: bool = False  # whether it has taken one

    @property
    def offers(self) -> bool:
        """Whether the model's kind can be asked for JSON of a schema."""
        return bool(getattr(self.model, "offers_schema", False))

    def may_be_the_schema(self, reply: Reply) -> bool:
        """Might the same call without the schema fare better?"""
        return refuses_schema(reply) or (not self.taken and is_refused(reply))


def whole(reply: Reply) -> Reply:
    """The reply itself, if there is a whole one. Raises Fallen."""
    if reply.refusal:
        raise Fallen("refused", reply.text[:200])
    if reply.status is Status.TRUNCATED:
        raise Fallen("truncated", "the reply was cut off; give --max-tokens a larger number")
    if reply.status is Status.TOO_LONG:
        raise Fallen("too_long", reply.error or "")
    if reply.status is not None:
        raise Fallen(CALL_FAILED, reply.error or "", passing=True)
    return reply
