"""Make FaithEval's tasks: metrics, files and questions (Ming et al. 2024, section 3)."""

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
    """Make the task of some options. Rows are read later.

    Raises:
        InputError: A file can't be read.
        UsageError: Originals are needed but not there.
    """
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
    """Return the prompt, and the task's instruction if the prompt has a placeholder for it."""
    needed = ["question"]
    optional = ["instruction"]
    if not options.closed_book:
        needed.append("context")
    # The answer to a multiple-choice question without its options would be a guess.
    (needed if options.choices else optional).append("options")
    prompt = sources.choose_prompt(_PACKAGE, _prompt_name(options), needed, optional)
    if not (options.instruction and prompt.has("instruction")):
        return prompt, None
    return prompt, Prompt.packaged(_PACKAGE, _INSTRUCTIONS[options.questions_of])


def _prompt_name(options: FaithEvalOptions) -> str:
    if options.closed_book:
        return "closed-book-cot-1" if options.scheme == "cot" else "closed-book-1"
    return "cot-1" if options.scheme == "cot" else "direct-1"


def _identity(options: FaithEvalOptions, *, instructed: bool) -> dict[str, str | bool | None]:
    """Return the options that determine the questions, except the file of originals."""
    identity: dict[str, str | bool | None] = {
        "scheme": options.scheme,
        "task-instruction": "on" if options.instruction else "off",
    }
    if options.task == "inconsistent":
        identity["documents"] = options.documents
    elif options.task == "original":
        identity |= {"of": options.of, "closed-book": options.closed_book}
    elif options.task == "counterfactual":
        identity["only-phrase-filtered"] = options.only_phrase_filtered
    if options.instruction and not instructed:
        identity["task-instruction"] = "none but what the prompt says"
    return identity


def _metrics(options: FaithEvalOptions) -> tuple[str, ...]:
    """Return the metrics, the headline first."""
    if options.choices:  # Section 3.3 also accepts an answer that is named anywhere.
        return ("choice_accuracy", "choice_accuracy(variant=mentions)")
    metrics = list(_PHRASES)
    if options.questions_of == "inconsistent":
        metrics = [f"{name}(task=inconsistent)" for name in _PHRASES]
    if options.task == "original" or options.single:
        metrics = [*_ANSWER, *metrics[:1]] if options.instruction else [*_ANSWER]
    if options.scheme == "cot":
        # Score the brief answer, and the whole response with its reasons.
        metrics = [*map(_of_answer, metrics), *metrics]
    if options.task == "unanswerable":
        # The phrases are fixed; p_ir also detects other ways to abstain.
        metrics.append("p_ir")
    return tuple(metrics)


def _of_answer(metric: str) -> str:
    spec = ComponentSpec.parse("metric", metric)
    return replace(spec, options={**spec.options, "read": "answer"}).written


@dataclass
class _FaithEvalQuestions:
    """Stream of the questions. The first call checks all rows before it yields one."""

    options: FaithEvalOptions
    rows: RowFiles[Any]
    original_files: list[Path]
    prompt: Prompt
    instruction: str
    # Originals stay in memory: MRQA's files are long, and only some of their rows are needed.
    originals: Mapping[str, OriginalQuestion] | None = None

    def __call__(self) -> Iterator[Question]:
        if self.originals is None:
            self.originals = self._find_originals()
            self._check(self.originals)
        for row in self._selected_rows():
            result = make_record(self.options, row, self.originals.get(row.id))
            if isinstance(result, str):
                raise InputError(f"{row.place} changed after it was checked. Start the run again")
            record, context = result
            choices = [f"{choice.label}. {choice.text}" for choice in record.choices or ()]
            values = {
                "question": record.question or "",
                "context": context,
                "instruction": self.instruction,
                "options": "\n".join(choices),
            }
            yield Question(record, self.prompt.fill(values))

    def _find_originals(self) -> Mapping[str, OriginalQuestion]:
        if not self.original_files:
            return {}
        questions = {row.id: row.question for row in self._selected_rows()}
        return find_originals(self.original_files, questions, self.options.choices)

    def _selected_rows(self) -> Iterator[FaithEvalRow]:
        rows = iter(self.rows) if self.rows.checked else self.rows.check()
        rule = self.options.only_phrase_filtered
        if rule == "off":
            return rows
        return (
            row for row in rows if is_named(rule, row.context, right_choice(row.options, row.key))
        )

    def _check(self, originals: Mapping[str, OriginalQuestion]) -> None:
        """Raise InputError if rows have no question, with the number of rows by reason."""
        count = 0
        reasons: dict[str, list[str]] = {}
        for row in self._selected_rows():
            count += 1
            result = make_record(self.options, row, originals.get(row.id))
            if isinstance(result, str):
                reasons.setdefault(result, []).append(row.id)
        if not count:
            raise InputError(
                f"no question of {self.options.questions_of} passes --only-phrase-filtered "
                f"{self.options.only_phrase_filtered}. Leave the option out to ask all questions"
            )
        for reason, ids in reasons.items():
            remedy = "Use --documents both."
            if not originals:
                remedy += " Or add --original PATH with MRQA's test files, which may identify them."
            require_none(ids, f"questions {reason}", remedy)


def make_record(
    options: FaithEvalOptions, row: FaithEvalRow, original: OriginalQuestion | None
) -> tuple[Record, str] | str:
    """Return the record and the model's context, or the reason why there is no question."""
    if options.original and original is None:
        return "have no original"
    meta = {"dataset": row.dataset, "task": options.task}
    record = Record(id=row.id, response="", question=row.question, meta=meta)
    if options.task == "original":
        assert original is not None, "this task requires a file of originals"
        record.question = original.question
        if original.choices:
            _set_choices(record, original.choices, original.key)
            return record, ""
        document, answers = original.context, original.answers
    elif options.single:
        assert isinstance(row, AnsweredRow)
        selection = single_document(row, options.documents, original)
        if isinstance(selection, str):
            return selection
        document, answers = selection
    elif options.task == "inconsistent":
        record.contexts = [Passage(text) for text in split_documents(row.context)]
        return record, row.context
    else:
        record.contexts = [Passage(row.context)]
        record.answerable = options.task == "counterfactual"
        if isinstance(row, ChoiceRow):
            _set_choices(record, row.options, row.key)
        return record, row.context
    record.references = list(answers)
    record.answerable = True
    record.contexts = [Passage(document)]
    return record, document


def _set_choices(record: Record, choices: list[Choice] | tuple[Choice, ...], key: str) -> None:
    record.choices = list(choices)
    record.references = [right_choice(choices, key)]


def split_documents(context: str) -> list[str]:
    """Split a context at the headings `Document:` or `Document 1:` of its two documents.

    Any other context is returned whole, as the only element.
    """
    before, *sections = _HEADING.split(context)
    documents = [section.strip() for section in sections]
    if len(documents) == 2 and all(documents) and not before.strip():
        return documents
    return [context]


def single_document(
    row: AnsweredRow, which: str, original: OriginalQuestion | None
) -> tuple[str, tuple[str, ...]] | str:
    """Return the original or the new document with its answers (section 5).

    The file lists the original answer first, then the new one. The original document is the one
    closer to the original context. Without that context, it is the document that contains the
    original answer but not the new one.

    Args:
        row: The row with both documents.
        which: `original` or `new`.
        original: The original question, if known.

    Returns:
        The document and its answers, or the reason why it can't be identified.
    """
    documents, answers = split_documents(row.context), tuple(row.answers)
    if len(documents) != 2:
        return "don't have two documents, each headed by a line `Document:`"
    old, new = answers[:1], answers[1:]
    if original is not None:
        old = original.answers
        old_answers = set(map(_normalize, old))
        new = tuple(answer for answer in answers if _normalize(answer) not in old_answers)
        if len(new) == len(answers):
            return "don't name an answer of their original"
    if not new:
        return "name no new answer next to the original one"
    first, second = (_similarity(document, old, new, original) for document in documents)
    if first == second:
        return "have two documents that can't be distinguished"
    index = int((first > second) != (which == "original"))
    return documents[index], old if which == "original" else new


def _similarity(
    document: str, old: tuple[str, ...], new: tuple[str, ...], original: OriginalQuestion | None
) -> float:
    """Return how similar a document is to the original one, by its text or its answers."""
    text = _normalize(document)
    if original is not None:
        from rapidfuzz.fuzz import ratio

        return ratio(text, _normalize(original.context))
    has_old = any(contains_words(text, _normalize(answer)) for answer in old)
    has_new = any(contains_words(text, _normalize(answer)) for answer in new)
    return has_old - has_new


def is_named(rule: str, context: str, answer: str) -> bool:
    """Return whether a context names an answer.

    Args:
        rule: `phrase`: the whole answer occurs (appendix B). `words`: all its words occur
            (section 3.2).
        context: The context.
        answer: The answer.
    """
    text = _normalize(context)
    phrase = _normalize(answer)
    if rule == "phrase":
        return contains_words(text, phrase)
    words = set(phrase.split())
    return bool(words) and words <= set(text.split())
