"""The words of a text that carry its content."""

from __future__ import annotations

from trueground.text import Normalizer

_FUNCTION_WORD_TEXT = """
about after all also among an and any are as at be because been before being between both but by
can could did do does during each either every few for from had has have he her hers him his how
i if in into is it its itself many may me might more most much my no nor not of on one or other
our over own she should so some such than that the their theirs them themselves then there these
they this those through to under until up upon us very was we were what when where whether which
while who whom whose why will with within without would you your s t
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_TEXT.split())


def content_words(text: str) -> set[str]:
    """Return the lower-case words of a text without function words."""
    return set(Normalizer.named("faitheval").rule(text).split()) - _FUNCTION_WORDS
