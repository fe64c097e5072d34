"""Read and check questions, minimum sets and the demonstration."""

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
SEPARATOR = "\x1f"  # Separates the texts that determine a random number.
Sets = list[tuple[Triple, ...] | None]
# Properties that say little about a person. Synthetic minimum sets leave them out.
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
# Prefix of most general questions, which isn't part of the question.
_PREFIX = "question:"
_ENTRY = '[question, [graph, …]], or {"question": "…", "knowledge": [{"qid": "Q1", …}]}'
_SET = '[question, [[qid, property, value], …]], or {"question": "…", "gold_knowledge": […]}'
_DEMONSTRATION = (
    '{"question": "…", "knowledge": [{"qid": "Q1", …}], "answer": "… [Q1, property: value]"}'
)
_PACKAGE = "trueground.wings.papers.kalma"


@dataclass(frozen=True)
class GraphQuestion:
    """A question. Fields that the file lacks are None.

    Attributes:
        graphs: The graphs of the question.
        names: All texts by which files of minimum sets may refer to the question.
        minimum: The minimum set.
        absent: The knowledge that the graphs lack.
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
        """Entities of the minimum set, in its order."""
        return list(dict.fromkeys(plain(triple[0]) for triple in self.minimum or ()))


@dataclass(frozen=True)
class GraphDemonstration:
    """A question with its graphs and the expected answer."""

    file: PromptFile
    question: str
    knowledge: tuple[Graph, ...]
    answer: str


def rank_by_seed(things: Iterable[T], seed: str) -> list[T]:
    """Return things in random order. Removing things doesn't change the order of the rest."""
    return sorted(things, key=lambda thing: draw_number(seed, thing, separator=SEPARATOR))


def question_key(question: str) -> str:
    """Return a key that ignores whitespace, Unicode form and the prefix of the file."""
    return plain(_unprefixed(question))


def _unprefixed(question: str) -> str:
    text = question.strip()
    bare = text[len(_PREFIX) :].strip() if text[: len(_PREFIX)].lower() == _PREFIX else ""
    return bare or text


def read_published(
    task: str, data: Path | None, *, both: bool = False
) -> tuple[list[GraphQuestion], list[Path]]:
    """Read the published questions of a task. Their ids are their numbers, from 0.

    Args:
        task: `specific` or `general`.
        data: The user's folder. None: the fetched files.
        both: Also read the other file, if it is there. It has another question for each entry, at
            the same index.

    Returns:
        The questions, and the files that were read.

    Raises:
        InputError: A file is missing or invalid.
    """
    paths = [get_dataset("kalma").find_json(FILES[task], data)]
    entries = read_entries(paths[0])
    other_task = "general" if task == "specific" else "specific"
    path = get_dataset("kalma").look_for_json(FILES[other_task], data) if both else None
    others = [] if path is None else read_entries(path)
    if path is not None and len(others) == len(entries):
        pairs = zip(entries, others, strict=True)
        entries = [replace(entry, names=(*entry.names, *other.names)) for entry, other in pairs]
        paths.append(path)
    return [replace(entry, question=_unprefixed(entry.question)) for entry in entries], paths


def read_own(data: Path | None) -> tuple[list[GraphQuestion], list[Path]]:
    """Read a user's questions. Raise UsageError if there is no file."""
    if data is None:
        raise UsageError(
            f"kalma/questions needs your questions. Add --data FILE; each question is {_ENTRY}"
        )
    return read_entries(data), [data]


def read_entries(path: Path) -> list[GraphQuestion]:
    """Read the questions of a file. A question without an id gets its number, from 0.

    Raises:
        InputError: The file has no questions, an invalid one, or an id twice.
    """
    entries: dict[str, GraphQuestion] = {}
    for number, (location, item) in enumerate(_read_items(path, _ENTRY)):
        entry = _entry(location, item, number)
        if entry.id in entries:
            raise InputError(f"{path}: found the id {entry.id!r} twice; expected each id once")
        entries[entry.id] = entry
    if not entries:
        raise InputError(f"{path} has no questions; expected {_ENTRY}")
    return list(entries.values())


def _read_items(path: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """Yield the items of a JSON array, of JSON lines or of a table, with their locations.

    A location is such as `a.json, entry 3`. Items of an array may have any type.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file with {expected}")
    if DataPath(path).ending != ".json" or not path.is_file():
        yield from DataPath(path).rows()
        return
    with DataPath(path).open() as stream:
        items = array_items(stream, str(path), expected)
        if items is None:
            raise InputError(
                f"{path} isn't a JSON array; expected {expected}, or JSON lines in a file "
                "that ends in .jsonl"
            )
        yield from items


def _object_of(location: str, item: Any, second: str, expected: str) -> dict[str, Any]:
    """Return an item as an object. Convert a pair [question, …] to an object."""
    if isinstance(item, list) and len(item) == 2:
        item = {"question": item[0], second: item[1]}
    if not isinstance(item, dict):
        raise InputError(Problem(None, describe(item), expected).message(location))
    return item


def _entry(location: str, item: Any, number: int) -> GraphQuestion:
    row = _object_of(location, item, "knowledge", _ENTRY)
    record = read_question(location, row, number)
    question = (record.question or "").strip()
    if not question:
        raise InputError(Problem(None, "no question", _ENTRY).message(location))
    seen: set[str] = set()
    for i, graph in enumerate(record.knowledge or ()):
        qid = plain(str(graph["qid"]))
        if not qid or qid in seen:
            value = f"the qid {qid!r} twice" if qid else "a blank qid"
            problem = Problem(f"knowledge[{i}]", value, "each entity once")
            raise InputError(problem.message(location))
        seen.add(qid)
    knowledge = record.knowledge
    minimum = record.gold_knowledge
    absent = record.absent_knowledge
    return GraphQuestion(
        record.id,
        question,
        None if knowledge is None else tuple(knowledge),
        (question_key(question),),
        None if minimum is None else tuple(minimum),
        None if absent is None else tuple(absent),
        record.group,
        record.meta or {},
    )


def read_sets(path: Path, entries: Sequence[GraphQuestion]) -> Sets:
    """Return the minimum set of each question in a file. None for questions without one.

    Questions are matched by their text. A set that occurs once is for all questions with this text.
    Several sets of a text are for its questions in order.

    Raises:
        InputError: No question matches, or a question has the wrong number of sets.
    """
    sets_by_question: dict[str, list[tuple[Triple, ...]]] = {}
    for location, item in _read_items(path, _SET):
        row = _object_of(location, item, "gold_knowledge", _SET)
        fields = {name: row.get(name) for name in ("question", "gold_knowledge")}
        record = read_question(location, fields, 0)
        question, triples = record.question or "", record.gold_knowledge
        if not question.strip() or triples is None:
            raise InputError(Problem(None, describe(row), _SET).message(location))
        sets_by_question.setdefault(question_key(question), []).append(tuple(triples))
    names: list[str | None] = []
    for entry in entries:
        matches = (name for name in entry.names if name in sets_by_question)
        names.append(next(matches, None))
    counts, taken = Counter(names), Counter[str]()
    sets: Sets = []
    for name, entry in zip(names, entries, strict=True):
        if name is None:
            sets.append(None)
            continue
        several = sets_by_question[name]
        if len(several) not in (1, counts[name]):
            raise InputError(
                f"{path}: found {len(several)} sets for the question {entry.question!r}; expected "
                f"one, or one for each of the {counts[name]} times that it is asked"
            )
        sets.append(several[taken[name] if len(several) > 1 else 0])
        taken[name] += 1
    if all(minimum is None for minimum in sets):
        raise InputError(
            f"{path}: found no set for any of the {len(sets):,} questions asked; expected {_SET} "
            f"with questions such as {entries[0].question!r}"
        )
    return sets


def draw_sets(entries: Sequence[GraphQuestion], size: int, seed: int) -> Sets:
    """Sample a minimum set of `size` nontrivial triples from the graphs of each question.

    A larger size only adds triples. The set is None for questions without such triples.
    """
    sets: Sets = []
    for entry in entries:
        triples: dict[tuple[str, ...], list[str]] = {}
        for graph in entry.graphs or ():
            for triple in GraphTriple.of_graph(graph):
                if triple.key.property not in TRIVIAL:
                    # A plain tuple, since the random order depends on its repr.
                    triples[tuple(triple.key)] = list(triple)
        order = rank_by_seed(triples, f"{seed}/{entry.id}")
        sets.append(tuple(triples[key] for key in order[:size]) or None)
    return sets


@dataclass(frozen=True)
class KalmaPrompt:
    """Prompt and demonstration. `files` describes both for the manifest."""

    prompt: Prompt
    demonstration: GraphDemonstration | None

    @property
    def files(self) -> tuple[PromptFile, ...]:
        demonstration = self.demonstration
        return (self.prompt.file, *([demonstration.file] if demonstration else []))

    def messages(self, question: str, graphs: Sequence[Graph]) -> tuple[Message, ...]:
        """Return the messages, with the demonstration as an earlier turn."""
        question_messages = self._fill(question, graphs)
        if self.demonstration is None:
            return question_messages
        before = self._fill(self.demonstration.question, self.demonstration.knowledge)
        return (*before, Message("assistant", self.demonstration.answer), question_messages[-1])

    def _fill(self, question: str, graphs: Sequence[Graph]) -> tuple[Message, ...]:
        lines = "\n".join(" ".join(format_graph(graph).split()) for graph in graphs)
        return self.prompt.fill({"question": question, "knowledge": lines or "(no information)"})


def make_prompt(options: KalmaOptions, sources: Sources) -> KalmaPrompt:
    """Return the prompt and the demonstration, those of the user or the default ones.

    Raises:
        InputError: A file can't be read, or the demonstration is invalid.
        UsageError: A placeholder of the prompt is wrong.
    """
    prompt = sources.choose_prompt(_PACKAGE, "answer-2", ("question", "knowledge"))
    choice = options.demonstration
    if choice == NO_DEMONSTRATION:
        return KalmaPrompt(prompt, None)
    if choice is None:
        data = (files(_PACKAGE) / "prompts" / "demonstration-2.json").read_bytes()
        name = "kalma/demonstration-2"
    else:
        try:
            data, name = Path(choice).read_bytes(), Path(choice).name
        except OSError as error:
            raise InputError(
                f"the demonstration {choice} cannot be read: {error.strerror or error}; expected a "
                f"file with {_DEMONSTRATION}, or {NO_DEMONSTRATION}"
            ) from error
    location = f"the demonstration {name}"
    try:
        row = decode(data.removeprefix(b"\xef\xbb\xbf"), _DEMONSTRATION)
        if not isinstance(row, dict):
            raise Problem(None, describe(row), _DEMONSTRATION)
        answer = row.pop("answer", None)
        record = to_record({**row, "response": answer}, None, 0)
    except Problem as problem:
        name = "answer" if problem.field == "response" else problem.field or ""
        raise InputError(Problem(name, problem.found, problem.expected).message(location)) from None
    if not (record.question and record.response.strip()) or record.knowledge is None:
        raise InputError(Problem(None, describe(row), _DEMONSTRATION).message(location))
    file = PromptFile(name, sha256(data).hexdigest())
    knowledge = tuple(record.knowledge)
    return KalmaPrompt(
        prompt, GraphDemonstration(file, record.question, knowledge, record.response)
    )
