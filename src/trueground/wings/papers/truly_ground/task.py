"""Make Truly-Ground's tasks: metrics, files and questions (Lee et al. 2024, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks import Question, Sources, Task, get_dataset
from trueground.errors import UsageError
from trueground.models import Message, Params, Prompt
from trueground.records import FileInfo
from trueground.types import Passage, Record
from trueground.wings.papers.truly_ground import TrulyGroundOptions
from trueground.wings.papers.truly_ground.distractors import (
    Distractors,
    Ranked,
    TokenCounter,
    cut_to_budget,
    cut_to_cap,
    make_counter,
    make_distractors,
    place_gold,
)
from trueground.wings.papers.truly_ground.source import (
    DATASET,
    META,
    VERSIONS,
    VersionQuestion,
    format_context,
    read_items,
)

_OUTPUT_CAP = 2048
# Appendix C. The temperature is explicit, as local models answer greedily without one.
_SAMPLED = Params(temperature=1.0, top_k=10, max_tokens=_OUTPUT_CAP)
_PARAMS = {
    "greedy": Params(temperature=0.0, max_tokens=_OUTPUT_CAP),
    "paper": Params(temperature=0.0, max_tokens=_OUTPUT_CAP),
    "llama2": _SAMPLED,
    "vicuna": _SAMPLED,
    "falcon": _SAMPLED,
    "tulu": Params(temperature=0.6, max_tokens=_OUTPUT_CAP),
}
# The strict definition (section 3.3): answers may only use the gold contexts. Abstentions count as
# 0, as a model could otherwise gain by abstaining from hard questions.
_STRICT = "abstain=zero"
# The paper's code has no concept of abstaining.
_PAPER = "variant=reference-code,abstain=as_is"
_ANSWER = ("answer_accuracy(match=substring,parts=each)", "answer_accuracy(parts=each)")


def make_task(options: TrulyGroundOptions, sources: Sources) -> Task:
    """Make the task of some options. Questions are read later.

    Raises:
        InputError: A file can't be read.
        UsageError: The distractors or the retriever are invalid.
    """
    closed = options.closed_book
    needed = ["question"] if closed else ["question", "context"]
    prompt = sources.choose_prompt(
        "trueground.wings.papers.truly_ground",
        "closed-book-1" if closed else "grounded-1",
        needed,
    )
    names = (VERSIONS[options.version], META)
    dataset = get_dataset(DATASET)
    questions, meta = (dataset.find_json(name, sources.data) for name in names)
    distractors = make_distractors(options, sources.data) if options.dist else None
    counter = None
    if options.input_cap or (distractors and distractors.budget):
        counter = make_counter(options.tokenizer, sources.model)
    used = dict.fromkeys((questions, meta, *(distractors.files if distractors else ())))
    return Task(
        options=_identity(options, distractors, counter),
        metrics=_metrics(options),
        by=("meta.popularity", "meta.contexts", "meta.answer"),
        params=_PARAMS[options.preset],
        files=tuple(FileInfo.of(str(file), file) for file in used),
        prompts=(prompt.file,),
        questions=_VersionQuestions(options, (questions, meta), distractors, counter, prompt),
    )


def _metrics(options: TrulyGroundOptions) -> tuple[str, ...]:
    """Return the metrics: the headline first, the earlier definitions last."""
    fluency = ("fluency(items=free-form)",) if options.fluency else ()
    variant = _PAPER if options.preset == "paper" else _STRICT
    recall = f"grounding_recall({variant})"
    if options.closed_book:  # Precision needs a context.
        return (*_ANSWER, recall, *fluency)
    f1 = f"grounding_f1(scope=gold,{variant})"
    precision = f"grounding_precision(scope=gold,{variant})"
    entails = f"context_entails(scope=gold,{variant})"
    return (f1, precision, recall, *_ANSWER, entails, *fluency)


def _identity(
    options: TrulyGroundOptions, distractors: Distractors | None, counter: TokenCounter | None
) -> dict[str, str | bool | None]:
    """Return the options that determine the questions, with numbers as text."""
    cap = options.input_cap
    identity: dict[str, str | bool | None] = {
        "preset": options.preset,
        "input-cap": str(cap) if cap else "none",
    }
    if distractors is not None:
        budget = distractors.budget
        identity |= distractors.options
        identity |= {
            "budget": str(budget) if budget else "all",
            "gold-position": options.gold_position,
        }
        if options.gold_position == "random":
            identity["position-seed"] = str(options.position_seed)
    if distractors is not None or counter is not None:
        identity["tokenizer"] = counter.name if counter else None
    return identity


@dataclass
class _VersionQuestions:
    """Stream of the questions. The first call reads, mines and checks everything."""

    options: TrulyGroundOptions
    files: tuple[Path, Path]
    distractors: Distractors | None
    counter: TokenCounter | None
    prompt: Prompt
    questions: list[tuple[VersionQuestion, Sequence[Passage]]] | None = None

    def __call__(self) -> Iterator[Question]:
        if self.questions is None:
            items = read_items(*self.files)
            self.questions = list(zip(items, self._choose_distractors(items), strict=True))
            self.distractors = None  # Frees the memory of the corpus and its index.
        options = self.options
        for item, others in self.questions:
            record = Record(
                id=item.id,
                response="",
                question=item.question,
                contexts=None if options.closed_book else self._contexts(item, others),
                references=list(item.references),
                gold_facts=list(item.facts),
                group=item.id,
                meta={
                    "version": options.version,
                    "popularity": item.popularity,
                    "contexts": item.contexts,
                    "answer": item.answer,
                },
            )
            yield Question(record, self._messages(item, others))

    def _choose_distractors(self, items: Sequence[VersionQuestion]) -> Ranked:
        """Return each question's distractors, as many as fit."""
        ranked: Ranked = [() for _ in items]
        distractors, counter, cap = self.distractors, self.counter, self.options.input_cap
        if distractors is not None:
            ranked = distractors.rank(items)
            if distractors.budget and counter:
                ranked = cut_to_budget(items, ranked, distractors.budget, counter)
        if cap and counter:

            def render(item: VersionQuestion, others: Sequence[Passage]) -> str:
                return "\n".join(message.content for message in self._messages(item, others))

            ranked = cut_to_cap(items, ranked, cap, counter, render)
        if distractors is not None and not any(ranked):
            raise UsageError(
                "no question gets a distractor: the gold contexts use up the budget or the cap, or "
                "the corpus has nothing else. Raise --budget or --input-cap, or run the -gold task"
            )
        return ranked

    def _contexts(self, item: VersionQuestion, others: Sequence[Passage]) -> list[Passage]:
        position, seed = self.options.gold_position, self.options.position_seed
        return place_gold(item.gold, others, position, seed, item.id)

    def _messages(self, item: VersionQuestion, others: Sequence[Passage]) -> tuple[Message, ...]:
        values = {"question": item.question}
        if not self.options.closed_book:
            values["context"] = "\n\n".join(map(format_context, self._contexts(item, others)))
        return self.prompt.fill(values)
