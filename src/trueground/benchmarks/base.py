"""What a benchmark is: a declaration, and a function that makes a task of it; which ones there are.

A task is a stream of questions, each a record without its response and the messages to send, with
the metrics that score the answers. It calls no model and writes nothing.

A benchmark's module calls `add_benchmark`, and is an entry point of the group
`trueground.benchmarks` with the name of the benchmark. That holds for those of any package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.benchmarks.reads import RecordsReads, peek, start_recording, unread_fields
from trueground.benchmarks.studies import Studies
from trueground.components import Registry
from trueground.errors import UsageError
from trueground.options import (
    DeclaredOptions,
    Progress,
    declared_options,
    do_nothing,
    parse_options,
)

if TYPE_CHECKING:
    from trueground.benchmarks.publications import PublishedTable
    from trueground.models import Message, Params, Prompt
    from trueground.records import FileInfo
    from trueground.types import PromptFile, Record


@dataclass(frozen=True, kw_only=True)
class TaskOptions(RecordsReads):
    """Base class of the options of a benchmark.

    `task` is the requested task, `own_prompt` whether the user brings a prompt. Neither is an
    option itself.
    """

    task: str = ""
    own_prompt: bool = False


@dataclass(frozen=True)
class Question:
    """One call to make: `record` has everything but the response."""

    record: Record
    messages: tuple[Message, ...]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A benchmark's task with its options settled.

    `questions()` streams the same questions in the same order every time; the first call checks
    every row and raises InputError. `options` are all options that fix the questions, with the
    values that were settled. `headline` is the metric by which models are ranked (without one the
    first); `by` are the breakdown fields; `params` what the task's scheme asks of the model, before
    the user's own. `trim` makes of a reply the response that is scored; the log keeps the reply.
    `notices` are short sentences that every page of the run must show, such as that something in it
    is made up; the first call of `questions()` may add some. The frame sets `benchmark`, `name`,
    `unused`, the options that were given and have no effect on this task, and `check_settings`,
    which raises UsageError for a setting that neither making the task nor `questions()` has read.
    """

    benchmark: str = ""
    name: str = ""
    options: Mapping[str, str | bool | None]
    metrics: tuple[str, ...]
    headline: str = ""
    by: tuple[str, ...] = ()
    params: Params
    files: tuple[FileInfo, ...]
    prompts: tuple[PromptFile, ...]
    questions: Callable[[], Iterator[Question]]
    trim: Callable[[str], str] | None = None
    unused: tuple[str, ...] = ()
    notices: Sequence[str] = ()
    check_settings: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Sources(RecordsReads):
    """Where a task takes its material from; None means the place where `data fetch` keeps it.

    `model` is the name of the model that will be asked, where there is one only. `note` is told
    what a user should know, `progress` (what, done, total or None) how long work goes on. `shared`
    is for what the tasks of one command have in common, such as a corpus that is open. `scratch` is
    a folder of a dry run, which keeps nothing: it goes when the run has ended, nothing is written
    anywhere else, and nobody is asked. None in a run that asks. `limit` is how many of the
    questions are asked at most, the first ones; None: all. `cache` False: what was found earlier is
    not read, and what is found is not kept; an index of a corpus is.
    """

    data: Path | None = None
    prompt: Path | None = None
    model: str | None = None
    note: Callable[[str], None] = do_nothing
    progress: Progress = do_nothing
    scratch: Path | None = None
    limit: int | None = None
    cache: bool = True
    shared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def note_once(self, word: str) -> None:
        """Tell it, unless a task of the same command has told it before."""
        told: set[str] = self.shared.setdefault("told", set())
        if word not in told:
            told.add(word)
            self.note(word)

    def choose_prompt(
        self, package: str, name: str, needed: Iterable[str], optional: Iterable[str] = ()
    ) -> Prompt:
        """The user's prompt, with these places, or the package's own. UsageError, InputError."""
        from trueground.models import Prompt

        if self.prompt is not None:
            return Prompt.read(self.prompt, needed, optional)
        return Prompt.packaged(package, name)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark's declaration.

    `tasks` are those of `trueground run NAME` without a task first (`default_tasks`), then others.
    `options` is a subclass of TaskOptions. `make(options, sources)` makes a Task of them and raises
    UsageError, InputError; named as "package.module:name" it loads nothing heavy before it is
    needed. `studies` are the paper's tables and figures, and what makes runs
    comparable with its numbers. `judge` names the judge under the options as given, for a user who
    names none.

    `package` is the package that has `data.toml` and `published.json`, if there are any.
    `count(name, data, corpus)`, a function or "package.module:name", does `trueground data stats`
    for this benchmark, if its questions are counted in another way than those of its tasks, and
    for names that aren't benchmarks: files and datasets of questions.
    """

    name: str
    doc: str
    source: str
    default_tasks: tuple[str, ...]
    other_tasks: tuple[str, ...]
    options: type[Any]
    make: Callable[[Any, Sources], Task] | str
    studies: Studies = field(default_factory=Studies)
    judge: Callable[[Mapping[str, str | bool | None]], str] = lambda _options: "lexical"
    package: str = ""
    count: Callable[[str, Path | None, Path | None], list[Any]] | str | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        return self.default_tasks + self.other_tasks

    @property
    def declared(self) -> DeclaredOptions:
        return declared_options(self.options)

    @cached_property
    def published(self) -> tuple[PublishedTable, ...]:
        """The tables of the paper. Empty if nothing was published for the benchmark.

        If tables print the same score, the first is the one to compare with.
        """
        from trueground.benchmarks.publications import read_published

        return read_published(self.package) if self.package else ()

    def prepare(self, task: str, given: Mapping[str, Any], sources: Sources) -> Task:
        """The task with the options that were given. UsageError, InputError."""
        if task not in self.tasks:
            raise UsageError.unknown_name(f"task of {self.name}", task, self.tasks)
        own_prompt = sources.prompt is not None
        options = parse_options(self.options, self.name, given, task=task, own_prompt=own_prompt)
        changed = self.declared.changed(self.name, given)
        unused = tuple(option.name for option in changed if not option.has_effect(options))
        make = load_function(self.make)
        sources = replace(sources)  # the reads of this task alone
        start_recording(options)
        start_recording(sources)
        made: Task = make(options, sources)
        title = f"{self.name}/{task}"
        _check_prompt(title, made, peek(sources, "prompt"))
        chosen = [option.name for option in changed if option.name not in unused]
        return replace(
            made,
            benchmark=self.name,
            name=task,
            headline=made.headline or made.metrics[0],
            unused=unused,
            check_settings=partial(_check_read, title, chosen, options, sources),
        )


def _check_prompt(title: str, task: Task, prompt: Path | None) -> None:
    """Raise UsageError unless the manifest of the task's run names the user's prompt."""
    if prompt is not None and all(file.id != prompt.name for file in task.prompts):
        raise UsageError(
            f"the task {title} doesn't use the prompt {prompt}, so the run would be the same as "
            "without it. Leave the prompt out, or choose a task that takes one"
        )


def _check_read(title: str, chosen: Sequence[str], options: Any, sources: Sources) -> None:
    """Raise UsageError for the user's options and data that the task hasn't read."""
    fields = {name.replace("-", "_"): name for name in chosen}
    unread = [fields[field] for field in unread_fields(options, fields)]
    if peek(sources, "data") is not None:
        unread += unread_fields(sources, ["data"])
    if unread:
        raise UsageError(
            f"the task {title} doesn't read --{unread[0]}, so the run would be the same as "
            f"without it. Leave --{unread[0]} out, or choose a task that takes it"
        )


def load_function(function: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return a function of a declaration, where "package.module:name" is imported."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), name)
    return loaded


BENCHMARKS: Registry[Benchmark] = Registry("benchmark")


def add_benchmark(benchmark: Benchmark) -> Benchmark:
    """Register a benchmark, and return it. Raises UsageError if the name is taken."""
    BENCHMARKS.register(benchmark.name, benchmark)
    return benchmark


def all_benchmarks() -> Registry[Benchmark]:
    """Every benchmark by name, those of other packages included."""
    return BENCHMARKS.load()


def get_benchmark(name: str) -> Benchmark:
    """The benchmark of that name, or a UsageError with near names; `_` and `-` are alike."""
    if name not in BENCHMARKS:
        BENCHMARKS.load_component(name)
    if name not in BENCHMARKS:
        plain = name.replace("_", "-")
        alike = (known for known in all_benchmarks() if known.replace("_", "-") == plain)
        name = next(alike, name)
    return BENCHMARKS.find(name)
