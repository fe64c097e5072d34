"""Whether a sentence answers a question at all, by a plain rule on words.

The paper counts an [NA] on a sentence that does not answer the question as right and gives no
method (Li et al. 2024, section 4.5). The rule here: such a sentence shares no content word with
the question.
"""

from __future__ import annotations

from collections.abc import Iterable

from trueground.text.normalize import get_normalizer

_WORDS = """
about after all also among an and any are as at be because been before being between both but by
can could did do does during each either every few for from had has have he her hers him his how
i if in into is it its itself many may me might more most much my no nor not of on one or other
our over own she should so some such than that the their theirs them themselves then there these
they this those through to under until up upon us very was we were what when where whether which
while who whom whose why will with within without would you your s t
"""
_FUNCTION_WORDS = frozenset(_WORDS.split())
_LONGEST = 40  # letters; no word of a language is begun with more


def content_words(text: str) -> set[str]:
    """The words of a text in small letters, without those that only hold sentences together."""
    return set(get_normalizer("faitheval").rule(text).split()) - _FUNCTION_WORDS


def off_topic(sentences: Iterable[str], question: str) -> list[bool]:
    """For each sentence whether it shares no content word with the question.

    Words are shared where one begins with the other, if that has three letters: "die", "died".
    """
    asked = content_words(question)
    begun = asked | _beginnings(asked)
    words = [content_words(sentence) for sentence in sentences]
    return [not (said & begun or _beginnings(said) & asked) for said in words]


def _beginnings(words: set[str]) -> set[str]:
    return {word[:n] for word in words for n in range(3, min(len(word), _LONGEST))}
