"""One stage run through the frame's own flow, against a scripted endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.wings.papers.builders.scripted_server import Answer, scripted

from trueground.options.shared import do_nothing
from trueground.wings.papers.builders.base import BatchStage, Builder, Stage
from trueground.wings.papers.builders.build import make_models
from trueground.wings.papers.builders.client import ModelClient
from trueground.wings.papers.builders.flow import (
    FailureLimit,
    Flow,
    StageAccount,
    run_batch,
    run_stage,
)
from trueground.wings.papers.builders.grounding import BUILDER, GroundingBuildOptions
from trueground.wings.papers.builders.settings import EndpointDefaults, Material
from trueground.wings.papers.builders.store import BuildStore

ROLES = tuple(role for role in BUILDER.roles if role.needed)
USUAL = GroundingBuildOptions()
MATERIAL = Material(paths=())
_BUILDER = Builder("test", "", "", "", ROLES, (), (), lambda *_: None)  # type: ignore[arg-type,return-value]


def run(
    stage: Stage[Any, Any] | BatchStage[Any, Any],
    items: Sequence[Any],
    answer: Answer = lambda _: "",
    folder: Path | None = None,
    **server: Any,
) -> tuple[list[Any], dict[str, tuple[str, str]], list[dict[str, Any]]]:
    """(what the stage gives, (reason, detail) of what fell by id, the calls)."""
    if isinstance(stage, BatchStage):
        kept, account = run_batch(stage, items)
        return kept, _fell(account), []
    assert folder is not None
    with scripted(answer, **server) as endpoint:
        written = {role.name: role.name for role in ROLES}
        models = make_models(
            _BUILDER, written, EndpointDefaults(base_url=endpoint.url, max_attempts=1)
        )

        async def work() -> tuple[list[Any], StageAccount]:
            try:
                with BuildStore(folder) as store:
                    limit = FailureLimit(1.0, len(items))
                    flow = Flow(ModelClient(models), store, limit, do_nothing)
                    return await run_stage(stage, items, flow)
            finally:
                for asked in models.values():
                    await asked.model.close()

        kept, account = asyncio.run(work())
        return kept, _fell(account), list(endpoint.calls)


def _fell(account: StageAccount) -> dict[str, tuple[str, str]]:
    assert {one.reason for one in account.rejected} <= set(account.reasons)
    return {one.id: (one.reason, one.detail) for one in account.rejected}
