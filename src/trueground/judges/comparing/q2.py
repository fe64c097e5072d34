"""Q²: does the knowledge answer the questions that a response answers, and alike?

Source: Honovich et al. 2021; Adlakha et al. 2023, section 5.1. The original takes what can be asked
for (names, values, noun phrases) from a parser's named entities and noun chunks; here it comes from
the word rules of `claims`, which need no model. Its textual entailment needs a library that is no
longer kept up; here it is any classifier of `transformers`.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trueground.components import ComponentSpec
from trueground.encoders import AnswerFinder, CrossEncoder, EncoderOptions, QuestionWriter
from trueground.errors import UsageError
from trueground.judges.comparing import Comparer
from trueground.judges.encoder import EncoderComponent
from trueground.judges.windows import cut_windows
from trueground.text import WORD_LISTS, View, Word, split_sentences
from trueground.types import Comparison, ComparisonRequest, Status

MODELS = {
    "questions": "mrm8488/t5-base-finetuned-question-generation-ap",
    "answers": "ktrapeznikov/albert-xlarge-v2-squad-v2",
    "nli": "FacebookAI/roberta-large-mnli",
}
_EXPECTED = ("entailment", "neutral", "contradiction")
_LABELS = {"entailment": 1.0, "contradiction": 0.0}  # what they count
_ARTICLES = re.compile(r"\b(a|an|the|in|our)\b")
_NO_MARKS = str.maketrans("", "", string.punctuation)
MIN_KNOWLEDGE_TOKENS = 32  # tokens of knowledge beside a question
# Small words that stand inside a name: "Bank of England", "Vasco da Gama".
_INSIDE = frozenset(
    ("of", "the", "de", "da", "di", "la", "le", "du", "von", "van", "der", "and", "for")
)
_PERSONAL = frozenset(("i", "you", "me", "my", "your", "mine", "yours"))


class Q2(Comparer):
    """`q2`: values `f1` and `nli`, each the mean over the questions that a response answers.

    A question counts where the response, asked, answers with the span that it was written for. f1
    is the overlap of that span with the answer from the knowledge, 0 where there is none. nli is 1
    where the overlap is whole or the one answer entails the other, 0 where it contradicts it, else
    the overlap. Where no question counts, both are what the entailment of the whole response by the
    knowledge gives: 1, ½ (neutral) or 0. Knowledge beyond the window is read in windows on
    sentence boundaries, and the surest answer counts.
    """

    name = "q2"
    values = ("f1", "nli")
    signature: str
    in_one_process = True
    uses_encoder = True

    def __init__(self, spec: ComponentSpec) -> None:
        spec.check(("device", "dtype", *MODELS), model=False)
        options = EncoderOptions.of(spec)
        models = {part: spec.options.get(part, name) for part, name in MODELS.items()}
        self._writer = QuestionWriter(models["questions"], options)
        self._finder = AnswerFinder(models["answers"], options)
        self._entailment = _Entailment(models["nli"], options)
        parts = (self._writer, self._finder, self._entailment)
        self.signature = "q2-1|" + "|".join(part.signature for part in parts)

    @property
    def problem(self) -> str | None:
        """Why results were no longer kept on disk; None where they were."""
        return self._entailment.problem

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        """One comparison for each request; `texts` are the knowledge."""
        return [self._compare(request) for request in requests]

    def close(self) -> None:
        """Give the models' memory back."""
        for part in (self._writer, self._finder, self._entailment):
            part.close()

    def _compare(self, request: ComparisonRequest) -> Comparison:
        knowledge = " ".join(request.texts)
        if not request.response.strip():
            return Comparison(status=Status.NO_CLAIMS, reason="the response is blank")
        results = (self._ask(c, request.response, knowledge) for c in candidates(request.response))
        questions = [question for question in results if question is not None]
        if questions:
            n = len(questions)
            means = {
                value: math.fsum(question[value] for question in questions) / n
                for value in self.values
            }
            return Comparison(means, detail={"questions": questions})
        label = self._entailment.best(knowledge, request.response)
        if label is None:
            reason = "no question could be asked, and the entailment model cannot read the response"
            return Comparison(status=Status.TOO_LONG, reason=f"{reason}: it is too long")
        value = _LABELS.get(label, 0.5)
        return Comparison({"f1": value, "nli": value}, detail={"questions": [], "entails": label})

    def _ask(self, candidate: str, response: str, knowledge: str) -> dict[str, Any] | None:
        """The first question that the response answers with this span; None where there is none."""
        for question in self._writer.write(candidate, response):
            if not question or is_personal(question):
                continue
            if self._finder.free_tokens([question])[0] < MIN_KNOWLEDGE_TOKENS:
                continue  # it leaves no room for a text beside it
            response_answer = self._answer(question, response)
            if response_answer is None or _clean(response_answer) != _clean(candidate):
                continue
            answer = self._answer(question, knowledge)
            f1 = nli = _overlap(candidate, answer or "")
            if answer and f1 != 1:
                label = self._entailment.of(f"{question} {answer}.", f"{question} {candidate}.")
                nli = _LABELS.get(label or "", f1)
            return {
                "question": question,
                "response": candidate,
                "knowledge": answer,
                "f1": f1,
                "nli": nli,
            }
        return None

    def _answer(self, question: str, text: str) -> str | None:
        """The surest answer of any window; None where there is none."""
        (room,) = self._finder.free_tokens([question])
        spans = cut_windows([(text, room)], self._finder.lengths)[(text, room)]
        answers = [self._finder.find(question, text[start:end]) for start, end in spans]
        some = [answer for answer in answers if answer.text is not None]
        # A span that ends before it begins is no answer, however sure, where there is another.
        return (
            max(some, key=lambda answer: (bool(answer.text), answer.score)).text if some else None
        )


class _Entailment(EncoderComponent):
    """A classifier with the labels entailment, neutral and contradiction."""

    encoder: CrossEncoder

    def __init__(self, model: str, options: EncoderOptions) -> None:
        self.encoder = CrossEncoder(model, options)
        if not set(_EXPECTED) <= set(self.encoder.labels):
            raise UsageError(
                f"the comparer q2: {model} has the labels {', '.join(self.encoder.labels)}; "
                f"expected {', '.join(_EXPECTED)}"
            )
        self.signature = self.encoder.signature

    def of(self, premise: str, hypothesis: str) -> str | None:
        """The label of the pair; None where the model cannot read both."""
        free = self.encoder.window - self.encoder.specials
        if sum(self.encoder.lengths([premise, hypothesis])) > free:
            return None
        return self._label(premise, hypothesis)[0]

    def best(self, premise: str, hypothesis: str) -> str | None:
        """The label beside the window of the premise that entails the most; None: too long."""
        free = self.encoder.window - self.encoder.specials
        room = free - self.encoder.lengths([hypothesis])[0]
        if room < MIN_KNOWLEDGE_TOKENS:
            return None
        spans = cut_windows([(premise, room)], self.encoder.lengths)[(premise, room)]
        labels = [self._label(premise[start:end], hypothesis) for start, end in spans]
        return max(labels, key=lambda label: label[1])[0] if labels else None

    def _label(self, premise: str, hypothesis: str) -> tuple[str, float]:
        """The likeliest label, and the logit of entailment above the others' best."""
        (logits,) = self.encoder.scores([(premise, hypothesis)])
        by_label = {name: float(x) for name, x in zip(self.encoder.labels, logits, strict=True)}
        others = max(by_label["neutral"], by_label["contradiction"])
        likeliest = max(_EXPECTED, key=lambda name: by_label[name])
        return likeliest, by_label["entailment"] - others


def _clean(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_MARKS)).split())


def _overlap(candidate: str, answer: str) -> float:
    """Token F1 of the two, 0 where nothing is shared."""
    expected, actual = _clean(candidate).split(), _clean(answer).split()
    common = sum((Counter(expected) & Counter(actual)).values())
    return 2 * common / (len(expected) + len(actual)) if common else 0.0


def candidates(response: str) -> list[str]:
    """Names and values first, then noun phrases, each once (case makes no difference)."""
    named: list[str] = []
    nouns: list[str] = []
    for start, end in split_sentences(response):
        view = View(response[start:end])
        names = list(_names(view.words))
        inside = {at for first, last in names for at in range(first, last)}
        named += [view.of(*span).strip() for span in names]
        for span in _phrases(view.words):
            # More than a determiner beside the words that are candidates already.
            positions = (
                at
                for at in range(*span)
                if not WORD_LISTS.among(view.words[at].lower, "determiner")
            )
            if not inside.issuperset(positions):
                nouns.append(view.of(*span).strip())
    unique: dict[str, str] = {}
    for text in (*named, *nouns):
        unique.setdefault(text.lower(), text)
    return [text for key, text in unique.items() if key not in _PERSONAL]


def is_personal(question: str) -> bool:
    """Whether a question is about the speaker or the listener: "What is your name?"."""
    return any(word.lower in _PERSONAL for word in View(question).words)


def _names(tokens: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Runs of names and values; a capital at the beginning of a sentence says nothing by itself."""
    last = 0
    for at in range(len(tokens)):
        if at < last or not _is_named(tokens, at):
            continue
        last = at + 1
        while last < len(tokens) and not tokens[last].gap:
            inside = tokens[last].lower in _INSIDE
            after = last + 1 < len(tokens) and not tokens[last + 1].gap
            if _is_named(tokens, last):
                last += 1
            elif inside and after and tokens[last + 1].name and tokens[at].name:
                last += 2
            else:
                break
        yield at, last


def _is_named(tokens: Sequence[Word], at: int) -> bool:
    word = tokens[at]
    if not word.name or word.value:
        return word.value
    opens = at == 0 and (WORD_LISTS.is_finite(word.lower) or WORD_LISTS.is_adverb(word.lower))
    return not (opens or _is_small(word.lower))


def _phrases(tokens: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Runs of words that are neither small words, verbs nor adverbs, with their determiner."""
    last = 0
    for at in range(len(tokens)):
        if at < last or not _is_nominal(tokens[at]):
            continue
        last = at + 1
        while last < len(tokens) and _is_nominal(tokens[last]) and not tokens[last].gap:
            last += 1
        before = at and not tokens[at].gap and WORD_LISTS.among(tokens[at - 1].lower, "determiner")
        yield at - 1 if before else at, last


def _is_nominal(word: Word) -> bool:
    if word.name or word.value:
        return not _is_small(word.lower)
    return not (
        _is_small(word.lower) or word.verb or word.doubt or WORD_LISTS.is_adverb(word.lower)
    )


def _is_small(word: str) -> bool:
    return WORD_LISTS.among(word, "determiner|preposition|pronoun|stop|auxiliary|object|joint")
