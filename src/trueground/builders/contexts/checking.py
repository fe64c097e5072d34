"""Checks of a new context that need no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from trueground.builders.ask import Ask
from trueground.builders.base import Stage
from trueground.builders.checks import (
    odd_form,
    other_language,
    quoted,
    same_text,
    says,
    share_kept,
    words,
)
from trueground.builders.contexts.items import Why, WrittenContext
from trueground.builders.contexts.settings import ContextsSettings
from trueground.builders.contexts.strings import can_be_joined, holds_option, is_common, left_over
from trueground.builders.contexts.writing import options_text
from trueground.builders.rejected import Rejected

_RULES = 1  # part of what outcomes are kept under: a change of any check counts here
_REASONS = {
    "control_characters": "the new context holds control characters, or broken letters",
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
_SHORTEST, _LONGEST, _FREE = 0.5, 2.0, 60  # times the original's words, and words to spare
_PARAGRAPHS = re.compile(r"\n\s*\n|\n")


def make_checking(settings: ContextsSettings) -> Stage[WrittenContext, WrittenContext]:
    """Lets fall what fails a check, and notes how much of the original was kept."""

    async def work(written: WrittenContext, _ask: Ask) -> Sequence[WrittenContext]:
        checks = _CHECKS[written.target.task == "counterfactual"]
        found = (check(written, settings) for check in (*_ALWAYS, *checks))
        why = next((why for why in found if why is not None), None)
        if why is not None:
            raise Rejected(*why, content=written.refused())
        return [msgspec.structs.replace(written, share_kept=_share(written))]

    identity = {
        "rules": _RULES,
        "kept": settings.kept,
        "min_words": settings.min_words,
        "max_words": settings.max_words,
        "phrase": settings.phrase,
        "language": settings.language,
    }
    return Stage(
        "check", "Check the text", WrittenContext, WrittenContext, work, _REASONS, identity
    )


def _share(written: WrittenContext) -> float | None:
    """How much of the original was kept; None where there is none that was changed."""
    source = written.target.source
    changes = written.target.task != "counterfactual" and bool(source.context)
    return share_kept(source.context, written.context) if changes else None


def _form(written: WrittenContext, _settings: ContextsSettings) -> Why | None:
    original = written.target.source.context
    odd = odd_form(written.context, original)
    if odd is not None:
        return odd
    if can_be_joined(original) and not can_be_joined(written.context):
        return "echo", "a line begins with `Document:`"
    return None


def _language(written: WrittenContext, settings: ContextsSettings) -> Why | None:
    if not settings.language:
        return None
    source = written.target.source
    original = source.context or f"{source.question}\n{options_text(source.choices)}"
    found = other_language(written.context, original)
    return None if found is None else ("other_language", f"it is in {found!r}")


def _unchanged(written: WrittenContext, _settings: ContextsSettings) -> Why | None:
    if same_text(written.context, written.target.source.context):
        return "unchanged", "alike but for case, white space and punctuation"
    return None


def _size(written: WrittenContext, _settings: ContextsSettings) -> Why | None:
    found, before = words(written.context), words(written.target.source.context)
    if found < _SHORTEST * before:
        return "too_short", f"{found:,} words of {before:,}, least half of them"
    if found > _LONGEST * before + _FREE:
        most = f"{_LONGEST * before + _FREE:,.0f}"
        return "too_much_added", f"{found:,} words of {before:,}, most {most}"
    return None


def _answers(written: WrittenContext, _settings: ContextsSettings) -> Why | None:
    target = written.target
    left = left_over(written.context, target.source.context, target.source.answers)
    if left is not None:
        return "old_answer_left", f"{left!r} stands in it"
    if target.task == "unanswerable" or is_common(target.answer):
        return None
    if not says(written.context, target.answer):
        return "new_answer_absent", f"{target.answer!r} does not stand in it"
    return None


def _kept(written: WrittenContext, settings: ContextsSettings) -> Why | None:
    least = settings.kept[written.target.task]
    share = _share(written)
    return (
        None
        if share is None or share >= least
        else ("changed_too_much", f"{share:.2f} kept, least {least}")
    )


def _account(written: WrittenContext, _settings: ContextsSettings) -> Why | None:
    """Of what the model says of its own work, one passage at least must be so."""
    target = written.target
    stands = [one for one in written.evidence if quoted(one, written.context)]
    if target.task != "unanswerable":
        return None if stands else ("evidence_not_found", _named(written))
    if any(not quoted(one, target.source.context) for one in stands):
        return None
    return "no_distractor", _named(written)


def _named(written: WrittenContext) -> str:
    return f"named were {list(written.evidence)!r}"[:400] if written.evidence else "named was none"


def _option(written: WrittenContext, settings: ContextsSettings) -> Why | None:
    target = written.target
    if holds_option(written.context, target.source.choices, target.key, settings.phrase):
        return None
    return "new_answer_absent", f"--phrase {settings.phrase}: {target.answer!r}"


def _long(written: WrittenContext, settings: ContextsSettings) -> Why | None:
    found = words(written.context)
    if found < settings.min_words:
        return "too_short", f"{found:,} words, --min-words {settings.min_words:,}"
    if found > settings.max_words:
        return "too_much_added", f"{found:,} words, --max-context-words {settings.max_words:,}"
    if len([part for part in _PARAGRAPHS.split(written.context) if part.strip()]) < 2:
        return "one_paragraph", "no line ends before the last"
    return None


_Check = Callable[[WrittenContext, ContextsSettings], Why | None]
_ALWAYS: tuple[_Check, ...] = (_form, _language)
_CHECKS: dict[bool, tuple[_Check, ...]] = {
    False: (_unchanged, _size, _answers, _kept, _account),
    True: (_long, _option, _account),
}
