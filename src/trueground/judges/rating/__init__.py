"""Raters: how good is this response under a rubric, from 1 to 5? G-Eval's form filling.

Source: Liu et al. 2023 (G-Eval), as used by Lee et al. 2024, appendix D.7, and Li et al. 2024,
section 4.1.

Rubrics are prompts that ask for a whole number from 1 to 5. Those that ship are fluency of a
response by itself (Lee et al. 2024, figure 18), and fluency, coherence, consistency and relevance
of an answer to a question (Li et al. 2024, tables 14 to 17), in our own words. Scale, steps and the
form to fill in are theirs.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import msgspec

from trueground.components import Component, ComponentSpec, Registry
from trueground.errors import UsageError
from trueground.judges.replies import expected_score, read_score
from trueground.models import (
    ChatRequest,
    LLMComponent,
    Message,
    Params,
    Prompt,
    Reply,
)
from trueground.types import PromptFile, Rating, RatingRequest, Status

_PACKAGE = "trueground.judges.rating"
# (name, what is shown) → the file.
_FILES = {
    ("fluency", "response"): "fluency-1",
    ("fluency", "question"): "fluency-answer-1",
    ("coherence", "question"): "coherence-1",
    ("consistency", "knowledge"): "consistency-1",
    ("relevance", "question"): "relevance-1",
}
NAMES = tuple(dict.fromkeys(name for name, _ in _FILES))
# What is shown → the places that a rubric then has.
PLACES = {
    "response": ("response",),
    "question": ("response", "question"),
    "knowledge": ("response", "question", "knowledge"),
}
_SAMPLED = 1.0  # the temperature of samples, as in G-Eval
# How many alternatives to ask for: most endpoints give 20, some no more than 5.
_ALTERNATIVES = (20, 5)
_ENOUGH = 0.5  # the share of samples that must hold a score

_Prompts = Mapping[RatingRequest, tuple[Message, ...]]


def rubric_for(name: str, shown: str) -> Prompt:
    """The rubric of that name, or the user's file at that path, for what is shown to the rater.

    UsageError: a rubric that ships does not show this, or a file's places are others than these;
    InputError: the file cannot be read.
    """
    if shown not in PLACES:
        raise UsageError(f"the rubric {name}: shown={shown!r} is not one of {', '.join(PLACES)}")
    if name not in NAMES:
        return Prompt.read(Path(name), ("response",), PLACES[shown][1:], plain=PLACES[shown])
    if (name, shown) not in _FILES:
        supported = " or ".join(s for n, s in _FILES if n == name)
        raise UsageError(f"the rubric {name} cannot be shown={shown!r}; it shows the {supported}")
    return Prompt.packaged(_PACKAGE, _FILES[name, shown])


class Rater(Component[RatingRequest, Rating]):
    """Rates responses from 1 to 5 under rubrics.

    A subclass has `name`, `signature` and `rate`. Rubrics are named in `prompts`, not in the
    signature.
    """

    kind = "rater"
    answers = "ratings"
    answer_type = Rating
    members: ClassVar[Mapping[str, str]] = {"name": "text", "signature": "text", "rate": "method"}

    @staticmethod
    def make(text: str, *, cache: bool = True) -> LLMRater:
        """Return a new rater from `NAME:MODEL(option=value)`. Raises UsageError."""
        raters: Registry[Callable[..., LLMRater]] = Registry("rater", {"llm": LLMRater})
        return raters.make(ComponentSpec.parse("rater", text, cache=cache))

    @staticmethod
    def find_rubric(name: str, shown: str) -> Prompt:
        """Return the rubric of that name, or a user's file, see `rubric_for`."""
        return rubric_for(name, shown)

    @abstractmethod
    def rate(self, requests: Sequence[RatingRequest]) -> list[Rating]:
        """Return one rating for each request, in their order."""

    def answer(self, requests: Sequence[RatingRequest]) -> list[Rating]:
        """See `Component.answer`."""
        return self.rate(requests)

    def failed(self, reason: str) -> Rating:
        """See `Component.failed`."""
        return Rating(status=Status.ERROR, reason=reason)


class LLMRater(LLMComponent, Rater):
    """`llm:MODEL(base_url=URL,…)`: asks a chat model to rate.

    Integer scoring asks once, at temperature 0; with `samples` it asks so often, at the same
    temperature, and takes the mean. Weighted scoring asks once for log-probabilities
    too and takes the expectation; where the endpoint gives none, the mean of `samples` replies at
    temperature 1. A reply without a score, one that was cut off and a call that failed leave the
    response unscored with that status. `spent` is what asking has cost. The constructor raises
    UsageError.
    """

    name = "llm"

    def __init__(self, spec: ComponentSpec) -> None:
        super().__init__(spec)
        self._rubrics: dict[tuple[str, str], Prompt] = {}
        self._alternatives = list(_ALTERNATIVES)

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The rubrics that were asked with so far, by id."""
        files = {prompt.file for prompt in self._rubrics.values()}
        return tuple(sorted(files, key=lambda file: (file.id, file.sha256)))

    @property
    def signature(self) -> str:
        """The model, and the options that can change a rating. Rubrics are in `prompts`."""
        return self._sign("llm-1")

    def rate(self, requests: Sequence[RatingRequest]) -> list[Rating]:
        """One rating for each request; equal ones are asked once.

        UsageError and InputError for a rubric that cannot be used; UnreachableError.
        """
        prompts = {request: self._messages(request) for request in dict.fromkeys(requests)}
        weighted = {r: prompt for r, prompt in prompts.items() if r.scoring == "weighted"}
        plain = {r: prompt for r, prompt in prompts.items() if r.scoring != "weighted"}
        ratings = {r: _of_runs(replies) for r, replies in self._draw(plain, self._params).items()}
        ratings |= self._rate_weighted(weighted)
        return [ratings[request] for request in requests]

    def _messages(self, request: RatingRequest) -> tuple[Message, ...]:
        rubric = request.rubric, request.shown
        if rubric not in self._rubrics:
            self._rubrics[rubric] = rubric_for(*rubric)
        knowledge = request.knowledge if request.shown == "knowledge" else ()
        question = "" if request.shown == "response" else request.question
        marks = Prompt.marks((question, *knowledge, request.response))
        contents = {"response": request.response, "question": question, "knowledge": knowledge}
        keep = ("response", "question") if question else ("response",)
        return self._rubrics[rubric].fill(marks.fields(contents, keep=keep))

    def _draw(self, prompts: _Prompts, params: Params) -> dict[RatingRequest, list[Reply]]:
        """As many replies to each request as it wants samples."""
        calls = [
            ChatRequest(messages, params, draw)
            for request, messages in prompts.items()
            for draw in range(request.samples)
        ]
        replies = iter(self.ask(calls))
        return {r: [next(replies) for _ in range(r.samples)] for r in prompts}

    def _rate_weighted(self, prompts: _Prompts) -> dict[RatingRequest, Rating]:
        ratings: dict[RatingRequest, Rating] = {}
        for number in tuple(self._alternatives):
            left = [request for request in prompts if request not in ratings]
            params = msgspec.structs.replace(self._params, logprobs=number)
            calls = [ChatRequest(prompts[r], params) for r in left]
            # One first: an endpoint that refuses so many need not be asked for each item.
            replies = self.ask(calls[:1])
            if not any(map(_refuses, replies)):
                replies += self.ask(calls[1:])
            refused = [_refuses(reply) for reply in replies]
            self.forgive(sum(refused))
            if left and all(refused):
                self._alternatives.remove(number)
            for request, reply in zip(left, replies, strict=False):
                rating = _of_logprobs(reply)
                if rating is not None:
                    ratings[request] = rating
            if not any(refused):
                break
        rest = {r: prompt for r, prompt in prompts.items() if r not in ratings}
        hot = self._params
        if hot.temperature is not None:
            hot = msgspec.structs.replace(hot, temperature=_SAMPLED)
        sampled = self._draw(rest, hot)
        return ratings | {r: _mean(map(_of_reply, replies)) for r, replies in sampled.items()}


def _of_reply(reply: Reply) -> Rating:
    if reply.status is Status.TRUNCATED:
        reason = "the reply was cut off at the token limit"
        return Rating(status=reply.status, reply=reply.shortened_text(), reason=reason)
    if reply.status is not None:
        return Rating(status=reply.status, reason=reply.error)
    score = read_score(reply.text)
    if score is None:
        reason = "the reply is no whole number from 1 to 5"
        return Rating(status=Status.UNPARSEABLE, reply=reply.shortened_text(), reason=reason)
    return Rating(float(score.value))


def _of_runs(replies: list[Reply]) -> Rating:
    """The rating of one reply, or the mean of several, which are then all kept."""
    if len(replies) == 1:
        return _of_reply(replies[0])
    texts = tuple(reply.shortened_text() or f"({reply.error or reply.status})" for reply in replies)
    return msgspec.structs.replace(_mean(map(_of_reply, replies)), replies=texts)


def _of_logprobs(reply: Reply) -> Rating | None:
    """The rating by log-probabilities; None where there are none and samples are to be drawn."""
    if _refuses(reply):
        return None
    rating = _of_reply(reply)
    score = read_score(reply.text)
    if rating.value is None or score is None:
        return rating
    value = expected_score(reply.text, score, reply.logprobs) if reply.logprobs else None
    return None if value is None else Rating(value)


def _refuses(reply: Reply) -> bool:
    """Whether the endpoint refuses to give (so many) log-probabilities."""
    return reply.status is Status.ERROR and "logprob" in (reply.error or "").lower()


def _mean(ratings: Iterable[Rating]) -> Rating:
    """The mean of the samples that hold a score, if they are at least half of all.

    `reason` tells how many do not, and why; where they are too many, the most frequent status of
    those without a score is the rating's.
    """
    samples = list(ratings)
    values = [sample.value for sample in samples if sample.value is not None]
    unscored = Counter(sample.status for sample in samples if sample.value is None)
    counts = ", ".join(f"{number} {status}" for status, number in sorted(unscored.items()))
    reason = (
        f"{len(values)} of {len(samples)} samples hold a score ({counts})" if unscored else None
    )
    if len(values) >= max(1, _ENOUGH * len(samples)):
        return Rating(math.fsum(values) / len(values), reason=reason)
    status = unscored.most_common(1)[0][0]
    first = next(sample for sample in samples if sample.status is status)
    return Rating(status=status, reply=first.reply, reason=f"{reason}; {first.reason}")
