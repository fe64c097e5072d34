"""Settings that all builders share. The command reads its options here, so imports are light."""

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
    """The options of models that don't set their own in parentheses."""

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
        """Return the options of a model that doesn't set its own."""
        return ModelOptions(**{f.name: getattr(self, f.name) for f in fields(EndpointOptions)})


def _parse_prompts(texts: Sequence[str]) -> dict[str, Path]:
    """Parse NAME=FILE of --prompt. Raises UsageError."""
    prompts = {}
    for text in texts:
        name, path = split_pair("--prompt", text, "NAME=FILE")
        prompts[name] = Path(path)
    return prompts


@dataclass(frozen=True)
class BuildSettings:
    """Settings that all builders share.

    Attributes:
        seed: The seed of all random sampling.
        limit: The number of source items to use; None for all.
        cache: Whether replies are taken from the response cache.
        prompts: Prompt files by the name of the prompt that they replace.
        labels: Merged human labels, a file that `annotate import` wrote.
        reuse_bad: Whether unusable replies are taken from the response cache, too.
        max_failed: The build stops if calls fail for more than this share of all items.
        endpoint: The options of models that don't set their own.
        prices: The table of prices.
        shard: The number of the shard, from 0, and the number of shards.
        note: Called with each warning.
        progress: Called with stage, finished items and all items.
        command: The command line, for the manifest.

    Example:
        >>> BuildSettings(seed=7, limit=100).limit
        100
    """

    seed: Seed = 0
    limit: Annotated[int | None, Option("Use only the first N source items.", min=1)] = None
    cache: Cache = True
    prompts: Annotated[
        Mapping[str, Path],
        Option(
            "Replace a prompt with your file. Repeatable.",
            "--prompt",
            metavar="NAME=FILE",
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
    """The arguments of `tg.build`.

    Attributes:
        builder: The name of the builder.
        sources: The user's files and folders.
        out: The folder of the build.
        models: A model per role: a name with options in parentheses, or a ChatModel.
        options: The options of the builder.
        settings: The settings that all builders share.
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
    """The settings, paths and models from which a builder prepares its plan.

    Attributes:
        paths: The user's files and folders.
        roles: The names of the models by role.
        reached: The options of models that don't set their own.
        dry_run: Whether no call is made and nothing is written.

    A builder ignores `limit`: `read_source` applies it.
    """

    paths: tuple[Path, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    reached: ModelOptions | None = None
    dry_run: bool = False

    def prompt(
        self, package: str, name: str, needed: Iterable[str], optional: Iterable[str] = ()
    ) -> Prompt:
        """Return the packaged prompt `NAME-1`, or the user's replacement (`--prompt NAME=FILE`).

        Args:
            package: The package of the prompt.
            name: The name of the prompt with its version.
            needed: The placeholders that it must have.
            optional: The placeholders that it may have.
        """
        from trueground.models import Prompt

        bare = name.rpartition("-")[0]
        if bare in self.prompts:
            return Prompt.read(self.prompts[bare], needed, optional)
        return Prompt.packaged(package, name)
