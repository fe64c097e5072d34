"""Claims by rules: sentences, their clauses where these are simply joined, members of plain lists.

Sentences, and parts of them, that talk to the reader instead of stating something are left out.
Careful on purpose: a sentence is cut only where both sides can stand alone.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from trueground.claims.base import Fact, clean_facts
from trueground.text.numerals import MONTH_NAMES
from trueground.text.sentences import split_sentences
from trueground.types import Claim

_WORD = re.compile(r"[^\W_]+(?:['’.,&/–-][^\W_]+)*")
_QUOTE = re.compile(r'"[^"]*"|“[^”]*”|«[^»]*»|(?<!\w)[\'‘][^\'‘’]{1,80}[\'’](?!\w)')
_BRACKET = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_OPENING = re.compile("[\"“«'‘]")
_UNPAIRED = re.compile(r'["“”«»()\[\]]')
_SPACE = re.compile(r"\s*(?:\([^()\[\]]*\)|\[(?!\d{4}\])[^()\[\]]*\])")
_MONTHS = frozenset(MONTH_NAMES)


class Word(NamedTuple):
    """A word with its offsets in the sentence, and the marks that stand right before it.

    `name`: it is spelled as a name is; `value`: it is a number or the name of a month; `verb`: it
    looks like a finite verb (a capitalised one is part of a name); `doubt`: it denies, weakens or
    reports what is said.
    """

    lower: str
    spelling: str
    start: int
    end: int
    gap: str
    name: bool
    value: bool
    verb: bool
    doubt: bool


class View:
    """The words of one sentence. A quotation counts as one name, a bracket does not exist."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.masked = masked = _mask(text)
        self.balanced = not _UNPAIRED.search(masked)
        self.words: list[Word] = []
        last = 0
        for match in _WORD.finditer(masked):
            start, end = match.span()
            gap = masked[last:start]
            if gap:
                gap = "" if gap == " " else gap.translate(_NO_GAP)
            lower, spelling, name, value, verb, doubt = _looks(masked[start:end])
            fields = (lower, spelling, start, end, gap, name, value, verb, doubt)
            self.words.append(tuple.__new__(Word, fields))  # half the time of Word(…)
            last = end

    def of(self, first: int, last: int) -> str:
        """The text from word `first` up to word `last` (exclusive), without brackets."""
        found = self.text[self.start_of(first) : self.end_of(last - 1)]
        return _SPACE.sub("", found) if "(" in found or "[" in found else found

    def stop_before(self, word: int) -> int:
        """Where the text before a word ends: brackets included, marks and white space not."""
        if word == len(self.words):
            return len(self.text)
        end = self.end_of(word - 1)
        bracket = self.masked.rfind("\x01", end, self.words[word].start)
        return max(end, bracket + 1)

    def start_of(self, word: int) -> int:
        """Where a word begins, with the quotation mark or currency sign that stands before it."""
        start = self.words[word].start
        while start > 0 and self.text[start - 1] in "\"“«‘'$€£":
            start -= 1
        return start

    def end_of(self, word: int) -> int:
        """Where a word ends, with the quotation mark or bracket that closes after it."""
        end = self.words[word].end
        while end < len(self.text) and self.text[end] in "\"”»’'%♯♭#+°":
            end += 1
        if self.text[end : end + 2] in (". ", ".,"):
            end += 1  # "Corp. was"
        return end


_NO_GAP = {  # a full stop inside a sentence belongs to an abbreviation
    ord(mark): None for mark in " .\t\n\r\x00\x01\"“”«»'‘’$€£%"
}


def _mask(text: str) -> str:
    if _OPENING.search(text):
        text = _QUOTE.sub(lambda m: m.group()[0] + "Q" * (len(m.group()) - 2) + m.group()[-1], text)
        text = text.replace('"Q', "\x00Q").replace('Q"', "Q\x00")
        text = text.replace("“Q", "\x00Q").replace("Q”", "Q\x00")
        text = text.replace("«Q", "\x00Q").replace("Q»", "Q\x00")
    if "(" in text or "[" in text:
        text = _BRACKET.sub(lambda m: "\x01" * len(m.group()), text)
    return text


@lru_cache(maxsize=100_000)
def _looks(spelling: str) -> tuple[str, str, bool, bool, bool, bool]:
    """The lower-case form and the spelling, and the flags of a Word in their order."""
    lower = spelling.lower().replace("’", "'")
    name = spelling[0].isupper()
    value = spelling[0].isdigit() or (name and lower in _MONTHS)
    doubt = not name and among(lower, "hedge|report")
    verb = not name and is_finite(lower)
    return lower, spelling, name, value, verb, doubt


def among(word: str, names: str) -> bool:
    """Whether a lower-case word is in the list `names` of words.txt, or in one of A|B."""
    return word in _list(names)


@cache
def _list(names: str) -> frozenset[str]:
    return frozenset[str]().union(*(_lists()[name] for name in names.split("|")))


def is_adverb(word: str) -> bool:
    """Whether a lower-case word looks like an adverb."""
    if among(word, "adverb"):
        return True
    return len(word) > 4 and word.endswith("ly") and not among(word, "no adverb")


@lru_cache(maxsize=100_000)
def is_finite(word: str) -> bool:
    """Whether the lower-case `word` looks like a finite verb form."""
    if among(word, "finite"):
        return True
    return len(word) > 3 and word.endswith("ed") and not among(word, "not past")


@cache
def _lists() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in data_lines("words.txt"):
        name, _, words = line.partition(":")
        found.setdefault(name, set()).update(words.split())
    return {name: frozenset(words) for name, words in found.items()}


def data_lines(name: str) -> list[str]:
    """Return the lines of a data file of this room without comments and blank lines."""
    source = (files("trueground.claims") / "data" / name).read_text(encoding="utf-8")
    return [line for line in source.splitlines() if line.strip() and not line.startswith("#")]


_TAIL = string.whitespace + ",;:"
_SOURCE = (
    r"(?:provided|given|available|retrieved|supplied|above|following)?\s*(?:context|passage|document|text"
    r"|article|source|paragraph|excerpt|information|snippet|search result|knowledge)s?"
    r"(?:\s+(?:provided|given|above|available))?"
)
_BOILERPLATE = re.compile(
    rf"(?:(?:based (?:up)?on|according to|as (?:stated|mentioned|noted|described|indicated) in"
    rf"|from|per|given|in)\s+(?:the|this|these|your)\s+{_SOURCE}\s*,\s*"
    rf"|(?:the|this)\s+{_SOURCE}\s+(?:states?|says?|mentions?|indicates?|notes?|explains?)\s+that\s+)",
    re.I,
)
_OPENER = re.compile(
    r"(?:sure|certainly|of course|absolutely|great question|good question)[,!.]\s+"
    r"|(?:\w+\s*[,!.]\s+)?(?:did|do) you know,?\s+(?:that\s+)?"
    r"(?!(?:what|who|how|why|where|when|which|if|of|about)\b|any|a\s|the\s+\w+\s*\?)",
    re.I,
)
_CONTRAST = frozenset(("but", "while", "whereas", "although"))
_JOINS = _CONTRAST | {"and"}
_LONGEST = 8  # words of a subject that is said again
_NEAR = 6  # words among which the verb of a clause must stand
_AHEAD = 8  # words behind a joint that are looked at
_LEFT = 12  # words before a joint that are looked at
_MEMBER = 5  # words of a member of a list
_EDGES = string.punctuation + string.whitespace + "“”‘’…"


class RuleDecomposer:
    """Sentences, joined clauses and plain lists by word lists, without a model.

    A claim's text may repeat the subject that its clause goes on with; `start` and `end` are the
    part of the sentence that it came from.
    """

    name = "rules"
    signature = "rules-3"

    def decompose(self, texts: Sequence[str]) -> list[list[Claim]]:
        """Return the claims of each text, in order of appearance; repeated claims count once."""
        return [_claims(text) for text in texts]


def _claims(text: str) -> list[Claim]:
    spans = split_sentences(text)
    stating = [span for span in spans if not is_chatter(text[slice(*span)])]
    if not stating:
        return []
    facts = [_facts(text, *span) for span in stating]
    claims = clean_facts(stating, text, facts)
    if len(stating) == len(spans):
        return claims
    number = {start: i for i, (start, _) in enumerate(spans)}
    at = [number[start] for start, _ in stating]
    return [Claim(c.text, c.start, c.end, at[c.sentence]) for c in claims]


def _facts(text: str, start: int, end: int) -> list[Fact]:
    """The facts of the sentence `text[start:end]`."""
    start = skip_boilerplate(text, start, end)
    piece = text[start:end]
    found: list[Fact] = []
    for head, begin, stop in split_statements(piece):
        stop = begin + len(piece[begin:stop].rstrip(_TAIL))
        begin = stop - len(piece[begin:stop].lstrip())
        if begin < stop:
            found.append(Fact(head + piece[begin:stop], start + begin, start + stop))
    return found


class Clause(NamedTuple):
    """Words `first` to `last` (exclusive), and the subject that is said again before them."""

    first: int
    last: int
    subject: str


def split_statements(sentence: str) -> list[tuple[str, int, int]]:
    """The statements of a sentence: what is said again before them, and where they stand."""
    view = View(sentence)
    if not view.balanced or len(view.words) < 4:
        return [("", 0, len(sentence))]
    found: list[tuple[str, int, int]] = []
    for clause in _clauses(view):
        begin = view.start_of(clause.first) if clause.first else 0
        stop = view.stop_before(clause.last)
        cuts = _members(view, clause)
        if not cuts:
            found.append((clause.subject, begin, stop))
            continue
        again = clause.subject + view.of(clause.first, cuts[0]) + " "
        ends = [*(_before_joint(view, cut) for cut in cuts[1:]), stop]
        found.append((clause.subject, begin, ends[0]))
        pairs = zip(cuts[1:], ends[1:], strict=True)
        found += [(again, view.start_of(cut), end) for cut, end in pairs]
    return found


def _clauses(view: View) -> list[Clause]:
    """Cut at ";", "and", "but", "while" … where the right side has its own verb."""
    words = view.words
    found: list[Clause] = []
    begin, subject, seen, nested, listed = 0, "", False, False, False
    for at, word in enumerate(words):
        joined = word.lower in _JOINS
        first = at + joined
        right = words[first : first + _AHEAD]
        if seen and not nested and (joined or ";" in word.gap) and len(right) > 1:
            own = _has_own_subject(right, word, joined, listed)
            again = "" if own else None
            if (
                again is None
                and joined
                and not listed
                and _goes_on(words[begin:at][-_LEFT:], right)
            ):
                again = _subject(view, begin, at)
            if again is not None:
                found.append(Clause(begin, at, subject))
                begin, subject, seen, listed = first, again, False, False
        opens = (word.name or word.value) and at > begin
        # It reports, denies or supposes something, or has a clause inside.
        nested = nested or (
            word.doubt or ":" in word.gap or (among(word.lower, "stop") and not opens)
        )
        listed = listed or (seen and "," in word.gap and not joined)
        seen = seen or (word.verb and at >= begin)
    found.append(Clause(begin, len(words), subject))
    return found


def _has_own_subject(right: Sequence[Word], joint: Word, joined: bool, listed: bool) -> bool:
    """Whether a clause begins with a subject and then its verb; `listed`: a comma stood before."""
    first = right[0]
    if joint.lower == "while" and "," not in joint.gap:
        return False  # "while" = during
    owner = among(first.lower, "determiner")
    pronoun = among(first.lower, "pronoun") and not owner
    if not (first.name or owner or pronoun) or first.verb or among(first.lower, "stop"):
        return False
    if listed and joined and not pronoun:
        return False  # "has two gills, a tail, and a fin placed low"
    for word in right[1:_NEAR]:
        if word.gap or word.lower in (*_JOINS, "or") or among(word.lower, "stop"):
            return False
        if word.verb:
            # "Ecuador, Chile and Panama are represented" is one clause.
            return (
                not joined or pronoun or "," in joint.gap or joint.lower != "and" or not first.name
            )
    return False


def _goes_on(left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Whether the right side is a verb with what belongs to it, and no second verb of one object.

    "was designed in Turin and built by brothers" and "a frame and designed wheels" are not cut: the
    form in -ed may be a participle.
    """
    verb = next((i for i, word in enumerate(right) if not is_adverb(word.lower)), 0)
    behind = right[verb + 1 : verb + 2]
    if not right[verb].verb or left[-1].verb or not behind or behind[0].gap:
        return False
    certain = among(right[verb].lower, "auxiliary|intransitive") or right[verb].lower.endswith("s")
    passive = any(among(word.lower, "be") for word in left)
    return certain or not (verb or passive or among(behind[0].lower, "preposition"))


def _subject(view: View, begin: int, last: int) -> str | None:
    """The subject of the clause in words `begin` to `last`, with a space; None: it is not plain."""
    words = view.words
    if among(words[begin].lower, "preposition"):  # "In 1990, the club …"
        begin = next((i for i in range(begin + 1, last) if words[i].gap), last)
    for at in range(begin, min(last, begin + _LONGEST + 1)):
        word = words[at]
        if at > begin and word.verb:
            if word.lower.endswith("ed") and any(w.verb for w in words[at + 1 : min(at + 4, last)]):
                return None  # "the sale of seven marketed products paid …"
            end = at
            while end - 1 > begin and is_adverb(words[end - 1].lower):
                end -= 1
            opening = view.of(begin, end)
            return opening[:1].upper() + opening[1:] + " "
        if (at > begin and word.gap) or among(word.lower, "stop|joint"):
            return None
    return None


def _members(view: View, clause: Clause) -> list[int]:
    """Where the members of a list behind "includes", "won" or "by" begin; three at least."""
    words = view.words
    opening = next(
        (i for i in range(clause.first + 1, clause.last) if among(words[i].lower, "lister")), None
    )
    joint = next(
        (i for i in range(clause.last - 2, clause.first, -1) if words[i].lower == "and"), None
    )
    if opening is None or joint is None or any(w.doubt for w in words[clause.first : clause.last]):
        return []
    cuts = [opening + 1, *(i for i in range(opening + 2, joint) if words[i].gap == ","), joint + 1]
    ends = [*cuts[1:-1], joint, clause.last]
    for first, last in zip(cuts, ends, strict=True):
        inside = words[first:last]
        own = any(w.verb or among(w.lower, "stop|preposition") or w.lower == "or" for w in inside)
        if own or not 0 < len(inside) <= _MEMBER or any(w.gap for w in inside[1:]):
            return []
    return cuts if len(cuts) > 2 else []


def _before_joint(view: View, cut: int) -> int:
    """Where the member before the one that begins at word `cut` ends."""
    joint = view.words[cut - 1].lower == "and"
    return view.stop_before(cut - 1 if joint else cut)


def skip_boilerplate(text: str, start: int, end: int) -> int:
    """Return where the statement in `text[start:end]` begins, past "Based on the context, "."""
    for pattern in (_OPENER, _BOILERPLATE):
        match = pattern.match(text, start, end)
        if match:
            start = match.end()
    return start


def is_chatter(sentence: str) -> bool:
    """Whether a sentence is a question, a greeting, an offer or another courtesy."""
    if sentence.rstrip("\"'”’)* ").endswith("?"):
        return not _OPENER.match(sentence)  # "Did you know that …?" states something
    plain = sentence.replace("’", "'").lower().strip(_EDGES)
    whole, openings = _courtesies()
    return plain in whole or plain.startswith(openings)


@cache
def _courtesies() -> tuple[frozenset[str], tuple[str, ...]]:
    lines = data_lines("not_claims.txt")
    whole = frozenset(line[:-1] for line in lines if line.endswith("!"))
    return whole, tuple(line for line in lines if not line.endswith("!"))
