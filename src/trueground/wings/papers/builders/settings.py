"""What holds for every builder. Light: the command reads the options here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trueground.models import EndpointOptions, Extra, ModelOptions, PriceTable
from trueground.options import (
    Cache,
    Option,
    Progress,
    Seed,
    declared_options,
    do_nothing,
    split_pair,
)

if TYPE_CHECKING:
    from trueground.models import ChatModel, Prompt


@dataclass(frozen=True)
class EndpointDefaults(EndpointOptions):
    """What holds for every model that does not say otherwise in its parentheses."""

    base_url: Annotated[
        str | None, Option("Endpoint URL of all models, such as http://localhost:8000/v1.")
    ] = None
    api_key_env: Annotated[
        str | None, Option("Environment variable with the API key. Default: OPENAI_API_KEY.")
    ] = None
    temperature: Annotated[
        float | None, Option("Temperature of the writing model; judges use 0.", min=0.0)
    ] = None
    max_tokens: Annotated[int | None, Option("Maximum tokens per reply.", min=1)] = None
    seed: int | None = None
    extra: Extra = field(default_factory=dict)

    def options(self) -> ModelOptions:
        """How a model is reached that says nothing of its own."""
        return ModelOptions(**{f.name: getattr(self, f.name) for f in fields(EndpointOptions)})


def _parse_prompts(texts: Sequence[str]) -> dict[str, Path]:
    """NAME=FILE, as --prompt takes it. Raises UsageError."""
    prompts = {}
    for text in texts:
        name, path = split_pair("--prompt", text, "NAME=FILE")
        prompts[name] = Path(path)
    return prompts


@dataclass(frozen=True)
class BuildSettings:
    """What holds for every builder. `labels` is a file that `annotate import` wrote.

    Where more than `max_failed` of all items fall because calls failed, the build stops. With
    `shard`, (number from 0, how many), only that part of the items is asked for.
    """

    seed: Seed = 0
    limit: Annotated[int | None, Option("Use only the first N source items.", min=1)] = None
    cache: Cache = True
    prompts: Annotated[
        Mapping[str, Path],
        Option(
            "Replace a prompt with your file. Repeatable.",
            "--prompt",
            type=list[str] | None,
            parse=_parse_prompts,
        ),
    ] = field(default_factory=dict)
    labels: Annotated[Path | None, Option("Human labels written by `annotate import`.")] = None
    reuse_bad: Annotated[
        bool,
        Option("Reuse unusable replies from the cache instead of asking again."),
    ] = False
    max_failed: Annotated[
        float,
        Option(
            "Stop if more than this share of items is lost to failed requests.", min=0.0, max=1.0
        ),
    ] = 0.1
    endpoint: EndpointDefaults = field(default_factory=EndpointDefaults)
    prices: PriceTable = None
    shard: tuple[int, int] | None = None
    note: Callable[[str], None] = do_nothing
    progress: Progress = do_nothing
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        declared_options(type(self)).check(vars(self))


@dataclass(frozen=True)
class BuildRequest:
    """What `tg.build` gets.

    Attributes:
        builder: The name of the builder.
        sources: The user's files and folders.
        out: The folder of the build.
        models: A model per role: a name with options in parentheses, or a ChatModel.
        options: The options of the builder.
        settings: What holds for every builder.
    """

    builder: str
    sources: str | Path | Sequence[str | Path]
    out: str | Path
    _: KW_ONLY
    models: Mapping[str, str | ChatModel]
    options: Mapping[str, str | bool | None] | None = None
    settings: BuildSettings = field(default_factory=BuildSettings)

    @property
    def folder(self) -> Path:
        """The folder of the build."""
        return Path(self.out)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The user's files and folders."""
        if isinstance(self.sources, str | Path):
            return (Path(self.sources),)
        return tuple(Path(source) for source in self.sources)


@dataclass(frozen=True, kw_only=True)
class Material(BuildSettings):
    """What a builder is given: the settings, the user's paths, and the names of the models by role.

    `reached` is how models are reached that say nothing of their own. With `dry_run` nobody is
    asked and nothing is written. `limit` needs no regard: the frame takes the first items.
    """

    paths: tuple[Path, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    reached: ModelOptions | None = None
    dry_run: bool = False

    def prompt(
        self, package: str, name: str, needed: Iterable[str], optional: Iterable[str] = ()
    ) -> Prompt:
        """The packaged prompt `NAME-1`, or the user's file for it (`--prompt NAME=FILE`)."""
        from trueground.models import Prompt

        bare = name.rpartition("-")[0]
        if bare in self.prompts:
            return Prompt.read(self.prompts[bare], needed, optional)
        return Prompt.packaged(package, name)
