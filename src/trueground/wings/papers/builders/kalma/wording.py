"""Triples as simple sentences, by the part of speech of their relation (Li et al. 2024, A.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Literal

import msgspec

from trueground.text import GraphTriple
from trueground.wings.papers.builders.kalma.items import read_words

Part = Literal["noun", "verb", "adjective"]
# The paper has three templates and does not print them. Ours: a noun is had, a verb is done, and an
# adjective, a participle or what ends in a preposition is been.
_TEMPLATES: Mapping[Part, str] = {
    "noun": "{name}'s {relation} is {value}.",
    "verb": "{name} {relation} {value}.",
    "adjective": "{name} is {relation} {value}.",
}
_ASIDE = re.compile(r"\s*\([^()]*\)")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PARTICIPLE = re.compile(r"[a-z]{2,}(?<!e)ed\Z")


def say(name: str, relation: str, value: str) -> str:
    """The sentence that says the triple; white space is collapsed."""
    words = " ".join(relation_words(relation))
    text = _TEMPLATES[part_of_speech(relation)].format(name=name, relation=words, value=value)
    return " ".join(text.split())


def wording_sha256() -> str:
    """Of all that fixes the sentences, the lists of words included."""
    lists = {name: sorted(words) for name, words in read_words("relation_words").items()}
    return sha256(msgspec.json.encode((_TEMPLATES, lists), order="sorted")).hexdigest()


def relation_words(relation: str) -> list[str]:
    """The words of a relation's name: `place_of_birth`, `livesIn`; asides in brackets left out."""
    text = GraphTriple.plain_property(relation)
    bare = _ASIDE.sub("", text).strip() or text
    return _HUMP.sub(" ", bare).split() if " " not in bare else bare.split()


def part_of_speech(relation: str) -> Part:
    """Noun, verb or adjective, told by the relation's words alone.

    A verb: the first word is one of a short list ("succeeds", "participated in"). An adjective, a
    participle or a preposition: the last word is a preposition ("influenced by", "student of"), or
    the second is one and the first is a participle or of a list ("nominated for", "part of the
    series"), or all there is is a preposition with its object. All else is a noun.
    """
    words = [word.casefold() for word in relation_words(relation)]
    lists = read_words("relation_words")
    if words[0] in lists["verbs"] and words[0] not in lists["states"]:
        return "verb"
    if words[-1] in lists["prepositions"] or words[0] in lists["prepositions"]:
        return "adjective"
    joined = len(words) > 1 and words[1] in lists["prepositions"]
    state = words[0] in lists["states"] or _PARTICIPLE.match(words[0]) is not None
    return "adjective" if joined and state else "noun"
