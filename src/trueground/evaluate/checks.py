"""Claims and verdicts for a batch: what decomposer and judge supply to the metrics."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any

import msgspec

from trueground.claims import Decomposed, Decomposer
from trueground.claims.base import fact_key
from trueground.judges import Judge, ask
from trueground.judges.base import each_once
from trueground.metrics.batch import Batch
from trueground.metrics.citations.asked import Asked
from trueground.metrics.citations.kinds import MAKERS
from trueground.metrics.evidence import Checked
from trueground.text.refusal import refusal
from trueground.types import Claim, Failure, JudgeRequest, Status, Verdict

_NO_TEXT = Failure(Status.MISSING_FIELD, "no context to check against")
_DECLINED = Failure(Status.ABSTAINED, "the response declines to answer")


def declined(batch: Batch) -> list[bool]:
    """Which responses decline to answer, by the rules of `abstained`."""
    pairs = zip(batch.responses, batch.references, strict=True)
    return [refusal(response, references or ()) is not None for response, references in pairs]


def decompose(
    decomposer: Decomposer, texts: Sequence[str], known: dict[str, Decomposed] | None = None
) -> list[Decomposed]:
    """The claims of each text; equal texts, and those in `known`, which takes the others, are taken
    apart once. A text on which the decomposer fails has a Failure with the status `error`.
    """

    def lost(reason: str) -> Decomposed:
        return Failure(Status.ERROR, reason)

    who = f"the decomposer {decomposer.name!r}"
    return each_once(who, "lists of claims", decomposer.decompose, texts, lost, known)[0]


class Claims:
    """The claims of the responses of a batch, or of parts of it; made once for all judges.

    With `spare`, none are made of responses that decline to answer.
    """

    def __init__(self, decomposer: Decomposer, spare: bool = False) -> None:
        self._decomposer = decomposer
        self._spare = spare
        self._last: tuple[Batch, list[Decomposed]] | None = None
        self._known: dict[str, Decomposed] = {}

    def of(self, batch: Batch) -> list[Decomposed]:
        """The given response facts where there are some, else those of the decomposer."""
        if self._last is None or self._last[0] is not batch:
            self._last = batch, self._make(batch)
        return self._last[1]

    def _make(self, batch: Batch) -> list[Decomposed]:
        given = batch.response_facts
        # Claims are checked against contexts: where there are none, none are made.
        contexts = batch.has("contexts").tolist()
        spared = declined(batch) if self._spare else [False] * len(batch)
        wanted = [one and not other for one, other in zip(contexts, spared, strict=True)]
        open_ = [i for i, facts in enumerate(given) if facts is None and wanted[i]]
        made = decompose(self._decomposer, [batch.responses[i] for i in open_], self._known)
        claims: list[Decomposed] = [_facts(f, batch.responses[i]) for i, f in enumerate(given)]
        for i, item in zip(open_, made, strict=True):
            claims[i] = item
        return claims


class Checker:
    """Supplies `Evidence.checks` by one judge, for a batch and parts of it: verdicts are kept.

    Of the kinds in `spare` it asks nothing about responses that decline to answer.
    """

    def __init__(self, judge: Judge, claims: Claims, spare: Collection[str] = ()) -> None:
        self._judge = judge
        self._claims = claims
        self._spare = spare
        self._known: dict[JudgeRequest, Verdict] = {}

    def __call__(self, batch: Batch, kind: str) -> list[Checked]:
        """The checks of one kind (see Evidence.checks) for each item of the batch."""
        what, *rest = kind.split(":")
        if what in MAKERS:
            spared = declined(batch) if kind in self._spare else [False] * len(batch)
            return self._asked(MAKERS[what](batch, ":".join(rest)), spared)
        variant = next((word for word in rest if word not in ("input", "gold")), "")
        asked = [""] * len(batch)
        if what in ("facts", "references"):
            kept = [[0]] * len(batch)
            texts: list[tuple[str, ...]] = [(response,) for response in batch.responses]
            asked = batch.prior_turns
        else:
            kept = [batch.kept(i, rest[0]) for i in range(len(batch))]
            texts = [batch.texts(i, rows) for i, rows in enumerate(kept)]
        found = [item if texts[i] else _NO_TEXT for i, item in enumerate(self._what(batch, what))]
        if kind in self._spare:
            gone = declined(batch)
            found = [_DECLINED if gone[i] else item for i, item in enumerate(found)]
        claims = [[] if isinstance(item, Failure) else item for item in found]
        requests = [
            JudgeRequest(claim.text, texts[i], asked[i], variant)
            for i, item in enumerate(claims)
            for claim in item
        ]
        verdicts = iter(ask(self._judge, requests, self._known))
        return [
            Checked(
                item,
                [_placed(v, kept[i]) for v in islice(verdicts, len(item))],
                failure if isinstance(failure := found[i], Failure) else None,
            )
            for i, item in enumerate(claims)
        ]

    def _asked(self, made: Sequence[Sequence[Asked]], spared: Sequence[bool]) -> list[Checked]:
        """The checks of a kind that brings its own requests; nothing is asked of spared items."""
        items = [() if gone else item for item, gone in zip(made, spared, strict=True)]
        requests = [a.request for item in items for a in item if a.request is not None]
        given = iter(ask(self._judge, requests, self._known))

        def verdict(one: Asked) -> Verdict:
            return next(given) if one.verdict is None else one.verdict

        return [
            Checked(
                [a.claim for a in item],
                [verdict(a) for a in item],
                _DECLINED if gone else None,
                frozenset(i for i, a in enumerate(item) if a.request is None),
            )
            for item, gone in zip(items, spared, strict=True)
        ]

    def _what(self, batch: Batch, what: str) -> Sequence[Decomposed]:
        """What is checked of each item: gold facts, references, the whole response, its claims."""
        if what == "facts":
            return [_facts(facts) for facts in batch.gold_facts]
        if what == "references":
            return [_facts(references) for references in batch.references]
        if what == "response":
            return [[Claim(text, 0, len(text))] if text.strip() else [] for text in batch.responses]
        return self._claims.of(batch)


def _facts(facts: Sequence[str] | None, source: str = "") -> list[Claim]:
    """Facts as claims; duplicates and blanks count not at all."""
    unique: dict[str, str] = {}
    for fact in facts or ():
        unique.setdefault(fact_key(fact), fact.strip())
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
    """The evidence of one item as it stands in items.jsonl; empty where nothing was checked."""
    if checked.failure is not None:
        told = checked.failure not in (_NO_TEXT, _DECLINED)
        return {"reason": checked.failure.reason} if told else {}
    if not checked.claims:
        return {}
    pairs = zip(checked.claims, checked.verdicts, strict=True)
    if (what := kind.partition(":")[0]) in MAKERS:
        return {
            what: [
                {"text": c.text, "start": c.start, "end": c.end, "sentence": c.sentence}
                | _verdict_json(v)
                for c, v in pairs
            ]
        }
    if what in ("facts", "references"):
        return {what: [{"text": c.text, **_verdict_json(v)} for c, v in pairs]}
    if kind.startswith("response"):
        return {"response": [{"text_index": v.text, **_verdict_json(v)} for _, v in pairs]}
    return {
        "claims": [
            {"text": c.text, "start": c.start, "end": c.end, "text_index": v.text}
            | _verdict_json(v)
            for c, v in pairs
        ]
    }


def _verdict_json(v: Verdict) -> dict[str, Any]:
    window = None if v.start is None else [v.start, v.end]
    told = {
        "supported": v.supported,
        "probability": v.probability,
        "status": v.status,
        "window": window,
        "reasons": v.reasons,
    }
    more = {"score": v.score, "reply": v.reply}
    return told | {name: value for name, value in more.items() if value is not None}
