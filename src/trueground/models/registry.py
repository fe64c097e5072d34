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


_SCORERS = "NAME of a model behind an endpoint, hf:PATH, or fake:words to try things out"
Factory = Callable[[str, ModelOptions], ChatModel]


def _fake(rest: str, options: ModelOptions) -> ChatModel:
    """Always answers TEXT; `fake:echo` gives the question back, `fake:@FILE` follows a script."""
    from trueground.models.replay import ScriptedModel, named_fake

    script = rest.startswith("@") and rest[1:].strip()
    return ScriptedModel(rest[1:]) if script else named_fake(rest)


def _replay(rest: str, options: ModelOptions) -> ChatModel:
    """Answers from a JSON lines file of responses, such as a run's responses.jsonl."""
    from trueground.models.replay import ReplayModel

    return ReplayModel(rest)


def _hf(rest: str, options: ModelOptions) -> ChatModel:
    """A Hugging Face model on this machine: a folder, or a name on the Hub."""
    from trueground.models.hf import HFModel

    return HFModel(rest, options)


_MODELS: dict[str, Factory] = {"fake": _fake, "replay": _replay, "hf": _hf}
models = Registry("kind of model", _MODELS)
_SHOWN: dict[str, dict[str, Any]] = {
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
        raise UsageError("the model has no name; give --model NAME, such as --model hf:PATH")
    prefix, colon, rest = name.partition(":")
    if colon and options.base_url is None:
        if prefix not in models:
            models.load()
        if prefix in models:
            if not rest:
                raise UsageError(f"{name!r} names no model; something belongs after the colon")
            return models[prefix](rest, options)
    from trueground.models.openai import OpenAIModel

    return OpenAIModel(name, options)


def make_scorer(written: str, options: ModelOptions | None = None) -> PromptScorer:
    """The scorer that is written so: `NAME`, `hf:PATH` or `fake:words`.

    Options may stand in parentheses, as `NAME(base_url=URL,api_key_env=KEY)`; a base URL there
    makes every name one of a model behind it. Raises UsageError, MissingExtraError, InputError.
    """
    if not written.partition("(")[0].strip():
        raise UsageError(f"the scorer of perplexities has no name; expected {_SCORERS}")
    from trueground.models.perplexity import WordScorer

    name, given = ComponentSpec.parse_model("perplexity", written)
    given.check(OPTIONS)
    options = endpoint_options(given, "the scorer of perplexities", options)
    prefix, _, rest = name.partition(":")
    if "base_url" not in given.options:
        if prefix == "hf" and rest:
            from trueground.models.hf import LocalScorer

            return LocalScorer(rest, options)
        if name == WordScorer.name:
            return WordScorer()
        if name.startswith(("fake:", "hf:")):
            raise UsageError(f"{name!r} gives no perplexities; expected {_SCORERS}")
    from trueground.models.endpoint_scorer import EndpointScorer

    return EndpointScorer(name, options)


def model(prefix: str) -> Callable[[Factory], Factory]:
    """Decorator: register a class, or a function that makes a model, under a prefix.

    It is called with what stands behind the colon, and the options. UsageError if it is taken.
    """

    def register(factory: Factory) -> Factory:
        models.register(prefix, factory)
        return factory

    return register


def kinds() -> list[dict[str, Any]]:
    """Every kind of model, those of other packages included: name, doc, and the extra it needs."""
    openai = "A model behind an OpenAI-compatible endpoint (--base-url), by its name there."
    return [
        {"name": "NAME", "doc": openai},
        *(
            {
                "name": f"{prefix}:NAME",
                **_SHOWN.get(prefix, {}),
                "doc": (factory.__doc__ or "").strip().partition("\n")[0],
            }
            for prefix, factory in models.load().items()
        ),
    ]
