"""Judges with classifiers of a text and a claim: a label for the claim, or for each token.

Token labels follow LettuceDetect (Kovács and Recski 2025, arXiv 2502.17125). The model reads a
pair of a context, inside the prompt of its training, and an answer, and labels each token of the
answer. Here the answer is a claim, and each text is read separately.
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
    fill_template,
    model_name,
    read_model_config,
    softmax,
    tokens_left,
)

HHEM_REVISION = "hhem-1.0-open"
_ENTAILS = ("entailment", "entails", "entailed", "entail", "aligned")
_CONSISTENT = ("consistent", "supported", "factual")
_SUPPORTED = ("supported", "o", "consistent", "faithful", "factual")
# Texts before and after the context: LettuceDetect's prompt without a question, or nothing.
PROMPTS = {
    "lettucedetect": ("\nSummarize the following text:\npassage 1: ", "\noutput:\n"),
    "plain": ("", ""),
}
_TRAINED_WINDOW = 4096  # tokens in LettuceDetect's training; the model would accept 8,192
MAX_NAMED_SPANS = 5


class Form(NamedTuple):
    """The input form of a classifier with two outputs that reads one text.

    Attributes:
        template: The text, with TEXT and CLAIM.
        column: The output that means support.
        window: Tokens of the document pieces that it was published with.
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
    """A judge whose score is the probability of one label for the pair (window, claim).

    The probability is the softmax over the outputs, or the logistic function of a single output.
    With a `form`, window and claim are read as one text in its template.
    """

    encoder: CrossEncoder

    def __init__(
        self, spec: ComponentSpec, encoder: CrossEncoder, label: str, form: str | None = None
    ) -> None:
        super().__init__(
            spec, encoder, options=f"label:{label}|{form}" if form else f"label:{label}"
        )
        self._column = encoder.labels.index(label)
        self._template = FORMS[form].template if form else None

    def free_tokens(self, claims: Sequence[str]) -> list[int]:
        """Return how many tokens the claim, and the template if any, leave for a window."""
        if self._template is None:
            return super().free_tokens(claims)
        free = self.encoder.window - self.encoder.specials
        filled = [fill_template(self._template, claim, "") for claim in claims]
        return tokens_left(free, self.encoder.lengths(filled))

    def select_fitting(self, pairs: list[Pair]) -> list[Pair]:
        """Return the pairs whose filled template fits, because the claim is near its end."""
        if self._template is None:
            return pairs
        lengths = self.encoder.lengths([fill_template(self._template, *pair) for pair in pairs])
        free = self.encoder.window - self.encoder.specials
        return [pair for pair, n in zip(pairs, lengths, strict=True) if n <= free]

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return the probabilities, shape (n,)."""
        inputs: list[tuple[str, ...]]
        if self._template is None:
            inputs = [(window, claim) for claim, window in pairs]
        else:
            inputs = [(fill_template(self._template, *pair),) for pair in pairs]
        logits = self.encoder.scores(inputs)
        column = self._column
        if logits.shape[1] == 1:
            logits, column = np.hstack([np.zeros_like(logits), logits]), 1
        return softmax(logits)[:, column].astype(np.float32)


class UnsupportedSpan(NamedTuple):
    """Words of a claim that aren't supported, with their probability and the label's name."""

    text: str
    probability: float
    kind: str


class TokenClassifierJudge(WindowedJudge):
    """A judge that finds the unsupported tokens of a claim.

    The score of (claim, window) is the lowest probability of the label that means support among
    the tokens of the claim.
    """

    encoder: TokenClassifier

    def __init__(
        self,
        spec: ComponentSpec,
        encoder: TokenClassifier,
        label: str,
        form: str = "lettucedetect",
    ) -> None:
        super().__init__(spec, encoder, options=f"label:{label}|{form}")
        self._column = encoder.labels.index(label)
        self._before, self._after = PROMPTS[form]

    def free_tokens(self, claims: Sequence[str]) -> list[int]:
        """Return how many tokens the prompt and each claim leave for a window."""
        (prompt,) = self.encoder.lengths([self._before + self._after])
        free = self.encoder.window - self.encoder.specials - prompt
        return tokens_left(free, self.encoder.lengths(claims))

    def select_fitting(self, pairs: list[Pair]) -> list[Pair]:
        """Return the pairs that fit, because the claim at the end must not be cut off."""
        claims = self.encoder.lengths([claim for claim, _ in pairs])
        prompts = self.encoder.lengths([self._prompt(window) for _, window in pairs])
        free = self.encoder.window - self.encoder.specials
        lengths = zip(pairs, claims, prompts, strict=True)
        return [pair for pair, claim, prompt in lengths if claim + prompt <= free]

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return the probabilities, shape (n,), NaN for a claim without tokens."""
        least = [shares[:, self._column].min(initial=np.inf) for shares in self._shares(pairs)]
        scores = np.array(least, np.float32)
        scores[np.isinf(scores)] = np.nan
        return scores

    def explain_unsupported(self, claim: str, window: str) -> tuple[str, ...]:
        """Return the unsupported words as one reason, the most certain ones first."""
        spans = sorted(self.spans(claim, window), key=lambda span: -span.probability)
        named: list[str] = []
        for span in spans[:MAX_NAMED_SPANS]:
            kind = f"{span.kind} " if span.kind else ""
            named.append(f"{span.text!r} ({kind}{span.probability:.2f})")
        return ("not supported: " + ", ".join(named),) if named else ()

    def spans(self, claim: str, window: str) -> list[UnsupportedSpan]:
        """Return the runs of tokens that are unsupported, each run of one kind.

        The kind is the most probable of the other labels, "" if there is only one.
        """
        (shares,) = self._shares([(claim, window)])
        if not len(shares):
            return []
        others = [n for n in range(len(self.encoder.labels)) if n != self._column]
        kinds = [self._kind(others[n]) for n in shares[:, others].argmax(axis=1)]
        doubted = (shares[:, self._column].astype(np.float32) <= self.threshold).tolist()
        ends = self.encoder.ends(claim)
        starts = [0, *ends]
        spans: list[UnsupportedSpan] = []
        labels = [(bad, kind if bad else "") for bad, kind in zip(doubted, kinds, strict=True)]
        for (bad, kind), group in groupby(range(len(shares)), key=labels.__getitem__):
            tokens = list(group)
            text = claim[starts[tokens[0]] : ends[tokens[-1]]].strip()
            if bad and text:
                probability = float(1 - shares[tokens, self._column].min())
                spans.append(UnsupportedSpan(text, probability, kind))
        return spans

    def _kind(self, column: int) -> str:
        """Return the name of a label without b- and i-, "" if there are only two labels."""
        if len(self.encoder.labels) == 2:
            return ""
        return self.encoder.labels[column].removeprefix("b-").removeprefix("i-")

    def _shares(self, pairs: Sequence[Pair]) -> list[NDArray[np.float64]]:
        """Return the probabilities of the labels, shape (tokens, labels), of each pair."""
        logits = self.encoder.scores([(self._prompt(window), claim) for claim, window in pairs])
        return [softmax(token_logits) for token_logits in logits]

    def _prompt(self, window: str) -> str:
        return f"{self._before}{window}{self._after}"


def nli(spec: ComponentSpec) -> WindowedJudge:
    """Create the judge `nli:MODEL(…)`: an entailment classifier, or a T5 trained like TRUE's.

    The option `form` is how a classifier with two outputs reads text and claim, if not as a pair.
    """
    check_options(spec, "label", "form")
    model, options = model_name(spec), EncoderOptions.of(spec)
    # A T5 can also be a classifier. Only the architecture tells whether it generates text.
    architectures = read_model_config(model, options).get("architectures") or ()
    if not any(str(name).endswith("ForConditionalGeneration") for name in architectures):
        form = spec.text("form", "", FORMS) if "form" in spec.options else _FORM_OF.get(model)
        return _classifier(spec, model, options, _ENTAILS, form)
    for option in {"label", "form"} & set(spec.options):
        raise spec.refused(option, f"no such option, because {model} generates text")
    return PromptedJudge(spec, FirstTokenModel(model, options), TRUE)


def token_classifier(spec: ComponentSpec) -> WindowedJudge:
    """Create the judge `token-classifier:MODEL(…)`.

    Raises UsageError if no label is known to mean support.
    """
    check_options(spec, "label", "form")
    model, options = model_name(spec), EncoderOptions.of(spec)
    if model == MODELS["token-classifier"]:
        options = replace(options, window=options.window or _TRAINED_WINDOW)
    scorer = TokenClassifier(model, options)
    # LettuceDetect's labels have no names. The second one means "not supported".
    default = "label_0" if scorer.labels == ("label_0", "label_1") else None
    hint = "Say which one means that a token is supported with label=NAME"
    label = find_output(spec, scorer, _SUPPORTED, default, "one", hint)
    return TokenClassifierJudge(spec, scorer, label, spec.text("form", "lettucedetect", PROMPTS))


def hhem(spec: ComponentSpec) -> WindowedJudge:
    """Create the judge `hhem:MODEL(…)`: Vectara's hallucination model.

    The model has one output, or two outputs of which one means consistent. The default is version
    1.0. Version 2.1 raises UsageError, because it needs the code that comes with its weights.
    """
    check_options(spec, "label")
    model, options = model_name(spec), EncoderOptions.of(spec)
    if model == MODELS["hhem"] and options.revision is None:
        options = replace(options, revision=HHEM_REVISION)
    if str(read_model_config(model, options).get("model_type")).startswith("HHEMv2"):
        raise UsageError(
            f"hhem:{model} is version 2.1, which needs the code that comes with its weights. "
            f"trueground doesn't run such code. Use revision={HHEM_REVISION}, or nli:MODEL with an "
            "entailment model"
        )
    return _classifier(spec, model, options, _CONSISTENT)


def find_output(
    spec: ComponentSpec,
    scorer: CrossEncoder | TokenClassifier,
    label_names: Sequence[str],
    default: str | None,
    expected: str,
    hint: str,
) -> str:
    """Return the label of the output to use.

    It is the option `label=`, else the only label in `label_names`, else `default`.

    Args:
        spec: The component with its options.
        scorer: The model.
        label_names: Names that such a label may have.
        default: Label if none has such a name.
        expected: How many such labels are expected, for the message.
        hint: End of the message.

    Raises:
        UsageError: There is no such label.
    """
    labels = scorer.labels
    if "label" in spec.options:
        label = spec.options["label"].lower()  # Labels are read in lower case.
        if label not in labels:
            raise spec.refused("label", f"one of {', '.join(labels)}")
        return label
    matching = [label for label in labels if label in label_names]
    if len(matching) == 1 or default is not None:
        return matching[0] if len(matching) == 1 else str(default)
    raise UsageError(
        f"{spec.name}:{scorer.name} has the outputs {', '.join(labels)}; expected {expected} "
        f"named {' or '.join(label_names)}. {hint}"
    )


def _classifier(
    spec: ComponentSpec,
    model: str,
    options: EncoderOptions,
    label_names: Sequence[str],
    form: str | None = None,
) -> WindowedJudge:
    if form:
        options = replace(options, window=options.window or FORMS[form].window)
    scorer = CrossEncoder(model, options)
    single = len(scorer.labels) == 1
    default = scorer.labels[0] if single and spec.name == "hhem" else None
    if form:
        if len(scorer.labels) != 2:
            raise spec.refused(
                "form", f"a model with two outputs, but {model} has {len(scorer.labels)}"
            )
        default = scorer.labels[FORMS[form].column]
    hint = "Say which one means support with label=NAME"
    if single:
        hint += f", or write cross-encoder:{scorer.name}"
    label = find_output(spec, scorer, label_names, default, "one", hint)
    return ClassifierJudge(spec, scorer, label, form)
