"""Benchmarks, their tasks, and the registry of benchmarks.

A benchmark is a declaration with a function that makes a task. A task is a stream of questions and
the metrics that score the answers. A question is a record without its response, and the messages
to send. A task calls no model and writes no files.

A benchmark's module calls `add_benchmark`. Its package lists the module as an entry point of the
group `trueground.benchmarks`, under the name of the benchmark. Other packages can do the same.
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
    """Base class for the options of a benchmark.

    The two fields here are set by the runner and are not options themselves.

    Attributes:
        task: The requested task.
        own_prompt: Whether the user brings a prompt file.
    """

    task: str = ""
    own_prompt: bool = False


@dataclass(frozen=True)
class Question:
    """One request to a model.

    Attributes:
        record: The item, without its response.
        messages: The messages to send.
    """

    record: Record
    messages: tuple[Message, ...]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A benchmark's task with resolved options.

    `Benchmark.prepare` sets `benchmark`, `name`, `unused` and `check_settings`.

    Attributes:
        benchmark: The name of the benchmark.
        name: The name of the task.
        options: All options that determine the questions, with their resolved values.
        metrics: The metrics that score the answers.
        headline: The metric that ranks models. "" means the first of `metrics`.
        by: The fields by which scores are broken down.
        params: The parameters of the model for this task. The user's parameters override them.
        files: The data files of the task.
        prompts: The prompts of the task.
        questions: Streams the same questions in the same order each time. The first call checks
            every row and raises InputError.
        trim: Turns a reply into the response to score. The log keeps the whole reply.
        unused: Options that the user set and that have no effect on this task.
        notices: Short warnings that every page of the run shows. The first call of `questions()`
            may add some.
        check_settings: Raises UsageError for a setting of the user that neither `make` nor
            `questions()` has read.
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
    """Inputs and callbacks of a task.

    Attributes:
        data: The user's data. None: the files that `data fetch` keeps.
        prompt: The user's prompt file. None: the prompt of the package.
        model: The name of the model to call, if there is exactly one.
        note: Receives each message for the user.
        progress: Receives the progress of long work: name, number done, total or None.
        scratch: The temporary folder of a dry run, which calls no model and writes nothing
            elsewhere. None outside a dry run.
        limit: The maximum number of questions; the first ones are taken. None: all.
        cache: Whether to read and write cached retrieval results. An index of a corpus is always
            cached.
        shared: Objects that the tasks of one command share, such as an open corpus.
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

    def note_once(self, message: str) -> None:
        """Pass a message to `note`, but only once per command."""
        seen_messages: set[str] = self.shared.setdefault("seen_messages", set())
        if message not in seen_messages:
            seen_messages.add(message)
            self.note(message)

    def choose_prompt(
        self, package: str, name: str, needed: Iterable[str], optional: Iterable[str] = ()
    ) -> Prompt:
        """Return the user's prompt, or the prompt of the package.

        Args:
            package: The package that has the prompt.
            name: The name of the package's prompt.
            needed: Placeholders that a user's prompt must have.
            optional: Placeholders that it may have.

        Raises:
            InputError: The user's file can't be read.
            UsageError: Its placeholders are wrong.
        """
        from trueground.models import Prompt

        if self.prompt is not None:
            return Prompt.read(self.prompt, needed, optional)
        return Prompt.packaged(package, name)


@dataclass(frozen=True)
class Benchmark:
    """Declaration of a benchmark.

    Attributes:
        name: The name of the benchmark.
        doc: A description in one line.
        source: The paper or other source.
        default_tasks: The tasks of `trueground run NAME` without a task.
        other_tasks: Tasks that run only if the user names them.
        options: A subclass of TaskOptions.
        make: A function that makes a Task of options and sources, and raises UsageError or
            InputError. Given as "package.module:name", it is imported at its first use.
        studies: The paper's tables and figures, and which runs are comparable with its numbers.
        judge: Returns the default judge under the user's options.
        package: The package with `data.toml` and `published.json`, if any.
        count: A function, or "package.module:name", that computes `trueground data stats`. Set it
            if the statistics can't be computed from the tasks, or to accept names of files and
            datasets.

    Example:
        >>> get_benchmark("kalma").name
        'kalma'
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
        """The default tasks, followed by the other tasks."""
        return self.default_tasks + self.other_tasks

    @property
    def declared(self) -> DeclaredOptions:
        """The options of the benchmark."""
        return declared_options(self.options)

    @cached_property
    def published(self) -> tuple[PublishedTable, ...]:
        """The tables of the paper, or an empty tuple without published numbers.

        If several tables print the same score, compare with the first.
        """
        from trueground.benchmarks.publications import read_published

        return read_published(self.package) if self.package else ()

    def prepare(self, task: str, given: Mapping[str, Any], sources: Sources) -> Task:
        """Return a task with the user's options.

        Args:
            task: The name of the task.
            given: The options that the user set.
            sources: The inputs and callbacks of the task.

        Raises:
            InputError: The data can't be read.
            UsageError: The task or an option is unknown or invalid.
        """
        if task not in self.tasks:
            raise UsageError.unknown_name(f"task of {self.name}", task, self.tasks)
        own_prompt = sources.prompt is not None
        options = parse_options(self.options, self.name, given, task=task, own_prompt=own_prompt)
        changed = self.declared.changed(self.name, given)
        unused = tuple(option.name for option in changed if not option.has_effect(options))
        make = load_function(self.make)
        sources = replace(sources)  # The copy records the reads of this task alone.
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
    """Return a function of a declaration. Import it if it is "package.module:name"."""
    if not isinstance(function, str):
        return function
    module, _, name = function.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), name)
    return loaded


BENCHMARKS: Registry[Benchmark] = Registry("benchmark")


def add_benchmark(benchmark: Benchmark) -> Benchmark:
    """Register a benchmark, and return it.

    Raises:
        UsageError: The name is taken.
    """
    BENCHMARKS.register(benchmark.name, benchmark)
    return benchmark


def all_benchmarks() -> Registry[Benchmark]:
    """Return all benchmarks by name, including those of other packages."""
    return BENCHMARKS.load()


def get_benchmark(name: str) -> Benchmark:
    """Return a benchmark.

    Args:
        name: The name of the benchmark. `_` and `-` are interchangeable.

    Raises:
        UsageError: The name is unknown. The message suggests similar names.

    Example:
        >>> get_benchmark("instruct_qa").name
        'instruct-qa'
    """
    if name not in BENCHMARKS:
        BENCHMARKS.load_component(name)
    if name not in BENCHMARKS:
        plain = name.replace("_", "-")
        matches = (other for other in all_benchmarks() if other.replace("_", "-") == plain)
        name = next(matches, name)
    return BENCHMARKS.find(name)
