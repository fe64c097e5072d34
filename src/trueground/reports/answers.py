"""The answers of a run as blocks of data inside its page, and beside it where there are many.

The index has, column by column, what the list needs of every answer; it is written in parts, so
that a part at a time is in memory. Details of an answer stand in blocks of DETAILS, which the page
reads when one of them is opened: in the page itself, or for many answers as scripts in a folder
beside it, since a page from disk may load scripts but no data.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import msgspec

from trueground.components import ResultKey
from trueground.files import OutputPath
from trueground.metrics import METRICS, AnswerVerdict
from trueground.records import UNREADABLE, field_text
from trueground.reports.selection import Selection
from trueground.reports.sentences import first_judge
from trueground.reports.viewer import json_block, json_bytes, packed_block
from trueground.runs import CheckedClaim, ClaimEvidence, Gaps, Item, RunFiles
from trueground.text import GraphTriple
from trueground.types import Answered, Failure, Graph, ReasonKind, Record, Status

FOLDER = "report_items"
DETAILS = 100  # answers in a block inside the page
DETAILS_BESIDE = 250  # answers in a script beside it
PACKED = 1_000  # answers in a page from which on its blocks are compressed
INDEX = 5_000  # answers in a part of the index
SNIPPET = 200  # characters of a text in the index of a page with a folder
# Fields that the page has no place of its own for
_PLACED = {"id", "question", "response", "history", "contexts", "references", "gold_facts"}
_CITED = {"knowledge", "gold_knowledge", "absent_knowledge"}  # likewise where citations are shown
_OTHER_FIELDS = [name for name in Record.__struct_fields__ if name not in _PLACED]
# Evidence that has a place of its own on the page
CHECKED = ("claims", "facts", "references", "response", "alignment", "missing", "passages")
_TOLD = ("sentences", "missed", "absent", "passage_sentences")
_SHOWN = {"see", "phrase", "counts", *CHECKED, *_TOLD}
_STATUSES = [status.value for status in Status]
_KINDS = [kind.value for kind in ReasonKind]
_SUPPORTED: dict[Any, int] = {True: 1, False: 0}
_VERDICTS: dict[Any, int] = {name: place for place, name in enumerate(AnswerVerdict.NAMES)}
_MISSING = re.compile(r"not (?:in the [a-z]+|supported): (.*)", re.DOTALL)
_REPLACED = re.compile(r"(['\"].+['\"]) (?:in the claim, |is not in the [a-z]+$)")
_MOST = 20  # words of a reason
T = TypeVar("T")
EvidenceT = TypeVar("EvidenceT", covariant=True)
_ASIDE = re.compile(r" \((?:nearest|[a-z]* ?\d)[^()]*\)| …$")  # what is nearest, or how likely


class HasEvidence(Protocol[EvidenceT]):
    """An item with its verdict and the evidence of its metrics."""

    @property
    def id(self) -> str: ...

    @property
    def verdict(self) -> str | None: ...

    @property
    def evidence(self) -> Mapping[str, EvidenceT]: ...


class HasTexts(Protocol):
    """A record with its question and its response."""

    @property
    def question(self) -> str | None: ...

    @property
    def response(self) -> str | None: ...

    @property
    def failure(self) -> Failure | None: ...


class ListedAnswer(msgspec.Struct):
    """What the list shows of an answer beside its scores.

    `verdict` is a place in AnswerVerdict.NAMES. `claims` are (start, end, supported, words) in the
    whole answer, supported as 1, 0 or none, words those that are not in the contexts; `kinds` are
    those of their reasons, as places in ReasonKind.
    """

    id: str
    question: str | None
    response: str | None
    verdict: int | None
    claims: list[tuple[int | None, int | None, int | None, list[str]]]
    kinds: list[int]

    @classmethod
    def of(
        cls,
        item: HasEvidence[T],
        record: HasTexts | None,
        metric: str | None,
        read: Callable[[T], ClaimEvidence],
        *,
        max_chars: int | None = None,
    ) -> ListedAnswer:
        """Return what the list shows of an item.

        Args:
            item: The item.
            record: Its record, if it can be read.
            metric: The metric that says whether an answer is grounded.
            read: Decodes evidence. It raises what is in UNREADABLE for evidence of another kind.
            max_chars: How many characters of question and response are kept.
        """
        question = answer = None
        if record is not None:
            question, answer = record.question, _answer(record)
        claims = _claims(item.evidence, metric, read)
        kinds = {claim.kind for claim in claims if claim.supported is False}
        return cls(
            item.id,
            _cut(question, max_chars),
            _cut(answer, max_chars),
            _VERDICTS.get(item.verdict),
            [
                (
                    claim.start,
                    claim.end,
                    _SUPPORTED.get(claim.supported),
                    doubted_words(claim.text, claim.reasons) if claim.supported is False else [],
                )
                for claim in claims
            ],
            [place for place, kind in enumerate(_KINDS) if kind in kinds] if kinds else [],
        )


class AnswerList(msgspec.Struct, frozen=True, kw_only=True):
    """A list of the answers of a run, as the viewer draws it.

    Attributes:
        metrics: The metrics of the items, by their keys.
        headline: The metric by which the list is sorted.
        judge: The judge of the metrics without `@LABEL`.
    """

    metrics: Sequence[str]
    headline: str | None
    judge: str | None

    @classmethod
    def of(
        cls, metrics: Sequence[str], headline: str | None, manifest: Mapping[str, Any]
    ) -> AnswerList:
        """Return the list of a run with this manifest."""
        return cls(metrics=metrics, headline=headline, judge=first_judge(manifest))

    def about(self) -> dict[str, Any]:
        """Return with what words the viewer draws the list, and by which metrics it sorts."""
        return {
            "headline": self.headline,
            "metrics": list(self.metrics),
            "names": [metric_words(name) for name in self.metrics],
            "lower": [name for name in self.metrics if METRICS.higher_is_better(name) is False],
            "statuses": [[status.value, status.description] for status in Status],
            "verdictNames": AnswerVerdict.NAMES,
            "kindNames": _KINDS,
            "kindWords": [kind.description for kind in ReasonKind],
        }

    def detail(self, item: Item, record: Record | None) -> dict[str, Any]:
        """Return what the page shows of one opened answer beyond the list."""
        return detail(item, record, self.judge)


class PageAnswers(msgspec.Struct, frozen=True):
    """What a page has of the answers of its run.

    `verdict` is the metric that says whether an answer is grounded. `details` are the answers
    whose details stand in the page; those of all lie beside it where `beside`. What cannot be read
    of the run is left out where `has_gaps`, else an error.
    """

    shown: AnswerList
    selection: Selection
    details: Selection
    fields: list[str]
    verdict: str | None
    beside: bool
    has_gaps: bool = False


def write_answers(out: BinaryIO, beside: Path, run_dir: Path, answers: PageAnswers) -> None:
    """Write the details and the index into the page, and a folder in `beside` where it has one.

    Raises InputError where the records do not belong to the items, WriteError.
    """
    folder = beside / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    inside = set(answers.details.rows.tolist())
    index: list[tuple[Any, ...]] = []
    here: list[dict[str, Any]] = []
    outside: list[dict[str, Any]] = []
    blocks = parts = files = 0
    positions: list[int] = []  # in the list, of those whose details stand in the page
    if answers.beside:
        folder.mkdir()
        _write_script(folder / "here.js", "TG.here()")
    rows = answers.selection.rows.tolist()
    make_block = packed_block if len(rows) >= PACKED else json_block
    found = RunFiles(run_dir).iter_answers(Gaps() if answers.has_gaps else None, rows)
    for position, (row, item, record) in enumerate(found):
        index.append(_index_row(answers, row, item, record))
        if answers.beside or row in inside:
            told = answers.shown.detail(item, record)
            if row in inside:
                here.append(told)
                positions.append(position)
            if answers.beside:
                outside.append(told)
        if len(here) == DETAILS:
            out.write(make_block(f"block-{blocks}", here))
            here, blocks = [], blocks + 1
        if len(outside) == DETAILS_BESIDE:
            _write_details(folder, files, outside)
            outside, files = [], files + 1
        if len(index) == INDEX:
            out.write(make_block(f"index-{parts}", _index_columns(answers, index)))
            index, parts = [], parts + 1
    if here:
        out.write(make_block(f"block-{blocks}", here))
    if outside:
        _write_details(folder, files, outside)
    if index:
        out.write(make_block(f"index-{parts}", _index_columns(answers, index)))
        parts += 1
    about = {
        "parts": parts,
        "block": DETAILS,
        "file": DETAILS_BESIDE if answers.beside else None,
        "inside": positions if answers.beside else None,
        "statement": answers.details.statement() if answers.beside else None,
        **answers.shown.about(),
    }
    out.write(json_block("about", about))


def metric_words(name: str) -> str:
    """What a metric says, in words."""
    metric = METRICS.of_key(name)
    words = metric.doc if metric else ResultKey.parse(name).name.replace("_", " ")
    return words if "_" in words.split(" ")[0] else words[:1].upper() + words[1:]


def _write_details(folder: Path, number: int, details: list[dict[str, Any]]) -> None:
    _write_script(folder / f"{number}.js", f"TG.loaded({number},", json_bytes(details) + b")")


def _write_script(path: Path, call: str, data: bytes = b"") -> None:
    with OutputPath(path).replacing() as out:
        out.write(call.encode() + data + b"\n")


def _index_row(
    answers: PageAnswers, row: int, item: Item, record: Answered | None
) -> tuple[Any, ...]:
    """What the index has of an answer, column by column; `row` is its line of items.jsonl."""
    listed = ListedAnswer.of(
        item,
        record,
        answers.verdict,
        partial(msgspec.convert, type=ClaimEvidence),
        max_chars=SNIPPET if answers.beside else None,
    )
    scores = [item.scores.get(name) for name in answers.shown.metrics]
    status = [item.status.get(name) for name in answers.shown.metrics]
    return (
        *(row, listed.id, listed.question, listed.response),
        *(listed.verdict, listed.claims, listed.kinds),
        [None if value is None else round(value, 6) for value in scores],
        [_STATUSES.index(name) if name in _STATUSES else None for name in status],
        [field_text(record, field) if record else None for field in answers.fields],
    )


def _index_columns(answers: PageAnswers, part: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    names = ("rows", "ids", "questions", "responses", "verdicts", "claims", "kinds")
    *columns, scores, status, by = zip(*part, strict=True)
    return {
        **dict(zip(names, columns, strict=True)),
        "scores": dict(zip(answers.shown.metrics, zip(*scores, strict=True), strict=True)),
        "status": dict(zip(answers.shown.metrics, zip(*status, strict=True), strict=True)),
        "by": dict(zip(answers.fields, zip(*by, strict=True), strict=True)),
    }


def _cut(text: str | None, most: int | None) -> str | None:
    """Return at most so many characters of the text."""
    if text is None or most is None or len(text) <= most:
        return text
    return text[:most] + "…"


def _claims(
    evidence: Mapping[str, T], metric: str | None, read: Callable[[T], ClaimEvidence]
) -> list[CheckedClaim]:
    """Return the claims as the metric of the verdicts has them, else as any has them."""
    first = evidence.get(metric) if metric else None
    for value in evidence.values() if first is None else (first, *evidence.values()):
        try:
            return read(value).claims
        except UNREADABLE:
            continue
    return []


def detail(item: Item, record: Record | None, judge: str | None = None) -> dict[str, Any]:
    """What the page shows of one opened answer beyond the index."""
    phrase = None
    other: list[tuple[str, str]] = []
    for metric, evidence in item.evidence.items():
        rest = evidence
        if isinstance(evidence, dict):
            phrase = phrase or evidence.get("phrase")
            rest = {k: v for k, v in evidence.items() if k not in _SHOWN}
        if rest not in (None, [], {}):
            other.append((metric, _pretty(rest)))
    try:
        citations = citation_view(item.evidence, record)
    except (AttributeError, KeyError, TypeError, ValueError):  # a plug-in's, under names of ours
        citations = None
    shown: dict[str, Any] = {
        "views": views(item.evidence, judge),
        "phrase": phrase,
        "citations": citations,
        "evidence": other,
    }
    if record is not None:
        placed = _CITED if citations else set()
        kept = {name: getattr(record, name) for name in _OTHER_FIELDS if name not in placed}
        shown |= {
            "question": record.question,
            "response": _answer(record) if isinstance(record, Answered) else record.response,
            "history": record.history or [],
            "contexts": record.contexts or [],
            "references": record.references or [],
            "gold_facts": record.gold_facts or [],
            "fields": [(name, _pretty(v)) for name, v in kept.items() if v not in (None, [], {})],
        }
    return shown


def _answer(record: HasTexts) -> str:
    """Return the response, or why there is none."""
    failure = record.failure
    return record.response or (f"(no answer: {failure.reason})" if failure else "")


def _pretty(value: object) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


# ---- evidence: who said what of an item's claims ----


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
    shown = []
    for who, kinds in found.items():
        # The options under which the claims were checked, else those of whatever was.
        ways = list(next(kinds[kind] for kind in CHECKED if kind in kinds))
        for way in ways:
            of = f" ({way})" if way and len(ways) > 1 else ""
            view: dict[str, Any] = {"name": f"{who or 'the judge'}{of}"}
            for kind in CHECKED:  # what was checked in this way; else what was checked first
                checked = kinds.get(kind, {})
                view[kind] = checked.get(way, next(iter(checked.values()), []))
            shown.append(view)
    return shown


def _with_doubts(owner: Any) -> Any:
    """Something checked, with the words for which it is not supported."""
    if not isinstance(owner, dict) or owner.get("supported") is not False:
        return owner
    words = doubted_words(owner.get("text"), owner.get("reasons"))
    return owner | {"doubts": words} if words else owner


@lru_cache(1024)  # asked for every answer
def _who(metric: str) -> tuple[str, str]:
    """`support(scope=gold)@nli` → its judge and its options."""
    key = ResultKey.parse(metric)
    return key.judge, key.options


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
    given = GraphTriple.keys_of(graph for graph in graphs if "qid" in graph)
    cited, tried = _cited(sentences, True), _cited(sentences, False)
    gold = record.gold_knowledge if record else None
    needed = None if gold is None else _keys(gold)
    return {
        "sentences": sentences,
        "numbered": numbered.get("passage_sentences") or [],
        "missed": [
            [*triple, key in given if graphs else None, key in tried]
            for triple in told.get("missed") or []
            for key in [GraphTriple(*_texts(triple)).key]
        ],
        "absent": told.get("absent") or [],
        "graphs": [_drawn(graph, cited, needed) for graph in graphs],
    }


def _told(evidence: Mapping[str, Any], name: str, what: str) -> dict[str, Any]:
    """What the first metric with citations in its sentences tells; else the first with any."""
    found = [e for e in evidence.values() if isinstance(e, dict) and name in e]
    citing = [e for e in found if any(s.get(what) for s in e[name])]
    return next(iter(citing or found), {})


def _cited(sentences: Iterable[Mapping[str, Any]], correct: bool) -> frozenset[GraphTriple]:
    """The triples of the correct citations, or of the others."""
    return _keys(
        (one["qid"], one["property"], one["value"])
        for sentence in sentences
        for one in sentence.get("citations") or ()
        if bool(one.get("correct")) is correct
    )


def _keys(triples: Iterable[Sequence[Any]]) -> frozenset[GraphTriple]:
    return frozenset(GraphTriple(*_texts(triple)).key for triple in triples)


def _texts(triple: Sequence[Any]) -> list[str]:
    return [str(part) for part in triple]


def _drawn(
    graph: Graph, cited: frozenset[GraphTriple], needed: frozenset[GraphTriple] | None
) -> dict[str, Any]:
    qid = str(graph.get("qid", ""))
    triples = list(GraphTriple.of_graph(graph))
    names = [triple.value for triple in triples if triple.property == "name"]
    rows = []
    for triple in triples:
        _, name, value = triple
        key = triple.key
        is_needed = None if needed is None else key in needed
        if name != "name" or key in cited or is_needed:
            rows.append((name, value, key in cited, is_needed))
    rows.sort(key=lambda row: (not row[2], not row[3]))
    return {"qid": qid, "name": names[0] if names else qid, "rows": rows}
