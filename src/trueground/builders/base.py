"""What a builder is: a declaration, and stages through which items flow until a dataset is left.

An item is a msgspec Struct with an `id`. A stage takes items of one type and gives items of another
(or the same); what falls on the way falls with a reason. What a stage makes depends on the item,
the stage's `identity`, its prompts and the models that it asks, and on nothing else: so outcomes
are kept under a hash of these, and a rerun does only what changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from trueground.benchmarks.base import BenchmarkOption, Value
from trueground.options import Note, Progress, no_note, no_progress

if TYPE_CHECKING:  # a declaration must be quick to load
    from trueground.annotation.base import AnnotationTask
    from trueground.builders.asking.ask import Ask
    from trueground.models.prompts import Prompt, PromptFile
    from trueground.records import FileInfo

I_contra = TypeVar("I_contra", contravariant=True)
O_co = TypeVar("O_co", covariant=True)


class BuildItem(Protocol):
    """What flows: a msgspec Struct with an id that is unique within its stage."""

    @property
    def id(self) -> str:
        """Its id."""
        ...


@dataclass(frozen=True)
class Dropped:
    """One of several things that a stage made of an item, and that falls: `id` is its own.

    `made` is the thing itself, as far as it is worth a look (anything that JSON can hold).
    """

    id: str
    reason: str
    detail: str = ""
    made: Any = None


class Usual(NamedTuple):
    """What a stage asks for each item as a rule: for `--dry-run`. Tokens are those of one call.

    `of` says for which items it asks at all (None: for every one), `most` how many calls there are
    at most, whatever the number of items.
    """

    role: str
    calls: float
    tokens_in: float
    tokens_out: float
    of: Callable[[Any], bool] | None = None
    most: float | None = None


def _asks_nothing(_tokens: float) -> Sequence[Usual]:
    return ()


@dataclass(frozen=True)
class Stage(Generic[I_contra, O_co]):
    """One step, item by item: `await work(item, ask)` gives what is made of it.

    `work` raises Fallen where nothing is; Dropped stands for one of several things. The same item
    must always give the same. `reasons` are all reasons for which items fall here → words for
    people. `usual(tokens)` is what is asked for an item, where the source items have so many
    tokens on average; `fan_out` how many items come of one. `roles` are those of the models asked.
    """

    name: str
    doc: str
    takes: type[I_contra]
    gives: type[O_co]
    work: Callable[[Any, Ask], Awaitable[Sequence[O_co | Dropped]]]
    reasons: Mapping[str, str] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    prompts: Sequence[PromptFile] = ()
    roles: Sequence[str] = ()
    usual: Callable[[float], Sequence[Usual]] = _asks_nothing
    fan_out: float = 1.0


@dataclass(frozen=True)
class WholeStep(Generic[I_contra, O_co]):
    """One step that must see all items at once: to choose, to count, to look for doubles.

    It asks no model, and is done again every time. `work` gives what stays and what falls, in an
    order that depends on the items alone.
    """

    name: str
    doc: str
    takes: type[I_contra]
    gives: type[O_co]
    work: Callable[[Sequence[Any]], Sequence[O_co | Dropped]]
    reasons: Mapping[str, str] = field(default_factory=dict)
    fan_out: float = 1.0


@dataclass(frozen=True)
class SourceStep(Generic[O_co]):
    """The first step: `read()` gives the items of the user's files, and what is left out of them.

    Every row is checked here, before anything is paid. `read` raises InputError.
    """

    name: str
    doc: str
    gives: type[O_co]
    read: Callable[[], Iterable[O_co | Dropped]]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BuiltDataset:
    """What a build ends in.

    `files` are the dataset's, by their name below dataset/; `quality` is what the quality report
    reads, one for each item (builders.quality). `run` is the command that takes the dataset, with
    {dataset} for its folder. `factors` are the names by which items are counted. `tasks` are for
    annotators, written to annotate/KIND.jsonl; `human` is what people said (People.account).
    """

    files: Mapping[str, bytes]
    quality: Sequence[Any]
    run: str
    factors: Sequence[str] = ()
    tasks: Sequence[AnnotationTask] = ()
    human: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class BuildPlan:
    """A builder with its options settled: source, stages, and what is made of the items left.

    `options` are all that change what comes out, `files` what was read. `notices` are short
    sentences that page and data card must show. `tokens(item)` is the size of a source item.
    `scorer` gives perplexities, where the builder needs any (models.perplexity). `close` gives back
    what was opened to prepare the plan; it is called however the build ends. `people` are the human
    labels, where the builder takes any (builders.people). `others` are models that are asked
    without a role (a fact judge, a decomposer): name → what tells about them (builders.others).
    """

    builder: str
    options: Mapping[str, Value]
    files: Sequence[FileInfo]
    source: SourceStep[Any]
    stages: Sequence[Stage[Any, Any] | WholeStep[Any, Any]]
    finish: Callable[[Sequence[Any]], BuiltDataset]
    tokens: Callable[[Any], float]
    notices: Sequence[str] = ()
    scorer: Any = None
    close: Callable[[], None] | None = None
    people: Any = None
    others: Mapping[str, Callable[[], Mapping[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Role:
    """A model that a builder asks: an option --NAME-model, or --model for the first one.

    Without `needed` it may be left out; the builder's `prepare` says when it must not.
    """

    name: str
    doc: str
    needed: bool = True


@dataclass(frozen=True)
class Material:
    """What a builder is given: the user's paths, seed and prompts.

    `roles` are the names of the models that were given, `reached` how those are reached that say
    nothing of their own (a ModelOptions). `labels` is a file of merged human labels.
    `note` is told what a user should know. With `dry_run` nobody is asked and nothing is written.
    `limit` needs no regard: the frame takes the first items of the source.
    """

    paths: tuple[Path, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    reached: Any = None
    prompts: Mapping[str, Path] = field(default_factory=dict)
    labels: Path | None = None
    seed: int = 0
    limit: int | None = None
    dry_run: bool = False
    cache: bool = True
    note: Note = no_note
    progress: Progress = no_progress

    def prompt(
        self, package: str, name: str, needed: Iterable[str], optional: Iterable[str] = ()
    ) -> Prompt:
        """The packaged prompt `NAME-1`, or the user's file for it (`--prompt NAME=FILE`)."""
        from trueground.models.prompts import packaged_prompt, user_prompt

        bare = name.rpartition("-")[0]
        if bare in self.prompts:
            return user_prompt(self.prompts[bare], needed, optional)
        return packaged_prompt(package, name)


@dataclass(frozen=True)
class Builder:
    """A builder's declaration. `prepare(options, material)` raises UsageError, InputError.

    `roles` are the models that it asks, the one that writes first; `prompts` the names by which
    `--prompt NAME=FILE` replaces its prompts.
    """

    name: str
    doc: str
    source: str
    takes: str
    roles: tuple[Role, ...]
    options: tuple[BenchmarkOption, ...]
    prompts: tuple[str, ...]
    prepare: Callable[[Mapping[str, Value], Material], BuildPlan]
