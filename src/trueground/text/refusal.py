"""Does a response decline to answer for lack of information? Rules and phrases, no model.

A phrase alone decides nothing: "Paris. I don't know more than that." is an answer. Each sentence is
read as a refusal, as talk about the sources, as a courtesy or as an answer, and one answer
outweighs every refusal. What is looked for stands in data/refusals_v2.txt.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from trueground.text.normalize import contains_words
from trueground.text.sentences import split_sentences

REFUSAL_RULES = "rules-2"
# How far they carry: on tests/data/abstention_held.jsonl, which was written before the rules.
MEASURED = {"rules": REFUSAL_RULES, "labelled": 177, "precision": 0.988, "recall": 0.953}

# FaithEval, appendix A: what counts as having said that there is no answer, or a conflict.
PHRASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "unanswerable": {
        "strict": ("unknown",),
        "loose": ("unknown", "no answer", "no information", "not", "unclear"),
    },
    "inconsistent": {
        "strict": ("conflict",),
        "loose": (
            *("conflict", "conflicting", "disagreement", "inconsistent", "contradictory"),
            *("contradiction", "inconsistency", "two answers", "2 answers", "multiple answers"),
        ),
    },
}

_FILE = Path(__file__).parent / "data" / "refusals_v2.txt"
# Sections whose lines stand after a subject; the other kinds of phrase stand by themselves.
_SUBJECTS = {"speaker": "(?:i|we)", "sources": "<SUBJECT>"}
_ANY_SUBJECT = ("passive", "told", "unknown", "world")
_KINDS = (*_SUBJECTS, "anaphor", "impersonal", *_ANY_SUBJECT, "opening", "marker")
_OF_THE_WORLD = ("unknown", "world", "marker")
_STOPS = re.compile(r"[.!?] ")
# After a bare verdict only an open turn brings an answer back.
_TURNS = ["however", " but ", "general knowledge", "answer: ", "answer is "]
# Sections that are looked for anywhere; the others only at the beginning.
_ANYWHERE = ("conceding", "frame", "guess", "reported", "safety")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("’‘ʼ´＇", "'"),
        **dict.fromkeys("“”„«»「」『』", '"'),
        **dict.fromkeys("*`", " "),
    }
)
_OPENING_QUOTE = re.compile(r"\"|'(?<!\w')")
_QUOTED = re.compile(r"\"[^\"]{1,400}\"|(?<!\w)'(?=\S)[^\n]{1,200}?(?<=\S)'(?!\w)")
_ANSWER_IS = re.compile(r"\b(?:answer|response)(?: is| would be)?:? *$", re.IGNORECASE)
# Words that stand between commas and say nothing: "The passage, however, does not say."
_ASIDE = re.compile(
    r",( (?:however|unfortunately|sadly|therefore|though|in fact|as such|itself)),(?= )", re.I
)
# What points to the sources says nothing itself: [1], (Document 3), [NA], [Q5, place: Rome].
_CITED = re.compile(
    r" ?(?:\[(?:\d[\d,;\u2013 -]*|NA|[^\][]{1,200}:[^\][]{1,200})\]"
    r"|\((?:see )?(?:document|passage|source|reference|context|article|paragraph)s? [\d, and]+\))",
    re.IGNORECASE,
)
_MACRO = re.compile(r"<([A-Z]+)>")


class _Rules(NamedTuple):
    cues: list[str]
    ascii_cues: list[str]
    cue_patterns: list[re.Pattern[str]]
    foreign_cues: list[str]
    phrase: re.Pattern[str]
    kinds: dict[str, re.Pattern[str]]
    contained: re.Pattern[str]
    foreign: re.Pattern[str]
    sections: dict[str, re.Pattern[str]]


def find_refusal(response: str, references: Sequence[str] = ()) -> str | None:
    """The words of the response that decline to answer for lack of information, or None.

    A statement about the world ("it is unknown who painted it") is an answer, unless there are
    `references` and none of them says such a thing. A bare "Unknown." is a refusal, unless one
    does. The words come back with white space collapsed and quotes straight.
    """
    known = [reference for reference in references if reference.strip()]
    if any(_find(reference, ()) for reference in known):
        return _find(response, _OF_THE_WORLD)
    return _find(response, () if known else ("world",))


def find_refusal_phrase(response: str) -> str | None:
    """The first plain phrase of a refusal that the response contains anywhere, or None.

    Adlakha et al. 2023, section 5.3: a share of responses that contain "I don't know" or the like.
    It finds answers too that only mention such words.
    """
    phrase = _rules().contained.search(" ".join(_lower(response).translate(_PLAIN).split()))
    return phrase and phrase.group()


def find_phrase(normalised: str, phrases: Iterable[str], words: bool) -> str | None:
    """The first of `phrases` that occurs in the normalised text, or None.

    Both sides are already normalised, with single spaces. With `words` a phrase must begin and end
    at word boundaries; without, any substring will do (the paper's rule: "not" is in "another").
    """
    for phrase in phrases:
        if contains_words(normalised, phrase) if words else phrase in normalised:
            return phrase
    return None


def _find(response: str, ignored: Sequence[str]) -> str | None:
    rules = _rules()
    lowered = response.lower()
    if not lowered.isascii():
        lowered = unicodedata.normalize("NFC", lowered).translate(_PLAIN)
    if not _has_cue(lowered):
        return None
    text = _plain(response)
    whole = _lower(" ".join(text.split()))
    foreign = _has_any(f" {whole} ", rules.foreign_cues) and bool(rules.foreign.search(whole))
    # No phrase goes beyond a full stop, and most parts of a text have no cue: the costly search is
    # for the others.
    search = rules.phrase.search
    if foreign or any(_has_cue(part) and search(part) for part in _STOPS.split(whole)):
        return _first_refusal(text, foreign, ignored)
    return None


def _has_cue(lowered: str) -> bool:
    """Whether the lower-case text has a string that every phrase has one of."""
    rules = _rules()
    for pattern in rules.cue_patterns:
        if pattern.search(lowered):
            return True
    return _has_any(lowered, rules.ascii_cues if lowered.isascii() else rules.cues)


def _has_any(text: str, cues: list[str]) -> bool:
    for cue in cues:  # noqa: SIM110 - any() over a generator takes twice as long
        if cue in text:
            return True
    return False


def _first_refusal(text: str, foreign: bool, ignored: Sequence[str]) -> str | None:
    """The first refusal of a plain text in which no sentence answers."""
    first = None
    talked = False  # of the sources, or by declining
    for start, end in split_sentences(text):
        sentence = " ".join(text[start:end].split())
        lowered = _lower(sentence)
        if start == 0 and _has("verdict", lowered) and not _has_any(_lower(text), _TURNS):
            return sentence
        beside = _is_beside_the_point(lowered)
        if first is None or not beside:
            other = _rules().foreign.search(lowered) if foreign else None
            span = other.span() if other else _declines(sentence, lowered, talked, ignored)
            if span is None and not beside:
                return None
            if span is not None and first is None:
                first = sentence[slice(*span)].strip()
        talked = talked or first is not None or _has("source", lowered)
    return first


def _plain(response: str) -> str:
    """Straight apostrophes, no emphasis marks, and what is quoted blotted out."""
    if response.isascii():  # two replacements take a fraction of the time of a translation
        text = response.replace("*", " ").replace("`", " ").strip()
    else:
        text = unicodedata.normalize("NFC", response).translate(_PLAIN).strip()
    if "[" in text or "(" in text:
        text = _CITED.sub("", text).strip()
    text = _ASIDE.sub(r"", text)
    if not _OPENING_QUOTE.search(text):
        return text
    quoted = _QUOTED.fullmatch(text.rstrip(" ."))
    if quoted:
        return quoted.group()[1:-1]
    return _QUOTED.sub(_blot, text)


def _blot(quoted: re.Match[str]) -> str:
    words = quoted.group()[1:-1]
    stays = _ANSWER_IS.search(quoted.string, max(0, quoted.start() - 30), quoted.start())
    return f" {words} " if stays else " " + "_" * len(words) + " "


def _lower(text: str) -> str:
    """Lower case with the length unchanged, so that positions stay true."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _declines(
    sentence: str, lowered: str, talked: bool, ignored: Sequence[str]
) -> tuple[int, int] | None:
    """Where the sentence declines; None if it does not, or answers all the same."""
    for match, kind in _phrases(lowered):
        begin = _clause(lowered[: match.start()])
        if begin is None or kind in ignored:
            continue
        if kind in ("anaphor", "told") and not (
            talked or _has("source", lowered) or _has("frame", lowered)
        ):
            continue
        if _is_title(sentence[match.start() : match.end()]) and match.start() > 0:
            continue
        if _fits(kind, lowered[begin : match.start()].lstrip()):
            if _has("safety", lowered) or _answers(lowered, begin, match.end()):
                return None
            return begin, match.end()
    return None


def _phrases(lowered: str) -> list[tuple[re.Match[str], str]]:
    """Every phrase in the sentence with its kind, in their order; kinds may overlap."""
    if not _rules().phrase.search(lowered):
        return []
    kinds = _rules().kinds.items()
    phrases = [(match, kind) for kind, pattern in kinds for match in pattern.finditer(lowered)]
    return sorted(phrases, key=lambda pair: pair[0].start())


def _clause(before: str) -> int | None:
    """Where the clause that ends `before` begins; None if an answer stands before that clause."""
    cuts = list(_rules().sections["cut"].finditer(before))
    if not cuts:
        return 0
    head = before[: cuts[-1].start()].strip(" ,;:-\u2013\u2014(")
    allowed = "intro" if cuts[-1].group() == "," else "concession"
    while head:
        if _is_beside_the_point(head) or _has(allowed, head) or _rules().phrase.search(head):
            break
        first, _, rest = head.partition(",")
        if not _has("interjection", first):
            return None
        head = rest.strip()
    return cuts[-1].end()


def _fits(kind: str, residue: str) -> bool:
    """May these words stand between the beginning of the clause and a phrase of this kind?"""
    if _has("reported", residue.rstrip()):
        return False
    if kind in _ANY_SUBJECT or (kind == "anaphor" and _has("source", residue)):
        return True
    if kind in ("sources", "impersonal"):
        residue = _rules().sections["determiners"].sub("", residue)
    return _has("residue", residue.strip())


def _answers(sentence: str, begin: int, end: int) -> bool:
    """Does what stands after the phrase, which lies between `begin` and `end`, give an answer?"""
    after = sentence[end:]
    if _has("guess", after):
        return True
    rest = _rules().sections["contrast"].split(after)[1:]
    if _has("conceding", sentence[:end]):
        rest.append(after.partition(",")[2])
    parts = (part.strip(" ,.!-()") for part in rest)
    return not all(_is_beside_the_point(p) or _rules().phrase.search(p) for p in parts if p)


def _is_beside_the_point(text: str) -> bool:
    """Talk about the sources, a courtesy, an interjection or a question: no answer in it."""
    text = _rules().sections["label"].sub("", text)
    parts = ("source", "courtesy", "interjection")
    return not text or text.endswith("?") or any(_has(part, text) for part in parts)


def _is_title(phrase: str) -> bool:
    words = phrase.split()[1:]
    return bool(words) and all(w[0].isupper() for w in words) and not phrase.isupper()


def _has(section: str, text: str) -> bool:
    pattern = _rules().sections[section]
    return (pattern.search(text) if section in _ANYWHERE else pattern.match(text)) is not None


@cache
def _rules() -> _Rules:
    lines = _sections(_FILE.read_text("utf-8"))
    words: dict[str, str] = {}

    def full(pattern: str) -> str:
        return _MACRO.sub(lambda name: words[name.group(1)], pattern)

    for entry in lines.pop("words"):
        name, _, pattern = entry.partition(" = ")
        words[name] = full(pattern)
    cues, foreign_cues = lines.pop("cues"), lines.pop("foreign")
    cue_patterns = [re.compile(pattern) for pattern in lines.pop("cue_patterns")]
    either = {n: full(f"(?:{'|'.join(lines[n])})") for n in lines if n != "contained"}
    kinds = {k: rf"\b(?=\w){full(_SUBJECTS.get(k, ''))}{either[k]}" for k in _KINDS}
    contained = "|".join(map(re.escape, lines.pop("contained")))
    return _Rules(
        cues=cues,
        ascii_cues=[cue for cue in cues if cue.isascii()],
        cue_patterns=cue_patterns,
        foreign_cues=foreign_cues,
        phrase=re.compile("|".join(kinds.values())),
        kinds={kind: re.compile(pattern) for kind, pattern in kinds.items()},
        contained=re.compile(rf"\b(?:{contained})\b"),
        foreign=re.compile(rf"\b{either['other']}|{either['cjk']}"),
        sections={
            n: re.compile(p) for n, p in either.items() if n not in (*_KINDS, "other", "cjk")
        },
    )


def _sections(text: str) -> dict[str, list[str]]:
    """The lines of each section, without comments; a line's own spaces count."""
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if re.fullmatch(r"\[[a-z_]+\]", line):
            lines = sections.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections
