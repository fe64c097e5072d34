"""What a stage does not let through, and the reasons that all stages share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CALL_FAILED = "call_failed"
# Why any stage that asks a model rejects an item, beside the stage's own reasons.
REASONS: Mapping[str, str] = {
    CALL_FAILED: "the call failed; the next run asks again",
    "truncated": "the reply was cut off at the token limit",
    "too_long": "the prompt is too long for the model",
    "refused": "the model declined to answer",
    "empty_reply": "the reply was empty, twice",
    "not_json": "the reply held no JSON, twice",
    "wrong_fields": "the reply's JSON lacked a field or had a wrong one, twice",
}


@dataclass(eq=False)
class Rejected(Exception):  # noqa: N818 - an outcome, not a mistake
    """An item that a stage does not let through, and why.

    Raised, it is the item that the stage works on; returned among other things, it is one of
    several that were made of it, and `id` is its own. `reason` is one of the stage's `reasons` or
    of REASONS; `detail` says what was found, in words for the builder's author, and
    `content` is the text or item that was refused (anything that JSON can hold). A `transient`
    cause may pass, as a call that failed: the next run tries the item again.
    """

    reason: str
    detail: str = ""
    content: Any = None
    id: str = field(default="", kw_only=True)
    transient: bool = field(default=False, kw_only=True)
