"""Claims and verdicts for a batch: what decomposer and judge supply to the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import msgspec

from trueground.claims import Decomposer
from trueground.judges import Judge, ask
from trueground.metrics.batch import Batch
from trueground.metrics.evidence import Checked
from trueground.types import Claim, JudgeRequest, Verdict


class Checker:
    """Supplies `Evidence.checks` with the help of a decomposer and a judge."""

    def __init__(self, judge: Judge, decomposer: Decomposer) -> None:
        self._judge = judge
        self._decomposer = decomposer

    def __call__(self, batch: Batch, kind: str) -> list[Checked]:
        """The checks of one kind (see Evidence.checks) for each item of the batch."""
        if kind == "facts":
            claims = [_facts(facts) for facts in batch.gold_facts]
            kept = [[0]] * len(batch)
            texts: list[tuple[str, ...]] = [(response,) for response in batch.responses]
            asked = batch.heard
        else:
            claims = self._claims(batch)
            kept = [batch.kept(i, kind.partition(":")[2]) for i in range(len(batch))]
            texts = [batch.texts(i, rows) for i, rows in enumerate(kept)]
            asked = [""] * len(batch)
        requests = [
            JudgeRequest(claim.text, texts[i], asked[i])
            for i, item in enumerate(claims)
            for claim in item
        ]
        verdicts = iter(ask(self._judge, requests))
        return [
            Checked(item, [_placed(v, kept[i]) for v in islice(verdicts, len(item))])
            for i, item in enumerate(claims)
        ]

    def _claims(self, batch: Batch) -> list[list[Claim]]:
        """The given response facts where there are some, else those of the decomposer."""
        given = batch.response_facts
        open_ = [i for i, facts in enumerate(given) if facts is None]
        made = self._decomposer.decompose([batch.responses[i] for i in open_])
        claims = [_facts(facts, batch.responses[i]) for i, facts in enumerate(given)]
        for i, item in zip(open_, made, strict=True):
            claims[i] = item
        return claims


def _facts(facts: Sequence[str] | None, source: str = "") -> list[Claim]:
    """Facts as claims; duplicates and blanks count not at all."""
    unique: dict[str, str] = {}
    for fact in facts or ():
        unique.setdefault(fact.strip().casefold(), fact.strip())
    claims = []
    for fact in filter(None, unique.values()):
        start = max(0, source.find(fact))
        found = source.startswith(fact, start)
        claims.append(Claim(fact, start, start + len(fact) if found else start))
    return claims


def _placed(verdict: Verdict, kept: Sequence[int]) -> Verdict:
    """The verdict with the number of its text among all contexts of the item."""
    if verdict.text is None or kept[verdict.text] == verdict.text:
        return verdict
    return msgspec.structs.replace(verdict, text=kept[verdict.text])


def as_json(checked: Checked, kind: str) -> dict[str, Any]:
    """The evidence of one item as it stands in items.jsonl."""
    if kind == "facts":
        facts = zip(checked.claims, checked.verdicts, strict=True)
        return {"facts": [{"text": c.text, **_verdict_json(v)} for c, v in facts]}
    return {
        "claims": [
            {"text": c.text, "start": c.start, "end": c.end, "text_index": v.text}
            | _verdict_json(v)
            for c, v in zip(checked.claims, checked.verdicts, strict=True)
        ]
    }


def _verdict_json(v: Verdict) -> dict[str, Any]:
    window = None if v.start is None else [v.start, v.end]
    return {
        "supported": v.supported,
        "probability": v.probability,
        "status": v.status,
        "window": window,
        "reasons": v.reasons,
    }
