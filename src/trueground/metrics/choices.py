"""Which option of a multiple-choice question does a response name, and which part of it answers?

Labels are looked for in the raw text, option texts in the normalized text (FaithEval accuracy).
No pattern looks at a character more than a few times, however long the white space in a response.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from trueground.text import contains_words
from trueground.types import Choice

Normalize = Callable[[str], str]

_IS = r"(?:is|are|would\s++be|must\s++be|should\s++be|has\s++to\s++be)"
_ASKED = r"(?:[ \t]++to[ \t]++(?:this|the|that)[ \t]++question)?"
_SURELY = r"(?:\s++(?:most\s++)?[a-z]{2,12}ly)?"  # "is clearly B"
_SAID = (
    rf"(?:(?:answer|option|choice|solution){_ASKED}(?:\s++{_IS}{_SURELY})?"
    r"|(?:i|we)(?:\s++would|'d)?\s++(?:choose|pick|select|go\s++with)|it(?:\s++is|['’]s))"
    r"\s*+:?\s*+(?:(?:the\s++)?(?:option|choice|letter)\s*+:?\s*+)?"
)
_ORDINARY_WORDS = ("a", "i")
# What follows a label and not an article: "the answer is A because".
_GOES_ON = "according|as|based|because|due|for|from|given|in|is|since|so|which"
_CLOSED = re.compile("</answer>", re.I)
_EMPHASIS = str.maketrans(dict.fromkeys("*`"))
_KIND = r"(?:(?:my|the|a|brief|short|correct|right|best|exact|final)[ \t]++)*+"
# The marks of a final answer: "Final answer: B", "Answer: B" that begins a line or a sentence,
# "<answer>B</answer>", "answer" of an object in JSON, "So the answer is B". What is said in passing
# ("the answer is B") marks an option only.
_MARKS = (
    re.compile(r"(?=\\boxed\{)|\bfinal[ \t]++(?:answer|choice)\b[ \t]*+(?:is\b)?[ \t]*+:?", re.I),
    re.compile(
        rf"^[ \t>#_{{\"-]*+(?:\d{{1,2}}[.)][ \t]++)?{_KIND}(?:ans(?:wer)?|choice|option)[_\"]*+"
        r"[ \t]*+(?:is\b[ \t]*+)?(?:[:=]|[-–—](?=[ \t])|$)"
        r"|(?<=[.!?;)][ \t])(?-i:Ans(?:wer)?)[ \t]*+:"
        r"|\"(?:[a-z]{1,12}[_ ])?answer\"[ \t]*+:|<answer>"
        rf"|\b(?:so|thus|hence|therefore|consequently|in[ \t]conclusion)[ \t,]++{_KIND}"
        rf"(?:answer|choice|option){_ASKED}[ \t]++{_IS}\b[ \t]*+:?",
        re.I | re.M,
    ),
)
_IN_PASSING = re.compile(
    rf"\b(?:answer|option|choice|solution){_ASKED}[ \t]++{_IS}\b[ \t]*+:?"
    r"|\b(?:i|we)(?:[ \t]++would|['’]d)?[ \t]++(?:choose|pick|select|go[ \t]++with)\b",
    re.I,
)
# Before a mark in its sentence: what follows is not what the response holds to be right.
_SUPPOSED = re.compile(
    r"\b(?:if|unless|although|though|while|whereas|normally|usually|typically|reality|real|without"
    r"|might|may|could|otherwise|some|many)\b",
    re.I,
)
_DENIED = re.compile(r"\b(?:not|neither|nor|never|cannot|wrong|incorrect|false)\b|n['’]t\b", re.I)
# Where the answer ends and talk about it begins; "B." and "4." end nothing.
_END = r"(?:(?<=\w\w)|(?<=[)\]]))[.!?;](?=\s|$)"
_TALK = re.compile(
    rf"{_END}|\s(?=(?:because|since|as|which|while|whereas|unlike|rather|instead|although|though)\b)"
    r"|[,(–—](?=\s*+(?:not|but)\b)|(?<=\"),(?=\s*+\")",
    re.I,
)
_SENTENCE = re.compile(_END)
# A number that may count a step: at the start of a line, or in brackets.
_STEP = re.compile(r"^[ \t]*+(\d{1,2})[.):](?=\s)|\((\d{1,2})\)", re.M)
_BLANK = re.compile(r"\s*+")
_MOST_MARKS = 50  # in passing, from the last one
_NEAR = 300  # characters around a mark in which its sentence begins and ends


def answer_part(response: str) -> str:
    """The part of a response that answers: behind the mark of a final answer, else the first line.

    "" for a response without any text.
    """
    text = _plain(response)
    marked = _marked(text)
    return _line(text, 0) if marked is None else marked


def chosen_label(response: str, choices: Sequence[Choice], normalize: Normalize) -> str | None:
    """The label of the one option that the answer of the response names; None for none or several.

    The answer is what a mark of a final answer has behind it ("Answer: B", "the answer is B"; a
    last line that is nothing but a label is one too), else the first line, else, where that names
    no option, the whole. A label counts alone ("B"), in brackets ("(b)"), with its sign ("B.", "B)
    text") and after words such as "the answer is"; an article ("A dog is") is no label, and neither
    is the number of a step in a list. An option that is denied ("not A", "neither A nor C", "A is
    wrong", "rather than A") is not named. Option texts count on word boundaries, longest first, so
    that a text inside a longer one is not named with it. Without labels only texts can be named.
    """
    options = _Options(choices, normalize, response)
    for part, decides in _answers(options.response, options):
        answered = options.answered(part)
        if answered or decides:
            return choices[answered.pop()].label if len(answered) == 1 else None
    return None


def mentioned_labels(response: str, choices: Sequence[Choice], normalize: Normalize) -> set[str]:
    """The labels of all options that the response names anywhere."""
    options = _Options(choices, normalize, response)
    return {choices[place].label for place in options.named(options.response)}


def right_labels(
    references: Sequence[str], choices: Sequence[Choice], normalize: Normalize
) -> set[str]:
    """The labels that `references` give: each is an option's text, its label, or names one option.

    Empty when no reference belongs to an option.
    """
    right: set[str] = set()
    for reference in references:
        text = normalize(reference)
        same = {choice.label for choice in choices if text and normalize(choice.text) == text}
        label = chosen_label(reference, choices, normalize)
        right |= same or ({label} if label is not None else set())
    return right


class _Options:
    """The options of a question, as they are looked for in the parts of one response."""

    def __init__(self, choices: Sequence[Choice], normalize: Normalize, response: str) -> None:
        self.response = _plain(response)
        self._normalize = normalize
        self._labels = tuple(choice.label.strip() for choice in choices)
        self._raw = tuple(choice.text.strip().lower() for choice in choices)
        normalized = ((normalize(choice.text), place) for place, choice in enumerate(choices))
        self._texts = sorted((pair for pair in normalized if pair[0]), key=lambda t: -len(t[0]))
        self._places = {label.lower(): place for place, label in enumerate(self._labels)}
        self._alone, self._marked, self._held, self._other = _patterns(self._labels)
        self._denied = _denied_pattern(self._labels, self._raw)
        self._longest = max(map(len, (*self._raw, *self._labels, "")))
        self._steps = len({step[1] for step in _STEP.finditer(self.response)}) > 1

    def answered(self, part: str) -> set[int]:
        """The places of the options that a part of the response names and does not deny."""
        return self.named(self._denied.sub(self._blank, part))

    def _blank(self, denied: re.Match[str]) -> str:
        """Nothing, unless an option has these words itself: "not soluble"."""
        words = denied.group().lower().strip(" ,.")
        return denied.group() if any(words in text for text in self._raw) else " "

    def named(self, part: str) -> set[int]:
        """The places of the options that a part of the response names by label or text."""
        places = self._by_label(part)
        left = self._normalize(part)
        for text, place in self._texts:
            if contains_words(left, text):
                places.add(place)
                left = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", "\n", left)
        return places

    def leads(self, line: str) -> bool:
        """Whether a label with its sign begins the line."""
        match = self._marked.match(line)
        return match is not None and self._label_of(match, line) is not None

    def concluded(self, text: str) -> bool:
        """Whether the last of several lines is a label alone, and the first names none so."""
        before, _, last = text.rstrip().rpartition("\n")
        return bool(before and self._alone.fullmatch(last)) and not self.leads(_line(before, 0))

    def held(self, text: str) -> Iterator[re.Match[str]]:
        """Where a label is said to be right: "B is correct"."""
        return self._held.finditer(text)

    def repeated(self, text: str) -> bool:
        """Whether the first two lines are the first two options, as the question lists them."""
        pairs = zip(self._labels[:2], self._raw, strict=False)
        listed = [self._normalize(f"{label} {own}") for label, own in pairs]
        lines = text.split("\n", 2)[:2]
        longest = 2 * self._longest + 9
        return listed == [self._normalize(line) for line in lines if len(line) < longest]

    def _by_label(self, part: str) -> set[int]:
        whole = self._alone.fullmatch(part)
        if whole:
            return {self._places[whole[1].lower()]}
        matches = list(self._marked.finditer(part))
        others = (self._other.match(part, match.end()) for match in matches)
        places = {p for match in matches if (p := self._label_of(match, part)) is not None}
        return places | {self._places[other[1].lower()] for other in others if other}

    def _label_of(self, match: re.Match[str], part: str) -> int | None:
        """The option of a label that stands as one in the raw text.

        Where an option's text begins with a label ("4" and "4 metres"), the text is meant. A number
        is none where it counts steps, and "[1]" is a citation.
        """
        number = next(i for i, group in enumerate(match.groups(), 1) if group)
        label, at = match[number], match.start(number)
        rest = part[at : at + self._longest + 1].lower()
        if any(len(text) > len(label) and rest.startswith(text) for text in self._raw):
            return None
        place = self._places[label.lower()]
        if label.isdigit() and not match["said"] and match["boxed"] is None:
            behind = part[match.end() : match.end() + self._longest + 9].lstrip(" \t:.)").lower()
            own = self._raw[place] and behind.startswith(self._raw[place])
            listed = self._steps or "\n" in part.strip()
            if part[match.start()] == "[" or (listed and behind.strip() and not own):
                return None
        return place


@lru_cache(maxsize=256)
def _denied_pattern(labels: tuple[str, ...], texts: tuple[str, ...]) -> re.Pattern[str]:
    """Where options are denied: "not A", "neither A nor C", "A and C are wrong"."""
    written = sorted(filter(None, labels), key=len, reverse=True)
    words = [re.escape(label) for label in written if label.lower() in _ORDINARY_WORDS]
    others = [re.escape(label) for label in written if label.lower() not in _ORDINARY_WORDS]
    # "A" is an article before any other word than these.
    label = rf"(?-i:{'|'.join(others) or '(?!)'})(?![\w'’-])|(?-i:{'|'.join(words) or '(?!)'})"
    label += rf"(?![\w'’-])(?!\s++(?!(?:and|but|is|nor|or|was|are|were|{_GOES_ON})\b)\w)"
    named = sorted(filter(None, texts), key=len, reverse=True)
    text = rf"(?<!\w)(?:{'|'.join(map(re.escape, named)) or '(?!)'})(?!\w)"
    option = (
        rf"(?:the\s++)?(?:(?:option|choice|answer)s?\s++)?(?:[(\[\"']?(?:{label})[)\]\"']?|{text})"
    )
    wrong = (
        r"\s++(?:(?:both|all|also|clearly|each)\s++)?"
        r"(?:(?:not|n['’]t)\s++(?:correct|right|true|the\s++(?:right\s++|correct\s++)?answer)"
        r"|wrong|incorrect|false|ruled\s++out|eliminated|excluded)\b"
    )
    return re.compile(
        rf"\b(?:neither\s++{option}(?:,?\s++n?or\s++{option}|,\s*+{option}){{0,9}}+"
        rf"|(?:not|nor|rather\s++than|instead\s++of)\s++{option}(?:,?\s++n?or\s++{option}){{0,9}}+"
        rf"(?:\s++but\b)?)"
        rf"|(?<!\w){option}\s++(?:is|was){wrong}"
        rf"|(?<!\w){option}(?:,?\s++(?:and|or)\s++{option}|,\s*+{option}){{1,9}}+\s++(?:are|were){wrong}",
        re.I,
    )


def _plain(response: str) -> str:
    """Without marks of emphasis; a closing tag of an answer ends its line."""
    return _CLOSED.sub("\n", response.translate(_EMPHASIS))


def _answers(text: str, options: _Options) -> Iterator[tuple[str, bool]]:
    """The parts that may hold the answer, and whether a part decides even if it names no option."""
    marked = _marked(text)
    if marked is not None:
        yield _answer_in(marked, options, True), True
    elif options.concluded(text):
        yield text.rstrip().rpartition("\n")[2], True
    if passing := _said_in_passing(text, options):
        yield passing, False
    if not options.repeated(text.lstrip()):
        yield _answer_in(_line(text, 0), options), False
    yield text, True


def _marked(text: str) -> str | None:
    """What the last mark of the strongest kind has behind it, on its line or the next; None: none.

    "The final answer is not A" marks nothing.
    """
    for mark in _MARKS:
        ends = [match.end() for match in mark.finditer(text)]
        if ends:
            line = _line(text, ends[-1])
            if line and not _DENIED.match(line):
                return line
    return None


def _said_in_passing(text: str, options: _Options) -> str | None:
    """The last "the answer is B", or "B is correct", that names an option and is no supposition."""
    places = [match.span() for match in (*_IN_PASSING.finditer(text), *options.held(text))]
    for start, end in sorted(places, reverse=True)[:_MOST_MARKS]:
        lead = _SENTENCE.split(text[max(0, start - _NEAR) : start].rpartition("\n")[2])[-1]
        behind = text[end : end + _NEAR].partition("\n")[0]
        if not _SUPPOSED.search(lead) and not _DENIED.match(behind.lstrip()):
            clause = f"it is {text[start:end]}{_before(_TALK, behind)}"
            if options.answered(clause):
                return clause
    return None


def _answer_in(line: str, options: _Options, marked: bool = False) -> str:
    """Of a line that names several options, the answer before the talk about the others."""
    if len(options.answered(line)) < 2:
        return line
    answer = _before(_TALK if marked or options.leads(line) else _SENTENCE, line)
    return line if _DENIED.search(answer) or _SUPPOSED.search(answer) else answer


def _before(end: re.Pattern[str], line: str) -> str:
    """The line up to there; all of it where nothing would be left."""
    match = end.search(line)
    return line[: match.start()] if match and line[: match.start()].strip() else line


def _line(text: str, at: int) -> str:
    """What stands from there to the end of the line, or on the next line that is not blank."""
    blank = _BLANK.match(text, at)
    start = blank.end() if blank else at
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end].strip()


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """For a response that is nothing but a label, labels in a text, "B is correct", and "or B".

    Lower case counts alone and in brackets; elsewhere the label must be written as given, and one
    that is also a word ("A", "I") must be followed by a sign or the end.
    """
    written = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True) if label)
    written = written or r"(?!)"
    wordy = [label for label in labels if label.lower() in _ORDINARY_WORDS]
    words = "|".join(re.escape(label) for label in wordy) or r"(?!)"
    own = rf"(?!(?:{words})[ \t]++(?!(?:{_GOES_ON})\b)\w)(?:{written})"
    alone = rf"\W*({written})\W*"
    marked = (
        rf"[(\[\"](?i:({written}))[)\]\"]|\\boxed\{{\s*+(?:\\text\{{)?(?i:(?P<boxed>{written}))\}}"
        rf"|^[ \t]*+({written})(?:(?:[.):]|(?<!\d),)(?=\s|$)|[ \t]++[-–—]|[ \t\r]*+$)"
        rf"|(?<![\w.(\[])({written})\)(?=\s|$)"
        rf"|\b(?i:{_SAID})[\"']?(?P<said>{own})(?![\w'’.-]*\w)"
    )
    held = rf"(?<![\w'’-])(?:{own})\)?[ \t]++is[ \t]++(?:the[ \t]++)?(?:correct|right|best)\b"
    flags = (re.IGNORECASE, re.MULTILINE, 0, re.MULTILINE)
    other = rf"[)\]\"']*+[ \t]*+(?:\b(?:or|and)\b|[/&])[ \t]*+[(\[\"']?({own})(?=\W*$|[)\].,;])"
    patterns = zip((alone, marked, held, other), flags, strict=True)
    return tuple(re.compile(pattern, flag) for pattern, flag in patterns)
