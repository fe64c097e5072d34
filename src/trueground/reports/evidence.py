"""An item's evidence as the page shows it: who said what of its claims, and its citations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from trueground.plugins import split_key
from trueground.text.triples import Key, keys_of, pairs_of, triple_key
from trueground.types import Graph, Record

CHECKED = ("claims", "facts", "references", "response", "alignment", "missing", "passages")
TOLD = ("sentences", "missed", "absent", "passage_sentences")
_MISSING = re.compile(r"not (?:in the [a-z]+|supported): (.*)", re.DOTALL)
_REPLACED = re.compile(r"(['\"].+['\"]) (?:in the claim, |is not in the [a-z]+$)")
_MOST = 20  # words of a reason
_ASIDE = re.compile(r" \((?:nearest|[a-z]* ?\d)[^()]*\)| …$")  # what is nearest, or how likely


def doubted_words(text: object, reasons: object) -> list[str]:
    """The words of a claim that its reasons name: numbers, names, what the context has not.

    Both stand in a run's files, as some judge has told them.
    """
    found: list[str] = []
    if not isinstance(text, str) or not isinstance(reasons, list):
        return found
    for reason in (one for told in reasons for one in str(told).split("; ")):
        if told := _MISSING.match(reason) or _REPLACED.match(reason):
            parts = _ASIDE.sub("", told[1]).split(", ")[:_MOST]
            while parts:  # "June 25, 2019" is one
                ends = range(min(len(parts), 4), 0, -1)
                tried = ((end, ", ".join(parts[:end])) for end in ends)
                spelled = ((end, re.sub(r"^(['\"])(.*)\1$", r"\2", one)) for end, one in tried)
                end, words = next((one for one in spelled if one[1] in text), (1, ""))
                found += [words] * bool(words and words not in found)
                del parts[:end]
    return found


def _with_doubts(owner: Any) -> Any:
    """Something checked, with the words for which it is not supported."""
    if not isinstance(owner, dict) or owner.get("supported") is not False:
        return owner
    words = doubted_words(owner.get("text"), owner.get("reasons"))
    return owner | {"doubts": words} if words else owner


def views(evidence: Mapping[str, Any], judge: str | None) -> list[dict[str, Any]]:
    """One view for each judge, and for each way in which it was asked about the claims.

    `evidence` is that of one line of items.jsonl; `judge` names the judge of the metrics without
    `@LABEL`. A view has a `name`, and under each of CHECKED a list, maybe an empty one.
    What does not depend on how the claims were asked about stands in all views of a judge.
    """
    found: dict[str | None, dict[str, dict[str, Any]]] = {}
    for metric, told in evidence.items():
        if not isinstance(told, dict):
            continue
        label, options = _who(metric)
        for kind in CHECKED:
            if isinstance(told.get(kind), list):
                own = found.setdefault(label or judge, {})
                own.setdefault(kind, {}).setdefault(options, list(map(_with_doubts, told[kind])))
    return [
        {"name": _view_name(label, way if len(_ways(kinds)) > 1 else "")}
        | {kind: _fitting(kinds.get(kind, {}), way) for kind in CHECKED}
        for label, kinds in found.items()
        for way in _ways(kinds)
    ]


@lru_cache(1024)  # asked for every answer
def _who(metric: str) -> tuple[str, str]:
    """`support(scope=gold)@nli` → its judge and its options."""
    key = split_key(metric)
    return key.judge, key.options


def _ways(kinds: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The options under which the claims were checked, else those of whatever was."""
    most = next(kinds[kind] for kind in CHECKED if kind in kinds)
    return list(most)


def _fitting(found: Mapping[str, Any], way: str) -> Any:
    """What was checked in this way; else what was checked first."""
    return found.get(way, next(iter(found.values()), []))


def _view_name(label: str | None, way: str) -> str:
    return " ".join(filter(None, (label or "the judge", f"({way})" if way else "")))


# ---- citations: sentences, missing knowledge, graphs to draw ----


def citation_view(evidence: Mapping[str, Any], record: Record | None) -> dict[str, Any] | None:
    """What the page shows of citations; None where the answer has neither citations nor graphs.

    `evidence` is that of one line of items.jsonl. `sentences` cite triples, `numbered` ones
    passages by their numbers. `graphs` have a row for each triple, cited ones
    first, then those that are needed; `missed` says of each triple whether a given graph has it,
    and whether it was cited all the same.
    """
    told = _told(evidence, "sentences", "citations")
    numbered = _told(evidence, "passage_sentences", "passages")
    graphs = (record.knowledge if record else None) or []
    if not (told or numbered or graphs):
        return None
    sentences = told.get("sentences") or []
    given = keys_of(graph for graph in graphs if "qid" in graph)
    cited, tried = _cited(sentences, True), _cited(sentences, False)
    gold = record.gold_knowledge if record else None
    needed = None if gold is None else _keys(gold)
    return {
        "sentences": sentences,
        "numbered": numbered.get("passage_sentences") or [],
        "missed": [
            [*triple, key in given if graphs else None, key in tried]
            for triple in told.get("missed") or []
            for key in [triple_key(_texts(triple))]
        ],
        "absent": told.get("absent") or [],
        "graphs": [_drawn(graph, cited, needed) for graph in graphs],
    }


def _told(evidence: Mapping[str, Any], name: str, what: str) -> dict[str, Any]:
    """What the first metric with citations in its sentences tells; else the first with any."""
    found = [e for e in evidence.values() if isinstance(e, dict) and name in e]
    citing = [e for e in found if any(s.get(what) for s in e[name])]
    return next(iter(citing or found), {})


def _cited(sentences: Iterable[Mapping[str, Any]], correct: bool) -> frozenset[Key]:
    """The triples of the correct citations, or of the others."""
    return _keys(
        (one["qid"], one["property"], one["value"])
        for sentence in sentences
        for one in sentence.get("citations") or ()
        if bool(one.get("correct")) is correct
    )


def _keys(triples: Iterable[Sequence[Any]]) -> frozenset[Key]:
    return frozenset(triple_key(_texts(triple)) for triple in triples)


def _texts(triple: Sequence[Any]) -> list[str]:
    return [str(part) for part in triple]


def _drawn(graph: Graph, cited: frozenset[Key], needed: frozenset[Key] | None) -> dict[str, Any]:
    qid = str(graph.get("qid", ""))
    names = [value for name, value in pairs_of(graph) if name == "name"]
    rows = []
    for name, value in pairs_of(graph):
        key = triple_key((qid, name, value))
        is_needed = None if needed is None else key in needed
        if name != "name" or key in cited or is_needed:
            rows.append((name, value, key in cited, is_needed))
    rows.sort(key=lambda row: (not row[2], not row[3]))
    return {"qid": qid, "name": names[0] if names else qid, "rows": rows}
