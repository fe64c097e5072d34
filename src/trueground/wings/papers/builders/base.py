"""What a builder is: a declaration, and stages through which items flow until a dataset is left.

An item is a msgspec Struct with an `id`. A stage takes items of one type and gives items of another
(or the same); what it rejects has a reason. What a stage makes depends on the item, the stage's
`identity`, its prompts and the models that it asks, and on nothing else: so outcomes are kept under
a hash of these, and a rerun does only what changed.
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
# Why any stage that asks a model rejects an item, beside the stage's own reasons.
REASONS: Mapping[str, str] = {
    CALL_FAILED: "the call failed; the next run asks again",
    "truncated": "the reply was cut off at the token limit",
    "too_long": "the prompt is too long for the model",
    "refused": "the model declined to answer",
    "empty_reply": "the reply was empty, twice",
    "not_json": "the reply held no JSON, twice",
    "wrong_fields": "the reply's JSON lacked a field or had a wrong one, twice",
}
# write_report(folder, summary, manifest): add what people read of a build to its folder.
ReportWriter = Callable[[Path, Mapping[str, Any], Mapping[str, Any]], None]


@dataclass(eq=False)
class Rejected(Exception):  # noqa: N818 - an outcome, not a mistake
    """An item that a stage does not let through, and why.

    Raised, it is the item that the stage works on; returned among other things, it is one of
    several that were made of it, and `id` is its own. `reason` is one of the stage's `reasons` or
    of REASONS; `detail` says what was found, `content` is what was refused (anything that JSON can
    hold). A `transient` cause may pass, as a call that failed: the next run tries the item again.
    """

    reason: str
    detail: str = ""
    content: Any = None
    id: str = field(default="", kw_only=True)
    transient: bool = field(default=False, kw_only=True)


@contextmanager
def showing(made: Callable[[], Any]) -> Iterator[None]:
    """What is rejected inside shows what `made` gives, where it has no content of its own."""
    try:
        yield
    except Rejected as rejected:
        if rejected.content is None:
            rejected.content = made()
        raise


class CallEstimate(NamedTuple):
    """The calls that a stage makes for one item, for `--dry-run`. Tokens are those of one call.

    A Size is a number, or a function of the mean number of tokens of a source item. `tokens_in` is
    what the `prompt` is filled with; the prompt's own words are counted beside it. `applies` says
    for which items a call is made (None: for every one), `most` how many there are at most,
    whatever the number of items.
    """

    role: str
    tokens_in: Size
    tokens_out: Size
    calls: Size = 1.0
    prompt: Prompt | None = None
    applies: Callable[[Any], bool] | None = None
    most: float | None = None


@dataclass(frozen=True)
class Stage(Generic[I_contra, O_co]):
    """One step, item by item, for work that no LLMStage declares: several calls, a graph, checks.

    `await work(item, client)` (a ModelClient) gives what is made of the item, always the same, or
    raises Rejected. `reasons` are all reasons for which items are rejected here → words for people;
    `roles` the models asked, `calls` how often, as a rule; `fan_out` how many items come of one.
    """

    name: str
    doc: str
    gives: type[O_co]
    work: Callable[[Any, Any], Awaitable[Sequence[O_co | Rejected]]]
    reasons: Mapping[str, str] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    prompts: Sequence[PromptFile] = ()
    roles: Sequence[str] = ()
    calls: Sequence[CallEstimate] = ()
    fan_out: float = 1.0


@dataclass(frozen=True, kw_only=True)
class LLMStage(Generic[I_contra, O_co]):
    """One step that asks one model one question about each item, declared.

    `fields(item)` fills the places of the `prompt` (see `mark_fields`); the model replies with an
    object of the Struct `reply`. `check(item, reply)` says in words what is wrong with it, or
    raises Rejected: the model is told once, and asked again. `make(item, reply)` gives what is
    made of both, or raises Rejected. `show(item, reply)` is the content of a rejection that has
    none of its own.

    Where questions differ, `variant(item)` names the prompt and the reply, which are mappings then.
    `skip(item)` gives what is made of an item for which nobody is asked; None: the model is.
    `unusable(item)` stands for a reply that cannot be used, which otherwise rejects the item.
    `tokens_in`, `tokens_out` and `most` are those of its CallEstimate.
    """

    name: str
    doc: str
    gives: type[O_co]
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
    most: float | None = None
    fan_out: float = 1.0

    @property
    def prompts(self) -> Sequence[PromptFile]:
        """How the manifest names its prompts."""
        return [one.file for one in self._all_prompts]

    @property
    def roles(self) -> Sequence[str]:
        """The one model that is asked."""
        return (self.role,)

    @property
    def calls(self) -> Sequence[CallEstimate]:
        """One call for each item that is not skipped."""
        longest = max(self._all_prompts, key=lambda one: len(one.system) + len(one.user))
        size = self.tokens_in, self.tokens_out
        return [CallEstimate(self.role, *size, 1.0, longest, self._is_asked, self.most)]

    async def work(self, item: Any, client: Any) -> Sequence[O_co | Rejected]:
        """Ask, check and make. Raises Rejected."""
        skipped = None if self.skip is None else self.skip(item)
        if skipped is not None:
            return skipped
        which = "" if self.variant is None else self.variant(item)
        prompt = self.prompt[which] if isinstance(self.prompt, Mapping) else self.prompt
        kind = self.reply[which] if isinstance(self.reply, Mapping) else self.reply
        messages = prompt.fill(self.fields(item))

        def check(reply: Any) -> str | None:
            with showing(lambda: self.show(item, reply)):
                return self.check(item, reply)

        try:
            reply = await client.ask(self.role, messages, kind, check=check)
        except Rejected as rejected:
            if self.unusable is None or rejected.transient:
                raise
            return self.unusable(item)
        with showing(lambda: self.show(item, reply)):
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
    """Texts as a prompt's places: each between lines that name it and bear a mark, and {mark}.

    The mark depends on `texts` alone, so that prompts which differ in `others` begin alike
    (models.prompts). The lines say the place's name in capitals, or what `titles` has for it;
    several texts of one place are numbered.
    """
    late, titles = others or {}, titles or {}
    parts = {name: [text] if isinstance(text, str) else list(text) for name, text in texts.items()}
    marks = Prompt.marks([text for one in parts.values() for text in one], tuple(late.values()))
    fields = {"mark": marks.mark}
    for name, some in (parts | {name: [text] for name, text in late.items()}).items():
        fields[name] = marks.surround(titles.get(name, name.upper().replace("_", " ")), some)
    return fields


@dataclass(frozen=True)
class BatchStage(Generic[I_contra, O_co]):
    """One step that must see all items at once: to choose, to count, to look for doubles.

    It asks no model, and is done again every time. `work` gives what stays and what is rejected, in
    an order that depends on the items alone.
    """

    name: str
    doc: str
    gives: type[O_co]
    work: Callable[[Sequence[Any]], Sequence[O_co | Rejected]]
    reasons: Mapping[str, str] = field(default_factory=dict)
    fan_out: float = 1.0


ItemStage = Stage[Any, Any] | LLMStage[Any, Any]


@dataclass(frozen=True)
class SourceStep(Generic[O_co]):
    """The first step: `read()` gives the items of the user's files, and what is left out of them.

    Every row is checked here, before anything is paid. `read` raises InputError.
    """

    name: str
    doc: str
    gives: type[O_co]
    read: Callable[[], Iterable[O_co | Rejected]]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BuiltDataset:
    """What a build ends in.

    `files` are the dataset's, by their name below dataset/; `quality` has a quality.BuiltItem for
    each item. `run` is the command that takes the dataset, with {dataset} for its folder. `factors`
    are the names by which items are counted, `tasks` are for annotators; `human` is what people
    said (PeopleLabels.account).
    """

    files: Mapping[str, bytes]
    quality: Sequence[Any]
    run: str
    factors: Sequence[str] = ()
    tasks: Sequence[AnnotationTask] = ()
    human: Mapping[str, Any] | None = None


class OtherModel(NamedTuple):
    """A model that has no role; `spent` tells what it has cost until now."""

    name: str
    signature: str
    spent: Callable[[], Usage]


@dataclass(frozen=True)
class BuildPlan:
    """A builder with its options settled: source, stages, and what is made of the items left.

    `options` are all that change what comes out, `files` what was read. `notices` are short
    sentences that page and data card must show. `tokens(item)` is the size of a source item.
    `scorer` (a PromptScorer) gives perplexities; `close` gives back what was opened to prepare the
    plan, however the build ends. `people` are PeopleLabels, `others` models that are asked without
    a role, by name (a fact judge, a decomposer).
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
    """A model that a builder asks: an option --NAME-model, or --model for the first one.

    Without `needed` it may be left out; the builder's `prepare` says when it must not.
    """

    name: str
    doc: str
    needed: bool = True


@dataclass(frozen=True)
class Builder:
    """A builder's declaration. `prepare(options, material)` raises UsageError, InputError.

    `roles` are the models that it asks, the one that writes first; `prompts` the names by which
    `--prompt NAME=FILE` replaces its prompts. `material` is a settings.Material.
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
    """The function `prepare` of a module that is not loaded before it is needed."""

    def prepare(options: Mapping[str, str | bool | None], material: Any) -> BuildPlan:
        plan: BuildPlan = import_module(module).prepare(options, material)
        return plan

    return prepare
