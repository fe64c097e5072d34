"""When words of a question that equal a name of the graph are taken for it.

A graph has names such as "He", "Art" and "The Who"; read without regard to case they would be found
in most questions.
"""

from __future__ import annotations

from trueground.graph.folding import name_key

_LOWER_LETTERS = 6  # a name that stands in lower case has two words and as many letters

# English words that are no name by themselves, also where they begin a sentence.
_WORDS = """
    a an the this that these those such same other another each every either neither both all any
    some many much more most few several no none not only one ones own
    i me my mine you your yours he him his she her hers it its we us our ours they them their theirs
    who whom whose which what when where why how whether
    and or but nor so yet if because while although though since until unless than as
    of in on at by for from to into onto with without within about above across after against along
    among around before behind below beneath beside besides between beyond despite down during
    except inside like near off out outside over past per through throughout till toward towards
    under up upon via
    is are was were be been being am do does did done has have had having can could will would
    shall should may might must
    also just even then there here too very again once ever never
    tell name list give describe explain discuss compare identify provide outline question answer
"""
_FUNCTION_WORDS = frozenset(_WORDS.split())


def is_meant(question: str, start: int, end: int) -> bool:
    """Whether question[start:end], which equals a name but for case, is that name.

    It has a letter and more than one character. A function word by itself is none, except an
    abbreviation in capitals ("WHO", "US") in a question that has small letters too. Without a
    capital it needs two words, one of them no function word, and six letters. In scripts without
    capitals nothing more is asked.
    """
    text = question[start:end]
    letters = [c for c in text if c.isalpha()]
    if not letters or len(text) < 2:
        return False
    words = name_key(text).split()
    plain = all(word.strip(".,'") in _FUNCTION_WORDS for word in words)
    if plain and len(words) == 1:
        return text.isupper() and any(c.islower() for c in question)
    if any(not c.islower() for c in letters):  # a capital, or a letter that has none
        return True
    return not plain and len(words) > 1 and len(letters) >= _LOWER_LETTERS
