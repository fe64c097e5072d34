"""The summary as a terminal shows it."""

from __future__ import annotations

import trueground as tg
from trueground.reports.terminal import render


def test_a_breakdown_that_no_item_has_is_not_shown() -> None:
    records = [{"id": "a", "response": "x", "meta": {"kind": "old"}}, {"id": "b", "response": "y"}]
    result = tg.score(records, metrics="abstained", by="meta.kind")
    assert "by meta.kind" in render(result.summary.raw, None)
    raw = dict(result.summary.raw)
    raw["by"] = {"meta.kind": {"(none)": raw["by"]["meta.kind"]["(none)"]}}
    assert "by meta.kind" not in render(raw, None)
