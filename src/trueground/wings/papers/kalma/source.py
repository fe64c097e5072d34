"""Questions, minimum sets and the demonstration: files → values, every field checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from trueground.benchmarks import Sources, get_dataset
from trueground.errors import InputError, UsageError
from trueground.models import Message, Prompt
from trueground.records import DataPath, Problem, decode, describe, to_record
from trueground.text import GraphTriple, draw_number, format_graph, plain
from trueground.types import Graph, PromptFile, Triple
from trueground.wings.graphs import array_items
from trueground.wings.papers.kalma import NO_DEMONSTRATION, KalmaOptions
from trueground.wings.papers.user_files import read_question

FILES = {"specific": "complex_question_graph", "general": "simple_question_graph"}
T = TypeVar("T")
SEPARATOR = "\x1f"  # of the words that a draw depends on
Sets = list[tuple[Triple, ...] | None]
# Properties that say little of a life: no synthetic minimum set has them.
TRIVIAL = frozenset(
    {
        "name",
        "instance of",
        "given name",
        "family name",
        "surname",
        "sex or gender",
        "topic's main category",
        "described by source",
    }
)
# Stands before most of the general questions, and is no part of them.
_PREFIX = "question:"
_ENTRY = '[question, [graph, …]], or {"question": "…", "knowledge": [{"qid": "Q1", …}]}'
_SET = '[question, [[qid, property, value], …]], or {"question": "…", "gold_knowledge": […]}'
_DEMONSTRATION = (
    '{"question": "…", "knowledge": [{"qid": "Q1", …}], "answer": "… [Q1, property: value]"}'
)
_PACKAGE = "trueground.wings.papers.kalma"


@dataclass(frozen=True)
class GraphQuestion:
    """One question. `graphs` come with it; None where the file says nothing of a field.

    `names` are all texts under which files of minimum sets may name it.
    """

    id: str
    question: str
    graphs: tuple[Graph, ...] | None
    names: tuple[str, ...]
    minimum: tuple[Triple, ...] | None = None
    absent: tuple[Triple, ...] | None = None
    group: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def entities(self) -> list[str]:
        """Those that its minimum set names, in its order."""
        return list(dict.fromkeys(plain(triple[0]) for triple in self.minimum or ()))


@dataclass(frozen=True)
class GraphDemonstration:
    """A question with its graphs and the answer that a model should give."""

    file: PromptFile
    question: str
    knowledge: tuple[Graph, ...]
    answer: str


def rank_by_seed(things: Iterable[T], seed: str) -> list[T]:
    """The things in an order drawn from the seed; what is left of fewer things keeps its order."""
    return sorted(things, key=lambda thing: draw_number(seed, thing, separator=SEPARATOR))


def question_key(question: str) -> str:
    """Equal for questions that differ in white space, Unicode form or the file's prefix only."""
    return plain(_unprefixed(question))


def _unprefixed(question: str) -> str:
    text = question.strip()
    bare = text[len(_PREFIX) :].strip() if text[: len(_PREFIX)].lower() == _PREFIX else ""
    return bare or text


def read_published(
    task: str, data: Path | None, *, both: bool = False
) -> tuple[list[GraphQuestion], list[Path]]:
    """The entries of a task, and the files that were read; ids are the entries' numbers, from 0.

    An entry stands in both files at the same place: with `both` the other file, where it is there,
    tells its other question. InputError.
    """
    read = [get_dataset("kalma").find_json(FILES[task], data)]
    entries = read_entries(read[0])
    other = "general" if task == "specific" else "specific"
    path = get_dataset("kalma").look_for_json(FILES[other], data) if both else None
    others = [] if path is None else read_entries(path)
    if path is not None and len(others) == len(entries):
        pairs = zip(entries, others, strict=True)
        entries = [replace(one, names=(*one.names, *two.names)) for one, two in pairs]
        read.append(path)
    return [replace(one, question=_unprefixed(one.question)) for one in entries], read


def read_own(data: Path | None) -> tuple[list[GraphQuestion], list[Path]]:
    """A user's questions. UsageError: no file is named; InputError."""
    if data is None:
        raise UsageError(
            f"kalma/questions asks your own questions: --data FILE, each of them {_ENTRY}"
        )
    return read_entries(data), [data]


def read_entries(path: Path) -> list[GraphQuestion]:
    """Every entry in its order; one without an id has its number, from 0. InputError."""
    entries: dict[str, GraphQuestion] = {}
    for number, (place, item) in enumerate(_read_items(path, _ENTRY)):
        entry = _entry(place, item, number)
        if entry.id in entries:
            raise InputError(f"{path}: found the id {entry.id!r} twice; expected each id once")
        entries[entry.id] = entry
    if not entries:
        raise InputError(f"{path} holds no question; expected {_ENTRY}")
    return list(entries.values())


def _read_items(path: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """(place such as `a.json, entry 3`, item) of a JSON array, of JSON lines or of a table.

    Items of an array are whatever they are, all others objects. InputError: what cannot be read.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file in it, with {expected}")
    if DataPath(path).ending != ".json" or not path.is_file():
        yield from DataPath(path).rows()
        return
    with DataPath(path).open() as stream:
        found = array_items(stream, str(path), expected)
        if found is None:
            raise InputError(
                f"{path} is no JSON array; expected {expected}, or JSON lines in a file that ends "
                "in .jsonl"
            )
        yield from found


def _object_of(place: str, item: Any, second: str, expected: str) -> dict[str, Any]:
    """The item as an object; the pair [question, …] is one too. InputError."""
    if isinstance(item, list) and len(item) == 2:
        item = {"question": item[0], second: item[1]}
    if not isinstance(item, dict):
        raise InputError(Problem(None, describe(item), expected).message(place))
    return item


def _entry(place: str, item: Any, number: int) -> GraphQuestion:
    row = _object_of(place, item, "knowledge", _ENTRY)
    record = read_question(place, row, number)
    question = (record.question or "").strip()
    if not question:
        raise InputError(Problem(None, "no question", _ENTRY).message(place))
    seen: set[str] = set()
    for i, graph in enumerate(record.knowledge or ()):
        qid = plain(str(graph["qid"]))
        if not qid or qid in seen:
            what = f"the qid {qid!r} twice" if qid else "a blank qid"
            raise InputError(Problem(f"knowledge[{i}]", what, "each entity once").message(place))
        seen.add(qid)
    known, gold, missing = record.knowledge, record.gold_knowledge, record.absent_knowledge
    return GraphQuestion(
        record.id,
        question,
        None if known is None else tuple(known),
        (question_key(question),),
        None if gold is None else tuple(gold),
        None if missing is None else tuple(missing),
        record.group,
        record.meta or {},
    )


def read_sets(path: Path, entries: Sequence[GraphQuestion]) -> Sets:
    """Each entry's set in the file, None where it has none; questions are told apart by their text.

    A question that stands there once is for every entry that asks it; one that stands there several
    times, for these in their order. InputError: nothing fits, or too many sets for a question.
    """
    found: dict[str, list[tuple[Triple, ...]]] = {}
    for place, item in _read_items(path, _SET):
        row = _object_of(place, item, "gold_knowledge", _SET)
        asked = {name: row.get(name) for name in ("question", "gold_knowledge")}
        record = read_question(place, asked, 0)
        question, triples = record.question or "", record.gold_knowledge
        if not question.strip() or triples is None:
            raise InputError(Problem(None, describe(row), _SET).message(place))
        found.setdefault(question_key(question), []).append(tuple(triples))
    names = [next((name for name in entry.names if name in found), None) for entry in entries]
    counts, taken = Counter(names), Counter[str]()
    sets: Sets = []
    for name, entry in zip(names, entries, strict=True):
        if name is None:
            sets.append(None)
            continue
        several = found[name]
        if len(several) not in (1, counts[name]):
            raise InputError(
                f"{path}: found {len(several)} sets for the question {entry.question!r}; expected "
                f"one, or one for each of the {counts[name]} times that it is asked"
            )
        sets.append(several[taken[name] if len(several) > 1 else 0])
        taken[name] += 1
    if all(one is None for one in sets):
        raise InputError(
            f"{path}: found no set for any of the {len(sets):,} questions asked; expected {_SET} "
            f"with questions such as {entries[0].question!r}"
        )
    return sets


def draw_sets(entries: Sequence[GraphQuestion], size: int, seed: int) -> Sets:
    """For each entry `size` triples of its graphs, or all that are not trivial, in drawn order.

    A larger size only adds. None for an entry without such triples.
    """
    sets: Sets = []
    for entry in entries:
        triples = {
            # A plain tuple, since the order by the seed depends on how it is printed.
            tuple(triple.key): list(triple)
            for graph in entry.graphs or ()
            for triple in GraphTriple.of_graph(graph)
            if triple.key.property not in TRIVIAL
        }
        order = rank_by_seed(triples, f"{seed}/{entry.id}")
        sets.append(tuple(triples[key] for key in order[:size]) or None)
    return sets


@dataclass(frozen=True)
class KalmaPrompt:
    """What is sent for a question; `files` are prompt and demonstration, as a manifest has them."""

    prompt: Prompt
    demonstration: GraphDemonstration | None

    @property
    def files(self) -> tuple[PromptFile, ...]:
        demonstration = self.demonstration
        return (self.prompt.file, *([demonstration.file] if demonstration else []))

    def messages(self, question: str, graphs: Sequence[Graph]) -> tuple[Message, ...]:
        """System message, demonstration as an earlier turn of the conversation, the question."""
        asked = self._fill(question, graphs)
        if self.demonstration is None:
            return asked
        before = self._fill(self.demonstration.question, self.demonstration.knowledge)
        return (*before, Message("assistant", self.demonstration.answer), asked[-1])

    def _fill(self, question: str, graphs: Sequence[Graph]) -> tuple[Message, ...]:
        lines = "\n".join(" ".join(format_graph(graph).split()) for graph in graphs)
        return self.prompt.fill({"question": question, "knowledge": lines or "(no information)"})


def make_prompt(options: KalmaOptions, sources: Sources) -> KalmaPrompt:
    """The user's prompt and demonstration, or the task's own. UsageError, InputError."""
    prompt = sources.choose_prompt(_PACKAGE, "answer-2", ("question", "knowledge"))
    written = options.demonstration
    if written == NO_DEMONSTRATION:
        return KalmaPrompt(prompt, None)
    if written is None:
        data = (files(_PACKAGE) / "prompts" / "demonstration-2.json").read_bytes()
        name = "kalma/demonstration-2"
    else:
        try:
            data, name = Path(written).read_bytes(), Path(written).name
        except OSError as error:
            raise InputError(
                f"the demonstration {written} cannot be read: {error.strerror or error}; name a "
                f"file with {_DEMONSTRATION}, or {NO_DEMONSTRATION}"
            ) from error
    place = f"the demonstration {name}"
    try:
        row = decode(data.removeprefix(b"\xef\xbb\xbf"), _DEMONSTRATION)
        if not isinstance(row, dict):
            raise Problem(None, describe(row), _DEMONSTRATION)
        answer = row.pop("answer", None)
        record = to_record({**row, "response": answer}, None, 0)
    except Problem as problem:
        name = "answer" if problem.field == "response" else problem.field or ""
        raise InputError(Problem(name, problem.found, problem.expected).message(place)) from None
    if not (record.question and record.response.strip()) or record.knowledge is None:
        raise InputError(Problem(None, describe(row), _DEMONSTRATION).message(place))
    file = PromptFile(name, sha256(data).hexdigest())
    knowledge = tuple(record.knowledge)
    return KalmaPrompt(
        prompt, GraphDemonstration(file, record.question, knowledge, record.response)
    )
