"""Single words: a synonym (supported); negation, quantity, opposite, hedge (unsupported)."""

from __future__ import annotations

import random
import re

from training.offline_judge.names import pairs
from training.offline_judge.sources import Pool, Source
from training.offline_judge.writing import Changed, drop, put, words_of

_AUX = re.compile(r"\b(?:is|are|was|were|can|will|would|should)\b(?! not|n't|n’t| n't)")
_HAS = re.compile(
    r"\b(?:has|have|had)(?= (?:been|become|made|won|had|taken|given|done|[a-z]+(?<!ne)ed)\b)"
)
_NO_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nor|neither|n't|without|only|unless|nobody|nothing|hardly|either|any|"
    r"anything|anyone)\b|n['’]t\b",
    re.I,
)
_WHOLE = re.compile(r"\b(?:not (?:only|just|necessarily|merely|all|until|yet)|whether or not)\b")
# (pattern, what is put): the first group stays.
_HELPS = r"(\b(?:is|are|was|were|has|have|had|would|could|should|do|does|did"
_DENIALS = tuple(
    (re.compile(pattern), new)
    for pattern, new in (
        (_HELPS + r"|can|will) )(?:not|never) ", ""),
        (_HELPS + r"))n['’]t(?= (?!be\b))", ""),
        (r"()\b(?:cannot|can['’]t)\b", "can"),
        (r"()\bwon['’]t\b", "will"),
        (r"()\bwithout (?=(?:a|an|any|the|his|her|its|their)\b)", "with "),
        (
            r"(\b(?:is|are|was|were|has|had|have|with|of) )no (?!longer|more|one)(?=[a-z]+)",
            "a lot of ",
        ),
    )
)
# A possibility → what makes a fact of it.
_MAY = re.compile(
    r"\b(?:(?:may|might)(?= (?!not\b|have\b|well\b|also\b|or\b)[a-z]{2,}\b)"
    r"|could(?= (?:soon|eventually|face|lead|cause) ))"
)
_LIKELY = re.compile(
    r"\b(?:is|are) (?:likely|expected|set|thought|believed|hoping) to(?! have\b)(?= [a-z])"
)
_ASKED = re.compile(
    r"\b(?:perhaps|maybe|likely|probability|required|seem(?:s|ed)?|would)\b|"
    r"\b(?:whether|if|asked|wondered|unless|some|how|"
    r"may (?:seem|be used|choose|find|want|apply))\b|^(?:Some|Many)\b",
    re.I,
)
_HEDGES = (
    (re.compile(r"\b(?:allegedly|reportedly|probably|supposedly) "), ""),
    (re.compile(r"\b(?:alleged|suspected) (?=[a-z]{4,})"), ""),
    (re.compile(r"\baccused of\b"), "convicted of"),
    (re.compile(r"\bsuggests that\b"), "proves that"),
    (re.compile(r"\bsuggest that\b"), "prove that"),
    (re.compile(r"\bsuggested that\b"), "proved that"),
    (re.compile(r"(?<=\b(?:he|it) )(?:plans|hopes|intends|wants)(?= to [a-z]+)"), "has agreed"),
    (re.compile(r"(?<=\b(?:she|who) )(?:plans|hopes|intends|wants)(?= to [a-z]+)"), "has agreed"),
    (re.compile(r"\b(?:claims|claimed) that\b"), "proved that"),
)


def synonym(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """A word of the same meaning in the same inflection: purchased → bought."""
    found = words_of(claim, pairs("synonyms"), rng)
    return put(claim, *found[0].span(), found[1]) if found else None


def opposite(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """The opposite word: increased → decreased."""
    found = words_of(claim, pairs("opposites"), rng)
    if found is None or _NO_DENIAL.search(claim) or _idiom(claim, found[0]):
        return None
    return put(claim, *found[0].span(), found[1])


def _idiom(claim: str, place: re.Match[str]) -> bool:
    """Whether the word stands in a phrase that has no opposite: "after all", "better known"."""
    near = claim[max(0, place.start() - 12) : place.end() + 12]
    phrases = (
        r"after all|looked? after|named? after|better known|best known|more or less|more than|"
        r"at (?:most|least|best)|before long|once more|no longer|longer than|well known|known as|"
        r"early on|and more|most of|or more|as possible|day[- ]to|per day|a day|days?\b-|day,|"
        r"north[- ](?:east|west)|father[- ]in|in the public|likely to|of the day|long(?:er)?-|-old|"
        r"won['’]t|both (?:men|boys)|(?:men|boys) and (?:wo|gi)|"
        r"(?:male|husband|brother|father) and|white hot|"
        r"(?:import|buy|buying|win|positive|public|advantages) (?:and|or)|and (?:ex|sell|lose|neg)|"
        r"(?:even|much|no|any) more|more [a-z]+(?:ed|ing|ly|al|ous|ive|ant|ent|ful|ble|ic)\b|"
        r"most [a-z]+(?:ed|ing|ly|al|ous|ive|ant|ent|ful|ble|ic|lar)\b"
    )
    return re.search(phrases, near, re.I) is not None


_TAKES_NO = re.compile(r"(?:^|, |\b(?:for|in|with|on|from|that|to|at|by) )$")
_NOUN = (
    r"(?!(?:the|of|these|those|this|his|her|its|their|our|my|year|other|while|while|along|about|"
    r"around|over|across|time|round|kinds|two|three|four)\b)[a-z]{4,}"
)
_MANY = r"(?:[a-z]+ )?[a-z]+(?<!s)s\b"
_COUNTED = (
    r"(?:\b(?:so|as|how|too|the|last|past|next|these|those|not|a|an|their|his|her|its|my|our|your|"
    r"two|three|\w+['’]s)\s+|- ?)$"
)


def quantity(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """A stronger or contrary quantity: some → all; always → never; at least → at most."""
    found = words_of(claim, pairs("quantifiers"), rng)
    if found is None or _NO_DENIAL.search(claim):
        return None
    place, new = found
    before, after = claim[: place.start()], claim[place.end() :].lstrip()
    if after[:1].isupper() or before.endswith(("'", "’")):  # "Some Great Reward", "y'all"
        return None
    if place[0] == "over" and not re.match(r"\d|[$£€]", after):
        return None
    if new == "no" and not (_TAKES_NO.search(before) and re.match(_NOUN, after)):
        return None
    if place[0] in ("few", "many", "most", "all") and re.match(r"(?:of|the)\b", after):
        return None
    if place[0] == "half of" and re.search(r"\b(?:first|second|other|top|bottom) $", before):
        return None
    if place[0] == "some" and before:
        return None
    if place[0] in ("many", "few", "most") and not re.match(_MANY, after):
        return None
    if place[0] in ("many", "few", "most") and re.search(_COUNTED, before):
        return None
    return put(claim, *place.span(), new)


_SUBORDINATE = re.compile(r"\b(?:that|which|who|if|what|when|where|while|as)\b")
_ADVERBS = re.compile(r" (?:also|still|already|now|just|so|too|then)\b")


def negation_added(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """A "not" behind the first auxiliary of a claim that denies nothing."""
    if _NO_DENIAL.search(claim) or re.match(r"(?:If|When|While|As|Although|Some|Many)\b", claim):
        return None
    place = min(
        (m for p in (_AUX, _HAS) if (m := p.search(claim))), key=lambda m: m.start(), default=None
    )
    if place is None or _SUBORDINATE.search(claim[: place.start()]):
        return None
    if _ADVERBS.match(claim, place.end()):
        return None
    changed = claim[: place.end()] + " not" + claim[place.end() :]
    return Changed(changed, place[0], place[0] + " not")


def negation_removed(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """The only denial of a claim left out: is not → is; without → with; cannot → can."""
    if _WHOLE.search(claim) or len(_NO_DENIAL.findall(claim)) + claim.count("cannot") != 1:
        return None
    for pattern, new in _DENIALS:
        if match := pattern.search(claim):
            changed = claim[: match.end(1)] + new + claim[match.end() :]
            return Changed(changed, match[0], match[1] + new)
    return None


def hedge_removed(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """What the text holds possible, said as a fact: may cause → will cause."""
    if _ASKED.search(claim):
        return None
    if match := _MAY.search(claim):
        return put(claim, *match.span(), rng.choice(("will", "will certainly")))
    if match := _LIKELY.search(claim):
        return put(claim, *match.span(), "will")
    for pattern, new in rng.sample(_HEDGES, len(_HEDGES)):
        if match := pattern.search(claim):
            return put(claim, *match.span(), new) if new else drop(claim, *match.span())
    return None
