"""The judges over models of entailment: classifiers, and sequence-to-sequence models by prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueground.encoders import EncoderOptions, pair_scorer, text_to_text
from trueground.encoders.base import Floats, Pair, PairScorer, TextToText
from trueground.encoders.options import encoder_options
from trueground.errors import UsageError
from trueground.judges.encoding import given_or, made, rooms_beside, rooms_of
from trueground.judges.windowed import WindowedJudge
from trueground.net.checkpoints import Wanted, fetch, local_folder, read_config, resolve
from trueground.plugins import PartSpec

TRUE_MODEL = "google/t5_xxl_true_nli_mixture"
MINICHECK_MODEL = "lytang/MiniCheck-Flan-T5-Large"
HHEM_MODEL = "vectara/hallucination_evaluation_model"
HHEM_REVISION = "hhem-1.0-open"
# Documents in pieces of 500 words are what it was published with; claim and prompt come to that.
MINICHECK_WINDOW = 768
THRESHOLD = 0.5

# The parts of a prompt around TEXT and CLAIM, as the models were trained: Honovich et al. 2022
# (TRUE), Tang et al. 2024 (MiniCheck, with the token that ends a text between the two parts).
TRUE = ("premise: TEXT hypothesis: CLAIM",)
MINICHECK = ("predict: TEXT", "CLAIM")
_PLACE = re.compile("TEXT|CLAIM")
_ENTAILS = ("entailment", "entails", "entailed", "entail")
_CONSISTENT = ("consistent", "supported", "factual")
_SPACE = "\u2581"


def nli(given: PartSpec | None = None) -> WindowedJudge:
    """A model of entailment: a classifier with such a label, or a T5 that was trained as TRUE's."""
    given = given_or("nli", given, ("label",))
    model, options = given.model or TRUE_MODEL, encoder_options(given)
    if _answers(_config(model, options)):
        if "label" in given.options:
            raise given.refused("label", f"none: {model} answers with words")
        return made(given, AnswerReader(text_to_text(model, options), TRUE), THRESHOLD)
    scorer = pair_scorer(model, options)
    return made(given, LabelReader(scorer, _label(given, scorer, _ENTAILS)), THRESHOLD)


def minicheck(given: PartSpec | None = None) -> WindowedJudge:
    """MiniCheck's Flan-T5: trained on claims beside whole documents."""
    given = given_or("minicheck", given)
    options = encoder_options(given)
    options = replace(options, window=options.window or MINICHECK_WINDOW)
    scorer = text_to_text(given.model or MINICHECK_MODEL, options)
    return made(given, AnswerReader(scorer, MINICHECK), THRESHOLD)


def hhem(given: PartSpec | None = None) -> WindowedJudge:
    """Vectara's hallucination model: one output, or two of which one means consistent.

    The default is its version 1.0. UsageError for 2.1: a prompt in one text, read by code of its
    own, which is not run here.
    """
    given = given_or("hhem", given, ("label",))
    model, options = given.model or HHEM_MODEL, encoder_options(given)
    if model == HHEM_MODEL and options.revision is None:
        options = replace(options, revision=HHEM_REVISION)
    if str(_config(model, options).get("model_type")).startswith("HHEMv2"):
        raise UsageError(
            f"hhem:{model} is version 2.1, which only runs by code that comes with its weights; "
            f"that is not done here. Use revision={HHEM_REVISION}, or nli:MODEL with a model of "
            "entailment"
        )
    scorer = pair_scorer(model, options)
    return made(given, LabelReader(scorer, _label(given, scorer, _CONSISTENT)), THRESHOLD)


def _config(model: str, options: EncoderOptions) -> dict[str, Any]:
    """The model's config.json. InputError where there is no such model."""
    wanted = Wanted(model, what="an encoder", extra="onnx", revision=options.revision)
    folder = local_folder(wanted) or fetch(wanted, resolve(wanted), ["config.json"])
    return read_config(wanted, folder)


def _answers(config: dict[str, Any]) -> bool:
    """Whether it is a sequence-to-sequence model, and no classifier built on one."""
    names = config.get("architectures") or ()
    return any(str(name).endswith("ForConditionalGeneration") for name in names)


def _label(given: PartSpec, scorer: PairScorer, wanted: Sequence[str]) -> str:
    """The output that means support. UsageError where none is named so."""
    labels = scorer.labels
    if "label" in given.options:
        wanted_label = given.options["label"].lower()  # labels are read in lower case
        if wanted_label not in labels:
            raise given.refused("label", f"one of {', '.join(labels)}")
        return wanted_label
    found = [label for label in labels if label in wanted]
    if len(labels) == 1 and given.name == "hhem":
        return labels[0]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        f"{given.name}:{scorer.name} has the outputs {', '.join(labels)}; expected one named "
        f"{' or '.join(wanted)}. Say which one means support with label=NAME"
        + (f", or write cross-encoder:{scorer.name}" if len(labels) == 1 else "")
    )


class LabelReader:
    """The probability of one label for the pair (window, claim): premise first.

    Softmax over the outputs, or the logistic function of a single one.
    """

    score_name = "probability of support"
    probable = True
    joins = False

    def __init__(self, encoder: PairScorer, label: str) -> None:
        self.encoder = encoder
        self.options = f"label:{label}"
        self._column = encoder.labels.index(label)

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """What each claim leaves of the window."""
        return rooms_beside(self.encoder, claims)

    def fits(self, pairs: Sequence[Pair]) -> list[bool]:
        """Two texts are counted apart and put side by side: nothing is added."""
        return [True] * len(pairs)

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities, shape (n,)."""
        logits = self.encoder.scores([(window, claim) for claim, window in pairs])
        if logits.shape[1] == 1:
            logits = np.hstack([np.zeros_like(logits), logits])
            return _share(logits, 1)
        return _share(logits, self._column)


class AnswerReader:
    """The probability that a model answers a prompt with "1" rather than "0"."""

    score_name = "probability of support"
    options = ""
    probable = True
    joins = False

    def __init__(self, encoder: TextToText, prompt: tuple[str, ...]) -> None:
        self.encoder = encoder
        self._prompt = prompt
        self._words = _words(encoder)

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """What prompt and claim leave of the window."""
        filled = [self._fill("", claim) for claim in claims]
        return rooms_of(self.encoder.window, self.encoder.prompt_lengths(filled))

    def fits(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether each prompt fits: the claim stands at its end, where it would be cut off."""
        filled = [self._fill(window, claim) for claim, window in pairs]
        return [n <= self.encoder.window for n in self.encoder.prompt_lengths(filled)]

    def scores(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities, shape (n,)."""
        prompts = [self._fill(window, claim) for claim, window in pairs]
        return _share(self.encoder.first_token(prompts, self._words), 1)

    def _fill(self, text: str, claim: str) -> tuple[str, ...]:
        said = {"TEXT": text, "CLAIM": claim}
        return tuple(_PLACE.sub(lambda place: said[place[0]], part) for part in self._prompt)


def _words(encoder: TextToText) -> tuple[str, str]:
    """("0", "1"), or what the answer "0" begins with. UsageError where neither is one token.

    T5's vocabulary has "1" at the beginning of a word, but writes "0" as a space and a digit: the
    published models are read at the space.
    """
    try:
        encoder.first_token((), ("0", "1"))
    except UsageError:
        encoder.first_token((), (_SPACE, "1"))
        return _SPACE, "1"
    return "0", "1"


def _share(logits: Floats, column: int) -> Floats:
    """Softmax of one column, shape (n,)."""
    numbers = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):  # what is not finite stays so, and is told
        powers = np.exp(numbers - numbers.max(axis=1, keepdims=True))
    shares: Floats = (powers[:, column] / powers.sum(axis=1)).astype(np.float32)
    return shares
