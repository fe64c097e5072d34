"""Small models that compare texts, on this machine: shared by judges and dense retrieval.

Nothing heavy is imported before the first text is encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from trueground.encoders.base import (
    EncoderOptions,
    PairScorer,
    PartsScorer,
    PassageEncoder,
    TextEncoder,
    TextToText,
    TokenComparer,
    TokenEncoder,
    TokenScorer,
)

__all__ = [
    "EncoderOptions",
    "PairScorer",
    "PartsScorer",
    "PassageEncoder",
    "TextEncoder",
    "TextToText",
    "TokenComparer",
    "TokenEncoder",
    "TokenScorer",
    "pair_scorer",
    "parts_scorer",
    "passage_encoder",
    "text_encoder",
    "text_to_text",
    "token_comparer",
    "token_counter",
    "token_encoder",
    "token_scorer",
]
_DEFAULT = EncoderOptions()


def text_encoder(model: str | Path, options: EncoderOptions = _DEFAULT) -> TextEncoder:
    """The bi-encoder in a folder, or of the name ORGANISATION/MODEL[@REVISION] on the Hub.

    Its files are found and checked here; weights are loaded when a text is met that is not in the
    cache. Raises UsageError, InputError, MissingExtraError.
    """
    from trueground.encoders.models import BiEncoder

    return BiEncoder(str(model), options)


def passage_encoder(model: str | Path, options: EncoderOptions = _DEFAULT) -> PassageEncoder:
    """The bi-encoder for retrieval in a folder or of that name; see `text_encoder`.

    With `similarity="auto"` its vectors are compared as the model was trained for.
    """
    from trueground.encoders.models import BiEncoder

    return BiEncoder(str(model), options)


def pair_scorer(model: str | Path, options: EncoderOptions = _DEFAULT) -> PairScorer:
    """The cross-encoder or classifier of pairs in a folder or of that name; see `text_encoder`."""
    from trueground.encoders.models import CrossEncoder

    return CrossEncoder(str(model), options)


def parts_scorer(model: str | Path, options: EncoderOptions = _DEFAULT) -> PartsScorer:
    """The classifier in a folder or of that name, for a text or more; see `text_encoder`."""
    from trueground.encoders.models import CrossEncoder

    return CrossEncoder(str(model), options)


def token_encoder(
    model: str | Path, layer: int, options: EncoderOptions = _DEFAULT
) -> TokenEncoder:
    """The states of the `layer`th layer (1 is the first) of the model in a folder or of that name.

    It runs on PyTorch, and keeps no results; see `text_encoder`.
    """
    from trueground.encoders.models import LayerEncoder

    return LayerEncoder(str(model), layer, options)


def token_scorer(model: str | Path, options: EncoderOptions = _DEFAULT) -> TokenScorer:
    """The token classifier in a folder or of that name; see `text_encoder`."""
    from trueground.encoders.models import TokenClassifier

    return TokenClassifier(str(model), options)


def token_comparer(model: str | Path, options: EncoderOptions = _DEFAULT) -> TokenComparer:
    """The bi-encoder in a folder or of that name, for pairs of texts; see `text_encoder`."""
    from trueground.encoders.models import LateInteraction

    return LateInteraction(str(model), options)


def text_to_text(model: str | Path, options: EncoderOptions = _DEFAULT) -> TextToText:
    """The T5-style model in a folder or of that name; see `text_encoder`."""
    from trueground.encoders.models import FirstTokenModel

    return FirstTokenModel(str(model), options)


def token_counter(where: str | Path) -> Callable[[Sequence[str]], list[int]]:
    """A function that counts the tokens of texts, without special tokens.

    `where`: a tokenizer.json, a folder that holds one, or a name on the Hub. Raises InputError,
    MissingExtraError.
    """
    from trueground.encoders.tokens import make_token_counter

    return make_token_counter(where)
