"""Where a sentence holds several statements: the one definition of a clause.

Careful on purpose: a sentence is cut only where both sides have a finite verb of their own, and
in doubt it stays whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from trueground.claims.view import (
    PASSIVE,
    YEAR,
    View,
    Word,
    among,
    holds,
    is_adverb,
    is_finite,
    is_noun,
    skip_adverbs,
    word_lists,
)

_JOINS = frozenset(("and", "but", "while", "whereas", "although", "because"))
_ALONE = frozenset(("he", "she", "they", "we", "i"))
_CONTRAST = frozenset(("but", "while", "whereas", "although"))
_IF = frozenset(("if", "unless", "whether"))
_RELATIVES = frozenset(("that", "which", "who"))
_SHORT = frozenset(
    ["it's", "he's", "she's", "that's", "they're", "we're", "you're", "i'm", "they've", "we've"]
)
_PLACES = frozenset(("where", "when"))  # "In a case where he has moved, but …, the best …"
_NEAR = 5  # a verb of the right side must stand among its first words
PARTICIPLE_GOES_ON = PASSIVE | {"through", "under", "during"}
_UNTIL = frozenset(("when", "whenever", "until", "till", "once", "whilst"))
_FAR = 40  # words in which a condition is looked for


class Clause(NamedTuple):
    """Words `first` to `last` (exclusive); `bare`: it lacks a subject and goes on with the last."""

    first: int
    last: int
    bare: bool


def clauses(view: View) -> list[Clause]:
    """Cut a sentence into clauses (conjunctions are left out)."""
    found: list[Clause] = []
    words = view.words
    begin, bare = 0, False
    seen = reported = nested = dated = uncut = False
    relative = placed = False
    verb = 0
    for i, word in enumerate(words):
        if word.idle and not word.gap:
            continue
        semicolon = ";" in word.gap
        if i > begin and (semicolon or word.lower in _JOINS):
            first = i if semicolon and word.lower not in _JOINS else i + 1
            kind = None
            # "A ball that is passed because …" has no verb of its own.
            if seen and (verb < i - 1 or word.gap) and (semicolon or not (relative or placed)):
                kind = _kind(view, begin, i, first, semicolon)
            if kind and (semicolon or not reported) and not (kind == "bare" and nested):
                found.append(Clause(begin, i, bare))
                begin, bare = first, kind == "bare"
                seen = reported = nested = dated = uncut = False
                continue
            uncut = uncut or word.lower == "and"
        if seen and i > begin:
            nested = nested or ":" in word.gap or ";" in word.gap or among(word.lower, "nesting")
            if word.verb and (dated or (uncut and among(word.lower, "auxiliary"))):
                nested = True
            dated = dated or among(word.lower, "stop")
        if not seen and word.verb:
            seen, verb = True, i
            before = words[i - 1]
            relative = i - 1 > begin and before.lower in _RELATIVES and not before.gap
            opens = among(words[begin].lower, "preposition") and begin == 0
            placed = opens and any(w.lower in _PLACES for w in words[begin + 1 : i])
        elif relative and word.verb and "," in {w.gap for w in words[verb + 1 : i + 1]}:
            relative = False
        says = i + 1 < len(words) and words[i + 1].lower == "that" and word.verb
        reported = (
            reported or says or word.lower in _IF or (not word.name and among(word.lower, "report"))
        )
    found.append(Clause(begin, len(words), bare))
    return found


def _kind(view: View, begin: int, cut: int, first: int, semicolon: bool) -> str | None:
    """ "own" or "bare" where words `first` … are a clause with or without a subject, else None."""
    words = view.words
    right = words[first : first + 8]
    lowers = [word.lower for word in right if not is_adverb(word.lower)]
    if len(right) < 2 or not lowers or lowers[0] in _RELATIVES:
        return None
    joined, opening, gap = words[cut].lower, right[0].lower, words[cut].gap
    if joined == "while" and ("," not in gap or opening in _ALONE or opening == "it"):
        return None  # "while" = during
    if opening == "not" or (joined == "and" and not gap and is_conditional(view, first)):
        return None
    if joined == "and" and words[cut - 1].verb and "," not in gap:
        return None  # "designed and built the tower": one object for two verbs
    if joined == "because" and _is_partial(words, begin, cut):
        return None
    if semicolon and opening in ("as", "so", "nor"):
        return None  # "; as is the second"
    if joined in _CONTRAST and _names_pronoun(right):
        return "own"
    if opening in ("both", "either", "neither") and joined == "and":
        return None  # "and both had the rights"
    verb = _verb(right, joined)
    if verb is None:
        return "own" if semicolon and _has_own_verb(right) else None
    if right[verb].lower in _SHORT:
        return "own"
    if all(is_adverb(word.lower) for word in right[:verb]):
        return "bare" if first > cut and not _goes_on(right, verb) else None
    if is_elliptic(right[:verb]):
        return None
    if _is_form_in_s(right[0]) and _is_form_in_s(right[verb]):
        return None  # "but experiences quick changes": the first word is the verb
    # "at least 1,500 species are"
    counted = right[1].value or right[1].lower in ("least", "most")
    counted = counted and opening in ("at", "over", "about", "around")
    if not semicolon and among(opening, "preposition") and not counted:
        pronoun = among(right[verb - 1].lower, "pronoun")
        if not pronoun or among(right[verb - 1].lower, "stop"):
            return None  # "but unlike a proclamation is directed to agencies"
    if joined == "and" and among(right[verb].lower, "plural") and not _has_verb(words, begin, cut):
        return None  # "Ecuador, Chile, and Panama are represented"
    if joined != "and" or semicolon:
        return "own"
    if "," in gap:
        # No further member of a list: "A, and B which …".
        listed = any(word.lower in ("of", "or") or word.gap for word in right[1:verb])
        return None if listed or _ends_list(words, begin, cut) else "own"
    if words[cut - 1].lower in _ALONE or not _has_verb(words, begin, cut):
        return None  # "After it was sold, he and his wife left"
    return "own" if _is_subject(right[0]) and not _hangs(words, begin, cut) else None


def _is_partial(words: list[Word], begin: int, cut: int) -> bool:
    """Whether "because" goes with more than its clause: "in part because", "did not … because"."""
    before = words[cut - 1].lower
    if before in ("part", "that", "and", "but") or is_adverb(before):
        return True
    left = words[max(begin, cut - 40) : cut]
    return "," not in words[cut].gap and any(among(w.lower, "hedge") for w in left)


def _has_verb(words: list[Word], begin: int, cut: int) -> bool:
    """Whether there is a verb between the last comma and the conjunction."""
    for i in range(cut - 1, max(begin, cut - 40) - 1, -1):
        if words[i].verb:
            last = i + 2 == cut and words[i].lower.endswith("ed") and is_noun(words[i + 1])
            return not last  # "their shared language and the patterns reflect …"
        if ";" in words[i].gap or words[i].gap == ",":
            return False
    return True


def _is_form_in_s(word: Word) -> bool:
    """Whether a word may be a verb in the third person."""
    known = word.name or among(word.lower, "auxiliary|pronoun") or _is_subject(word)
    return word.lower.endswith("s") and not known


def _hangs(words: list[Word], begin: int, cut: int) -> bool:
    """Whether a conjunction rules the verb to come: "before the Turks and the Mongols came"."""
    for i in range(cut - 1, max(begin, cut - 8), -1):
        if words[i].verb:
            return False
        if among(words[i].lower, "stop"):
            return True
    return False


def _ends_list(words: list[Word], begin: int, cut: int) -> bool:
    """Whether ", and" comes after members of a list: "a minuet, a gavotte, and the waltz was"."""
    for i in range(cut - 1, max(begin, cut - 5), -1):
        finite = words[i].verb and not words[i].lower.endswith("ed")
        if finite or among(words[i].lower, "preposition"):
            return False
        if words[i].gap == ",":
            return not all(w.name or w.value or w.lower == "and" for w in words[i:cut])
    return False


def _goes_on(right: list[Word], at: int) -> bool:
    """Whether the verb is a participle inside a subject: "and sold in 1950 was large"."""
    if among(right[at].lower, "auxiliary"):
        return False
    for word in right[at + 1 :]:
        if word.gap or among(word.lower, "stop") or word.lower in _JOINS:
            return False
        if among(word.lower, "auxiliary") and not word.name:
            return True
    return False


def _names_pronoun(right: list[Word]) -> bool:
    """Whether a pronoun and its verb are near: "but since 2014 he has lived there"."""
    for one, after in itertools.pairwise(right):
        if ";" in one.gap or ":" in one.gap:
            return False
        if one is not right[0] and among(one.lower, "nesting"):
            return False  # "but serve to show sounds when they are needed"
        if one.lower in _ALONE and after.verb and not after.gap:
            return True
    return False


def _has_own_verb(right: list[Word]) -> bool:
    """Whether there is more than a participle: "many times executed with the left hand"."""
    for before, word in itertools.pairwise(right):
        if among(before.lower, "nesting") and before is not right[0]:
            return False  # "the teaching that grace comes from …"
        plain = not word.lower.endswith("ed") or among(before.lower, "pronoun") or before.name
        apart = before.lower in ("and", "or") or among(before.lower, "determiner")
        if word.verb and plain and not apart:
            return True
    return False


def _verb(right: list[Word], joined: str) -> int | None:
    """The place of the verb in the opening of a clause."""
    for i, word in enumerate(right[:_NEAR]):
        if among(word.lower, "stop") or (i and word.gap):
            return None
        if not word.verb:
            continue
        before = right[i - 1].lower if i else ""
        if before == "to":
            continue  # "but unable to be kept"
        if before in ("and", "or", "but"):
            return None  # "and a keyboard player and recorded an album"
        if i > 1 and _is_attribute(right, i):
            continue
        if before in ("the", "a", "an", "his", "her", "its", "their"):
            continue
        if among(before, "preposition") and word.lower.endswith("ed"):
            continue  # "leading to increased investment"
        following = right[i + 1].lower if i + 1 < len(right) else ""
        plain = among(word.lower, "auxiliary")
        bare = all(is_adverb(one.lower) for one in right[:i])
        if not bare and joined == "and" and not plain and _is_weak(right, i):
            continue  # "and an anal fin placed close to it"
        if not bare and not plain and following in PARTICIPLE_GOES_ON and not _is_subject(right[0]):
            continue  # "and areas located nearby"
        return i
    return None


def _is_attribute(right: list[Word], at: int) -> bool:
    """Whether a word in -ed belongs to the noun after it: "several partially owned firms"."""
    adverb = right[at - 1].lower.endswith("ly") and is_adverb(right[at - 1].lower)
    ends = at + 1 >= len(right)
    return adverb and right[at].lower.endswith("ed") and not ends and is_noun(right[at + 1])


def _is_weak(right: list[Word], at: int) -> bool:
    """Whether a word may as well be a participle or a noun."""
    if among(right[0].lower, "pronoun") and not among(right[0].lower, "determiner"):
        return False
    if among(right[at].lower, "intransitive"):
        return False
    if at + 1 >= len(right) or among(right[at].lower, "state participle"):
        return True
    following = right[at + 1]
    return not (following.name or following.value or among(following.lower, "determiner"))


def _is_subject(word: Word) -> bool:
    return word.lower in word_lists("clause_words.txt")["subject"]


def is_conditional(view: View, first: int) -> bool:
    """Whether a condition at the end rules both clauses: "he sings and dances when it rains"."""
    words = view.words
    for i in range(first, min(len(words), first + _FAR)):
        if ";" in words[i].gap or (i > first and among(words[i].lower, "joint")):
            return False
        if words[i].lower in _UNTIL and not words[i].gap:
            return any(word.verb for word in words[i + 1 : i + 7])  # not "until 1990"
    return False


def is_elliptic(subject: Sequence[Word]) -> bool:
    """Whether a subject lacks its noun: "eight", "the other", "some"."""
    words = [word for word in subject if not is_adverb(word.lower)]
    while words and words[0].lower in ("the", "at", "least", "all", "only", "about"):
        words = words[1:]
    if not words:
        return True
    last = words[-1]
    bound = len(words) > 1 and among(words[1].lower, "preposition") and words[1].lower != "of"
    if bound and among(words[0].lower, "elliptic"):
        return True  # "one without semitones"
    if last.lower in ("ones", "one"):
        return True
    number = last.value and not YEAR.match(last.lower)
    if len(words) == 1 and number:
        return True
    return all(among(word.lower, "elliptic") for word in words)


def auxiliary_for(view: View, verb: int, finite: int, last: int, clause: Clause) -> str | None:
    """What a bare clause needs between the subject and itself: "", or "was " as in "was built".

    `verb`, `finite` and `last` are the beginning, the verb and the end of the predicate that has
    the subject. None: it cannot be told which word the bare clause goes with.
    """
    words = view.words
    if holds(words[verb:last], "hedge"):
        return None
    if any(words[i].lower == "well" and words[i + 1].lower == "as" for i in range(verb, last - 1)):
        return None  # "and hundreds of soldiers as well as deserters and escaped prisoners"
    at = skip_adverbs(words, clause.first, len(words) - 1)
    own, ruling = words[at].lower, words[finite].lower
    following = words[at + 1] if at + 1 < clause.last else None
    after = following.lower if following else ""
    if among(own, "auxiliary"):
        if own in ("is", "has", "does", "was") and among(ruling, "plural"):
            return None  # "These firms have …, and only has": the subject is another
        return "" if not among(own, "plural") or _is_plural(words[finite]) else None
    if own.endswith("s") and not own.endswith("ss"):
        present = ruling.endswith("s") and ruling != "was"
        noun = after in ("of", "by", "and", "or") or among(after, "event participle")
        return "" if present and not noun else None  # "depends on the menu and drinks chosen"
    if among(ruling, "be"):
        participle = _participle(view, finite, last)
        passive = participle is not None and not any(w.verb for w in words[participle + 1 : last])
        if among(own, "either") or _has_infinitive(words[at + 1 : clause.last]):
            return None  # "was expected to leave but asked for time"
        if after == "by" or (passive and after in PARTICIPLE_GOES_ON and not among(own, "active")):
            return f"{words[finite].spelling} " if passive else None
        if ruling not in ("was", "were") or among(own, "giving"):
            return None  # "was listed and awarded the status"
        transitive = among(own, "event participle")  # "was released in 1987 and sold only in Japan"
        if among(after, "determiner"):
            return ""
        return "" if among(own, "active") and not (passive and transitive) else None
    if among(ruling, "auxiliary") and ruling not in ("had", "has", "have", "did"):
        return None
    if own.endswith("ed") and not among(own, "active") and following and is_noun(following):
        return None  # "a barrel and specifically designed munition"
    if after == "by" or (among(own, "state participle") and after in PARTICIPLE_GOES_ON):
        return None
    return ""


def _has_infinitive(after: list[Word]) -> bool:
    """Whether "to" and a bare verb come first: "managed to escape"."""
    return len(after) > 1 and after[0].lower == "to" and is_noun(after[1]) and not after[1].value


def _is_plural(word: Word) -> bool:
    return among(word.lower, "plural") or not among(word.lower, "auxiliary")


def _participle(view: View, finite: int, last: int) -> int | None:
    """The number of the participle behind "is" ("is annually held"); None for other predicates."""
    for i in range(finite + 1, last):
        word = view.words[i].lower
        if is_adverb(word):
            continue
        known = among(word, "event participle|state participle") or word == "born"
        return i if known or is_finite(word) else None
    return None
