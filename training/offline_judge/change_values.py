"""Numbers, dates and units: written in another way (supported) or changed (unsupported)."""

from __future__ import annotations

import itertools
import random
import re

from training.offline_judge.names import lists, pairs
from training.offline_judge.sources import Pool, Source
from training.offline_judge.writing import Changed, put
from trueground.judges.lexical.numerals import MONTH_NAMES, NUMBER_WORDS
from trueground.judges.lexical.values import Value, find_values

_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_WORDS = {word: int(n) for word, n in NUMBER_WORDS.items() if 2 <= n <= 20}
_BY_NUMBER = {n: word for word, n in _WORDS.items()}
_IDIOMS = re.compile(r"(?:24/7|9/11|\d{3,}[-–]\d{3,})")
_LONG_DATE = re.compile(
    rf"(?P<d>[1-9]|[12]\d|3[01]) (?P<m>{'|'.join(m.capitalize() for m in MONTH_NAMES)}),? "
    r"(?P<y>[12]\d{3})\b"
)
_US_DATE = re.compile(
    rf"(?P<m>{'|'.join(m.capitalize() for m in MONTH_NAMES)}) (?P<d>[1-9]|[12]\d|3[01]), "
    r"(?P<y>[12]\d{3})\b"
)


def number_near(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Another number of about the same size: 1,194 → 1,149; three → five."""
    return _number(source, claim, rng, _nearby)


def number_digits(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Two neighboring digits exchanged: 1,194 → 1,914."""
    return _number(source, claim, rng, _exchanged)


def number_tenfold(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Ten times as much, or a tenth: 30 → 300; 4.5 → 45."""
    return _number(source, claim, rng, _tenfold)


def _number(source: Source, claim: str, rng: random.Random, way: object) -> Changed | None:
    assert callable(way)
    places = list(_numbers(claim))
    rng.shuffle(places)
    known = {v.amount for v in source.values} | {v.year for v in source.values}
    for start, end in places:
        new = way(claim[start:end], rng)
        if new is None or _amount(new) in known or new == claim[start:end]:
            continue
        changed = put(claim, start, end, new)
        # Read in its place: "30 million" and "300 million" are compared, not 30 and 300.
        now = {v.amount for v in find_values(changed.claim)} - {
            v.amount for v in find_values(claim)
        }
        if now and not now & known:
            return changed
    return None


def _numbers(claim: str) -> list[tuple[int, int]]:
    """Places of plain numbers: digits, or a word from two to twenty; no date, score or code."""
    found = []
    for value in find_values(claim):
        if value.kind != "number" or value.unit == "clock" or _IDIOMS.search(claim):
            continue
        match = _DIGITS.search(claim, value.start, value.end)
        if match and match.start() - value.start <= 4:
            start, end = match.span()
            around = claim[max(0, start - 1) : start] + " " + claim[end : end + 2]
            code = re.search(r"[A-Z]\w+ $", claim[1:start]) and not value.unit  # "Boeing 747"
            if not code and not re.search(r"[\w.,:/–−(-] | [–:/^'’]| -\d|  ?/", around):
                found.append((start, end))
        elif claim[value.start : value.end].split()[0].lower() in _WORDS:
            word = claim[value.start : value.end].split()[0]
            if claim[value.start + len(word) : value.start + len(word) + 1] == " ":
                found.append((value.start, value.start + len(word)))
    return found


def _amount(text: str) -> float:
    return float(_WORDS.get(text.lower(), 0)) or float(text.replace(",", ""))


def _like(old: str, amount: float) -> str:
    """Write the amount as `old` is written: decimals, thousands separators."""
    decimals = len(old.partition(".")[2])
    comma = "," if "," in old or (amount >= 10_000 and decimals == 0) else ""
    return f"{amount:{comma}.{decimals}f}"


def _nearby(old: str, rng: random.Random) -> str | None:
    if old.lower() in _WORDS:
        n = _WORDS[old.lower()]
        return _BY_NUMBER[rng.choice([m for m in _BY_NUMBER if 0 < abs(m - n) <= 3])]
    amount = _amount(old)
    step = 10.0 ** -len(old.partition(".")[2])
    gap = max(step, amount * rng.uniform(0.05, 0.3)) * rng.choice((-1, 1))
    if amount >= 100 and old.replace(",", "").endswith("00"):
        zeros = len(old.replace(",", "")) - len(old.replace(",", "").rstrip("0"))
        gap = max(10.0**zeros, round(abs(gap), -zeros)) * (1 if gap > 0 else -1)
    new = _like(old, amount + gap)
    return new if _amount(new) > 0 else None


def _exchanged(old: str, rng: random.Random) -> str | None:
    digits = [i for i, c in enumerate(old) if c.isdigit()]
    swaps = [
        (a, b)
        for a, b in itertools.pairwise(digits)
        if old[a] != old[b] and not (a == 0 and old[b] == "0")
    ]
    if not swaps:
        return None
    a, b = rng.choice(swaps)
    return old[:a] + old[b] + old[a + 1 : b] + old[a] + old[b + 1 :]


def _tenfold(old: str, rng: random.Random) -> str | None:
    if old.lower() in _WORDS:
        return f"{_WORDS[old.lower()] * 10}"
    amount = _amount(old)
    if amount >= 20 and amount % 10 == 0 and "." not in old and rng.random() < 0.5:
        return _like(old, amount / 10)
    if "." in old:
        return f"{amount * 10:.{max(0, len(old.partition('.')[2]) - 1)}f}"
    return _like(old, amount * 10)


def date_year(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Another year, or decade, near by: 1999 → 1994."""
    known = {v.year for v in source.values}
    for value in _shuffled(_dates(claim), rng):
        match = re.search(r"\b[12]\d{3}(?!\d)", claim[value.start : value.end])
        if match is None or value.years not in (1, 10) or _in_range(claim, value):
            continue
        size = value.years
        new = int(match[0]) + size * rng.choice((-1, 1)) * rng.randint(1, 12 // (size // 4 or 1))
        if new not in known and new < 2030:
            start = value.start + match.start()
            return put(claim, start, start + 4, str(new))
    return None


def date_month(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Another month: May 1999 → October 1999."""
    known = {(v.year, v.month) for v in source.values}
    for value in _shuffled(_dates(claim), rng):
        match = re.search(r"[A-Z][a-z]+", claim[value.start : value.end])
        if match is None or match[0].lower() not in MONTH_NAMES:
            continue
        month = rng.randrange(12)
        if month + 1 != value.month and (value.year, month + 1) not in known:
            start = value.start + match.start()
            return put(claim, start, start + len(match[0]), MONTH_NAMES[month].capitalize())
    return None


def date_day(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """Another day of the month: 3 May → 8 May."""
    known = {(v.month, v.day) for v in source.values}
    for value in _shuffled(_dates(claim), rng):
        match = re.search(r"\b\d{1,2}\b(?!-)", claim[value.start : value.end])
        if match is None or not value.day or int(match[0]) != value.day:
            continue
        day = rng.randint(1, 28)
        if day != value.day and (value.month, day) not in known:
            start = value.start + match.start()
            return put(claim, start, start + len(match[0]), str(day))
    return None


def _dates(claim: str) -> list[Value]:
    return [value for value in find_values(claim) if value.kind == "date"]


def _shuffled(found: list[Value], rng: random.Random) -> list[Value]:
    rng.shuffle(found)
    return found


def _in_range(claim: str, value: Value) -> bool:
    """Whether the year is part of "1914–18" or of a code."""
    around = claim[max(0, value.start - 1) : value.start] + " " + claim[value.end : value.end + 1]
    return re.search(r"[\w–/-] | [–/\w-]", around) is not None and value.years == 1


def unit(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """The same number with another unit or currency: 3 km → 3 miles; $5 → £5."""
    signs = dict(entry.strip().split("=") for entry in lists()["units"]["signs"].split(";"))
    money = list(re.finditer(r"[$£€](?=\d)", claim))
    measured = [
        (one, other)
        for one, other in pairs("units")
        if one in claim and (re.search(rf"\d ?{re.escape(one)}\b", claim) or _counted(claim, one))
    ]
    if money and (not measured or rng.random() < 0.5):
        match = rng.choice(money)
        return put(claim, match.start(), match.end(), signs[match[0]])
    for one, other in rng.sample(measured, len(measured)):
        place = re.search(rf"(?<=[\d ]){re.escape(one)}\b(?![-'’])", claim)
        amount = claim[: place.start()].rstrip().rsplit(" ", 1)[-1] if place else ""
        counts = amount[-1:].isdigit() or amount.lower() in _WORDS
        year = re.fullmatch(r"(?:19|20)\d\d", amount)
        said = re.search(rf"{re.escape(amount)}[ -]?{re.escape(other)}", source.text, re.I)
        if place and counts and not year and not said:
            return put(claim, place.start(), place.end(), other)
    return None


def _counted(claim: str, name: str) -> bool:
    words = claim.split(" ")
    return any(b.strip(".,") == name and a.lower() in _WORDS for a, b in itertools.pairwise(words))


def value_from_text(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """A number or year that the text gives for something else, in place of the right one."""
    mine = [v for v in find_values(claim) if _bare(claim, v)]
    rng.shuffle(mine)
    said = {v.amount for v in find_values(claim)}
    for value in mine:
        old = _DIGITS.match(claim, value.start)
        others = sorted(
            {n for v in source.values if (n := _stands_for(source.text, v, value, claim))}
        )
        others = [new for new in others if _amount(new) not in said]
        if old and others:
            return put(claim, value.start, old.end(), rng.choice(others))
    return None


def _stands_for(text: str, other: Value, value: Value, claim: str) -> str | None:
    """The digits of `other` in the text where they may stand in the place of `value`: same kind,
    unit and way of writing, and about the same size."""
    if other.kind != value.kind or not _bare(text, other) or not _alike(other.amount, value.amount):
        return None
    theirs, mine = _DIGITS.match(text, other.start), _DIGITS.match(claim, value.start)
    if theirs is None or mine is None or theirs[0] == mine[0]:
        return None
    written = text[theirs.end() : other.end] == claim[mine.end() : value.end]
    return theirs[0] if written and ("." in theirs[0]) == ("." in mine[0]) else None


def _bare(text: str, value: Value) -> bool:
    """Whether it is a number in digits or a lone year."""
    spelled = text[value.start : value.end]
    before, after = text[max(0, value.start - 1) : value.start], text[value.end : value.end + 1]
    free = not re.search(r"[\w.,:/–-]", before) and not re.search(r"[\w:/–-]", after)
    if value.kind == "date":
        return free and value.amount is not None and spelled.isdigit()
    return free and value.kind == "number" and spelled[0].isdigit() and value.unit != "clock"


def _alike(one: float | None, other: float | None) -> bool:
    """Whether two amounts are of about one size, so that either may stand for the other."""
    return one is not None and other is not None and 0.05 <= (one + 1) / (other + 1) <= 20


def respelled(source: Source, claim: str, pool: Pool, rng: random.Random) -> Changed | None:
    """The same number or date in another spelling: 1,194 → 1194; 3 May 1999 → May 3, 1999."""
    ways = [_other_date, _other_thousands, _other_word, _other_percent]
    rng.shuffle(ways)
    for way in ways:
        if changed := way(claim):
            return changed
    return None


def _other_date(claim: str) -> Changed | None:
    if match := _LONG_DATE.search(claim):
        return put(claim, *match.span(), f"{match['m']} {match['d']}, {match['y']}")
    if match := _US_DATE.search(claim):
        end = match.end() + (claim[match.end() : match.end() + 1] == ",")
        return put(claim, match.start(), end, f"{match['d']} {match['m']} {match['y']}")
    return None


def _other_thousands(claim: str) -> Changed | None:
    if match := re.search(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,]|\.\d)", claim):
        return put(claim, *match.span(), match[0].replace(",", ""))
    if match := re.search(r"(?<![\d.,\w$£€])(\d{1,2}) million\b", claim):
        return put(claim, *match.span(), f"{match[1]},000,000")
    return None


def _other_word(claim: str) -> Changed | None:
    for start, end in _numbers(claim):
        word = claim[start:end]
        if word.lower() in _WORDS:
            return put(claim, start, end, str(_WORDS[word.lower()]))
        free = claim[start - 1 : start] == " " and claim[end : end + 1] == " "
        free = free and claim[end : end + 3] != " th"
        if free and word.isdigit() and int(word) in _BY_NUMBER:
            return put(claim, start, end, _BY_NUMBER[int(word)])
    return None


def _other_percent(claim: str) -> Changed | None:
    if match := re.search(r"(?<=\d)(?: ?%| per ?cent\b)", claim):
        return put(claim, *match.span(), " percent" if "%" in match[0] else "%")
    return None
