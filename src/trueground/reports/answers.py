"""The answers of a run as blocks of data in its page, and in a folder if there are many.

The index has the columns that the list of answers needs. It is written in chunks, so that only one
chunk is in memory. The details of answers are in blocks that the page reads when you open one of
their answers. For many answers these blocks are scripts in a folder next to the page, because a
page that is opened from disk can load scripts but no data.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

from trueground.components import ResultKey
from trueground.files import OutputPath
from trueground.metrics import METRICS, AnswerVerdict
from trueground.records import field_text
from trueground.reports.selection import Selection
from trueground.reports.sentences import first_judge
from trueground.reports.viewer import json_block, json_bytes, packed_block
from trueground.runs import CheckedClaim, Gaps, Item, RunFiles
from trueground.text import GraphTriple
from trueground.types import Answered, Failure, Graph, ReasonKind, Record, Status

FOLDER = "report_items"
PAGE_BLOCK_ANSWERS = 100  # answers in a block inside the page
FOLDER_SCRIPT_ANSWERS = 250  # answers in a script of the folder
MIN_COMPRESSED_ANSWERS = 1_000  # a page with at least as many answers has compressed blocks
INDEX_CHUNK_ANSWERS = 5_000
MAX_SNIPPET_CHARS = 200  # of a text in the index of a page with a folder
# The page shows these fields in sections with their names, and all others under "Other fields".
_FIELDS_WITH_SECTION = {
    "id",
    "question",
    "response",
    "history",
    "contexts",
    "references",
    "gold_facts",
}
_CITATION_FIELDS = {"knowledge", "gold_knowledge", "absent_knowledge"}
_OTHER_FIELDS = [name for name in Record.__struct_fields__ if name not in _FIELDS_WITH_SECTION]
CHECKED = ("claims", "facts", "references", "response", "alignment", "missing", "passages")
_CITATION_EVIDENCE = ("sentences", "missed", "absent", "passage_sentences")
# The page shows this evidence in sections, and all other under "Other evidence".
_EVIDENCE_WITH_SECTION = {"see", "phrase", "counts", *CHECKED, *_CITATION_EVIDENCE}
_STATUSES = [status.value for status in Status]
_KINDS = [kind.value for kind in ReasonKind]
_SUPPORTED: dict[Any, int] = {True: 1, False: 0}
_VERDICTS: dict[Any, int] = {name: index for index, name in enumerate(AnswerVerdict.NAMES)}
_MISSING = re.compile(r"not (?:in the [a-z]+|supported): (.*)", re.DOTALL)
_REPLACED = re.compile(r"(['\"].+['\"]) (?:in the claim, |is not in the [a-z]+$)")
_MAX_REASON_PARTS = 20
_MAX_JOINED_PARTS = 4  # "June 25, 2019" is one word with a comma, split into two parts
_ASIDE = re.compile(r" \((?:nearest|[a-z]* ?\d)[^()]*\)| …$")  # the closest word, or a probability
_QUOTED = re.compile(r"^(['\"])(.*)\1$")


class HasClaims(Protocol):
    """An item with its verdict and the claims that its metrics checked."""

    @property
    def id(self) -> str: ...

    @property
    def verdict(self) -> str | None: ...

    def claims_of(self, metric: str | None) -> list[CheckedClaim]: ...


class HasTexts(Protocol):
    """A record with its question and its response."""

    @property
    def question(self) -> str | None: ...

    @property
    def response(self) -> str | None: ...

    @property
    def failure(self) -> Failure | None: ...


class ListedAnswer(msgspec.Struct):
    """An answer in the list of answers, without its scores.

    Attributes:
        id: The id of the item.
        question: The question, perhaps shortened. None if it is unknown.
        response: The answer, perhaps shortened. None if it is unknown.
        verdict: An index into AnswerVerdict.NAMES. None if there is no verdict.
        claims: (start, end, supported, doubted words) of each claim. The offsets refer to the
            whole answer; supported is 1, 0, or None if the claim wasn't checked.
        kinds: Indexes into ReasonKind: the reasons why claims are unsupported.
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
        item: HasClaims,
        record: HasTexts | None,
        metric: str | None,
        *,
        max_chars: int | None = None,
    ) -> ListedAnswer:
        """Return the entry of an item in the list of answers.

        Args:
            item: The item.
            record: Its record, if it can be read.
            metric: The metric whose claims are listed.
            max_chars: Keep at most this many characters of question and response.
        """
        question = answer = None
        if record is not None:
            question, answer = record.question, _answer(record)
        claims = []
        kinds = set()
        for claim in item.claims_of(metric):
            doubts: list[str] = []
            if claim.supported is False:
                doubts = doubted_words(claim.text, claim.reasons)
                kinds.add(claim.kind)
            claims.append((claim.start, claim.end, _SUPPORTED.get(claim.supported), doubts))
        return cls(
            item.id,
            _shorten(question, max_chars),
            _shorten(answer, max_chars),
            _VERDICTS.get(item.verdict),
            claims,
            [index for index, kind in enumerate(_KINDS) if kind in kinds] if kinds else [],
        )


class AnswerList(msgspec.Struct, frozen=True, kw_only=True):
    """The settings with which the viewer lists the answers of a run.

    Attributes:
        metrics: The keys of the metrics of the items.
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
        """Return the settings for a run with this manifest."""
        return cls(metrics=metrics, headline=headline, judge=first_judge(manifest))

    def about(self) -> dict[str, Any]:
        """Return the labels and the metrics of the list, as the viewer reads them."""
        return {
            "headline": self.headline,
            "metrics": list(self.metrics),
            "names": [describe_metric(name) for name in self.metrics],
            "lower": [name for name in self.metrics if METRICS.higher_is_better(name) is False],
            "statuses": [[status.value, status.description] for status in Status],
            "verdictNames": AnswerVerdict.NAMES,
            "kindNames": _KINDS,
            "kindWords": [kind.description for kind in ReasonKind],
        }

    def detail(self, item: Item, record: Record | None) -> dict[str, Any]:
        """Return the details that the page shows when you open an answer."""
        return make_detail(item, record, self.judge)


class PageAnswers(msgspec.Struct, frozen=True):
    """The answers of a run that a page lists.

    Attributes:
        answer_list: The settings of the list.
        selection: The answers in the list.
        details: The answers whose details are in the page itself.
        fields: The fields by which the list can be filtered.
        verdict: The metric whose claims are listed.
        has_folder: The details of all answers are in a folder next to the page.
        has_gaps: Leave out lines of the run that can't be read, instead of raising an error.
    """

    answer_list: AnswerList
    selection: Selection
    details: Selection
    fields: list[str]
    verdict: str | None
    has_folder: bool
    has_gaps: bool = False


class _Chunk:
    """Values that are written as soon as there are enough of them."""

    def __init__(self, size: int, write: Callable[[int, list[Any]], object]) -> None:
        self.size = size
        self.count = 0  # of chunks written
        self._write = write
        self._values: list[Any] = []

    def append(self, value: object) -> None:
        """Add a value; write the chunk if it is full."""
        self._values.append(value)
        if len(self._values) == self.size:
            self.flush()

    def flush(self) -> None:
        """Write the values that are left."""
        if self._values:
            self._write(self.count, self._values)
            self._values = []
            self.count += 1


def write_answers(out: BinaryIO, page_dir: Path, run_dir: Path, answers: PageAnswers) -> None:
    """Write details and index into the page, and the folder of details if it has one.

    Args:
        out: The page, open for writing.
        page_dir: The folder that the page is in.
        run_dir: The run directory.
        answers: The answers to write.

    Raises:
        InputError: The records don't belong to the items.
        WriteError: The folder can't be written.
    """
    folder = page_dir / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    if answers.has_folder:
        folder.mkdir()
        _write_script(folder / "here.js", "TG.here()")
    rows = answers.selection.rows.tolist()
    make_block = packed_block if len(rows) >= MIN_COMPRESSED_ANSWERS else json_block
    index = _Chunk(
        INDEX_CHUNK_ANSWERS,
        lambda number, values: out.write(
            make_block(f"index-{number}", _index_columns(answers, values))
        ),
    )
    in_page = _Chunk(
        PAGE_BLOCK_ANSWERS,
        lambda number, values: out.write(make_block(f"block-{number}", values)),
    )
    in_folder = _Chunk(
        FOLDER_SCRIPT_ANSWERS, lambda number, values: _write_details(folder, number, values)
    )
    page_rows = set(answers.details.rows.tolist())
    page_positions: list[int] = []  # positions in the list of the answers with details in the page
    lines = RunFiles(run_dir).iter_answers(Gaps() if answers.has_gaps else None, rows)
    for position, (row, item, record) in enumerate(lines):
        if answers.has_folder or row in page_rows:
            detail = answers.answer_list.detail(item, record)
            if row in page_rows:
                page_positions.append(position)
                in_page.append(detail)
            if answers.has_folder:
                in_folder.append(detail)
        index.append(_index_row(answers, row, item, record))
    for chunk in (in_page, in_folder, index):
        chunk.flush()
    about = {
        "parts": index.count,
        "block": PAGE_BLOCK_ANSWERS,
        "file": FOLDER_SCRIPT_ANSWERS if answers.has_folder else None,
        "inside": page_positions if answers.has_folder else None,
        "statement": answers.details.statement() if answers.has_folder else None,
        **answers.answer_list.about(),
    }
    out.write(json_block("about", about))


def describe_metric(name: str) -> str:
    """Return what a metric measures, in words."""
    metric = METRICS.of_key(name)
    text = metric.doc if metric else ResultKey.parse(name).name.replace("_", " ")
    return text if "_" in text.split(" ")[0] else text[:1].upper() + text[1:]


def _write_details(folder: Path, number: int, details: list[dict[str, Any]]) -> None:
    _write_script(folder / f"{number}.js", f"TG.loaded({number},", json_bytes(details) + b")")


def _write_script(path: Path, call: str, data: bytes = b"") -> None:
    with OutputPath(path).replacing() as out:
        out.write(call.encode() + data + b"\n")


def _index_row(
    answers: PageAnswers, row: int, item: Item, record: Answered | None
) -> tuple[Any, ...]:
    """Return an answer's row of the index; `row` is its line of items.jsonl."""
    max_chars = MAX_SNIPPET_CHARS if answers.has_folder else None
    listed = ListedAnswer.of(item, record, answers.verdict, max_chars=max_chars)
    scores = [item.scores.get(name) for name in answers.answer_list.metrics]
    status = [item.status.get(name) for name in answers.answer_list.metrics]
    return (
        *(row, listed.id, listed.question, listed.response),
        *(listed.verdict, listed.claims, listed.kinds),
        [None if value is None else round(value, 6) for value in scores],
        [_STATUSES.index(name) if name in _STATUSES else None for name in status],
        [field_text(record, field) if record else None for field in answers.fields],
    )


def _index_columns(answers: PageAnswers, rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    names = ("rows", "ids", "questions", "responses", "verdicts", "claims", "kinds")
    metrics = answers.answer_list.metrics
    *columns, scores, status, by = zip(*rows, strict=True)
    return {
        **dict(zip(names, columns, strict=True)),
        "scores": dict(zip(metrics, zip(*scores, strict=True), strict=True)),
        "status": dict(zip(metrics, zip(*status, strict=True), strict=True)),
        "by": dict(zip(answers.fields, zip(*by, strict=True), strict=True)),
    }


def _shorten(text: str | None, max_chars: int | None) -> str | None:
    if text is None or max_chars is None or len(text) <= max_chars:
        return text
    return text[:max_chars] + "…"


def make_detail(item: Item, record: Record | None, judge: str | None = None) -> dict[str, Any]:
    """Return the details that the page shows when you open an answer."""
    phrase = None
    other: list[tuple[str, str]] = []
    for metric, evidence in item.evidence.items():
        rest = evidence
        if isinstance(evidence, dict):
            phrase = phrase or evidence.get("phrase")
            rest = {k: v for k, v in evidence.items() if k not in _EVIDENCE_WITH_SECTION}
        if rest not in (None, [], {}):
            other.append((metric, _pretty(rest)))
    try:
        citations = make_citation_view(item.evidence, record)
    except (AttributeError, KeyError, TypeError, ValueError):
        # A plug-in wrote evidence of another shape under the same names.
        citations = None
    detail: dict[str, Any] = {
        "views": make_views(item.evidence, judge),
        "phrase": phrase,
        "citations": citations,
        "evidence": other,
    }
    if record is not None:
        hidden = _CITATION_FIELDS if citations else set()
        other_fields = {name: getattr(record, name) for name in _OTHER_FIELDS if name not in hidden}
        detail |= {
            "question": record.question,
            "response": _answer(record) if isinstance(record, Answered) else record.response,
            "history": record.history or [],
            "contexts": record.contexts or [],
            "references": record.references or [],
            "gold_facts": record.gold_facts or [],
            "fields": [
                (name, _pretty(value))
                for name, value in other_fields.items()
                if value not in (None, [], {})
            ],
        }
    return detail


def _answer(record: HasTexts) -> str:
    """Return the response, or the reason why it is missing."""
    failure = record.failure
    return record.response or (f"(no answer: {failure.reason})" if failure else "")


def _pretty(value: object) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


# ---- evidence: the verdicts of each judge ----


def doubted_words(text: object, reasons: object) -> list[str]:
    """Return the words of a claim that its reasons call unsupported, such as numbers and names.

    Args:
        text: The text of the claim, as the run's files have it.
        reasons: The reasons of the judge, likewise.
    """
    doubts: list[str] = []
    if not isinstance(text, str) or not isinstance(reasons, list):
        return doubts
    for line in reasons:
        for reason in str(line).split("; "):
            match = _MISSING.match(reason) or _REPLACED.match(reason)
            if match:
                parts = _ASIDE.sub("", match[1]).split(", ")[:_MAX_REASON_PARTS]
                for phrase in _join_parts(parts, text):
                    if phrase not in doubts:
                        doubts.append(phrase)
    return doubts


def _join_parts(parts: list[str], text: str) -> Iterator[str]:
    """Yield the phrases of the text that the parts spell, joining as many parts as possible."""
    start = 0
    while start < len(parts):
        n_used = 1
        for n_parts in range(min(len(parts) - start, _MAX_JOINED_PARTS), 0, -1):
            phrase = _QUOTED.sub(r"\2", ", ".join(parts[start : start + n_parts]))
            if phrase in text:
                if phrase:
                    yield phrase
                n_used = n_parts
                break
        start += n_used


def make_views(evidence: Mapping[str, Any], judge: str | None) -> list[dict[str, Any]]:
    """Return a view for each judge, and for each set of options with which it checked claims.

    A view has a `name`, and under each of CHECKED a list, perhaps an empty one. Evidence that
    doesn't depend on these options is in all views of a judge.

    Args:
        evidence: The evidence of a line of items.jsonl.
        judge: The judge of the metrics without `@LABEL`.
    """
    by_judge: dict[str | None, dict[str, dict[str, Any]]] = {}
    for metric, entry in evidence.items():
        if not isinstance(entry, dict):
            continue
        label, options = _parse_judge(metric)
        for kind in CHECKED:
            if isinstance(entry.get(kind), list):
                kinds = by_judge.setdefault(label or judge, {})
                kinds.setdefault(kind, {}).setdefault(options, list(map(_add_doubts, entry[kind])))
    views = []
    for name, kinds in by_judge.items():
        # The options with which the claims were checked, or of the first kind that was checked.
        all_options = list(next(kinds[kind] for kind in CHECKED if kind in kinds))
        for options in all_options:
            suffix = f" ({options})" if options and len(all_options) > 1 else ""
            view: dict[str, Any] = {"name": f"{name or 'the judge'}{suffix}"}
            for kind in CHECKED:
                by_options = kinds.get(kind, {})
                view[kind] = by_options.get(options, next(iter(by_options.values()), []))
            views.append(view)
    return views


def _add_doubts(owner: Any) -> Any:
    """Return a checked claim or fact, with its doubted words if it isn't supported."""
    if not isinstance(owner, dict) or owner.get("supported") is not False:
        return owner
    doubts = doubted_words(owner.get("text"), owner.get("reasons"))
    return owner | {"doubts": doubts} if doubts else owner


@lru_cache(1024)  # called for every metric of every answer
def _parse_judge(metric: str) -> tuple[str, str]:
    """Return judge and options of a key such as `support(scope=gold)@nli`."""
    key = ResultKey.parse(metric)
    return key.judge, key.options


# ---- citations: sentences, missing knowledge, graphs to draw ----


def make_citation_view(evidence: Mapping[str, Any], record: Record | None) -> dict[str, Any] | None:
    """Return the citations that the page shows; None if there are no citations and no graphs.

    `sentences` cite triples; `numbered` sentences cite passages by their numbers. `graphs` have a
    row for each triple: first those that are cited, then those that are needed. `missed` has for
    each triple whether a graph of the record has it, and whether it was cited nevertheless.

    Args:
        evidence: The evidence of a line of items.jsonl.
        record: The record of the same item, if it can be read.
    """
    entry = _find_sentences(evidence, "sentences", "citations")
    numbered = _find_sentences(evidence, "passage_sentences", "passages")
    graphs = (record.knowledge if record else None) or []
    if not (entry or numbered or graphs):
        return None
    sentences = entry.get("sentences") or []
    in_graphs = GraphTriple.keys_of(graph for graph in graphs if "qid" in graph)
    cited, wrongly_cited = _cited_keys(sentences, True), _cited_keys(sentences, False)
    gold = record.gold_knowledge if record else None
    needed = None if gold is None else frozenset(map(_triple_key, gold))
    missed = []
    for triple in entry.get("missed") or []:
        key = _triple_key(triple)
        missed.append([*triple, key in in_graphs if graphs else None, key in wrongly_cited])
    return {
        "sentences": sentences,
        "numbered": numbered.get("passage_sentences") or [],
        "missed": missed,
        "absent": entry.get("absent") or [],
        "graphs": [_draw_graph(graph, cited, needed) for graph in graphs],
    }


def _find_sentences(evidence: Mapping[str, Any], name: str, cites: str) -> dict[str, Any]:
    """Return the first entry with sentences that cite, or else with any sentences."""
    entries = [entry for entry in evidence.values() if isinstance(entry, dict) and name in entry]
    for entry in entries:
        if any(sentence.get(cites) for sentence in entry[name]):
            return entry
    return entries[0] if entries else {}


def _cited_keys(sentences: Iterable[Mapping[str, Any]], correct: bool) -> frozenset[GraphTriple]:
    """Return the triples of the correct citations, or of the wrong ones."""
    keys = set()
    for sentence in sentences:
        for citation in sentence.get("citations") or ():
            if bool(citation.get("correct")) is correct:
                triple = (citation["qid"], citation["property"], citation["value"])
                keys.add(_triple_key(triple))
    return frozenset(keys)


def _triple_key(triple: Sequence[Any]) -> GraphTriple:
    return GraphTriple(*map(str, triple)).key


def _draw_graph(
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
