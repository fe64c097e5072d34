"""Whole sentences: copied, shortened, joined, turned (supported); detail added, foreign (not)."""

from __future__ import annotations

import itertools
import random
import re

from training.offline_judge.names import lists
from training.offline_judge.sources import Pool, Source, content
from training.offline_judge.writing import Changed, drop
from trueground.text.words import WORD_LISTS

_TAIL = re.compile(
    r"(?:,? (?:although|though|because|while|whereas|but|followed by|and (?:he|she|it|they|is|was|"
    r"are|were|has|had|have|also))|, ?(?:which|where|who|including|with [a-z]+ing))\b[^()]*\.$"
)
_UNFINISHED = re.compile(
    r"(?:\b(?:those|these|that|at|of|in|to|on|with|and|the|a|an|for|by|from|is|was|as)|"
    r"[—–:;,-]) ?\.$"
)
_PARENTHESIS = re.compile(r" ?\([^()]{3,}\)")
_LEAD = re.compile(r"^(?:In|On|At|During|Since) [^,]*\d[^,]*, (?=[A-Z]|(?:he|she|it|they|the|a) )")
_DEPENDS = re.compile(
    r"^(?:If|When|While|As|Although|Though|After|Before|Since|Because|Unless|Not|Whether|Where)\b"
)
_LOW = frozenset(lists()["names"]["lowered"].split())
_PARTICIPLES = {
    part.partition("=")[0]: part.partition("=")[2] or part
    for part in lists()["verbs"]["passive"].split()
}
_PAST = {past: participle for participle, past in _PARTICIPLES.items()}
_THING = r"(?:[Tt]he |[Aa]n? |[Hh]is |[Ii]ts |[Tt]heir |[A-Z])[\w'’ -]{1,45}?"
_REST = r"(?P<r>(?: (?:in|on|at|for|during|after)\b(?:(?! and )[^,;])*)?) ?\."
_BY = re.compile(
    rf"(?P<o>{_THING}) (?:was|were) (?P<v>{'|'.join(_PARTICIPLES)}) by (?P<s>{_THING}){_REST}"
)
_DID = re.compile(rf"(?P<s>{_THING}) (?P<v>{'|'.join(_PAST)}) (?P<o>{_THING}){_REST}")
_NOT_PLAIN = re.compile(
    r"\b(?:and|or|who|that|which|to|by|not|also|is|was|were|has|have|had|in|on|at|from|with|for|as|"
    r"but|it|he|she|they|we|you|this|be|been|get|throughout|year|"
    r"of two|[a-z]+ed|[a-z]+ly)\b|['’](?:s|re|ve|t) ?(?:\w+ed)?$|\d",
    re.I,
)
_DETAIL = re.compile(
    r" (?:in|on|at|during|after|because of|despite|with|for) (?:the |a |an |his |her |its )?"
    r"(?:[A-Z\d][\w,]*|[a-z]+)(?: (?:[\w-]+)){0,5}\.$"
)
_OWN = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|its|their|this|that|these|which|who|not|said|and|to)\b"
)
_POINTS_BACK = re.compile(
    r"^(?:He|She|It|They|This|That|These|Those|His|Her|Its|Their|Such|But|And|However|There)\b"
)
_EMPTY = frozenset(("with", "during", "after", "because", "despite"))


def copied(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """A sentence of the text as it stands."""
    return Changed(claim, "", "") if source.says(claim) else None


def shortened(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """A last clause, a parenthesis or an opening date left out; what is left still holds."""
    if _DEPENDS.search(claim) or re.search(
        r"\b(?:if|unless|between|both|either|not only)\b", claim
    ):
        return None
    for pattern in rng.sample((_TAIL, _PARENTHESIS, _LEAD), 3):
        match = pattern.search(claim)
        if match is None:
            continue
        end = match.end() - (pattern is _TAIL)
        changed = drop(claim, match.start(), end)
        words = changed.claim.split()
        open_clause = re.search(r"\b(?:which|who|where|whose|that)\b", changed.claim)
        if (
            len(words) >= 5
            and not _UNFINISHED.search(changed.claim)
            and any(WORD_LISTS.is_finite(w) for w in words)
            and not open_clause
        ):
            return changed
    return None


def joined(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """The sentence and the next one of the text as one."""
    for run in source.runs:
        for one, other in itertools.pairwise(run):
            if one == claim and not re.match(
                r"(?:But|And|However|Or|So|Then|Do|Don['’]t)\b", other
            ):
                first, rest = other.split(" ", 1)
                first = first.lower() if first in _LOW else first
                return Changed(f"{one[:-1].rstrip()}, and {first} {rest}", "", other)
    return None


def turned(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Active for passive and back, in simple sentences: A founded B ⇄ B was founded by A."""
    passive = _BY.fullmatch(claim)
    match = passive or _DID.fullmatch(claim)
    if match is None or _NOT_PLAIN.search(match["s"]) or _NOT_PLAIN.search(match["o"]):
        return None
    if not (passive or _is_doer(source, match["s"])):
        return None
    doer, done, rest = match["s"], match["o"], match["r"]
    if passive:
        new = f"{_upper(doer)} {_PARTICIPLES[match['v']]} {_lower(done)}{rest}."
    else:
        head = done.split(" of ")[0]
        single = re.match(r"(?:[Aa]n? |[A-Z])", done) or re.search(r"(?:[^s]|ss|is|us)$", head)
        be = "was" if single else "were"
        new = f"{_upper(done)} {be} {_PAST[match['v']]} by {_lower(doer)}{rest}."
    return Changed(new, match["v"], "active" if passive else "passive")


def _is_doer(source: Source, phrase: str) -> bool:
    """Whether the phrase that opens a sentence is a name, or has an article or a possessive."""
    if phrase.split()[0] in _LOW:
        return True
    within = re.search(rf"[a-z,] {re.escape(phrase)}\b", source.text)
    return within is not None and all(word[0].isupper() for word in phrase.split())


def _upper(phrase: str) -> str:
    return phrase[0].upper() + phrase[1:]


def _lower(phrase: str) -> str:
    first, _, rest = phrase.partition(" ")
    return f"{first.lower()} {rest}" if first in _LOW else phrase


def detail_added(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """A circumstance from a sentence of another text at the end: "… in March 2004"."""
    others = pool.with_sentences(source.set)
    for _ in range(12):
        sentence = rng.choice(rng.choice(others).sentences)
        match = _DETAIL.search(sentence)
        if match is None or _OWN.search(match[0]) or sentence in source.text:
            continue
        new = match[0][:-1]
        words = [
            w for w in content(new) if w not in ("with", "during", "after", "because", "despite")
        ]
        told = re.search(r"\d|[A-Z]|\b(?:because|despite)\b", new)
        if told and words and not set(words) & source.words:
            return Changed(f"{claim.rstrip('. ')}{new}.", "", new.strip())
    return None


def other_sentence(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """A sentence of another text about something alike, which this text does not say."""
    found = []
    for other in pool.related(source):
        for sentence in other.sentences:
            words = set(content(sentence))
            share = len(words & source.words) / max(1, len(words))
            if 0.2 <= share <= 0.6 and not _POINTS_BACK.match(sentence):
                found.append(sentence)
        if len(found) > 4:
            break
    return Changed(new, claim, new) if found and (new := rng.choice(found)) else None
