"""Judges over classifiers of a text and a claim: one label for the claim, or one for each token.

The labels of tokens are in LettuceDetect's form (Kovács and Recski 2025, arXiv 2502.17125): a
context, inside the prompt that the model was trained with, and an answer are read as a pair, and
each token of the answer is labeled supported or not. Here the answer is a claim, and each text is
read by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.components import ComponentSpec
from trueground.encoders import CrossEncoder, EncoderOptions, FirstTokenModel, TokenClassifier
from trueground.errors import UsageError
from trueground.judges.base import MODELS
from trueground.judges.encoder import (
    TRUE,
    Floats,
    Pair,
    PromptedJudge,
    WindowedJudge,
    check_options,
    fill,
    model_of,
    read_model_config,
    rooms_beside,
    softmax,
)

HHEM_REVISION = "hhem-1.0-open"
_ENTAILS = ("entailment", "entails", "entailed", "entail", "aligned")
_CONSISTENT = ("consistent", "supported", "factual")
_SUPPORTED = ("supported", "o", "consistent", "faithful", "factual")
# What stands around the context: LettuceDetect's prompt where there is no question, or nothing.
PROMPTS = {
    "lettucedetect": ("\nSummarize the following text:\npassage 1: ", "\noutput:\n"),
    "plain": ("", ""),
}
_TRAINED_WINDOW = 4096  # tokens of LettuceDetect's training; its positions would take 8,192
_MOST_SPANS = 5


class Form(NamedTuple):
    """What a classifier of two outputs reads as one text, and which output means support.

    `window` is that of the pieces of documents that it was published with.
    """

    template: str
    column: int
    window: int


FORMS = {
    # Lei et al. 2025: pieces of 550 words, and the template around them.
    "factcg": Form(
        'TEXT\n\nChoose your answer: based on the paragraph above can we conclude that "CLAIM"?'
        "\n\nOPTIONS:\n- Yes\n- No\nI think the answer is ",
        column=1,
        window=832,
    )
}
_FORM_OF = {"yaxili96/FactCG-DeBERTa-v3-Large": "factcg"}


class ClassifierJudge(WindowedJudge):
    """The probability of one label for the pair (window, claim): premise first.

    Softmax over the outputs, or the logistic function of a single one. With a `form` both are read
    as one text, in its template.
    """

    encoder: CrossEncoder

    def __init__(
        self, given: ComponentSpec, encoder: CrossEncoder, label: str, form: str | None = None
    ) -> None:
        super().__init__(given, encoder, options=f"label:{label}" + (f"|{form}" if form else ""))
        self._column = encoder.labels.index(label)
        self._template = FORMS[form].template if form else None

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """What the template leaves of the window, if there is one."""
        if self._template is None:
            return super().rooms(claims)
        free = self.encoder.window - self.encoder.specials
        filled = [fill(self._template, claim, "") for claim in claims]
        return rooms_beside(free, self.encoder.lengths(filled))

    def fitting(self, pairs: list[Pair]) -> list[Pair]:
        """Those whose template fits: the claim stands near its end, where it would be cut off."""
        if self._template is None:
            return pairs
        lengths = self.encoder.lengths([fill(self._template, *pair) for pair in pairs])
        free = self.encoder.window - self.encoder.specials
        return [pair for pair, n in zip(pairs, lengths, strict=True) if n <= free]

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities, shape (n,)."""
        template = self._template
        logits = self.encoder.scores(
            [(window, claim) for claim, window in pairs]
            if template is None
            else [(fill(template, *pair),) for pair in pairs]
        )
        column = self._column
        if logits.shape[1] == 1:
            logits, column = np.hstack([np.zeros_like(logits), logits]), 1
        return softmax(logits)[:, column].astype(np.float32)


class UnsupportedSpan(NamedTuple):
    """Words of a claim that are not supported, and how surely. `kind`: the label's name."""

    words: str
    probability: float
    kind: str


class TokenClassifierJudge(WindowedJudge):
    """Supported where no token of the claim is likely to be unsupported.

    The score of (claim, window) is the least probability of the label that means support among the
    claim's tokens: 1 minus the highest probability that a token is not supported.
    """

    encoder: TokenClassifier

    def __init__(
        self,
        given: ComponentSpec,
        encoder: TokenClassifier,
        label: str,
        form: str = "lettucedetect",
    ) -> None:
        super().__init__(given, encoder, options=f"label:{label}|{form}")
        self._column = encoder.labels.index(label)
        self._before, self._after = PROMPTS[form]

    def rooms(self, claims: Sequence[str]) -> list[int]:
        """What the prompt leaves of the window beside each claim."""
        (prompt,) = self.encoder.lengths([self._before + self._after])
        free = self.encoder.window - self.encoder.specials - prompt
        return rooms_beside(free, self.encoder.lengths(claims))

    def fitting(self, pairs: list[Pair]) -> list[Pair]:
        """Those that fit: the claim stands at the end, where it would be cut off."""
        claims = self.encoder.lengths([claim for claim, _ in pairs])
        prompts = self.encoder.lengths([self._prompt(window) for _, window in pairs])
        free = self.encoder.window - self.encoder.specials
        lengths = zip(pairs, claims, prompts, strict=True)
        return [pair for pair, claim, prompt in lengths if claim + prompt <= free]

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities, shape (n,); not a number for a claim in which the model sees no token."""
        least = [shares[:, self._column].min(initial=np.inf) for shares in self._shares(pairs)]
        scores = np.array(least, np.float32)
        scores[np.isinf(scores)] = np.nan
        return scores

    def doubts(self, claim: str, window: str) -> tuple[str, ...]:
        """The unsupported words as one reason, the surest first."""
        spans = sorted(self.spans(claim, window), key=lambda span: -span.probability)
        named = [
            f"{span.words!r} ({span.kind}{' ' if span.kind else ''}{span.probability:.2f})"
            for span in spans[:_MOST_SPANS]
        ]
        return ("not supported: " + ", ".join(named),) if named else ()

    def spans(self, claim: str, window: str) -> list[UnsupportedSpan]:
        """Neighboring tokens that each alone make the claim unsupported, of one kind.

        The kind is the likeliest of the other labels, and "" where there is only one.
        """
        (shares,) = self._shares([(claim, window)])
        if not len(shares):
            return []
        others = [n for n in range(len(self.encoder.labels)) if n != self._column]
        kinds = [self._kind(others[n]) for n in shares[:, others].argmax(axis=1)]
        doubted = (shares[:, self._column].astype(np.float32) <= self.threshold).tolist()
        ends = self.encoder.ends(claim)
        starts = [0, *ends]
        spans = []
        for (bad, kind), group in groupby(
            range(len(shares)), key=lambda n: (doubted[n], kinds[n] if doubted[n] else "")
        ):
            own = list(group)
            words = claim[starts[own[0]] : ends[own[-1]]].strip()
            if bad and words:
                spans.append(
                    UnsupportedSpan(words, float(1 - shares[own, self._column].min()), kind)
                )
        return spans

    def _kind(self, column: int) -> str:
        """The label's name without the marks of beginning and inside; "" where it says no kind."""
        if len(self.encoder.labels) == 2:
            return ""
        return self.encoder.labels[column].removeprefix("b-").removeprefix("i-")

    def _shares(self, pairs: Sequence[Pair]) -> list[NDArray[np.float64]]:
        """Probabilities of each label, shape (tokens, labels), for each (claim, window)."""
        logits = self.encoder.scores([(self._prompt(window), claim) for claim, window in pairs])
        return [softmax(own) for own in logits]

    def _prompt(self, window: str) -> str:
        return f"{self._before}{window}{self._after}"


def nli(given: ComponentSpec) -> WindowedJudge:
    """A model of entailment: a classifier with such a label, or a T5 that was trained as TRUE's.

    `form` is how a classifier of two outputs reads text and claim, where not as a pair.
    """
    check_options(given, "label", "form")
    model, options = model_of(given), EncoderOptions.of(given)
    # A sequence-to-sequence model, and no classifier built on one.
    kinds = read_model_config(model, options).get("architectures") or ()
    if not any(str(kind).endswith("ForConditionalGeneration") for kind in kinds):
        form = given.text("form", "", FORMS) if "form" in given.options else _FORM_OF.get(model)
        return _classifier(given, model, options, _ENTAILS, form)
    for option in {"label", "form"} & set(given.options):
        raise given.refused(option, f"none: {model} answers with words")
    return PromptedJudge(given, FirstTokenModel(model, options), TRUE)


def token_classifier(given: ComponentSpec) -> WindowedJudge:
    """The judge `token-classifier:MODEL(…)`. UsageError where no label is known to mean support."""
    check_options(given, "label", "form")
    model, options = model_of(given), EncoderOptions.of(given)
    if model == MODELS["token-classifier"]:
        options = replace(options, window=options.window or _TRAINED_WINDOW)
    scorer = TokenClassifier(model, options)
    # LettuceDetect's labels have no names; the second one means "not supported".
    default = "label_0" if scorer.labels == ("label_0", "label_1") else None
    hint = "Say which one means that a token is supported with label=NAME"
    label = find_output(given, scorer, _SUPPORTED, default, "one", hint)
    return TokenClassifierJudge(given, scorer, label, given.text("form", "lettucedetect", PROMPTS))


def hhem(given: ComponentSpec) -> WindowedJudge:
    """Vectara's hallucination model: one output, or two of which one means consistent.

    The default is its version 1.0. UsageError for 2.1: a prompt in one text, read by code of its
    own, which is not run here.
    """
    check_options(given, "label")
    model, options = model_of(given), EncoderOptions.of(given)
    if model == MODELS["hhem"] and options.revision is None:
        options = replace(options, revision=HHEM_REVISION)
    if str(read_model_config(model, options).get("model_type")).startswith("HHEMv2"):
        raise UsageError(
            f"hhem:{model} is version 2.1, which only runs by code that comes with its weights; "
            f"that is not done here. Use revision={HHEM_REVISION}, or nli:MODEL with a model of "
            "entailment"
        )
    return _classifier(given, model, options, _CONSISTENT)


def find_output(
    given: ComponentSpec,
    scorer: CrossEncoder | TokenClassifier,
    wanted: Sequence[str],
    default: str | None,
    expected: str,
    hint: str,
) -> str:
    """The label of the output that is meant: of `label=`, else the only one with a wanted name,
    else `default`. UsageError where there is none; it ends with what is `expected` and a `hint`.
    """
    labels = scorer.labels
    if "label" in given.options:
        label = given.options["label"].lower()  # labels are read in lower case
        if label not in labels:
            raise given.refused("label", f"one of {', '.join(labels)}")
        return label
    matching = [label for label in labels if label in wanted]
    if len(matching) == 1 or default is not None:
        return matching[0] if len(matching) == 1 else str(default)
    raise UsageError(
        f"{given.name}:{scorer.name} has the outputs {', '.join(labels)}; expected {expected} "
        f"named {' or '.join(wanted)}. {hint}"
    )


def _classifier(
    given: ComponentSpec,
    model: str,
    options: EncoderOptions,
    wanted: Sequence[str],
    form: str | None = None,
) -> WindowedJudge:
    if form:
        options = replace(options, window=options.window or FORMS[form].window)
    scorer = CrossEncoder(model, options)
    single = len(scorer.labels) == 1
    default = scorer.labels[0] if single and given.name == "hhem" else None
    if form:
        if len(scorer.labels) != 2:
            raise given.refused("form", f"a model of two outputs; {model} has {len(scorer.labels)}")
        default = scorer.labels[FORMS[form].column]
    hint = "Say which one means support with label=NAME"
    hint += f", or write cross-encoder:{scorer.name}" if single else ""
    label = find_output(given, scorer, wanted, default, "one", hint)
    return ClassifierJudge(given, scorer, label, form)
