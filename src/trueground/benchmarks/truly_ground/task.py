"""The tasks: options → metrics, files and a stream of questions (Lee et al. 2024, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trueground.benchmarks.base import Question, Sources, Task, Value
from trueground.benchmarks.truly_ground import TrulyGroundOptions
from trueground.benchmarks.truly_ground.choosing import within_budget, within_cap
from trueground.benchmarks.truly_ground.contexts import together
from trueground.benchmarks.truly_ground.distractors import Distractors, Ranked, make_distractors
from trueground.benchmarks.truly_ground.lengths import TokenCounter, make_counter
from trueground.benchmarks.truly_ground.placing import placed
from trueground.benchmarks.truly_ground.prompting import make_prompt
from trueground.benchmarks.truly_ground.source import (
    META,
    VERSIONS,
    VersionQuestion,
    find_file,
    read_items,
)
from trueground.errors import UsageError
from trueground.models.base import Message, Params
from trueground.models.prompts import Prompt
from trueground.records import FileInfo
from trueground.types import Passage, Record

# The strict definition (section 3.3); the gold contexts are what an answer may draw on. Every item
# counts, or a model would gain by declining what it would get wrong.
_EVERY = "abstain=zero"
_PAPER = "variant=reference-code,abstain=as_is"  # the paper's code, which knows no refusals
_ANSWER = ("answer_accuracy(match=substring,parts=each)", "answer_accuracy(parts=each)")
_OUTPUT_CAP = 2048
# Appendix C. Sampling is written out: without a temperature, local models answer greedily.
_PARAMS = {
    "greedy": Params(temperature=0.0, max_tokens=_OUTPUT_CAP),
    "paper": Params(temperature=0.0, max_tokens=_OUTPUT_CAP),
    "tulu": Params(temperature=0.6, max_tokens=_OUTPUT_CAP),
} | {
    name: Params(temperature=1.0, top_k=10, max_tokens=_OUTPUT_CAP)
    for name in ("llama2", "vicuna", "falcon")
}
_BY = ("meta.popularity", "meta.contexts", "meta.answer")


def make_task(settings: TrulyGroundOptions, sources: Sources) -> Task:
    """The task with its options settled. UsageError, InputError; questions are not read yet."""
    prompt = make_prompt(settings.closed_book, sources.prompt)
    files = (find_file(VERSIONS[settings.version], sources.data), find_file(META, sources.data))
    distractors = make_distractors(settings, sources.data) if settings.dist else None
    counter = None
    if settings.input_cap or (distractors and distractors.budget):
        counter = make_counter(settings.tokenizer, sources.model)
    metrics = _metrics(settings)
    used = dict.fromkeys((*files, *(distractors.files if distractors else ())))
    return Task(
        options=_options(settings, distractors, counter),
        metrics=metrics,
        headline=metrics[0],
        by=_BY,
        params=_PARAMS[settings.preset],
        files=tuple(FileInfo.of(str(file), file) for file in used),
        prompts=(prompt.file,),
        questions=_VersionQuestions(settings, files, distractors, counter, prompt),
    )


def _metrics(settings: TrulyGroundOptions) -> tuple[str, ...]:
    """The metrics by their keys, the headline first; the earlier definitions last."""
    fluency = ("fluency(items=free-form)",) if settings.fluency else ()
    how = _PAPER if settings.preset == "paper" else _EVERY
    recall = f"grounding_recall({how})"
    if settings.closed_book:  # no context, so nothing that an answer could stay within
        return (*_ANSWER, recall, *fluency)
    f1, precision, entails = (
        f"{name}(scope=gold,{how})"
        for name in ("grounding_f1", "grounding_precision", "context_entails")
    )
    return (f1, precision, recall, *_ANSWER, entails, *fluency)


def _options(
    settings: TrulyGroundOptions, distractors: Distractors | None, counter: TokenCounter | None
) -> dict[str, Value]:
    """The options that fix the questions; numbers as text."""
    cap = settings.input_cap
    found: dict[str, Value] = {"preset": settings.preset, "input-cap": str(cap) if cap else "none"}
    if distractors is not None:
        budget = distractors.budget
        found |= distractors.options
        found |= {
            "budget": str(budget) if budget else "all",
            "gold-position": settings.gold_position,
        }
        if settings.gold_position == "random":
            found["position-seed"] = str(settings.position_seed)
    if distractors is not None or counter is not None:
        found["tokenizer"] = counter.name if counter else None
    return found


class _VersionQuestions:
    """Streams the questions. The first call reads, mines and checks everything, once."""

    def __init__(
        self,
        settings: TrulyGroundOptions,
        files: tuple[Path, Path],
        distractors: Distractors | None,
        counter: TokenCounter | None,
        prompt: Prompt,
    ) -> None:
        self._settings = settings
        self._files = files
        self._distractors = distractors
        self._counter = counter
        self._prompt = prompt
        self._made: list[tuple[VersionQuestion, Sequence[Passage]]] | None = None

    def __call__(self) -> Iterator[Question]:
        if self._made is None:
            items = read_items(*self._files)
            self._made = list(zip(items, self._others(items), strict=True))
            self._distractors = None  # a corpus and its index are large
        for item, others in self._made:
            yield Question(self._record(item, others), self._messages(item, others))

    def _others(self, items: Sequence[VersionQuestion]) -> Ranked:
        """Each question's distractors, as many as fit."""
        found: Ranked = [() for _ in items]
        if self._distractors is not None:
            found = self._distractors.ranked(items)
            if self._distractors.budget:
                assert self._counter is not None
                found = within_budget(items, found, self._distractors.budget, self._counter)
        if self._settings.input_cap:
            assert self._counter is not None
            found = within_cap(items, found, self._settings.input_cap, self._counter, self._text)
        if self._distractors is not None and not any(found):
            raise UsageError(
                "no question gets a distractor: the gold contexts fill the budget or the cap, or "
                "the corpus has nothing else. Raise --budget or --input-cap, or run the -gold task"
            )
        return found

    def _contexts(self, item: VersionQuestion, others: Sequence[Passage]) -> list[Passage]:
        settings = self._settings
        return placed(item.gold, others, settings.gold_position, settings.position_seed, item.id)

    def _messages(self, item: VersionQuestion, others: Sequence[Passage]) -> tuple[Message, ...]:
        places = {"question": item.question}
        if not self._settings.closed_book:
            places["context"] = together(self._contexts(item, others))
        return self._prompt.fill(places)

    def _text(self, item: VersionQuestion, others: Sequence[Passage]) -> str:
        return "\n".join(message.content for message in self._messages(item, others))

    def _record(self, item: VersionQuestion, others: Sequence[Passage]) -> Record:
        settings = self._settings
        record = Record(
            id=item.id,
            response="",
            question=item.question,
            references=list(item.references),
            gold_facts=list(item.facts),
            group=item.id,
            meta={
                "version": settings.version,
                "popularity": item.popularity,
                "contexts": item.contexts,
                "answer": item.answer,
            },
        )
        if not settings.closed_book:
            record.contexts = self._contexts(item, others)
        return record
