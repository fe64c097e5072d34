"""What flows through `build contexts` behind its source, and what is checked of it without a model.

Source: Ming et al. 2024, section 3.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from trueground.text import Normalizer
from trueground.types import Choice
from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.checks import (
    FORM_REASONS,
    contains_all_words,
    contains_phrase,
    contains_quote,
    count_phrase,
    count_words,
    find_form_error,
    other_language,
    same_answer,
    same_text,
    share_kept,
)
from trueground.wings.papers.builders.contexts import ContextsOptions
from trueground.wings.papers.builders.rows import CONTROL_CHARACTER
from trueground.wings.papers.faitheval.source import right_choice
from trueground.wings.papers.faitheval.task import is_named, split_documents

_normalize = Normalizer.named("faitheval").rule
RULES = 2  # part of what outcomes are kept under: a change of any check or weighing counts here
UNKNOWN = "unknown"  # what the benchmark expects where there is no answer
TaskName = Literal["unanswerable", "inconsistent", "counterfactual"]
Why = tuple[str, str]  # reason, detail
# Answers that name nothing: they stand in a text for a hundred other reasons, or not at all.
_VERDICTS = {"yes", "no", "true", "false", "both", "neither", "none", "all"}
_NUMBERS = {
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("first", "second", "third", "once", "twice"),
}
_NOTHING = {
    *("unknown", "conflict", "unanswerable", "unclear", "n", "na", "null", "none", "nothing"),
    *("no answer", "not given", "not known", "not mentioned", "not stated"),
}
_PARAGRAPHS = re.compile(r"\n\s*\n|\n")
_SHORTEST, _LONGEST, _FREE = 0.5, 2.0, 60  # times the original's words, and words to spare
_LONGEST_ANSWER = 30  # words of a new answer, or twice those of the longest old one
ANSWER_REASONS = {
    "same_answer": "the new answer is an old one, holds one, or is held by one",
    "no_new_answer": "the new answer says nothing, or is too long to be one",
    "answer_in_original": "the new answer stands in the original context: it is not made up",
}
CONTEXT_REASONS = {
    **FORM_REASONS,
    "echo": "the new context repeats marks of the prompt, or headings of documents",
    "unchanged": "the new context is the original",
    "other_language": "the new context is in another language",
    "too_short": "the new context is too short",
    "too_much_added": "the new context is much longer than the original, or than allowed",
    "old_answer_left": "the old answer still stands in the new context",
    "new_answer_absent": "the new answer does not stand in the new context",
    "changed_too_much": "too few of the original's words were kept",
    "one_paragraph": "the new context has one paragraph only",
    "no_distractor": "none of the sentences that the model says it added was added",
    "evidence_not_found": "the evidence that the model names does not stand in the new context",
}
SECOND = "second_judge"
VERDICT_REASONS = {
    "not_supported": "if: the new context does not support the new answer",
    "old_answer_supported": "only-if: the new context still supports the old answer",
    "other_answer": "only-if: the new context supports another answer",
    "quote_not_found": "the judge's evidence does not stand in the new context",
    SECOND: "the second judge finds it invalid (--second drop)",
}


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
    unanswerable) the sentences that it added. `share_kept` is the share of the original's words
    that are left (0 to 1), measured by the checks.
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


def check_answer(answer: str, source: ContextQuestion) -> None:
    """A made-up answer is one, and a new one. Rejected."""
    longest = max(_LONGEST_ANSWER, *(2 * count_words(old) for old in source.answers))
    if says_nothing(answer) or CONTROL_CHARACTER.search(answer):
        raise Rejected("no_new_answer", f"the new answer is {answer[:200]!r}")
    if count_words(answer) > longest:
        raise Rejected(
            "no_new_answer", f"the new answer has {count_words(answer):,} words, most {longest:,}"
        )
    if (old := alike(answer, source.answers)) is not None:
        raise Rejected("same_answer", f"the new answer is {answer!r}, an old one {old!r}")
    if not (is_common(answer) or is_verdict(answer)) and contains_phrase(source.context, answer):
        raise Rejected("answer_in_original", f"{answer!r} stands in the original context")


def check_context(written: WrittenContext, options: ContextsOptions) -> None:
    """A new context can be used, as far as is seen without a model. Rejected."""
    target, source, new = written.target, written.target.source, written.context
    if (odd := find_form_error(new, source.context)) is not None:
        raise Rejected(*odd)
    if can_be_joined(source.context) and not can_be_joined(new):
        raise Rejected("echo", "a line begins with `Document:`")
    if options.language == "check":
        original = source.context or f"{source.question}\n{options_text(source.choices)}"
        if (language := other_language(new, original)) is not None:
            raise Rejected("other_language", f"it is in {language!r}")
    (_check_made if target.task == "counterfactual" else _check_changed)(written, options)
    # Of what the model says of its own work, one passage at least must be so.
    stand = [one for one in written.evidence if contains_quote(one, new)]
    named = f"named were {list(written.evidence)!r}"[:400]
    if target.task != "unanswerable":
        fits, reason = bool(stand), "evidence_not_found"
    else:
        fits, reason = (
            any(not contains_quote(one, source.context) for one in stand),
            "no_distractor",
        )
    if not fits:
        raise Rejected(reason, named if written.evidence else "named was none")


def _check_changed(written: WrittenContext, options: ContextsOptions) -> None:
    target, original, new = written.target, written.target.source.context, written.context
    if same_text(new, original):
        raise Rejected("unchanged", "alike but for case, white space and punctuation")
    found, before = count_words(new), count_words(original)
    if found < _SHORTEST * before:
        raise Rejected("too_short", f"{found:,} words of {before:,}, least half of them")
    if found > (most := _LONGEST * before + _FREE):
        raise Rejected("too_much_added", f"{found:,} words of {before:,}, most {most:,.0f}")
    if (left := left_over(new, original, target.source.answers)) is not None:
        raise Rejected("old_answer_left", f"{left!r} stands in it")
    least = options.kept_unanswerable
    if target.task != "unanswerable":
        least = options.kept
        if not is_common(target.answer) and not contains_phrase(new, target.answer):
            raise Rejected("new_answer_absent", f"{target.answer!r} does not stand in it")
    share = measure_kept(written)
    if share is not None and share < least:
        raise Rejected("changed_too_much", f"{share:.2f} kept, least {least}")


def _check_made(written: WrittenContext, options: ContextsOptions) -> None:
    target, new = written.target, written.context
    found = count_words(new)
    if found < options.min_words:
        raise Rejected("too_short", f"{found:,} words, --min-words {options.min_words:,}")
    if found > options.max_context_words:
        most = f"--max-context-words {options.max_context_words:,}"
        raise Rejected("too_much_added", f"{found:,} words, {most}")
    if len([part for part in _PARAGRAPHS.split(new) if part.strip()]) < 2:
        raise Rejected("one_paragraph", "no line ends before the last")
    if not holds_option(new, target.source.choices, target.key, options.phrase):
        raise Rejected("new_answer_absent", f"--phrase {options.phrase}: {target.answer!r}")


def measure_kept(written: WrittenContext) -> float | None:
    """The share of the original's words that are left; None where there is none that changed."""
    source = written.target.source
    changes = written.target.task != "counterfactual" and bool(source.context)
    return share_kept(source.context, written.context) if changes else None


def options_text(choices: Sequence[Choice]) -> str:
    """The options, one a line."""
    return "\n".join(f"{choice.label}. {choice.text}" for choice in choices)


def weigh(written: WrittenContext, verdict: ContextVerdict) -> Why | None:
    """What the verdict says against the context; one that contradicts itself speaks against it."""
    return _against_if(written, verdict) or _against_only_if(written, verdict)


def conditions(written: WrittenContext, verdict: ContextVerdict) -> Mapping[str, str]:
    """The verdict as yes or no to both conditions, as annotators are asked (kind `validity`)."""
    first = _against_if(written, verdict)
    only = _against_only_if(written, verdict)
    if written.target.task == "unanswerable":
        only = only or first  # no answer at all may follow
    return {
        name: "yes" if why is None else "no" for name, why in (("if", first), ("only_if", only))
    }


def finds_answer(verdict: ContextVerdict) -> bool:
    """Does the judge find that the context answers the question, whatever the answer?"""
    return verdict.holds or not says_nothing(verdict.answer)


def _against_if(written: WrittenContext, verdict: ContextVerdict) -> Why | None:
    target = written.target
    if target.task == "unanswerable":
        if verdict.holds:
            return "old_answer_supported", f"the judge quotes {verdict.quote!r}"[:400]
        if not says_nothing(verdict.answer):
            return _finds(target, verdict.answer, "in its own words")
        return None
    if not verdict.holds or says_nothing(_option_text(target, verdict.answer)):
        return "not_supported", f"the judge answers {verdict.answer!r}"
    if not contains_quote(verdict.quote, written.context):
        return "quote_not_found", f"it quotes {verdict.quote!r}"[:400]
    return None


def _against_only_if(written: WrittenContext, verdict: ContextVerdict) -> Why | None:
    target = written.target
    open_ = target.task == "unanswerable"
    for other in verdict.others:
        same = not open_ and same_text(other.answer, target.answer)
        if not same and not says_nothing(other.answer):
            return _finds(target, other.answer, f"quoting {other.quote!r}"[:400])
    own = _option_text(target, verdict.answer)
    if open_ or alike(own, [target.answer]) is not None:
        return None
    if target.task == "inconsistent":
        wrong = alike(own, target.old_answers) is not None
    else:
        wrong = any(same_text(own, choice.text) for choice in target.source.choices)
    return _finds(target, own, "in its own words") if wrong else None


def _finds(target: Target, answer: str, how: str) -> Why:
    old = alike(answer, target.old_answers) is not None
    return ("old_answer_supported" if old else "other_answer"), f"the judge finds {answer!r}, {how}"


def _option_text(target: Target, answer: str) -> str:
    """The option that a judge names by its label alone, or with it; else what it says."""
    for choice in target.source.choices:
        whole = f"{choice.label}. {choice.text}"
        if answer.strip().rstrip(".") == choice.label or same_text(answer, whole):
            return choice.text
    return answer


def is_verdict(answer: str) -> bool:
    """Is it a yes or no, or alike: an answer that no evidence needs to contain?"""
    return _normalize(answer) in _VERDICTS


def is_common(answer: str) -> bool:
    """May it stand in a text for other reasons than to answer?

    True of yes, no and alike, of small numbers (one or two digits, or as a word) and of anything
    of two characters or fewer in scripts with spaces between words.
    """
    plain = _normalize(answer)
    short = len(plain) <= 2 and plain.isascii()
    return short or plain in _VERDICTS or plain in _NUMBERS


def says_nothing(answer: str) -> bool:
    """Is it no answer at all, but a way to give none?"""
    plain = _normalize(answer)
    return not plain or plain in _NOTHING


def alike(answer: str, others: Iterable[str]) -> str | None:
    """The first of the others that is the same answer, holds it, or is held by it."""
    return next((other for other in others if same_answer(answer, other)), None)


def left_over(context: str, original: str, answers: Iterable[str]) -> str | None:
    """The first of the old answers that still stands in the changed context.

    One that may stand there for other reasons (`is_common`) is left over only if it stands there
    as often as before; one that never stood there is not.
    """
    for answer in answers:
        if not is_common(answer):
            if contains_phrase(context, answer):
                return answer
        elif 0 < count_phrase(original, answer) <= count_phrase(context, answer):
            return answer
    return None


def holds_option(context: str, choices: tuple[Choice, ...], key: str, rule: str) -> bool:
    """Does the option stand in the context, as the benchmark's filter `phrase` or `words` has it?

    Ming et al. 2024, section 3.2 (all words) and appendix B (the phrase). The filters know words by
    white space; an option in a script without it is looked for by `says` and `says_all_words`.
    """
    option = right_choice(choices, key)
    if count_words(option) > len(option.split()) and not option.isascii():
        return (contains_phrase if rule == "phrase" else contains_all_words)(context, option)
    return is_named(rule, context, option)


def joined(first: str, second: str) -> str:
    """Two documents as one context, as the benchmark heads them."""
    return f"Document:\n{first.strip()}\n\nDocument:\n{second.strip()}"


def can_be_joined(context: str) -> bool:
    """Can it be told apart from a second document: has it no heading of its own?"""
    return len(split_documents(joined(context, "x"))) == 2
