"""Read questions and gold passages of the three datasets and of users.

Fields may have the format of the publisher's files or of the Hub.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import orjson
from msgspec import Meta

from trueground.benchmarks import DataRow, Label, RowFiles, Text, Texts, get_dataset, named
from trueground.errors import InputError, UsageError
from trueground.records import DataPath, Problem, describe
from trueground.types import Turn
from trueground.wings.papers.instruct_qa import QaOptions
from trueground.wings.papers.user_files import read_question
from trueground.wings.search import GoldPassage, SearchQuery

DATASETS = {"nq": "nq-open", "hotpotqa": "hotpotqa", "topiocqa": "topiocqa"}
_SPLITS = ("valid", "dev")
_UNANSWERABLE = "UNANSWERABLE"  # TopiOCQA's answer if Wikipedia has none.
_HINTS = {
    "questions": '; a row is {"question": "…", "references": ["…"], "gold": ["id or title"]}',
    "nq": '; a row is {"question": "…", "answer": ["…"]}',
    "hotpotqa": "; a row is one of hotpot_dev_distractor_v1.json, or of hotpotqa/hotpot_qa",
    "topiocqa": "; a row is one of topiocqa_dev.json, or of McGill-NLP/TopiOCQA",
    "gold": '; a row is {"question": "…", "title": "…", "context": "…"}, as in DPR\'s file',
}
_FACTS = Meta(
    description='[["…", …]], or {"title": […], "sent_id": […]}',
    extra={"names": ("supporting_facts",)},
)
_PARAGRAPHS = Meta(description='[["…", …]], or {"title": […], "sentences": […]}')


@dataclass(frozen=True)
class QaQuestion:
    """A question.

    Attributes:
        place: The location of its row.
        gold: The gold passages, if known.
        answerable: Whether it can be answered, if the data says so.
        retrieval_query: The search query, if the data has one.
    """

    place: str
    id: str
    question: str
    references: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    gold: tuple[GoldPassage, ...] = ()
    group: str | None = None
    answerable: bool | None = None
    retrieval_query: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


class NqRow(DataRow):
    """Row of NQ-open: a question and its answers. The id is the row's number."""

    question: Text
    answer: Texts

    def to_question(self, number: int, _row: dict[str, Any]) -> QaQuestion:
        return QaQuestion(
            self.place,
            str(number),
            self.question.strip(),
            tuple(map(str.strip, self.answer)),
        )


class _FactLists(msgspec.Struct):
    title: list[Text]
    sent_id: list[Any]

    def __post_init__(self) -> None:
        if len(self.title) != len(self.sent_id):
            raise Problem("supporting_facts", "lists of two lengths", "a sentence for each title")


class _ParagraphLists(msgspec.Struct):
    title: list[Text]
    sentences: list[list[str]]

    def __post_init__(self) -> None:
        if len(self.title) != len(self.sentences):
            raise Problem("context", "lists of two lengths", "sentences for each title")


class HotpotRow(DataRow):
    """Row of HotpotQA. The gold passages are the paragraphs with a supporting fact."""

    id: Annotated[Label, named("id", "_id")]
    question: Text
    answer: Text
    facts: Annotated[list[tuple[Text, Any]] | _FactLists, _FACTS]
    context: Annotated[list[tuple[Text, list[str]]] | _ParagraphLists, _PARAGRAPHS]
    type: str | None = None
    level: str | None = None

    def to_question(self, _number: int, _row: dict[str, Any]) -> QaQuestion:
        context, facts = self.context, self.facts
        pairs: Iterable[tuple[str, list[str]]]
        if isinstance(context, list):
            pairs = context
        else:
            pairs = zip(context.title, context.sentences, strict=True)
        texts = {title.strip(): "".join(sentences).strip() for title, sentences in pairs}
        titles = [fact[0] for fact in facts] if isinstance(facts, list) else facts.title
        unique = dict.fromkeys(title.strip() for title in titles)
        if not unique:
            raise InputError(
                Problem("supporting_facts", "none", "one fact or more").message(self.place)
                + _HINTS["hotpotqa"]
            )
        return QaQuestion(
            self.place,
            self.id.strip(),
            self.question.strip(),
            (self.answer.strip(),),
            gold=tuple(GoldPassage(texts.get(t) or None, title=t, page=True) for t in unique),
            meta={"type": self.type or None, "level": self.level or None},
        )


class _MoreAnswer(msgspec.Struct):
    Answer: Text


class _MoreAnswers(msgspec.Struct):
    Answer: tuple[Text, ...] = ()


class _TopiocqaGold(msgspec.Struct):
    id: Annotated[str | int | None, Meta(description="a str or an int")] = None
    title: Annotated[str | None, Meta(description="a str, or nothing")] = None
    text: Annotated[str | None, Meta(description="a str")] = None


class TopiocqaRow(DataRow):
    """Row of TopiOCQA: a turn of a conversation, with the earlier turns."""

    Conversation_no: Label
    Turn_no: Label
    Question: Text
    Answer: Text
    Context: Annotated[tuple[Text, ...], Meta(description="a list of str")] = ()
    Additional_answers: Annotated[
        list[_MoreAnswer] | _MoreAnswers | None, Meta(description='a list of {"Answer": "…"}')
    ] = None
    Gold_passage: Annotated[
        _TopiocqaGold | None, Meta(description='{"id": …, "title": …, "text": …}')
    ] = None
    Topic: str | None = None

    def to_question(self, _number: int, row: dict[str, Any]) -> QaQuestion:
        turn = self.Turn_no.strip()
        answer = self.Answer.strip()
        history = []
        for i, content in enumerate(self.Context):
            history.append(Turn(content.strip(), "agent" if i % 2 else "user"))
        return QaQuestion(
            self.place,
            f"{self.Conversation_no.strip()}_{turn}",
            self.Question.strip(),
            tuple(dict.fromkeys((answer, *map(str.strip, self._additional_answers())))),
            tuple(history),
            self._gold(),
            group=self.Conversation_no.strip(),
            answerable=False if answer.upper() == _UNANSWERABLE else None,
            retrieval_query=SearchQuery.read_declared(self.place, row),
            meta={"turn": int(turn) if turn.isdecimal() else turn, "topic": self.Topic or None},
        )

    def _additional_answers(self) -> Iterable[str]:
        more = self.Additional_answers
        if isinstance(more, list):
            return [item.Answer for item in more]
        return more.Answer if more else ()

    def _gold(self) -> tuple[GoldPassage, ...]:
        """Return the passage with the answer, if the file names it."""
        gold = self.Gold_passage
        names = () if gold is None else (gold.id, gold.title, gold.text)
        if gold is None or not any(str(name or "").strip() for name in names):
            return ()
        text = (gold.text or "").strip()
        if not text:
            value = "no such field" if gold.text is None else describe(gold.text)
            problem = Problem("Gold_passage.text", value, "a str that is not blank")
            raise InputError(problem.message(self.place) + _HINTS["topiocqa"])
        id_ = None if gold.id is None else str(gold.id).strip()
        return (GoldPassage(text, id=id_, title=gold.title or None),)


class _UserRow(DataRow):
    """A user's question: a record without a response, and the names of gold passages."""

    question: Text

    def to_question(self, number: int, row: dict[str, Any]) -> QaQuestion:
        record = read_question(self.place, row, number, "gold")
        for i, reference in enumerate(record.references or ()):
            if not reference.strip():
                problem = Problem(
                    f"references[{i}]", describe(reference), "a str that is not blank"
                )
                raise InputError(problem.message(self.place) + _HINTS["questions"])
        return QaQuestion(
            self.place,
            record.id,
            self.question.strip(),
            tuple(map(str.strip, record.references or ())),
            tuple(record.history or ()),
            GoldPassage.read(self.place, row),
            record.group,
            record.answerable,
            SearchQuery.read_declared(self.place, row),
            record.meta or {},
        )


_KINDS: dict[str, type[NqRow | HotpotRow | TopiocqaRow | _UserRow]] = {
    "questions": _UserRow,
    "nq": NqRow,
    "hotpotqa": HotpotRow,
    "topiocqa": TopiocqaRow,
}


class _GoldRow(DataRow):
    """A gold passage of Natural Questions, in the format of DPR's `nq-test_gold_info.json`."""

    question: Text
    text: Annotated[Text, named("context", "text")]
    title: str | None = None


def rows_to_questions(
    task: str, rows: Iterable[tuple[str, dict[str, Any]]]
) -> Iterator[QaQuestion]:
    """Yield the questions of rows. A row without an id gets its number, from 0."""
    for number, (location, row) in enumerate(rows):
        yield _KINDS[task].read(location, row, _HINTS[task]).to_question(number, row)


def task_files(options: QaOptions, data: Path | None) -> list[Path]:
    """Return the files of the questions.

    Args:
        options: The options, with the task.
        data: The user's file or folder. None: the fetched files.

    Raises:
        InputError: A folder has no file of the task, or several.
        UsageError: The task needs a user's questions.
    """
    task, variant = options.task, options.variant
    if data is None and task == "questions":
        raise UsageError(
            "instruct-qa needs your questions. Add --data FILE (rows with "
            '"question" and "references") and --corpus PATH (your documents), or run a published '
            "dataset: instruct-qa/nq, instruct-qa/hotpotqa, instruct-qa/topiocqa"
        )
    if data is None:
        part = variant if task == "hotpotqa" else "validation"
        return get_dataset(DATASETS[task]).local_files(part)
    files = DataPath(data).files()
    if not data.is_dir() or task == "questions" or len(files) == 1:
        return files
    names = {file: str(file.relative_to(data)).lower() for file in files}
    matching = [file for file in files if _names_split(names[file])]
    if task == "hotpotqa":
        matching = [file for file in matching if variant in names[file]]
    if not matching or len({file.suffixes[-1] for file in matching}) > 1:
        seen = ", ".join(names[file] for file in files[:6])
        names_needed = "dev or validation"
        if task == "hotpotqa":
            names_needed = f"{variant} and {names_needed}"
        raise InputError(
            f"{data}: found {seen}; expected one file, or shards, with {names_needed} in the "
            "name. Name the file with --data"
        )
    return matching


def _names_split(name: str) -> bool:
    return any(split in name for split in _SPLITS)


def read_items(options: QaOptions, files: Sequence[Path]) -> list[QaQuestion]:
    """Return all questions in order.

    Raises:
        InputError: A row is invalid, an id occurs twice, or there are no rows.
    """
    rows = chain.from_iterable(DataPath(file).rows() for file in files)
    items = list(RowFiles.check_unique(rows_to_questions(options.task, rows)))
    if not items:
        raise InputError(f"{', '.join(map(str, files))}: found no questions; expected one per row")
    return items if options.gold is None else _with_gold(items, options.gold)


def _with_gold(items: Sequence[QaQuestion], path: Path) -> list[QaQuestion]:
    """Add the gold passages of a file to questions. Raise InputError if none match."""
    golds_by_question: dict[str, list[GoldPassage]] = {}
    for location, fields in _gold_rows(path):
        row = _GoldRow.read(location, fields, _HINTS["gold"])
        gold = GoldPassage(row.text.strip(), title=row.title or None)
        golds = golds_by_question.setdefault(_question_key(row.question), [])
        if gold not in golds:
            golds.append(gold)
    joined = []
    for item in items:
        golds = golds_by_question.get(_question_key(item.question), [])
        joined.append(replace(item, gold=tuple(golds)))
    if not any(item.gold for item in joined):
        raise InputError(
            f"--gold {path}: none of its {len(golds_by_question):,} questions is among the "
            f"{len(joined):,} questions to ask. Name the file of the same split (DPR's "
            "nq-test_gold_info.json)"
        )
    return joined


def _question_key(question: str) -> str:
    """Return the key to join questions by, which ignores case, whitespace and "?"."""
    return " ".join(question.replace("’", "'").casefold().split()).rstrip("?").rstrip()


def _gold_rows(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    """Return the rows of DPR's {"data": [ … ]}, compressed or not, or of any data file."""
    if not path.is_file() or ".json" not in path.suffixes:
        return DataPath(path).rows()
    DataPath(path, f"--gold {path}").require_readable()
    try:
        with DataPath(path).open() as stream:
            data = orjson.loads(stream.read())
    except orjson.JSONDecodeError:
        return DataPath(path).rows()  # JSON lines
    rows = data.get("data") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        return DataPath(path).rows()
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(
                f"{path}, data[{number}]: found no object; expected one{_HINTS['gold']}"
            )
    return [(f"{path}, data[{number}]", row) for number, row in enumerate(rows)]
