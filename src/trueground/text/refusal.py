"""Does a response decline to answer for lack of information? Rules and phrases, no model.

A phrase alone decides nothing: "Paris. I don't know more than that." is an answer. Each sentence is
read as a refusal, as talk about the sources, as a courtesy or as an answer, and one answer
outweighs every refusal. The rules for English are in data/refusals_v3/en.txt; those for other
languages, in the same folder, are read by `refusal_languages`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from trueground.text.refusal_languages import (
    RULES_FOLDER,
    Language,
    expand_macros,
    find_languages,
    read_macros,
    read_sections,
)
from trueground.text.sentences import split_sentences

# Sections whose lines stand after a subject; the other kinds of phrase stand by themselves.
_SUBJECTS = {"speaker": "(?:i|we)", "sources": "<SUBJECT>"}
_ANY_SUBJECT = ("passive", "told", "unknown", "world")
_KINDS = (*_SUBJECTS, "anaphor", "impersonal", *_ANY_SUBJECT, "opening", "marker")
_OF_THE_WORLD = ("unknown", "world", "marker")
_STOPS = re.compile(r"[.!?] ")
# After a bare verdict only an open turn brings an answer back.
_TURNS = ["however", " but ", "general knowledge", "answer: ", "answer is "]
_NEAR = 40  # characters behind a phrase in which its object is named
# Sections that are looked for anywhere; the others only at the beginning.
_ANYWHERE = (
    *("asserting", "conceding", "finding", "frame", "guess", "lack", "of_the_world"),
    *("reported", "safety", "subordinate", "unsure"),
)
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


class _EnglishRules:
    """The patterns for English. A section is compiled when it is first needed: all take 0.2 s."""

    def __init__(self, text: str) -> None:
        self._lines = read_sections(text)
        self.cues = self._lines["cues"]
        self.cue_patterns = [re.compile(pattern) for pattern in self._lines["cue_patterns"]]
        self._macros = read_macros(self._lines["words"])
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, section: str) -> re.Pattern[str]:
        """Any line of the section; of a kind of phrase also the subject before it."""
        if section not in self._compiled:
            pattern = self._expand(f"(?:{'|'.join(self._lines[section])})")
            if section in _KINDS:
                pattern = rf"\b(?=\w){self._expand(_SUBJECTS.get(section, ''))}{pattern}"
            self._compiled[section] = re.compile(pattern)
        return self._compiled[section]

    @cached_property
    def contained(self) -> re.Pattern[str]:
        """Any plain phrase of a refusal."""
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, self._lines['contained']))})\b")

    def has_phrase(self, text: str) -> bool:
        """Whether a lower-case text has a phrase of any kind."""
        for kind in _KINDS:  # noqa: SIM110 - any() over a generator takes twice as long
            if self[kind].search(text):
                return True
        return False

    def _expand(self, pattern: str) -> str:
        return expand_macros(pattern, self._macros)


class RefusalRules:
    """One version of the rules by which refusals are found.

    Attributes:
        name: Version of the rules, which signatures of metrics and judges have.
        measured: The name under "rules", and how well the rules agree with people: the number of
            labeled responses, precision and recall.
    """

    def __init__(self, name: str, folder: Path, **measured: float) -> None:
        """Note where the rules are; they are read when they are first needed.

        Args:
            name: The version.
            folder: The folder with `en.txt`.
            measured: Agreement with people.
        """
        self.name = name
        self.measured = {"rules": name, **measured}
        self._folder = folder

    @cached_property
    def _english(self) -> _EnglishRules:
        return _EnglishRules((self._folder / "en.txt").read_text("utf-8"))

    def describe_agreement(self, measured: Mapping[str, Any] | None = None) -> str:
        """Return how well rules agree with people, in a sentence without its period.

        Args:
            measured: What a summary has of the rules of its run. None: These rules.
        """
        rules = self.measured if measured is None else measured
        return (
            f"{rules['rules']}, by which refusals are found: precision "
            f"{rules['precision']:.3f}, recall {rules['recall']:.3f} on {rules['labeled']:,} "
            "labeled responses"
        )

    def find(self, response: str, references: Sequence[str] = ()) -> str | None:
        """The words of the response that decline to answer for lack of information, or None.

        A statement about the world ("it is unknown who painted it") is an answer, unless there are
        `references` and none of them says such a thing. A bare "Unknown." is a refusal, unless one
        does. The words come back with white space collapsed and quotes straight.
        """
        if not self.has_cue(response):  # whatever the references say
            return None
        known = [reference for reference in references if reference.strip()]
        if any(self._find(reference, ()) for reference in known):
            return self._find(response, _OF_THE_WORLD)
        return self._find(response, () if known else ("world",))

    def find_phrase(self, response: str) -> str | None:
        """The first plain phrase of a refusal that the response contains anywhere, or None.

        Adlakha et al. 2023, section 5.3: a share of responses that contain "I don't know" or the
        like. It finds answers too that only mention such words.
        """
        phrase = self._english.contained.search(
            " ".join(_lower(response).translate(_PLAIN).split())
        )
        return phrase and phrase.group()

    def has_cue(self, text: str) -> bool:
        """Whether a text has a word that every refusal has one of; a quick look."""
        lowered = _lower_plainly(text)
        return self._has_cue(lowered) or bool(find_languages(lowered))

    def may_lack(self, sentence: str) -> bool:
        """Whether `says_lack` may hold for a sentence or a part of it; much quicker."""
        lowered = _lower_plainly(" ".join(sentence.split()))
        return (self._has_cue(lowered) and self._english.has_phrase(lowered)) or bool(
            find_languages(lowered)
        )

    def describes_sources(self, sentence: str) -> bool:
        """Whether a sentence begins as talk about the sources: "The passage describes …"."""
        lowered = _lower_plainly(" ".join(sentence.split()))
        if self._has("source", lowered):
            return True
        return any(language.is_aside(lowered) for language in find_languages(lowered))

    def is_courtesy(self, clause: str) -> bool:
        """Whether a clause is an apology or the like: "I'm sorry", "Unfortunately"."""
        lowered = _lower_plainly(" ".join(clause.split()))
        return self._has("courtesy", lowered) or self._has("interjection", lowered)

    def says_lack(self, clause: str, *, after_source: bool = False, unsure: bool = True) -> bool:
        """Whether a clause only says that the sources lack something, or the speaker does not know.

        "The passage does not mention his age." does; "The report does not contain errors.", "He did
        not mention the war." and "It is unknown who wrote it." state something about the world.

        Args:
            clause: A sentence, or a part of one between "but" and the like.
            after_source: Whether the text before it is about the sources, or says such a thing.
            unsure: Whether "I'm not sure." counts, which does not name the sources.
        """
        lowered = _lower_plainly(clause)
        if self._has_cue(lowered):
            sentence = " ".join(_plain(clause).split())
            lack = self._find_lack(sentence, _lower(sentence), after_source, unsure)
            if lack is not None:
                return lack
        return any(
            language.find_refusal(lowered, after_source=after_source, whole=False) is not None
            for language in find_languages(lowered)
        )

    def _find(self, response: str, ignored: Sequence[str]) -> str | None:
        lowered = _lower_plainly(response)
        languages = find_languages(lowered)
        if not languages and not self._has_cue(lowered):
            return None
        text = _plain(response)
        whole = _lower(" ".join(text.split()))
        if languages:
            return self._first_refusal(text, languages, ignored)
        # No phrase goes beyond a full stop, and most parts of a text have no cue: the costly search
        # is for the others.
        if any(
            self._has_cue(part) and self._english.has_phrase(part) for part in _STOPS.split(whole)
        ):
            return self._first_refusal(text, (), ignored)
        return None

    def _has_cue(self, lowered: str) -> bool:
        """Whether the lower-case text has a string that every English phrase has one of."""
        rules = self._english
        for pattern in rules.cue_patterns:
            if pattern.search(lowered):
                return True
        return _has_any(lowered, rules.cues)

    def _first_refusal(
        self, text: str, languages: Sequence[Language], ignored: Sequence[str]
    ) -> str | None:
        """The first refusal of a plain text in which no sentence answers."""
        first = None
        talked = False  # of the sources, or by declining
        for start, end in split_sentences(text):
            sentence = " ".join(text[start:end].split())
            lowered = _lower(sentence)
            if start == 0 and self._has("verdict", lowered) and not _has_any(_lower(text), _TURNS):
                return sentence
            aside = self._is_aside(lowered) or any(
                language.is_aside(lowered) for language in languages
            )
            if first is None or not aside:
                span = self._find_declining(sentence, languages, talked, ignored)
                if span is None and not aside:
                    return None
                if span is not None and first is None:
                    first = sentence[slice(*span)].strip()
            talked = (
                talked
                or first is not None
                or self._has("source", lowered)
                or bool(languages and aside)
            )
        return first

    def _find_declining(
        self, sentence: str, languages: Sequence[Language], talked: bool, ignored: Sequence[str]
    ) -> tuple[int, int] | None:
        """Where the sentence declines, in English or in another language."""
        lowered = _lower(sentence)
        if self._has_cue(lowered) and (span := self._declines(sentence, lowered, talked, ignored)):
            return span
        for language in languages:
            span = language.find_refusal(
                lowered, after_source=talked, whole="marker" not in ignored
            )
            if span is not None:
                return span
        return None

    def _declines(
        self, sentence: str, lowered: str, talked: bool, ignored: Sequence[str]
    ) -> tuple[int, int] | None:
        """Where the sentence declines; None if it does not, or answers all the same."""
        for match, kind in self._phrases(lowered):
            begin = self._clause(lowered[: match.start()])
            if begin is None or kind in ignored:
                continue
            if kind in ("anaphor", "told") and not (
                talked or self._has("source", lowered) or self._has("frame", lowered)
            ):
                continue
            if _is_title(sentence[match.start() : match.end()]) and match.start() > 0:
                continue
            if self._has("finding", lowered[begin : match.end() + _NEAR]):
                continue
            if self._fits(kind, lowered[begin : match.start()].lstrip()):
                if self._has("safety", lowered) or self._answers(lowered, begin, match.end()):
                    return None
                return begin, match.end()
        return None

    def _find_lack(
        self, sentence: str, lowered: str, after_source: bool, unsure: bool
    ) -> bool | None:
        """Whether what follows the phrase of a lack states nothing; None without such a phrase."""
        for match, kind in self._phrases(lowered):
            begin = self._clause(lowered[: match.start()])
            if begin is None or kind in (*_OF_THE_WORLD, "unknown"):
                continue
            framed = self._has("frame", lowered) and not lowered.startswith("in summary")
            if not framed and self._has("of_the_world", match.group()):
                continue
            if self._has("subordinate", lowered[begin : match.start()]):
                continue
            anaphoric = kind in ("anaphor", "told") or match.group().startswith(
                ("it ", "they ", "it'")
            )
            if anaphoric and not (after_source or framed):
                continue
            if match.start() > 0 and _is_title(sentence[match.start() : match.end()]):
                continue
            after = lowered[match.end() :]
            words = lowered[begin : match.end()]
            said = framed or self._has("lack", words) or self._has("lacking", after)
            said = said or (unsure and self._has("unsure", words))
            if said and self._fits(kind, lowered[begin : match.start()].lstrip()):
                return not self._states(after) and not self._has("finding", lowered)
        return None

    def _states(self, after: str) -> bool:
        """Whether the words after the phrase of a lack state something."""
        match = self._english["asserting"].search(after)
        if self._has("guess", after):
            return True
        return match is not None and not self._english.has_phrase(after[match.start() :])

    def _phrases(self, lowered: str) -> list[tuple[re.Match[str], str]]:
        """Every phrase in the sentence with its kind, in their order; kinds may overlap."""
        rules = self._english
        phrases = [(match, kind) for kind in _KINDS for match in rules[kind].finditer(lowered)]
        return sorted(phrases, key=lambda pair: pair[0].start())

    def _clause(self, before: str) -> int | None:
        """Where the clause that ends `before` begins; None if an answer is before that clause."""
        cuts = list(self._english["cut"].finditer(before))
        if not cuts:
            return 0
        head = before[: cuts[-1].start()].strip(" ,;:-\u2013\u2014(")
        allowed = "intro" if cuts[-1].group() == "," else "concession"
        while head:
            if self._is_aside(head) or self._has(allowed, head) or self._english.has_phrase(head):
                break
            first, _, rest = head.partition(",")
            if not self._has("interjection", first):
                return None
            head = rest.strip()
        return cuts[-1].end()

    def _fits(self, kind: str, residue: str) -> bool:
        """May these words stand between the beginning of the clause and a phrase of this kind?"""
        if self._has("reported", residue.rstrip()):
            return False
        if kind in _ANY_SUBJECT or (kind == "anaphor" and self._has("source", residue)):
            return True
        if kind in ("sources", "impersonal"):
            residue = self._english["determiners"].sub("", residue)
        return self._has("residue", residue.strip())

    def _answers(self, sentence: str, begin: int, end: int) -> bool:
        """Does what follows the phrase, which lies between `begin` and `end`, give an answer?"""
        after = sentence[end:]
        if self._has("guess", after):
            return True
        rest = self._english["contrast"].split(after)[1:]
        if self._has("conceding", sentence[:end]):
            rest.append(after.partition(",")[2])
        parts = (part.strip(" ,.!-()") for part in rest)
        return not all(self._is_aside(p) or self._english.has_phrase(p) for p in parts if p)

    def _is_aside(self, text: str) -> bool:
        """Talk about the sources, a courtesy, an interjection or a question: no answer in it."""
        text = self._english["label"].sub("", text)
        parts = ("source", "courtesy", "interjection")
        return not text or text.endswith("?") or any(self._has(part, text) for part in parts)

    def _has(self, section: str, text: str) -> bool:
        pattern = self._english[section]
        return (pattern.search(text) if section in _ANYWHERE else pattern.match(text)) is not None


def _lower_plainly(text: str) -> str:
    """Lower case with composed letters and straight quotes."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    return unicodedata.normalize("NFC", lowered).translate(_PLAIN)


def _has_any(text: str, cues: list[str]) -> bool:
    for cue in cues:  # noqa: SIM110 - any() over a generator takes twice as long
        if cue in text:
            return True
    return False


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


def _is_title(phrase: str) -> bool:
    words = phrase.split()[1:]
    return bool(words) and all(w[0].isupper() for w in words) and not phrase.isupper()


# How far they carry: on tests/data/abstention_held.jsonl, which was written before the rules.
REFUSAL_RULES = RefusalRules("rules-3", RULES_FOLDER, labeled=177, precision=0.988, recall=0.953)
