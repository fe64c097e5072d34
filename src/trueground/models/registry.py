"""From a name to a model, or to a scorer of perplexities.

`PREFIX:REST` chooses a kind by its prefix; names may hold colons themselves ("llama3:8b"), so only
the known prefixes count. Every other name is that of a model behind an OpenAI-compatible endpoint,
and with a base URL every name is, to the letter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trueground.components import ComponentSpec, Registry, check_members
from trueground.errors import UsageError
from trueground.models.base import ChatModel
from trueground.models.options import OPTIONS, ModelOptions, endpoint_options

if TYPE_CHECKING:
    from trueground.models.perplexity import PromptScorer


_SCORERS = "the NAME of a model behind an endpoint, hf:PATH, or fake:words for tests"
Factory = Callable[[str, ModelOptions], ChatModel]


def _fake(rest: str, options: ModelOptions) -> ChatModel:
    """Always answers TEXT. `fake:echo` repeats the question, `fake:@FILE` follows a script."""
    from trueground.models.replay import ScriptedModel, named_fake

    script = rest.startswith("@") and rest[1:].strip()
    return ScriptedModel(rest[1:]) if script else named_fake(rest)


def _replay(rest: str, options: ModelOptions) -> ChatModel:
    """Answers from a JSON lines file, such as the responses.jsonl of a run."""
    from trueground.models.replay import ReplayModel

    return ReplayModel(rest)


def _hf(rest: str, options: ModelOptions) -> ChatModel:
    """A Hugging Face model on this computer: a folder, or a name on the Hub."""
    from trueground.models.hf import HFModel

    return HFModel(rest, options)


_MODELS: dict[str, Factory] = {"fake": _fake, "replay": _replay, "hf": _hf}
models = Registry("kind of model", _MODELS)
_NAMES: dict[str, dict[str, Any]] = {
    "fake": {"name": "fake:TEXT"},
    "replay": {"name": "replay:FILE"},
    "hf": {"name": "hf:NAME_OR_PATH", "extra": "hf"},
}


def make_model(model: str | ChatModel, options: ModelOptions | None = None) -> ChatModel:
    """Return the chat model of a name, or the object itself if it is one.

    Args:
        model: A name such as `gpt-4o` or `hf:PATH`, or an object.
        options: How a model with a name is reached and loaded.

    Raises:
        UsageError: The name or an option is invalid, or the object lacks a member of ChatModel.
            Kinds of models raise other errors, too.
    """
    if not isinstance(model, str):
        return _check_members(model)
    options = options or ModelOptions()
    if options.api_key_env is not None:
        ModelOptions.check_variable("--api-key-env", options.api_key_env)
    return _check_members(_make_named(model, options))


def _check_members(model: ChatModel) -> ChatModel:
    members = {"name": "text", "signature": "text", "generate": "method", "close": "method"}
    check_members("model", model, members)
    return model


def _make_named(name: str, options: ModelOptions) -> ChatModel:
    if not name.strip():
        raise UsageError("the name of the model is empty. Pass --model NAME, such as hf:PATH")
    prefix, colon, rest = name.partition(":")
    if colon and options.base_url is None:
        if prefix not in models:
            models.load()
        if prefix in models:
            if not rest:
                raise UsageError(f"{name!r} is incomplete: put the model after the colon")
            return models[prefix](rest, options)
    from trueground.models.openai import OpenAIModel

    return OpenAIModel(name, options)


def make_scorer(text: str, options: ModelOptions | None = None) -> PromptScorer:
    """Return the scorer of perplexities with a name.

    Args:
        text: `NAME`, `hf:PATH` or `fake:words`, with options in parentheses, such as
            `NAME(base_url=URL,api_key_env=KEY)`. With a base URL, every name is a model there.
        options: The options that the text doesn't have.

    Raises:
        UsageError: The name or an option is invalid.
        MissingExtraError: An extra isn't installed.
        InputError: The files of the model can't be read.
    """
    if not text.partition("(")[0].strip():
        raise UsageError(f"the scorer of perplexities has no name; expected {_SCORERS}")
    from trueground.models.perplexity import WordScorer

    name, spec = ComponentSpec.parse_model("perplexity", text)
    spec.check(OPTIONS)
    options = endpoint_options(spec, "the scorer of perplexities", options)
    prefix, _, rest = name.partition(":")
    if "base_url" not in spec.options:
        if prefix == "hf" and rest:
            from trueground.models.hf import LocalScorer

            return LocalScorer(rest, options)
        if name == WordScorer.name:
            return WordScorer()
        if name.startswith(("fake:", "hf:")):
            raise UsageError(f"{name!r} can't score perplexities; expected {_SCORERS}")
    from trueground.models.endpoint_scorer import EndpointScorer

    return EndpointScorer(name, options)


def model(prefix: str) -> Callable[[Factory], Factory]:
    """Register a kind of model, as a decorator of a class or function.

    The class or function gets the text after the colon and the options, and returns the model.

    Args:
        prefix: The prefix of names, such as "echo" for `--model echo:TEXT`.

    Returns:
        The decorator.

    Raises:
        UsageError: The prefix is taken.

    Example:
        >>> @tg.model("echo")
        ... def make_echo(rest: str, options: tg.ModelOptions) -> tg.ChatModel:
        ...     return EchoModel(rest)
    """

    def register(factory: Factory) -> Factory:
        models.register(prefix, factory)
        return factory

    return register


def kinds() -> list[dict[str, Any]]:
    """Return name, description and extra of every kind of model, also of other packages."""
    openai = "A model behind an OpenAI-compatible endpoint (--base-url), by its name there."
    entries: list[dict[str, Any]] = [{"name": "NAME", "doc": openai}]
    for prefix, factory in models.load().items():
        doc = (factory.__doc__ or "").strip().partition("\n")[0]
        entries.append({"name": f"{prefix}:NAME", **_NAMES.get(prefix, {}), "doc": doc})
    return entries
