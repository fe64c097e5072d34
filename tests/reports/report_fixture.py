"""Makes run directories that look like real ones, to draw pages from."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from trueground.types import Passage, Record, Turn

# (subject, topic, question, [(true sentence, false sentence, passage sentence)])
SUBJECTS = [
    (
        "Lake Ohrid",
        "geography",
        "How old is Lake Ohrid, and how deep does it get?",
        [
            (
                "Lake Ohrid is more than a million years old.",
                "Lake Ohrid was formed ten thousand years ago.",
                "With an age of over one million years, Lake Ohrid is among the oldest in Europe.",
            ),
            (
                "Its deepest point lies 288 metres down.",
                "Its deepest point lies 512 metres down.",
                "A maximum depth of 288 metres was sounded in the eastern basin.",
            ),
            (
                "Most of its water comes from springs.",
                "Most of its water comes from a glacier.",
                "Karst springs along the shore deliver more than half of the inflow.",
            ),
        ],
    ),
    (
        "The Bessemer process",
        "technology",
        "What did the Bessemer process change about making steel?",
        [
            (
                "Air is blown through molten iron to burn off impurities.",
                "Oil is poured on molten iron to burn off impurities.",
                "The converter blows air through the melt, and carbon and silicon burn away.",
            ),
            (
                "A batch took about twenty minutes instead of days.",
                "A batch took about three weeks.",
                "Where earlier methods needed days, a charge was ready in some twenty minutes.",
            ),
        ],
    ),
    (
        "Maria Sibylla Merian",
        "biography",
        "Why did Merian travel to Surinam?",
        [
            (
                "She went to Surinam in 1699 to study insects.",
                "She went to Surinam in 1731 to paint portraits.",
                "In 1699 Merian sailed to Surinam in order to observe insects in the wild.",
            ),
            (
                "Her daughter Dorothea came with her.",
                "Her brother Matthäus came with her.",
                "Her younger daughter Dorothea Maria accompanied her on the crossing.",
            ),
            (
                "She fell ill and returned after two years.",
                "She stayed for the rest of her life.",
                "Malaria forced her back to Amsterdam in 1701, two years after she had left.",
            ),
        ],
    ),
    (
        "Sourdough",
        "food",
        "Why does sourdough keep longer than other bread?",
        [
            (
                "Lactic acid bacteria make the dough sour.",
                "Vinegar is added to make the dough sour.",
                "Lactobacilli in the starter form lactic and acetic acid while the dough rests.",
            ),
            (
                "The acid slows the growth of mould.",
                "The salt crust kills all mould.",
                "Acetic acid in particular holds back mould, so that the loaf keeps for days.",
            ),
        ],
    ),
]
FILLER = [
    "The archive of the district keeps a longer account, with maps and a list of sources.",
    "Visitors are few in winter; the museum next to the harbour opens from April to October.",
    "A second edition corrected several of the numbers that are quoted most often.",
]
MODELS = ["aurora-7b", "borealis-70b", "cirrus-mini"]
METRICS = ["k_precision", "f1", "grounding_precision", "grounding_recall", "grounding_f1"]


def make_item(number: int, rng: random.Random) -> tuple[Record, dict[str, Any]]:
    """One record and its line of items.jsonl."""
    subject, topic, question, facts = SUBJECTS[rng.randrange(len(SUBJECTS))]
    skill = number % len(MODELS)
    passages = [
        Passage(text=" ".join([FILLER[k % 3], fact[2], FILLER[(k + 1) % 3]]), title=subject)
        for k, fact in enumerate(facts)
    ]
    passages[0].gold = True
    claims: list[dict[str, Any]] = []
    response = ""
    for k, (true, false, passage) in enumerate(facts):
        good = rng.random() < 0.55 + 0.18 * skill
        text = true if good else false
        start = len(response)
        response += text + (" 🌊 " if number % 7 == 0 and k == 0 else " ")
        offset = passages[k].text.index(passage)
        claims.append(
            {
                "text": text,
                "start": start,
                "end": start + len(text),
                "supported": good if rng.random() < 0.93 else None,
                "probability": round(rng.uniform(0.6, 0.99) if good else rng.uniform(0.02, 0.4), 3),
                "text_index": k,
                "window": [offset, offset + len(passage)],
                "reasons": [] if good else ["The passage says otherwise or does not say it."],
            }
        )
        if claims[-1]["supported"] is None:
            claims[-1] |= {"probability": None, "text_index": None, "window": None}
            claims[-1]["reasons"] = ["The judge's reply held no verdict."]
    abstained = rng.random() < 0.08
    if abstained:
        response, claims = f"I don't know how {subject} fits this question.", []
    response = response.strip()
    item = _scored(f"{topic}-{number:05d}", facts, claims, abstained, rng)
    record = Record(
        id=item["id"],
        question=question,
        response=response,
        history=[Turn(f"Tell me about {subject}.", "user"), Turn("With pleasure.", "assistant")]
        if number % 4 == 0
        else None,
        contexts=passages,
        references=[facts[0][0]],
        gold_facts=[fact[0] for fact in facts],
        answerable=not abstained,
        model=MODELS[skill],
        meta={"topic": topic, "hops": 1 + number % 3},
    )
    return record, item


def _scored(
    name: str, facts: Any, claims: list[dict[str, Any]], abstained: bool, rng: random.Random
) -> dict[str, Any]:
    share = sum(c["supported"] is True for c in claims) / len(claims) if claims else None
    recall = 0.0 if abstained else min(1.0, (share or 0) * rng.uniform(0.8, 1.1))
    scores: dict[str, float | None] = {
        "k_precision": round(rng.betavariate(6, 2), 4),
        "f1": round(rng.betavariate(2, 3), 4),
        "grounding_precision": share,
        "grounding_recall": recall,
        "grounding_f1": None if share is None else 2 * share * recall / (share + recall or 1),
        "abstained": float(abstained),
    }
    status = {m: "scored" if v is not None else "abstained" for m, v in scores.items()}
    if rng.random() < 0.02:
        scores["f1"], status["f1"] = None, "missing_field"
    window = [claims[0]["start"], claims[0]["end"]] if claims else None
    evidence = {
        "grounding_precision": {"claims": claims},
        "grounding_recall": {
            "facts": [
                {
                    "text": fact[0],
                    "supported": bool(claims) and rng.random() < 0.7,
                    "probability": round(rng.random(), 3),
                    "window": window if k == 0 else None,
                    "reasons": [],
                }
                for k, fact in enumerate(facts)
            ]
        },
        "grounding_f1": {"see": "grounding_precision"},
    }
    if abstained:
        evidence["abstained"] = {"phrase": "I don't know"}
    return {"id": name, "scores": scores, "status": status, "evidence": evidence}


def summarize(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Summary entries, with a plain normal interval: enough to be drawn."""
    found = {}
    for metric in items[0]["scores"] if items else []:
        values = [i["scores"][metric] for i in items if i["scores"][metric] is not None]
        mean = sum(values) / len(values) if values else None
        spread = 1.96 * (0.25 / len(values)) ** 0.5 if values else 0.0
        reasons = Counter(i["status"][metric] for i in items if i["scores"][metric] is None)
        found[metric] = {
            "mean": mean,
            "ci": None if mean is None else [max(0, mean - spread), min(1, mean + spread)],
            "ci_level": 0.95,
            "n": len(items),
            "scored": len(values),
            "unscored": dict(reasons),
        }
    return found


def write_run(
    folder: Path,
    pairs: list[tuple[Record, dict[str, Any]]],
    *,
    records: bool = True,
    fields: tuple[str, ...] = ("model", "topic"),
    **summary: Any,
) -> Path:
    """Write the four files that a page is drawn from."""
    folder.mkdir(parents=True, exist_ok=True)
    encode = msgspec.json.encode
    items = [item for _, item in pairs]
    (folder / "items.jsonl").write_bytes(b"".join(encode(item) + b"\n" for item in items))
    if records:
        lines = b"".join(encode(record) + b"\n" for record, _ in pairs)
        (folder / "records.jsonl.zst").write_bytes(zstandard.compress(lines))
    by: dict[str, dict[str, Any]] = {}
    for field in fields:
        groups: dict[str, list[dict[str, Any]]] = {}
        for record, item in pairs:
            value = record.model if field == "model" else (record.meta or {}).get(field)
            groups.setdefault(str(value), []).append(item)
        by[field] = {value: summarize(group) for value, group in groups.items()}
    (folder / "summary.json").write_bytes(
        encode({"n": len(items), "metrics": summarize(items), "by": by} | summary)
    )
    manifest = {
        "trueground": "0.1.0",
        "command": ["score", "answers.jsonl"],
        "input": [{"path": "/secret/folder/answers.jsonl", "sha256": "0" * 64, "bytes": 9}],
        "metrics": {m: f"{m}|norm:squad|v1" for m in (items[0]["scores"] if items else {})},
        "judge": {"name": "lexical", "signature": "lexical|v1|threshold:0.5"},
        "decomposer": {"name": "sentences", "signature": "sentences|v1"},
        "resamples": 2000,
        "seed": 0,
        "start": "2031-01-01T00:00:00Z",
        "end": "2031-01-01T00:09:00Z",
    }
    (folder / "manifest.json").write_bytes(encode(manifest))
    return folder


def sample_run(folder: Path, count: int = 300, *, seed: int = 0, **options: Any) -> Path:
    """A run of `count` realistic items."""
    rng = random.Random(seed)
    pairs = [make_item(number, rng) for number in range(count)]
    declined = sum(item["scores"]["abstained"] for _, item in pairs)
    extra: dict[str, Any] = {
        "abstention_rate": declined / count if count else None,
        "abstention": {
            "p_ir": 0.61,
            "p_g": 0.04,
            "precision": 0.8,
            "recall": 0.61,
            "f1": 0.69,
            "confusion": {
                "unanswerable": {"abstained": 22, "answered": 14},
                "answerable": {"abstained": 9, "answered": 200},
            },
        },
        "empty_responses": 2,
        "skipped": 1,
        "skipped_rows": ["answers.jsonl, row 17: found null; expected text"],
    }
    return write_run(folder, pairs, **(extra | options))
