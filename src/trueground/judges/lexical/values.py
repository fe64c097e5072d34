"""Numbers, dates and amounts in English text as values that can be compared.

"1.2 million" is 1,200,000; "four" is 4; "1 May 2020", "May 1, 2020" and "2020-05-01" are one day,
"November 1871" and "1871-11" one month; "3 km" and "3,000 metres" are one length. "5M users" are
5,000,000 and "1.5k" is 1,500; "03/04/2020" is 4 March or 3 April.
"""

from __future__ import annotations

import re

import msgspec

from trueground.judges.lexical.numerals import (
    MONTHS,
    NUMBER_WORDS,
    ORDINAL_WORDS,
    SCALES,
    number_in_words,
    unit_at,
)
from trueground.stats import log

_MONTH = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<d>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<y>[12]\d{3})(?![\d,.]\d)"
_ERA = r"(?:\s?(?P<era>BCE?|B\.C\.(?:E\.)?|CE|AD)\b)?"
_DATES = (
    re.compile(r"(?P<y>\d{4})[-/](?P<m>[01]?\d)[-/](?P<d>[0-3]?\d)\b"),
    re.compile(r"(?P<a>\d{1,2})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4})\b"),
    re.compile(rf"{_DAY}(?:\s+of)?[\s-]+(?P<mon>{_MONTH})(?:,?[\s-]+{_YEAR})?", re.I),
    re.compile(r"(?P<y>\d{3}0)['’]?s\b"),
    re.compile(rf"(?P<c>\d{{1,2}})(?:st|nd|rd|th)[\s-]+centur(?:y|ies)\b{_ERA}", re.I),
)
# Dates as knowledge graphs write them (ISO 8601): "1871-11" and, before our era, "-0044".
_YEAR_MONTH = re.compile(r"(?P<y>[012]\d{3})-(?P<m>0[1-9]|1[0-2])(?![-/\d]|\.\d)")
_DATED = re.compile(r"(?:date|time|birth|death|born|died|inception)[^:.;\n]{0,30}:\s*$", re.I)
_REACH = 50  # characters before a value that may name its property
_DATE_HINT = re.compile(
    rf"\d{{1,4}}(?:[-/.]\d|(?:st|nd|rd|th)?(?:\s+of)?[\s-]+(?:{_MONTH}|centur)|['’]?s\b)", re.I
)
_MONTH_DATE = re.compile(
    rf"(?P<mon>{_MONTH})(?:\s+(?:the\s+)?{_DAY}(?!\d|,\d|\.\d)"
    rf"(?:,?\s+{_YEAR})?|,?\s+(?:of\s+)?(?P<y2>[12]\d{{3}})\b)?",
    re.I,
)
_NUMBER = re.compile(
    r"(?P<cur>(?:US|A|C|HK)?[$€£¥₹]\s?)?"
    r"(?P<int>\d{1,3}(?:[,\u202f\u00a0]\d{3})+(?!\d)|\d{1,100}(?!\d))"
    r"(?P<frac>\.\d+)?(?P<ord>st\b|nd\b|rd\b|th\b)?"
    r"(?:[\s-]?(?P<scale>hundred|thousand|million|billion|trillion|mn|bn|[mkKMB](?=\b))\b)?"
)
# People and what they do is counted in millions, and measured in neither metres nor kelvins.
_COUNTED = re.compile(
    r" (?:(?:active|daily|monthly|new|unique) )*(?:people|users|views|viewers|visitors|customers"
    r"|subscribers|followers|members|workers|voters|votes|residents|inhabitants|downloads|copies"
    r"|jobs|homes|deaths|cases)\b"
)
_CLOCK = re.compile(
    r"(?P<h>[0-2]?\d):(?P<min>[0-5]\d)(?::\d\d)?\b(?:\s?(?P<half>[ap])\.?m\b)?", re.I
)
_YEAR_ERA = re.compile(r"\s?(BCE?\b|B\.C\.)")
_CURRENCIES = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_MONTH_NEEDS = re.compile(
    r"(?:\b(?:in|on|since|by|until|till|of|last|next|this|early|late|mid)[ -])$", re.I
)
_FRACTION = re.compile(
    r"(?:(?P<half>half)(?: of| the)\b|(?P<n>one|two|three|four|a)[ -]"
    r"(?P<part>third|quarter|fifth|half)s?\b(?:[ -]of)?)",
    re.I,
)
# "a" opens a number only before a scale or a part; it is by far the most common candidate.
_BARE_A = re.compile(
    r"a\b(?![\s-]+(?:and\s+)?"
    r"(?:hundred|thousand|million|billion|trillion|dozen|third|quarter|fifth|half))",
    re.I,
)
# What `re.IGNORECASE` takes for s and i, though `str.lower` makes other letters of them.
_CASE_VARIANTS = str.maketrans({"ſ": "s", "ı": "i", "İ": "i"})
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5}
_WORD_CENTURY = re.compile(rf"[\s-]+centur(?:y|ies)\b{_ERA}", re.I)
_CANDIDATE = re.compile(r"([$€£¥₹]?\d+)|[^\W\d_]+")
_DIGITS = re.compile(r"([$€£¥₹]?\d+)")

STARTERS = frozenset(MONTHS) | frozenset(NUMBER_WORDS) | frozenset(ORDINAL_WORDS) | {"half", "a"}
# "a" opens a value only where one of the others follows.
_WORDS = frozenset(
    word.encode()
    for word in (*STARTERS, *SCALES, *_PARTS, *(f"{part}s" for part in _PARTS))
    if word != "a"
)
_LETTERS = bytes(ord(c.lower()) if (c := chr(code)).isalpha() else 32 for code in range(128)).ljust(
    256
)
_OPENERS = STARTERS | {word.capitalize() for word in STARTERS} | {w.upper() for w in STARTERS}
_CONVERTED = 0.02  # from one system of units to another, values are rounded: 5 miles are 8 km
ABOUT = 0.05  # "about 40,000" for 41,200
EXACT = 1e-9


class Value(msgspec.Struct, frozen=True, gc=False):
    """One number, amount, ordinal or date at `start`…`end` of its text.

    `kind` is "number", "ordinal" or "date". A number has `amount` in the base of its `unit` (None:
    a bare count); `scale` is what one of the written unit is in that base. A date has the parts
    that were written (`year` is negative before our era); `years` is 10 for a decade and 100 for a
    century that begins at `year`. `either`: `day` and `month` may be the other way round, since
    countries differ in which they write first.
    """

    start: int
    end: int
    kind: str
    amount: float | None = None
    unit: str | None = None
    year: int | None = None
    month: int | None = None
    day: int | None = None
    years: int = 1
    either: bool = False
    scale: float = 1.0


def find_values(text: str, start: int = 0, end: int | None = None) -> list[Value]:
    """Return the values of `text[start:end]` from left to right; they never overlap."""
    values: list[Value] = []
    stop = len(text) if end is None else end
    taken = start
    candidate = _CANDIDATE if _has_number_word(text[start:stop]) else _DIGITS
    for match in candidate.finditer(text, start, stop):
        if not match.lastindex and match[0] not in _OPENERS:
            continue
        begin = match.start()
        if begin >= taken:
            value = value_at(text, begin)
            if value is not None and value.end <= stop:
                values.append(value)
                taken = value.end
    return values


def _has_number_word(text: str) -> bool:
    """Whether words of the text can open a value; to see that none can takes far less than to look
    at each."""
    if not text.isascii():
        return True
    return not _WORDS.isdisjoint(text.encode().translate(_LETTERS).split())


def value_at(text: str, at: int) -> Value | None:
    """Return the value that begins at `at` (a digit, a currency sign or a letter), if one does."""
    if text[at].isalpha():
        return _from_words(text, at)
    return _date_at(text, at) or _clock_at(text, at) or _number_at(text, at)


def _date_at(text: str, at: int) -> Value | None:
    if not _DATE_HINT.match(text, at):
        return None
    for pattern in _DATES:
        match = pattern.match(text, at)
        if match:
            return _with_era(text, at, _date(match))
    match = _year_month(text, at)
    return _with_era(text, at, _date(match)) if match else None


def _year_month(text: str, at: int) -> re.Match[str] | None:
    """A year `y` and a month `m` at `at`, if they are no range of years.

    "1871-11" is none, since 11 is not behind 71. "1900-06" may be seven years; behind the name of a
    property such as "date of death:" it is a month.
    """
    match = _YEAR_MONTH.match(text, at)
    if match is None or _is_before_era(text, at):
        return match
    if at and text[at - 1] in "-/.":
        return None
    certain = match["m"] <= match["y"][2:]
    return match if certain or _DATED.search(text, max(0, at - _REACH), at) else None


def _is_before_era(text: str, at: int) -> bool:
    """Whether the digits at `at` are a year before our era: "-0044"."""
    if text[at] != "0" or not at or text[at - 1] not in "-−":
        return False
    return at == 1 or text[at - 2] in " (:["


def _with_era(text: str, at: int, date: Value | None) -> Value | None:
    if date is None or date.year is None or not _is_before_era(text, at):
        return date
    return msgspec.structs.replace(date, year=-date.year)


def _date(match: re.Match[str]) -> Value | None:
    """Turn a match of one of the date patterns into a date; None where the parts cannot be one."""
    part = match.groupdict()
    start, end = match.span()
    if part.get("c"):
        return _century(start, end, int(part["c"]), part["era"])
    year = part.get("y") or part.get("y2")
    number = int(year) if year else None
    if "mon" not in part and "m" not in part and "a" not in part:
        return Value(start, end, "date", year=number, years=10)
    either = False
    if part.get("a"):
        first, second = int(part["a"]), int(part["b"])
        dotted = part["sep"] == "."  # 3.4.2020: nobody who writes dots puts the month first
        day, month = (first, second) if first > 12 or (dotted and second < 13) else (second, first)
        either = day < 13 and day != month and not dotted
    else:
        name = part.get("mon")
        if name in ("may", "march"):
            return None  # "over 12 may enter"
        month = MONTHS[_plain_case(name).rstrip(".")] if name else int(part["m"])
        day = int(part.get("d") or 0)
    if not 1 <= month <= 12 or day > 31:
        return None
    return Value(start, end, "date", year=number, month=month, day=day or None, either=either)


def _plain_case(word: str) -> str:
    """A word that matched a pattern without regard to case, in lower case as tables have it."""
    return word.translate(_CASE_VARIANTS).lower()


def _century(start: int, end: int, ordinal: int, era: str | None) -> Value:
    before = bool(era) and str(era).upper().startswith("B")
    first = -100 * ordinal if before else 100 * (ordinal - 1)
    return Value(start, end, "date", year=first, years=100)


def _clock_at(text: str, at: int) -> Value | None:
    match = _CLOCK.match(text, at) if ":" in text[at : at + 3] else None
    if not match:
        return None
    hour = int(match["h"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] in "pP" else 0)
    return Value(at, match.end(), "number", amount=hour * 60 + int(match["min"]), unit="clock")


def _number_at(text: str, at: int) -> Value | None:
    match = _NUMBER.match(text, at)
    if not match:
        return None
    whole, end = match["int"], match.end()
    digits = whole if whole.isdecimal() else re.sub(r"\D", "", whole)
    amount = float(digits + (match["frac"] or ""))
    if match["ord"]:
        return Value(at, end, "ordinal", amount=amount)
    scale, currency = match["scale"], match["cur"]
    if scale in ("m", "k", "K", "M", "B") and not currency and not _scales(text, match):
        end, scale = match.start("scale"), None
        end = len(text[:end].rstrip(" -"))
    if scale:
        amount *= SCALES[scale.lower()]
    if at and text[at - 1] in "-−" and (at == 1 or text[at - 2] in " ("):
        amount = -amount
    if currency:
        return Value(at, end, "number", amount=amount, unit=_CURRENCIES[currency.strip()[-1]])
    if not scale and not match["frac"] and (year := _year(text, at, end, digits)):
        return year
    return _with_unit(text, at, end, amount)


def _scales(text: str, match: re.Match[str]) -> bool:
    """Whether a lone letter behind a number is a scale: "5M users", "1.5k"; "5 m" is a length.

    With a blank between, and where "5m" may be metres, things that are counted must follow.
    """
    glued = match.start("scale") == match.end("frac" if match["frac"] else "int")
    if glued and match["scale"] != "m":
        return match["int"] != "401"  # an American pension, also written 401(k)
    return _COUNTED.match(text, match.end()) is not None


def _year(text: str, at: int, end: int, digits: str) -> Value | None:
    """Read bare digits as a year: 1000…2100, "44 BC", "-0044", or the end of "1914–18"."""
    if len(digits) == 4 and int(digits) and _is_before_era(text, at):
        return Value(at, end, "date", year=-int(digits))
    era = _YEAR_ERA.match(text, end)
    if era and len(digits) < 6:
        return Value(at, era.end(), "date", amount=None, year=-int(digits))
    if len(digits) == 2 and at > 4 and text[at - 1] in "-–/" and text[at - 5 : at - 1].isdecimal():
        full = int(text[at - 5 : at - 3] + digits)
        return Value(at, end, "date", amount=float(full), year=full)
    if end - at == 4 and 1000 <= int(digits) <= 2100 and not unit_at(text, end):
        return Value(at, end, "date", amount=float(digits), year=int(digits))
    return None


def _with_unit(text: str, at: int, end: int, amount: float) -> Value:
    unit = unit_at(text, end)
    if unit is None:
        return Value(at, end, "number", amount=amount)
    base, factor, stop = unit
    if base == "fahrenheit":
        return Value(at, stop, "number", amount=(amount - 32) / 1.8, unit="celsius", scale=1 / 1.8)
    if base == "kelvin":
        return Value(at, stop, "number", amount=amount - 273.15, unit="celsius", scale=-1.0)
    return Value(at, stop, "number", amount=amount * factor, unit=base, scale=factor)


def _from_words(text: str, at: int) -> Value | None:
    """Read a month name, a fraction or a number in words."""
    if _BARE_A.match(text, at):
        return None
    if fraction := _FRACTION.match(text, at):
        top = NUMBER_WORDS.get(_plain_case(fraction["n"] or "one"), 1)
        share = 100 * top / _PARTS[_plain_case(fraction["half"] or fraction["part"])]
        return Value(at, fraction.end(), "number", amount=share, unit="percent")
    if text[at].isupper() and (match := _MONTH_DATE.match(text, at)):
        if match.end() > match.end("mon") or _plain_month(text, at, match["mon"]):
            return _date(match)
        return None
    number = number_in_words(text, at)
    if number is None:
        return None
    end, amount, ordinal = number
    if ordinal:
        century = _WORD_CENTURY.match(text, end)
        if century:
            return _century(at, century.end(), int(amount), century["era"])
        return Value(at, end, "ordinal", amount=amount)
    value = _with_unit(text, at, end, amount)
    lone = amount == 1 and " " not in text[at:end].strip()
    return None if lone and value.unit is None else value


def _plain_month(text: str, at: int, name: str) -> bool:
    """Whether a month name without day or year means the month: "May" and "March" need a sign."""
    ambiguous = name.lower().rstrip(".") in ("may", "march", "mar", "jan")
    return not ambiguous or _MONTH_NEEDS.search(text, max(0, at - 8), at) is not None


def agrees(claimed: Value, value: Value, about: bool = False) -> bool:
    """Return whether `value` supports `claimed`. A date may be more precise than the claim.

    Args:
        claimed: The value of the claim.
        value: The value of the text.
        about: Whether the claim says that its number is rounded.
    """
    if claimed.kind == "date":
        return _date_agrees(claimed, value)
    if claimed.kind != value.kind and not (claimed.kind == "number" and value.kind == "date"):
        return False
    if claimed.amount is None or value.amount is None:
        return False
    if claimed.unit == value.unit:
        return _near(claimed.amount, value.amount, ABOUT if about else tolerance(claimed, value))
    if claimed.unit == "month" and value.unit is None:  # "aged 35" is 35 years
        return _near(claimed.amount, value.amount * 12, EXACT)
    if claimed.unit is None and value.unit != "percent":
        return _near(claimed.amount, value.amount / value.scale, ABOUT if about else EXACT)
    return False


def same_kind(one: Value, other: Value) -> bool:
    """Whether two values could stand in each other's place."""
    return one.kind == other.kind and one.unit == other.unit


def tolerance(one: Value, other: Value) -> float:
    """Exact in one unit and between those that differ by a power of ten, such as km and m."""
    if (
        one.scale == other.scale
        or one.unit in ("month", "second")
        or min(one.scale, other.scale) <= 0
    ):
        return EXACT
    power = log(one.scale / other.scale, 10)
    return EXACT if abs(power - round(power)) < EXACT else _CONVERTED


def _near(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def _date_agrees(claimed: Value, found: Value) -> bool:
    if found.kind == "number":
        return found.unit is None and found.amount is not None and found.amount == claimed.amount
    if found.kind != "date":
        return False
    if claimed.years > 1:
        first = claimed.year or 0
        within = found.year is not None and first <= found.year < first + claimed.years
        return within and found.years <= claimed.years
    if found.years > 1 and claimed.year is not None:
        return False
    mine = (claimed.year, claimed.month, claimed.day)
    readings = [(found.year, found.month, found.day)]
    if claimed.either != found.either:  # two that may be read in two ways are written alike
        readings.append((found.year, found.day, found.month))
    return any(
        all(one is None or one == other for one, other in zip(mine, theirs, strict=True))
        for theirs in readings
    )
