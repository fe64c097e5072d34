"""What flows through `build contexts`: a question, a task of it, its new context, its verdicts."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from trueground.types import Choice

TaskName = Literal["unanswerable", "inconsistent", "counterfactual"]
Why = tuple[str, str]  # reason, detail
UNKNOWN = "unknown"  # what the benchmark expects where there is no answer


class ContextQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record of the user's. `tasks` are those that it allows.

    `key` is the label of the right option; `subset` where the question comes from.
    """

    id: str
    question: str
    subset: str
    tasks: tuple[TaskName, ...]
    context: str = ""
    answers: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    key: str = ""


class Sample(msgspec.Struct, frozen=True):
    """One task of a question; its id is `QUESTION/TASK`."""

    id: str
    task: TaskName
    source: ContextQuestion


class Target(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sample with the answer that its new context is to support; unanswerable has `unknown`.

    `key` is the label of the chosen wrong option, `why` what the model said of a made-up answer.
    """

    id: str
    task: TaskName
    source: ContextQuestion
    answer: str
    key: str = ""
    why: str = ""

    @property
    def old_answers(self) -> tuple[str, ...]:
        """All forms of the right answer."""
        if self.task != "counterfactual":
            return self.source.answers
        return tuple(c.text for c in self.source.choices if c.label == self.source.key)


class WrittenContext(msgspec.Struct, frozen=True, omit_defaults=True):
    """A target with the new context.

    `evidence` are the passages that the model names: those that support the answer, or (of
    unanswerable) the sentences that it added. `justification` are its own words. `share_kept` is
    the share of the original's words that are left (0 to 1), measured by the checks.
    """

    id: str
    target: Target
    context: str
    evidence: tuple[str, ...]
    justification: str
    share_kept: float | None = None

    @property
    def evidence_name(self) -> str:
        """What the passages are that the model named."""
        return "distractors" if self.target.task == "unanswerable" else "evidence"

    def refused(self) -> dict[str, Any]:
        """What is shown of it where it falls."""
        target = self.target
        return {
            "question": target.source.question,
            "new_answer": target.answer,
            "new_context": self.context,
            "original_context": target.source.context,
            "old_answers": target.old_answers,
            self.evidence_name: self.evidence,
            "justification": self.justification,
        }


class FoundAnswer(msgspec.Struct, frozen=True):
    """An answer that a judge finds in a context, and the words of the context that state it."""

    answer: str
    quote: str


class ContextVerdict(msgspec.Struct, frozen=True):
    """What a judge says of a new context.

    `answer` is its own answer from the context alone. `holds`: does the context support the answer
    in question (of unanswerable the old one, else the new one), with `quote` as evidence? `others`
    are different answers that the context supports.
    """

    answer: str
    holds: bool
    quote: str
    others: list[FoundAnswer]


class JudgedContext(msgspec.Struct, frozen=True, omit_defaults=True):
    """A written context with its verdicts; `sampled`: the second judge is to see it too.

    `against` is what the first verdict says against the context, `second_against` the second one.
    """

    id: str
    written: WrittenContext
    verdict: ContextVerdict
    against: Why | None = None
    sampled: bool = False
    second: ContextVerdict | None = None
    second_against: Why | None = None
