"""Refusals in languages other than English, by the rule files data/refusals_v3/LANGUAGE.txt.

A rule file is compiled when a text first contains one of its cues. Patterns and texts are compared
without diacritics, because people and models often leave them out.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

RULES_FOLDER = Path(__file__).parent / "data" / "refusals_v3"

_SECTION = re.compile(r"\[([a-z_]+)\]")
_MACRO = re.compile(r"<([A-Z]+)>")
# `\b` is of no use in scripts whose vowel signs are no word characters, such as Devanagari.
_SEPARATORS = r"\s,.;:!?…()\[\]\"'/\u2013\u2014\u0964\u06d4\u060c\u061b\u061f-"
_START, _END = rf"(?<![^{_SEPARATORS}])", rf"(?![^{_SEPARATORS}])"
_COMMA = re.compile("[,\u060c\uff0c\u3001:]")
_EDGES = " \t\n,.;:!?…()-\u2013\u2014\u0964\u06d4\u060c\u061b\u061f\u3002\uff0c\uff01\uff1f\u3001"
_UNFOLDED = ("\u3040", "\ud7ff")  # from kana to Hangul: their marks are part of the letter
# Letters that are not a base letter with a mark; Arabic and Urdu write kaf and yeh differently.
_FOLDED = str.maketrans("łđøı\u0649\u06cc\u06a9", "ldoi\u064a\u064a\u0643")
_WHOLE_CLAUSE = "whole"
_WORD = re.compile(r"[^\W\d_]+")
_TO_SPACE = bytes(code if chr(code).isalpha() else 32 for code in range(128)).ljust(256)


class FoldedText(NamedTuple):
    """A lower-case text without diacritics, and the offset of each character in the original."""

    text: str
    offsets: list[int]


def read_sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section of a rule file, without comments and blank lines.

    Spaces at the ends of a line are part of it.
    """
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if header := _SECTION.fullmatch(line):
            lines = sections.setdefault(header[1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return sections


def expand_macros(pattern: str, macros: dict[str, str]) -> str:
    """Replace each <NAME> in a pattern by its macro."""
    return _MACRO.sub(lambda name: macros[name[1]], pattern)


def read_macros(lines: list[str]) -> dict[str, str]:
    """Read "NAME = pattern" lines; a pattern may use the macros before it."""
    macros: dict[str, str] = {}
    for line in lines:
        name, _, pattern = line.partition(" = ")
        macros[name] = expand_macros(pattern, macros)
    return macros


def fold(text: str) -> str:
    """Remove the diacritics of a lower-case text."""
    if text.isascii():
        return text
    return "".join(map(_fold_character, text))


@cache
def _fold_character(character: str) -> str:
    if character.isascii() or _UNFOLDED[0] <= character <= _UNFOLDED[1]:
        return character
    decomposed = unicodedata.normalize("NFD", character.translate(_FOLDED))
    return "".join(part for part in decomposed if not unicodedata.combining(part)).lower()


def _fold_with_offsets(text: str) -> FoldedText:
    pieces = [_fold_character(character) for character in text]
    offsets = [i for i, piece in enumerate(pieces) for _ in piece]
    return FoldedText("".join(pieces), [*offsets, len(text)])


class Language:
    """The rules of one language."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._sections = read_sections(text)
        self.cues = _with_folded(self._sections.get("cues", []))
        self.cue_parts = _with_folded(self._sections.get("cue_parts", []))

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        lines = self._sections
        macros = read_macros(lines.get("words", []))
        spaced = "unspaced" not in lines
        patterns = {}
        for name in ("refusal", "anaphor", _WHOLE_CLAUSE, "source", "contrast", "reported"):
            either = "|".join(expand_macros(line, macros) for line in lines.get(name, ["(?!)"]))
            pattern = fold(f"(?:{either})")
            if spaced:
                pattern = rf"{_START}{pattern}{_END}"
            patterns[name] = re.compile(pattern)
        return patterns

    def find_refusal(
        self, sentence: str, *, after_source: bool = False, whole: bool = True
    ) -> tuple[int, int] | None:
        """Find where a lower-case sentence declines.

        Args:
            sentence: Lower-case text with straight quotes.
            after_source: Whether the text before the sentence is about the sources.
            whole: Whether a bare "Unknown." declines.

        Returns:
            The span, or None if the sentence does not decline or answers all the same.
        """
        folded = _fold_with_offsets(sentence)
        span = None
        begin = 0
        for contrast in [*self._patterns["contrast"].finditer(folded.text), None]:
            end = contrast.start() if contrast else len(folded.text)
            clause = folded.text[begin:end]
            found = self._find_in_clause(clause, after_source, whole)
            if found is not None and span is None:
                span = begin + found[0], begin + found[1]
            elif found is None and not self._is_folded_aside(clause):
                return None
            after_source = True
            begin = contrast.end() if contrast else end
        if span is None:
            return None
        return folded.offsets[span[0]], folded.offsets[span[1] - 1] + 1

    def is_aside(self, sentence: str) -> bool:
        """Whether a lower-case sentence only describes the sources, or is a courtesy."""
        return self._is_folded_aside(fold(sentence))

    def _find_in_clause(
        self, clause: str, after_source: bool, whole: bool
    ) -> tuple[int, int] | None:
        plain = clause.strip(_EDGES)
        if self._patterns[_WHOLE_CLAUSE].fullmatch(plain):
            start = clause.index(plain)
            return (start, start + len(plain)) if whole else None
        match = self._patterns["refusal"].search(clause)
        if match is None and after_source:
            match = self._patterns["anaphor"].search(clause)
        if match is None or self._patterns["reported"].search(clause, 0, match.start()):
            return None
        # What is before the comma of a refusal may be an answer: "In 1903, I don't know by whom."
        *before, _ = _COMMA.split(clause[: match.start()])
        return match.span() if all(map(self._is_folded_aside, before)) else None

    def _is_folded_aside(self, text: str) -> bool:
        plain = text.strip(_EDGES)
        return not plain or self._patterns["source"].match(plain) is not None


@cache
def languages() -> tuple[Language, ...]:
    """Return all languages that have a rule file, except English."""
    paths = sorted(RULES_FOLDER.glob("*.txt"))
    return tuple(
        Language(path.stem, path.read_text("utf-8")) for path in paths if path.stem != "en"
    )


def find_languages(lowered: str) -> list[Language]:
    """Return the languages of which a lower-case text contains a cue."""
    by_cue = _languages_by_cue()
    found: set[Language] = set()
    words = _words(lowered)
    if not by_cue.keys().isdisjoint(words):
        found.update(*(by_cue[word] for word in words if word in by_cue))
    for part, language in _cue_parts(lowered.isascii()):
        if part in lowered:
            found.add(language)
    return sorted(found, key=lambda language: language.name) if found else []


def _words(lowered: str) -> list[str]:
    """Return the runs of letters; a translation takes a fraction of the time of a search."""
    if lowered.isascii():
        return lowered.encode("ascii").translate(_TO_SPACE).decode("ascii").split()
    return _WORD.findall(lowered)


def _with_folded(cues: list[str]) -> frozenset[str]:
    return frozenset(cues).union(map(fold, cues))


@cache
def _languages_by_cue() -> dict[str, list[Language]]:
    by_cue: dict[str, list[Language]] = {}
    for language in languages():
        for cue in language.cues:
            by_cue.setdefault(cue, []).append(language)
    return by_cue


@cache
def _cue_parts(ascii_only: bool) -> tuple[tuple[str, Language], ...]:
    parts: list[tuple[str, Language]] = []
    for language in languages():
        parts.extend((part, language) for part in sorted(language.cue_parts))
    return tuple(pair for pair in parts if pair[0].isascii() or not ascii_only)
