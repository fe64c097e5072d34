"""A model that has a role in a build; why an item falls where asking it comes to nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueground.builders.asking.schemas import is_refused, refuses_schema
from trueground.builders.rejected import CALL_FAILED, Rejected
from trueground.models.asker import Spent
from trueground.models.base import ChatModel, Params, Reply
from trueground.types import Status


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
    """The reply itself, if there is a whole one. Raises Rejected."""
    if reply.refusal:
        raise Rejected("refused", reply.text[:200])
    if reply.status is Status.TRUNCATED:
        raise Rejected("truncated", "the reply was cut off; give --max-tokens a larger number")
    if reply.status is Status.TOO_LONG:
        raise Rejected("too_long", reply.error or "")
    if reply.status is not None:
        raise Rejected(CALL_FAILED, reply.error or "", transient=True)
    return reply
