"""A language model as a rater: one score for each response, by filling in a form.

Source: Liu et al. 2023 (G-Eval), as used by Lee et al. 2024, appendix D.7, and Li et al. 2024,
section 4.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from trueground.judges.llm import MAX_TOKENS
from trueground.judges.rating.rubrics import rubric_for
from trueground.judges.rating.scores import expectation, read_score
from trueground.models.asker import OPTIONS, Asker, Asks, model_of, params_of, shortened
from trueground.models.base import ChatRequest, Message, Reply
from trueground.models.marks import block, blocks, mark_for
from trueground.models.prompts import Prompt, PromptFile
from trueground.plugins import PartSpec
from trueground.types import Rating, RatingRequest, Status

_SAMPLED = 1.0  # the temperature of samples, as in G-Eval
# How many alternatives to ask for: most endpoints give 20, some no more than 5.
_ALTERNATIVES = (20, 5)
_ENOUGH = 0.5  # the share of samples that must hold a score


class LLMRater(Asks):
    """`llm:MODEL(base_url=URL,…)`: asks a chat model to rate.

    Integer scoring asks once, at temperature 0; with `samples` it asks so often, at the same
    temperature, and takes the mean. Weighted scoring asks once for log-probabilities
    too and takes the expectation; where the endpoint gives none, the mean of `samples` replies at
    temperature 1. A reply without a score, one that was cut off and a call that failed leave the
    response unscored with that status. The constructor raises UsageError.
    """

    name = "llm"

    def __init__(self, given: PartSpec) -> None:
        given.check((*OPTIONS, "temperature", "max_tokens"))
        self._params = params_of(given, MAX_TOKENS)
        self._asker = Asker(model_of(given), cache=given.cache)
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
        cold, limit = self._params.temperature, self._params.max_tokens
        told = "none" if cold is None else f"{cold:g}"
        return f"llm-1/{self._asker.model.signature}/temperature={told}/max_tokens={limit}"

    def rate(self, requests: Sequence[RatingRequest]) -> list[Rating]:
        """One rating for each request; equal ones are asked once.

        UsageError and InputError for a rubric that cannot be used; UnreachableError.
        """
        asked = dict.fromkeys(requests)
        prompts = {request: self._messages(request) for request in asked}
        weighted = [request for request in asked if request.scoring == "weighted"]
        plain = [request for request in asked if request.scoring != "weighted"]
        ratings = self._plain({request: prompts[request] for request in plain})
        ratings |= self._weighted({request: prompts[request] for request in weighted})
        return [ratings[request] for request in requests]

    def _messages(self, request: RatingRequest) -> tuple[Message, ...]:
        rubric = request.rubric, request.shown
        if rubric not in self._rubrics:
            self._rubrics[rubric] = rubric_for(*rubric)
        knowledge = request.knowledge if request.shown == "knowledge" else ()
        question = "" if request.shown == "response" else request.question
        mark = mark_for((question, *knowledge, request.response))
        places = {
            "response": block("RESPONSE", request.response, mark),
            "question": block("QUESTION", question, mark) if question else "",
            "knowledge": blocks("KNOWLEDGE", knowledge, mark) if knowledge else "",
            "plain_response": request.response,
            "plain_question": question,
            "plain_knowledge": "\n".join(knowledge),
        }
        return self._rubrics[rubric].fill(places)

    def _plain(
        self, prompts: dict[RatingRequest, tuple[Message, ...]]
    ) -> dict[RatingRequest, Rating]:
        calls = [
            ChatRequest(messages, self._params, draw)
            for request, messages in prompts.items()
            for draw in range(request.samples)
        ]
        replies = iter(self._asker.ask(calls))
        return {r: _of_runs([next(replies) for _ in range(r.samples)]) for r in prompts}

    def _weighted(
        self, prompts: dict[RatingRequest, tuple[Message, ...]]
    ) -> dict[RatingRequest, Rating]:
        ratings: dict[RatingRequest, Rating] = {}
        for number in tuple(self._alternatives):
            left = [request for request in prompts if request not in ratings]
            params = msgspec.structs.replace(self._params, logprobs=number)
            calls = [ChatRequest(prompts[r], params) for r in left]
            # One first: an endpoint that refuses so many need not be asked for each item.
            replies = self._asker.ask(calls[:1])
            if not any(map(_refuses, replies)):
                replies += self._asker.ask(calls[1:])
            refused = [_refuses(reply) for reply in replies]
            self._asker.forgive(sum(refused))
            if left and all(refused):
                self._alternatives.remove(number)
            for request, reply in zip(left, replies, strict=False):
                rating = _expected(reply)
                if rating is not None:
                    ratings[request] = rating
            if not any(refused):
                break
        left = [request for request in prompts if request not in ratings]
        return ratings | self._sampled({request: prompts[request] for request in left})

    def _sampled(
        self, prompts: dict[RatingRequest, tuple[Message, ...]]
    ) -> dict[RatingRequest, Rating]:
        hot = msgspec.structs.replace(self._params, temperature=_SAMPLED)
        if self._params.temperature is None:
            hot = self._params
        calls = [
            (request, ChatRequest(messages, hot, draw))
            for request, messages in prompts.items()
            for draw in range(request.samples)
        ]
        replies = iter(self._asker.ask([call for _, call in calls]))
        return {r: _mean([_rating(next(replies)) for _ in range(r.samples)]) for r in prompts}


def _rating(reply: Reply) -> Rating:
    if reply.status is Status.TRUNCATED:
        why = "the reply was cut off at the token limit"
        return Rating(status=reply.status, reply=shortened(reply.text), reason=why)
    if reply.status is not None:
        return Rating(status=reply.status, reason=reply.error)
    score = read_score(reply.text)
    if score is None:
        why = "the reply is no whole number from 1 to 5"
        return Rating(status=Status.UNPARSEABLE, reply=shortened(reply.text), reason=why)
    return Rating(float(score.value))


def _of_runs(replies: list[Reply]) -> Rating:
    """The rating of one reply, or the mean of several, which are then all kept."""
    if len(replies) == 1:
        return _rating(replies[0])
    rating = _mean([_rating(reply) for reply in replies])
    told = tuple(shortened(reply.text) or f"({reply.error or reply.status})" for reply in replies)
    return msgspec.structs.replace(rating, replies=told)


def _expected(reply: Reply) -> Rating | None:
    """The rating by log-probabilities; None where there are none and samples are to be drawn."""
    rating = _rating(reply)
    if rating.status is Status.ERROR and _refuses(reply):
        return None
    score = read_score(reply.text)
    if rating.value is None or score is None:
        return rating
    value = expectation(reply.text, score, reply.logprobs) if reply.logprobs else None
    return None if value is None else Rating(value)


def _refuses(reply: Reply) -> bool:
    """Whether the endpoint refuses to give (so many) log-probabilities."""
    return reply.status is Status.ERROR and "logprob" in (reply.error or "").lower()


def _mean(samples: list[Rating]) -> Rating:
    """The mean of the samples that hold a score, if they are at least half of all.

    `reason` tells how many do not, and why; where they are too many, the most frequent status of
    those without a score is the rating's.
    """
    values = [sample.value for sample in samples if sample.value is not None]
    lost = Counter(sample.status for sample in samples if sample.value is None)
    told = ", ".join(f"{number} {status}" for status, number in sorted(lost.items()))
    reason = f"{len(values)} of {len(samples)} samples hold a score ({told})" if lost else None
    if len(values) >= max(1, _ENOUGH * len(samples)):
        return Rating(sum(values) / len(values), reason=reason)
    status = lost.most_common(1)[0][0]
    first = next(sample for sample in samples if sample.status is status)
    return Rating(status=status, reply=first.reply, reason=f"{reason}; {first.reason}")
