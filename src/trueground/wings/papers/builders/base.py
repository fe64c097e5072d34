"""Declarations of builders, and of the stages through which their items pass.

An item is a msgspec Struct with an `id`. A stage takes items of one type and returns items of
another type or the same. Each rejected item has a reason. The outcome of a stage depends only on
the item, the stage's `identity`, its prompts and the models that it calls. Therefore outcomes are
stored under a hash of these, and a rerun repeats only what changed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from trueground.models import Prompt
from trueground.options import DeclaredOption

if TYPE_CHECKING:
    from trueground.records import FileInfo
    from trueground.types import PromptFile, Usage
    from trueground.wings.labeling import AnnotationTask


I_contra = TypeVar("I_contra", contravariant=True)
O_co = TypeVar("O_co", covariant=True)
Size = float | Callable[[float], float]
CALL_FAILED = "call_failed"
# Reasons for which any stage that calls a model may reject an item, in addition to its own.
REASONS: Mapping[str, str] = {
    CALL_FAILED: "the call failed; the next run asks again",
    "truncated": "the reply was cut off at the token limit",
    "too_long": "the prompt is too long for the model",
    "refused": "the model declined to answer",
    "empty_reply": "the reply was empty, twice",
    "not_json": "the reply held no JSON, twice",
    "wrong_fields": "the reply's JSON lacked a field or had a wrong one, twice",
}
# write_report(folder, summary, manifest): add the page and the data card to a build's folder.
ReportWriter = Callable[[Path, Mapping[str, Any], Mapping[str, Any]], None]


@dataclass(eq=False)
class Rejected(Exception):  # noqa: N818 - an outcome, not a mistake
    """A rejected item, with the reason.

    If a stage raises it, the stage's input item is rejected. If a stage returns it among its
    results, it is one of several items made from the input, and has an `id`.

    Attributes:
        reason: One of the stage's `reasons` or of REASONS.
        detail: What was wrong, as a text.
        content: The rejected content; anything that JSON can hold.
        id: The id of the rejected item.
        transient: Whether the cause may pass, like a failed call. If so, the next run tries the
            item again.
    """

    reason: str
    detail: str = ""
    content: Any = None
    id: str = field(default="", kw_only=True)
    transient: bool = field(default=False, kw_only=True)


@contextmanager
def rejected_content(make_content: Callable[[], Any]) -> Iterator[None]:
    """Add content to a Rejected that is raised inside without any."""
    try:
        yield
    except Rejected as rejected:
        if rejected.content is None:
            rejected.content = make_content()
        raise


class CallEstimate(NamedTuple):
    """The calls that a stage makes for one item, for `--dry-run`.

    A Size is a number, or a function of the mean number of tokens of a source item.

    Attributes:
        role: The role of the model.
        tokens_in: Tokens per call that fill the prompt. The prompt's own text is added.
        tokens_out: Tokens of one reply.
        calls: The number of calls per item.
        prompt: The prompt.
        applies: Whether an item needs a call; None if every item does.
        max_calls: The largest number of calls for all items together; None without a limit.
    """

    role: str
    tokens_in: Size
    tokens_out: Size
    calls: Size = 1.0
    prompt: Prompt | None = None
    applies: Callable[[Any], bool] | None = None
    max_calls: float | None = None


@dataclass(frozen=True)
class Stage(Generic[I_contra, O_co]):
    """A step that works item by item and does more than an LLMStage: several calls, a graph.

    Attributes:
        name: The name of the stage.
        doc: What the stage does, for users.
        output_type: The Struct of the items that it returns.
        work: `await work(item, client)`, with a ModelClient, returns the items made from an item,
            or raises Rejected. The same input always has the same result.
        reasons: All reasons for which items are rejected here, each with its text for users.
        identity: Options that change the outcome; part of the key under which it is stored.
        prompts: The prompts that the stage uses.
        roles: The roles of the models that it calls.
        calls: The calls that it makes, for `--dry-run`.
        fan_out: The expected number of items made from one item.
    """

    name: str
    doc: str
    output_type: type[O_co]
    work: Callable[[Any, Any], Awaitable[Sequence[O_co | Rejected]]]
    reasons: Mapping[str, str] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    prompts: Sequence[PromptFile] = ()
    roles: Sequence[str] = ()
    calls: Sequence[CallEstimate] = ()
    fan_out: float = 1.0


@dataclass(frozen=True, kw_only=True)
class LLMStage(Generic[I_contra, O_co]):
    """A step that asks one model one question about each item.

    Attributes:
        name: The name of the stage.
        doc: What the stage does, for users.
        output_type: The Struct of the items that it returns.
        role: The role of the model.
        prompt: The prompt, or one prompt per variant.
        reply: The Struct of the reply, or one Struct per variant.
        fields: `fields(item)` returns the values of the prompt's placeholders (`mark_fields`).
        make: `make(item, reply)` returns the items made from both, or raises Rejected.
        check: `check(item, reply)` returns what is wrong with a reply, or raises Rejected. The
            model is then asked once more, with the reason.
        show: `show(item, reply)` returns the content of a rejection that has no content.
        variant: `variant(item)` names the prompt and the reply, if both are mappings.
        skip: `skip(item)` returns the result for an item without asking the model; None to ask.
        unusable: `unusable(item)` returns the result if the reply can't be used. Without it, such
            an item is rejected.
        reasons: All reasons for which items are rejected here, each with its text for users.
        identity: Options that change the outcome; part of the key under which it is stored.
        tokens_in: As in CallEstimate.
        tokens_out: As in CallEstimate.
        max_calls: As in CallEstimate.
        fan_out: The expected number of items made from one item.
    """

    name: str
    doc: str
    output_type: type[O_co]
    role: str
    prompt: Prompt | Mapping[str, Prompt]
    reply: type[Struct] | Mapping[str, type[Struct]]
    fields: Callable[[Any], Mapping[str, str]]
    make: Callable[[Any, Any], Sequence[O_co | Rejected]]
    check: Callable[[Any, Any], str | None] = lambda _item, _reply: None
    show: Callable[[Any, Any], Any] = lambda _item, _reply: None
    variant: Callable[[Any], str] | None = None
    skip: Callable[[Any], Sequence[O_co] | None] | None = None
    unusable: Callable[[Any], Sequence[O_co]] | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    tokens_in: Size = lambda source: source
    tokens_out: Size = 150.0
    max_calls: float | None = None
    fan_out: float = 1.0

    @property
    def prompts(self) -> Sequence[PromptFile]:
        """The prompts, as the manifest names them."""
        return [prompt.file for prompt in self._all_prompts]

    @property
    def roles(self) -> Sequence[str]:
        """The role of the model."""
        return (self.role,)

    @property
    def calls(self) -> Sequence[CallEstimate]:
        """One call for each item that is not skipped."""
        longest = max(self._all_prompts, key=lambda prompt: len(prompt.system) + len(prompt.user))
        return [
            CallEstimate(
                self.role,
                self.tokens_in,
                self.tokens_out,
                prompt=longest,
                applies=self._is_asked,
                max_calls=self.max_calls,
            )
        ]

    async def work(self, item: Any, client: Any) -> Sequence[O_co | Rejected]:
        """Ask the model, check the reply and make the items. Raises Rejected."""
        skipped = None if self.skip is None else self.skip(item)
        if skipped is not None:
            return skipped
        variant = "" if self.variant is None else self.variant(item)
        prompt = self.prompt[variant] if isinstance(self.prompt, Mapping) else self.prompt
        reply_type = self.reply[variant] if isinstance(self.reply, Mapping) else self.reply
        messages = prompt.fill(self.fields(item))

        def check(reply: Any) -> str | None:
            with rejected_content(lambda: self.show(item, reply)):
                return self.check(item, reply)

        try:
            reply = await client.ask(self.role, messages, reply_type, check=check)
        except Rejected as rejected:
            if self.unusable is None or rejected.transient:
                raise
            return self.unusable(item)
        with rejected_content(lambda: self.show(item, reply)):
            return self.make(item, reply)

    @property
    def _all_prompts(self) -> Sequence[Prompt]:
        return [*self.prompt.values()] if isinstance(self.prompt, Mapping) else [self.prompt]

    def _is_asked(self, item: Any) -> bool:
        try:
            return self.skip is None or self.skip(item) is None
        except Rejected:
            return False


def mark_fields(
    texts: Mapping[str, str | Sequence[str]],
    others: Mapping[str, str] | None = None,
    *,
    titles: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the values of a prompt's placeholders: each text between marked lines, and {mark}.

    Args:
        texts: The text or texts of each placeholder. Several texts of one placeholder are numbered.
        others: Further texts. The mark does not depend on them, so prompts that differ only here
            begin alike and a model's prefix cache works.
        titles: The title of a placeholder in its marked lines. Default: its name in capitals.
    """
    others, titles = others or {}, titles or {}
    texts_by_name: dict[str, list[str]] = {}
    marked_texts: list[str] = []
    for name, value in texts.items():
        texts_by_name[name] = [value] if isinstance(value, str) else list(value)
        marked_texts += texts_by_name[name]
    marks = Prompt.marks(marked_texts, tuple(others.values()))
    for name, text in others.items():
        texts_by_name[name] = [text]
    fields = {"mark": marks.mark}
    for name, values in texts_by_name.items():
        title = titles.get(name, name.upper().replace("_", " "))
        fields[name] = marks.surround(title, values)
    return fields


@dataclass(frozen=True)
class BatchStage(Generic[I_contra, O_co]):
    """A step that needs all items at once: to select, to count, to find duplicates.

    It calls no model, and runs again in every build. `work` returns the items that are kept and the
    rejected ones, in an order that depends only on the items.
    """

    name: str
    doc: str
    output_type: type[O_co]
    work: Callable[[Sequence[Any]], Sequence[O_co | Rejected]]
    reasons: Mapping[str, str] = field(default_factory=dict)
    fan_out: float = 1.0


ItemStage = Stage[Any, Any] | LLMStage[Any, Any]


@dataclass(frozen=True)
class SourceStep(Generic[O_co]):
    """The first step: `read()` yields the items of the user's files, and the rejected rows.

    Every row is checked here, before any paid call. `read` raises InputError.
    """

    name: str
    doc: str
    output_type: type[O_co]
    read: Callable[[], Iterable[O_co | Rejected]]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BuiltDataset:
    """The result of a build.

    Attributes:
        files: The content of the dataset's files, by their name in dataset/.
        quality: A quality.BuiltItem for each item.
        run: The command that runs the dataset, with {dataset} for its folder.
        factors: The names of the factors by which items are counted.
        tasks: The tasks for annotators.
        human: The summary of the human labels (PeopleLabels.account).
    """

    files: Mapping[str, bytes]
    quality: Sequence[Any]
    run: str
    factors: Sequence[str] = ()
    tasks: Sequence[AnnotationTask] = ()
    human: Mapping[str, Any] | None = None


class OtherModel(NamedTuple):
    """A model without a role. `usage()` returns what it has cost until now."""

    name: str
    signature: str
    usage: Callable[[], Usage]


@dataclass(frozen=True)
class BuildPlan:
    """A builder with resolved options: its source, its stages and its result.

    Attributes:
        builder: The name of the builder.
        options: All options that change the result.
        files: The files that were read.
        source: The first step.
        stages: The other steps, in their order.
        finish: `finish(items)` makes the dataset of the items that are left.
        tokens: `tokens(item)` returns the size of a source item in tokens.
        notices: Short warnings that the page and the data card must show.
        scorer: A PromptScorer for perplexities; None if the builder needs none.
        close: Releases what the builder opened, however the build ends.
        people: The PeopleLabels; None if the builder has no tasks for annotators.
        others: Models without a role, by name, such as a judge of facts or a decomposer.
    """

    builder: str
    options: Mapping[str, str | bool | None]
    files: Sequence[FileInfo]
    source: SourceStep[Any]
    stages: Sequence[ItemStage | BatchStage[Any, Any]]
    finish: Callable[[Sequence[Any]], BuiltDataset]
    tokens: Callable[[Any], float]
    notices: Sequence[str] = ()
    scorer: Any = None
    close: Callable[[], None] | None = None
    people: Any = None
    others: Mapping[str, OtherModel] = field(default_factory=dict)


@dataclass(frozen=True)
class Role:
    """The role of a model: an option --NAME-model, or --model for the first role.

    If it isn't `needed`, users may omit the model. `prepare` raises an error if it is required
    because of other options.
    """

    name: str
    doc: str
    needed: bool = True


@dataclass(frozen=True)
class Builder:
    """The declaration of a builder.

    Attributes:
        name: The name, as in `trueground build NAME`.
        doc: What it makes.
        source: The paper that it follows.
        takes: The sources that it reads.
        roles: The roles of its models. The first one is the writer.
        options: The options that it declares.
        prompts: The names that `--prompt NAME=FILE` takes.
        prepare: `prepare(options, material)`, with a settings.Material, returns the plan. Raises
            UsageError, InputError.
    """

    name: str
    doc: str
    source: str
    takes: str
    roles: tuple[Role, ...]
    options: tuple[DeclaredOption, ...]
    prompts: tuple[str, ...]
    prepare: Callable[[Mapping[str, str | bool | None], Any], BuildPlan]


def prepare_in(module: str) -> Callable[[Mapping[str, str | bool | None], Any], BuildPlan]:
    """Return a function that loads a module and calls its `prepare`."""

    def prepare(options: Mapping[str, str | bool | None], material: Any) -> BuildPlan:
        plan: BuildPlan = import_module(module).prepare(options, material)
        return plan

    return prepare
