"""The tasks: options → metrics, files and a stream of questions (Ming et al. 2024, section 3)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trueground.benchmarks import Question, RowFiles, Sources, Task
from trueground.components import ComponentSpec
from trueground.errors import InputError
from trueground.models import Params, Prompt
from trueground.records import FileInfo
from trueground.text import Normalizer, contains_words
from trueground.types import Choice, Passage, Record
from trueground.wings.papers.faitheval import FaithEvalOptions
from trueground.wings.papers.faitheval.source import (
    AnsweredRow,
    ChoiceRow,
    FaithEvalRow,
    OriginalQuestion,
    find_originals,
    original_files,
    read_items,
    require_none,
    right_choice,
    task_files,
)

_normalize = Normalizer.named("faitheval").rule
_PACKAGE = "trueground.wings.papers.faitheval"
_PARAMS = {  # section 3.3
    "direct": Params(temperature=0.0),
    "cot": Params(temperature=0.0),
    "sampling": Params(temperature=0.3, top_p=0.9),
}
_INSTRUCTIONS = {"unanswerable": "unknown-1", "inconsistent": "conflict-1"}
_ANSWER = (
    "answer_accuracy(normalizer=faitheval,match=substring)",  # the paper's rule
    "answer_accuracy(normalizer=faitheval)",  # on word boundaries
)
_PHRASES = ("phrase_match_strict", "phrase_match", "phrase_match_word")
_HEADING = re.compile(r"^[ \t]*\[?document(?:[ \t]*#?\d+)?\]?[ \t]*:", re.IGNORECASE | re.MULTILINE)


def make_task(options: FaithEvalOptions, sources: Sources) -> Task:
    """The task with its options settled. UsageError, InputError; rows are not read yet."""
    prompt, extra = _prompts(options, sources)
    files = task_files(options.questions_of, sources.data)
    needed = options.task == "original" or options.original is not None
    others = original_files(options.original, options.choices) if needed else []
    return Task(
        options=_identity(options, instructed=extra is not None),
        metrics=_metrics(options),
        by=() if options.choices else ("meta.dataset",),
        params=_PARAMS[options.scheme],
        files=tuple(FileInfo.of(str(file), file) for file in (*files, *others)),
        prompts=(prompt.file, extra.file) if extra else (prompt.file,),
        questions=_FaithEvalQuestions(
            options,
            read_items(files, options.questions_of, answers=options.single),
            others,
            prompt,
            extra.user if extra else "",
        ),
    )


def _prompts(options: FaithEvalOptions, sources: Sources) -> tuple[Prompt, Prompt | None]:
    """The user's prompt or the scheme's, and the task's instruction where it has a place."""
    needed = ["question"] + ["context"] * (not options.closed_book)
    needed += ["options"] * options.choices  # without them the answer would be a guess
    cot, book = options.scheme == "cot", "closed-book" * options.closed_book
    name = "-".join(filter(None, (book, "cot" if cot else "direct" * (not book), "1")))
    optional = ["instruction"] + ["options"] * (not options.choices)
    prompt = sources.choose_prompt(_PACKAGE, name, needed, optional)
    if not (options.instruction and prompt.has("instruction")):
        return prompt, None
    return prompt, Prompt.packaged(_PACKAGE, _INSTRUCTIONS[options.questions_of])


def _identity(options: FaithEvalOptions, *, instructed: bool) -> dict[str, str | bool | None]:
    """The options that fix the questions; the file of originals is named by its checksum."""
    found: dict[str, str | bool | None] = {
        "scheme": options.scheme,
        "task-instruction": "on" if options.instruction else "off",
    }
    if options.task == "inconsistent":
        found["documents"] = options.documents
    elif options.task == "original":
        found |= {"of": options.of, "closed-book": options.closed_book}
    elif options.task == "counterfactual":
        found["only-phrase-filtered"] = options.only_phrase_filtered
    if options.instruction and not instructed:
        found["task-instruction"] = "none but what the prompt says"
    return found


def _metrics(options: FaithEvalOptions) -> tuple[str, ...]:
    """The metrics by their keys, the headline first; the paper's rule and the word rule."""
    if options.choices:  # the answer, and as section 3.3 has it: named anywhere
        return ("choice_accuracy", "choice_accuracy(variant=mentions)")
    about = "(task=inconsistent)" * (options.questions_of == "inconsistent")
    found = [name + about for name in _PHRASES]
    if options.task == "original" or options.single:
        found = [*_ANSWER, *found[:1]] if options.instruction else [*_ANSWER]
    if options.scheme == "cot":  # the brief answer, and the whole with its reasons
        parts = [ComponentSpec.parse("metric", metric) for metric in found]
        of_answer = [replace(p, options={**p.options, "read": "answer"}).written for p in parts]
        found = [*of_answer, *found]
    # Beside the phrases, whether the model declines at all, by the rules of `abstained`.
    return (*found, *["p_ir"] * (options.task == "unanswerable"))


@dataclass
class _FaithEvalQuestions:
    """Streams the questions. The first call reads everything once before it gives any out."""

    options: FaithEvalOptions
    every: RowFiles[Any]
    others: list[Path]
    prompt: Prompt
    instruction: str
    # They are kept: MRQA's files are long, and only some of their rows are wanted.
    originals: Mapping[str, OriginalQuestion] | None = None

    def __call__(self) -> Iterator[Question]:
        if self.originals is None:
            wanted = {row.id: row.question for row in self._rows()} if self.others else {}
            choices = self.options.choices
            self.originals = find_originals(self.others, wanted, choices) if self.others else {}
            self._check(self.originals)
        for row in self._rows():
            made = make_record(self.options, row, self.originals.get(row.id))
            if isinstance(made, str):
                raise InputError(f"{row.place} changed after it was checked; start again")
            record, context = made
            places = {
                "question": record.question or "",
                "context": context,
                "instruction": self.instruction,
                "options": "\n".join(f"{one.label}. {one.text}" for one in record.choices or ()),
            }
            yield Question(record, self.prompt.fill(places))

    def _rows(self) -> Iterator[FaithEvalRow]:
        rows = iter(self.every) if self.every.checked else self.every.check()
        rule = self.options.only_phrase_filtered
        if rule == "off":
            return rows
        return (r for r in rows if is_named(rule, r.context, right_choice(r.options, r.key)))

    def _check(self, originals: Mapping[str, OriginalQuestion]) -> None:
        """Every row is read; what cannot be asked is counted by its reason. InputError."""
        count, reasons = 0, dict[str, list[str]]()
        for row in self._rows():
            count += 1
            made = make_record(self.options, row, originals.get(row.id))
            if isinstance(made, str):
                reasons.setdefault(made, []).append(row.id)
        if not count:
            raise InputError(
                f"no question of {self.options.questions_of} passes --only-phrase-filtered "
                f"{self.options.only_phrase_filtered}; leave it out to ask all"
            )
        for reason, ids in reasons.items():
            remedy = "" if originals else " --original PATH with MRQA's test files may tell them."
            require_none(ids, f"questions {reason}", f"Ask with --documents both.{remedy}")


def make_record(
    options: FaithEvalOptions, row: FaithEvalRow, original: OriginalQuestion | None
) -> tuple[Record, str] | str:
    """The record and the context as the model reads it, or why the question cannot be asked."""
    if options.original and original is None:
        return "have no original"
    meta = {"dataset": row.dataset, "task": options.task}
    record = Record(id=row.id, response="", question=row.question, meta=meta)
    if options.task == "original":
        assert original is not None, "a task without a file of originals is refused"
        record.question = original.question
        if original.choices:
            _give_choices(record, original.choices, original.key)
            return record, ""
        document, answers = original.context, original.answers
    elif options.single:
        assert isinstance(row, AnsweredRow)
        told = single_document(row, options.documents, original)
        if isinstance(told, str):
            return told
        document, answers = told
    elif options.task == "inconsistent":
        record.contexts = [Passage(text) for text in split_documents(row.context)]
        return record, row.context
    else:
        record.contexts = [Passage(row.context)]
        record.answerable = options.task == "counterfactual"
        if isinstance(row, ChoiceRow):
            _give_choices(record, row.options, row.key)
        return record, row.context
    record.references = list(answers)
    record.answerable = True
    record.contexts = [Passage(document)]
    return record, document


def _give_choices(record: Record, choices: list[Choice] | tuple[Choice, ...], key: str) -> None:
    record.choices = list(choices)
    record.references = [right_choice(choices, key)]


def split_documents(context: str) -> list[str]:
    """The two documents, each headed `Document:` or `Document 1:`; else the context as one."""
    before, *parts = _HEADING.split(context)
    documents = [part.strip() for part in parts]
    return documents if len(documents) == 2 and all(documents) and not before.strip() else [context]


def single_document(
    row: AnsweredRow, which: str, original: OriginalQuestion | None
) -> tuple[str, tuple[str, ...]] | str:
    """The `original` or the `new` document with its answers, or why it cannot be told (section 5).

    The file lists the original answer first, then the new one. The original document is the one
    that is the original context, where that is given; else the one in which the original answer
    stands and the new one does not.
    """
    documents, answers = split_documents(row.context), tuple(row.answers)
    if len(documents) != 2:
        return "have no two documents, each headed by a line `Document:`"
    old, new = answers[:1], answers[1:]
    if original is not None:
        old = original.answers
        known = set(map(_normalize, old))
        new = tuple(answer for answer in answers if _normalize(answer) not in known)
        if len(new) == len(answers):
            return "name no answer of their original"
    if not new:
        return "name no new answer beside the original one"
    first, second = (_likeness(document, old, new, original) for document in documents)
    if first == second:
        return "have two documents that cannot be told apart"
    at = int((first > second) != (which == "original"))
    return documents[at], old if which == "original" else new


def _likeness(
    document: str, old: tuple[str, ...], new: tuple[str, ...], original: OriginalQuestion | None
) -> float:
    """How much a document is like the original one: by its text, or by the answers in it."""
    text = _normalize(document)
    if original is not None:
        from rapidfuzz.fuzz import ratio

        return ratio(text, _normalize(original.context))
    has_old, has_new = (
        any(contains_words(text, _normalize(answer)) for answer in answers)
        for answers in (old, new)
    )
    return has_old - has_new


def is_named(rule: str, context: str, answer: str) -> bool:
    """By `phrase`, whether the answer stands in the context (appendix B); by `words`, all its words
    do (section 3.2).
    """
    text, phrase = (
        _normalize(context),
        _normalize(answer),
    )
    if rule == "phrase":
        return contains_words(text, phrase)
    words = set(phrase.split())
    return bool(words) and words <= set(text.split())
