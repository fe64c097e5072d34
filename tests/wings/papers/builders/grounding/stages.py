"""One stage with one item and models that say what a test tells them to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trueground.models.base import ChatRequest
from trueground.testing import FakeModel
from trueground.wings.papers.builders.base import REASONS, Rejected, Stage
from trueground.wings.papers.builders.client import ModelClient, RoleModel
from trueground.wings.papers.builders.grounding.items import (
    AtomicFact,
    Context,
    Factual,
    GroundedPair,
    OriginalInstance,
)
from trueground.wings.papers.builders.settings import Material

MATERIAL = Material(paths=(Path("none"),))
TEXT = (
    "Brill Lock was opened in 1820 and is 30 metres long. "
    "The keeper's house was finished in 1820 too. "
    "Barges pay no toll on Sundays."
)
OTHER = "The Osk Canal joins Brill Lock to the sea. It is 12 kilometres long."
PAIR = GroundedPair(
    id="p1",
    question="When was Brill Lock opened?",
    answer="Brill Lock was opened in 1820.",
    answers=("1820",),
    contexts=(Context("lock", "Brill Lock", TEXT), Context("canal", "Osk Canal", OTHER)),
    popularity="high",
    documents="multi",
    form="definite",
    set="lock+canal",
)
FACTS = (
    AtomicFact("Brill Lock was opened in 1820.", 0, 0),
    AtomicFact("Brill Lock is 30 metres long.", 0, 0),
    AtomicFact("The Osk Canal joins Brill Lock to the sea.", 1, 0),
)
FACTUAL = Factual("p1", PAIR, FACTS)
ORIGINAL = OriginalInstance("p1", PAIR, FACTS, (0, 2), (0, 2))


def done(stage: Stage[Any, Any], item: Any, **says: Callable[[str], Any]) -> Any:
    """What the stage makes of the item; roles are named with _ for -. Raises Rejected."""

    def model(say: Callable[[str], Any]) -> FakeModel:
        def reply(request: ChatRequest) -> str:
            said = say(request.messages[1].content)
            return said if isinstance(said, str) else json.dumps(said)

        return FakeModel(reply)

    async def work() -> Any:
        models = {role.replace("_", "-"): RoleModel(model(say)) for role, say in says.items()}
        return await stage.work(item, ModelClient(models))

    return asyncio.run(work())[0]


def reason(stage: Stage[Any, Any], item: Any, **says: Callable[[str], Any]) -> str:
    """Why the item falls; it must."""
    with pytest.raises(Rejected) as rejected:
        done(stage, item, **says)
    assert rejected.value.reason in {**REASONS, **stage.reasons}
    return rejected.value.reason
