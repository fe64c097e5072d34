"""Q²: questions about a response, answered from the response and from the knowledge.

Source: Honovich et al. 2021; Adlakha et al. 2023, section 5.1. The original's textual entailment
needs a library that is no longer kept up; here it is any classifier of `transformers`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trueground.encoders import pair_scorer
from trueground.encoders.options import EncoderOptions, encoder_options
from trueground.encoders.whole import AnswerFinder, QuestionWriter
from trueground.errors import UsageError
from trueground.judges.comparing.q2.candidates import candidates, is_personal
from trueground.judges.windows import cut
from trueground.plugins import PartSpec
from trueground.types import Comparison, ComparisonRequest, Status

MODELS = {
    "questions": "mrm8488/t5-base-finetuned-question-generation-ap",
    "answers": "ktrapeznikov/albert-xlarge-v2-squad-v2",
    "nli": "FacebookAI/roberta-large-mnli",
}
_LABELS = {"entailment": 1.0, "neutral": None, "contradiction": 0.0}
_ARTICLES = re.compile(r"\b(a|an|the|in|our)\b")
_NO_MARKS = str.maketrans("", "", string.punctuation)
_LEAST_ROOM = 32  # tokens of knowledge beside a question


@dataclass(frozen=True)
class _Asked:
    """A question of the response, and what the knowledge answers (None: nothing)."""

    question: str
    candidate: str
    answer: str | None
    f1: float


class Q2:
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
    in_one_process = True

    def __init__(self, given: PartSpec) -> None:
        given.check(("device", "dtype", *MODELS), model=False)
        options = encoder_options(given)
        models = {part: given.options.get(part, name) for part, name in MODELS.items()}
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
        asked = [
            found
            for candidate in candidates(request.response)
            if (found := self._asked(candidate, request.response, knowledge)) is not None
        ]
        if not asked:
            return self._whole(request.response, knowledge)
        nli = [self._agreement(one) for one in asked]
        detail = {
            "questions": [
                {
                    "question": one.question,
                    "response": one.candidate,
                    "knowledge": one.answer,
                    "f1": one.f1,
                    "nli": value,
                }
                for one, value in zip(asked, nli, strict=True)
            ]
        }
        mean = sum(one.f1 for one in asked) / len(asked)
        return Comparison({"f1": mean, "nli": sum(nli) / len(nli)}, detail=detail)

    def _asked(self, candidate: str, response: str, knowledge: str) -> _Asked | None:
        """The first question that the response answers with this span; None where there is none."""
        for question in self._writer.write(candidate, response):
            if not question or is_personal(question) or not self._can_ask(question):
                continue
            own = self._answer(question, response)
            if own is None or _clean(own) != _clean(candidate):
                continue
            answer = self._answer(question, knowledge)
            return _Asked(question, candidate, answer, _overlap(candidate, answer or ""))
        return None

    def _can_ask(self, question: str) -> bool:
        """Whether the question leaves room for a text beside it."""
        return self._finder.rooms([question])[0] >= _LEAST_ROOM

    def _answer(self, question: str, text: str) -> str | None:
        """The surest answer of any window; None where none holds one."""
        (room,) = self._finder.rooms([question])
        spans = cut([(text, room)], self._finder.lengths)[(text, room)]
        found = [self._finder.find(question, text[start:end]) for start, end in spans]
        some = [one for one in found if one.text is not None]
        # A span that ends before it begins is no answer, however sure, where there is another.
        return max(some, key=lambda one: (bool(one.text), one.score)).text if some else None

    def _agreement(self, asked: _Asked) -> float:
        if asked.f1 == 1 or not asked.answer:
            return asked.f1
        told = self._entailment.of(
            f"{asked.question} {asked.answer}.", f"{asked.question} {asked.candidate}."
        )
        value = None if told is None else _LABELS[told]
        return asked.f1 if value is None else value

    def _whole(self, response: str, knowledge: str) -> Comparison:
        label = self._entailment.best(knowledge, response)
        if label is None:
            why = "no question could be asked, and the entailment model cannot read the response"
            return Comparison(status=Status.TOO_LONG, reason=f"{why}: it is too long")
        value = _LABELS[label]
        value = 0.5 if value is None else value
        return Comparison({"f1": value, "nli": value}, detail={"questions": [], "entails": label})


class _Entailment:
    """A classifier with the labels entailment, neutral and contradiction."""

    def __init__(self, model: str, options: EncoderOptions) -> None:
        self._scorer = pair_scorer(model, options)
        if not set(_LABELS) <= set(self._scorer.labels):
            raise UsageError(
                f"the comparer q2: {model} has the labels {', '.join(self._scorer.labels)}; "
                f"expected {', '.join(_LABELS)}"
            )
        self.signature = self._scorer.signature

    @property
    def problem(self) -> str | None:
        return getattr(self._scorer, "problem", None)

    def close(self) -> None:
        self._scorer.close()

    def of(self, premise: str, hypothesis: str) -> str | None:
        """The label of the pair; None where the model cannot read both."""
        free = self._scorer.window - self._scorer.specials
        if sum(self._scorer.lengths([premise, hypothesis])) > free:
            return None
        return self._label(premise, hypothesis)[0]

    def best(self, premise: str, hypothesis: str) -> str | None:
        """The label beside the window of the premise that entails the most; None: too long."""
        free = self._scorer.window - self._scorer.specials
        room = free - self._scorer.lengths([hypothesis])[0]
        if room < _LEAST_ROOM:
            return None
        spans = cut([(premise, room)], self._scorer.lengths)[(premise, room)]
        found = [self._label(premise[start:end], hypothesis) for start, end in spans]
        return max(found, key=lambda one: one[1])[0] if found else None

    def _label(self, premise: str, hypothesis: str) -> tuple[str, float]:
        """The likeliest label, and the logit of entailment above the others' best."""
        (logits,) = self._scorer.scores([(premise, hypothesis)])
        by_label = {name: float(x) for name, x in zip(self._scorer.labels, logits, strict=True)}
        known = {name: by_label[name] for name in _LABELS}
        others = max(value for name, value in known.items() if name != "entailment")
        return max(known, key=lambda name: known[name]), known["entailment"] - others


def _clean(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_MARKS)).split())


def _overlap(candidate: str, answer: str) -> float:
    """Token F1 of the two, 0 where nothing is shared."""
    ours, theirs = _clean(candidate).split(), _clean(answer).split()
    common = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0
