"""Find the option that a response to a multiple-choice question names, and its final answer.

Labels are searched in the raw text, option texts in the normalized text (FaithEval accuracy). All
patterns run in linear time, even on long white space.
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
# Words that follow a label but not an article, as in "the answer is A because".
_GOES_ON = "according|as|based|because|due|for|from|given|in|is|since|so|which"
_CLOSED = re.compile("</answer>", re.I)
_EMPHASIS = str.maketrans(dict.fromkeys("*`"))
_KIND = r"(?:(?:my|the|a|brief|short|correct|right|best|exact|final)[ \t]++)*+"
# Marks of a final answer: "Final answer: B", "Answer: B" at the start of a line or sentence,
# "<answer>B</answer>", the key "answer" in JSON, "So the answer is B". Weaker phrases, such as
# "the answer is B" inside a sentence, are in _IN_PASSING.
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
# Words before a mark in its sentence that show that the response doesn't claim what follows.
_SUPPOSED = re.compile(
    r"\b(?:if|unless|although|though|while|whereas|normally|usually|typically|reality|real|without"
    r"|might|may|could|otherwise|some|many)\b",
    re.I,
)
_DENIED = re.compile(r"\b(?:not|neither|nor|never|cannot|wrong|incorrect|false)\b|n['’]t\b", re.I)
# The end of an answer, where an explanation begins. "B." and "4." don't end an answer.
_END = r"(?:(?<=\w\w)|(?<=[)\]]))[.!?;](?=\s|$)"
_TALK = re.compile(
    rf"{_END}|\s(?=(?:because|since|as|which|while|whereas|unlike|rather|instead|although|though)\b)"
    r"|[,(–—](?=\s*+(?:not|but)\b)|(?<=\"),(?=\s*+\")",
    re.I,
)
_SENTENCE = re.compile(_END)
# A number that may count a step, at the start of a line or in brackets.
_STEP = re.compile(r"^[ \t]*+(\d{1,2})[.):](?=\s)|\((\d{1,2})\)", re.M)
_BLANK = re.compile(r"\s*+")
MAX_PHRASES = 50  # Number of weaker phrases that are tried, from the last one.
MAX_SENTENCE = 300  # Characters before and after a phrase that are searched for its sentence.


def answer_part(response: str) -> str:
    """Return the final answer of a response: the text after a mark such as "Answer:".

    Without a mark it is the first line. It is "" if the response is blank.
    """
    text = _plain(response)
    marked = _marked(text)
    return _line(text, 0) if marked is None else marked


def chosen_label(response: str, choices: Sequence[Choice], normalize: Normalize) -> str | None:
    """Return the label of the only option that the answer names; None for no or several options.

    The answer is the text after a mark ("Answer: B", "the answer is B"), or a last line that is
    only a label. Without a mark it is the first line, and if that names no option, the whole
    response.

    - A label counts alone ("B"), in brackets ("(b)"), with its sign ("B.", "B) text") and after
      words such as "the answer is". An article ("A dog is") or the number of a step doesn't count.
    - A denied option ("not A", "neither A nor C", "A is wrong", "rather than A") doesn't count.
    - Texts of options count if they are whole words. Longer texts are tried first, so a text
      inside a longer one doesn't count. If options have no labels, only their texts count.

    Args:
        response: The response.
        choices: The options of the question.
        normalize: Normalizes texts before option texts are searched.
    """
    options = _Options(choices, normalize, response)
    for part, decides in _answers(options.response, options):
        answered = options.answered(part)
        if answered or decides:
            return choices[answered.pop()].label if len(answered) == 1 else None
    return None


def mentioned_labels(response: str, choices: Sequence[Choice], normalize: Normalize) -> set[str]:
    """Return the labels of all options that the response names anywhere."""
    options = _Options(choices, normalize, response)
    return {choices[index].label for index in options.named(options.response)}


def right_labels(
    references: Sequence[str], choices: Sequence[Choice], normalize: Normalize
) -> set[str]:
    """Return the labels of the correct options; empty if no reference matches an option.

    A reference is the text of an option, its label, or a text that names one option.
    """
    right: set[str] = set()
    for reference in references:
        text = normalize(reference)
        same = {choice.label for choice in choices if text and normalize(choice.text) == text}
        label = chosen_label(reference, choices, normalize)
        right |= same or ({label} if label is not None else set())
    return right


class _Options:
    """The options of a question, prepared for the search in one response."""

    def __init__(self, choices: Sequence[Choice], normalize: Normalize, response: str) -> None:
        self.response = _plain(response)
        self._normalize = normalize
        self._labels = tuple(choice.label.strip() for choice in choices)
        self._raw = tuple(choice.text.strip().lower() for choice in choices)
        normalized = ((normalize(choice.text), index) for index, choice in enumerate(choices))
        self._texts = sorted((pair for pair in normalized if pair[0]), key=lambda t: -len(t[0]))
        self._indexes = {label.lower(): index for index, label in enumerate(self._labels)}
        self._alone, self._marked, self._held, self._other = _patterns(self._labels)
        self._denied = _denied_pattern(self._labels, self._raw)
        self._longest = max(map(len, (*self._raw, *self._labels, "")))
        self._steps = len({step[1] for step in _STEP.finditer(self.response)}) > 1

    def answered(self, part: str) -> set[int]:
        """Return the indexes of the options that a part of the response names and doesn't deny."""
        return self.named(self._denied.sub(self._blank, part))

    def _blank(self, denied: re.Match[str]) -> str:
        """Return a space for a denied option; keep the text if an option contains it."""
        phrase = denied.group().lower().strip(" ,.")
        return denied.group() if any(phrase in text for text in self._raw) else " "

    def named(self, part: str) -> set[int]:
        """Return the indexes of the options that a part names by label or text."""
        indexes = self._find_labels(part)
        remaining = self._normalize(part)
        for text, index in self._texts:
            if contains_words(remaining, text):
                indexes.add(index)
                remaining = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", "\n", remaining)
        return indexes

    def leads(self, line: str) -> bool:
        """Return whether the line begins with a label and its sign."""
        match = self._marked.match(line)
        return match is not None and self._index_of(match, line) is not None

    def concluded(self, text: str) -> bool:
        """Return whether the last line is only a label, and the first line has no label."""
        before, _, last = text.rstrip().rpartition("\n")
        return bool(before and self._alone.fullmatch(last)) and not self.leads(_line(before, 0))

    def held(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches of phrases such as "B is correct"."""
        return self._held.finditer(text)

    def repeated(self, text: str) -> bool:
        """Return whether the first two lines are the first two options of the question."""
        pairs = zip(self._labels[:2], self._raw, strict=False)
        listed = [self._normalize(f"{label} {option}") for label, option in pairs]
        lines = text.split("\n", 2)[:2]
        longest = 2 * self._longest + 9
        return listed == [self._normalize(line) for line in lines if len(line) < longest]

    def _find_labels(self, part: str) -> set[int]:
        whole = self._alone.fullmatch(part)
        if whole:
            return {self._indexes[whole[1].lower()]}
        indexes = set()
        for match in self._marked.finditer(part):
            index = self._index_of(match, part)
            if index is not None:
                indexes.add(index)
            other = self._other.match(part, match.end())
            if other:
                indexes.add(self._indexes[other[1].lower()])
        return indexes

    def _index_of(self, match: re.Match[str], part: str) -> int | None:
        """Return the index of the option whose label matched; None if it isn't used as a label.

        If an option's text begins with a label ("4" and "4 metres"), the match is that text. A
        number that counts steps isn't a label, and "[1]" is a citation.
        """
        number = next(i for i, group in enumerate(match.groups(), 1) if group)
        label, start = match[number], match.start(number)
        rest = part[start : start + self._longest + 1].lower()
        if any(len(text) > len(label) and rest.startswith(text) for text in self._raw):
            return None
        index = self._indexes[label.lower()]
        if label.isdigit() and not match["said"] and match["boxed"] is None:
            after = part[match.end() : match.end() + self._longest + 9].lstrip(" \t:.)").lower()
            has_text = self._raw[index] and after.startswith(self._raw[index])
            listed = self._steps or "\n" in part.strip()
            if part[match.start()] == "[" or (listed and after.strip() and not has_text):
                return None
        return index


@lru_cache(maxsize=256)
def _denied_pattern(labels: tuple[str, ...], texts: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of denied options: "not A", "neither A nor C", "A and C are wrong"."""
    longest_first = sorted(filter(None, labels), key=len, reverse=True)
    articles = [re.escape(label) for label in longest_first if label.lower() in _ORDINARY_WORDS]
    others = [re.escape(label) for label in longest_first if label.lower() not in _ORDINARY_WORDS]
    # Unless one of these words follows, "A" is an article.
    label = rf"(?-i:{'|'.join(others) or '(?!)'})(?![\w'’-])|(?-i:{'|'.join(articles) or '(?!)'})"
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
    """Return the response without marks of emphasis, and with a line break for `</answer>`."""
    return _CLOSED.sub("\n", response.translate(_EMPHASIS))


def _answers(text: str, options: _Options) -> Iterator[tuple[str, bool]]:
    """Yield the parts that may be the answer, and whether a part decides if it names no option."""
    marked = _marked(text)
    if marked is not None:
        yield _answer_in(marked, options, True), True
    elif options.concluded(text):
        yield text.rstrip().rpartition("\n")[2], True
    clause = _find_in_passing(text, options)
    if clause:
        yield clause, False
    if not options.repeated(text.lstrip()):
        yield _answer_in(_line(text, 0), options), False
    yield text, True


def _marked(text: str) -> str | None:
    """Return the text after the last mark of the strongest kind, or None.

    It is the rest of the line, or else the next line. "The final answer is not A" is skipped.
    """
    for mark in _MARKS:
        ends = [match.end() for match in mark.finditer(text)]
        if ends:
            line = _line(text, ends[-1])
            if line and not _DENIED.match(line):
                return line
    return None


def _find_in_passing(text: str, options: _Options) -> str | None:
    """Return the last "the answer is B" or "B is correct" that claims an option, or None."""
    spans = [match.span() for match in (*_IN_PASSING.finditer(text), *options.held(text))]
    for start, end in sorted(spans, reverse=True)[:MAX_PHRASES]:
        before = _SENTENCE.split(text[max(0, start - MAX_SENTENCE) : start].rpartition("\n")[2])[-1]
        after = text[end : end + MAX_SENTENCE].partition("\n")[0]
        if not _SUPPOSED.search(before) and not _DENIED.match(after.lstrip()):
            clause = f"it is {text[start:end]}{_cut_at(_TALK, after)}"
            if options.answered(clause):
                return clause
    return None


def _answer_in(line: str, options: _Options, marked: bool = False) -> str:
    """Return a line; if it names several options, only the answer before the explanation."""
    if len(options.answered(line)) < 2:
        return line
    answer = _cut_at(_TALK if marked or options.leads(line) else _SENTENCE, line)
    return line if _DENIED.search(answer) or _SUPPOSED.search(answer) else answer


def _cut_at(end: re.Pattern[str], line: str) -> str:
    """Return the line up to a pattern; all of it if nothing would remain."""
    match = end.search(line)
    return line[: match.start()] if match and line[: match.start()].strip() else line


def _line(text: str, position: int) -> str:
    """Return the rest of the line from a position; if it is blank, the next line with text."""
    blank = _BLANK.match(text, position)
    start = blank.end() if blank else position
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end].strip()


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Return patterns of a response that is only a label, of labels, "B is correct", and "or B".

    Alone or in brackets, a label may be in lower case. Elsewhere it must be spelled as in the
    question, and if it is also a word ("A", "I"), a sign or the end must follow.
    """
    any_label = "|".join(re.escape(x) for x in sorted(labels, key=len, reverse=True) if x)
    any_label = any_label or r"(?!)"
    ordinary = [label for label in labels if label.lower() in _ORDINARY_WORDS]
    articles = "|".join(re.escape(label) for label in ordinary) or r"(?!)"
    label = rf"(?!(?:{articles})[ \t]++(?!(?:{_GOES_ON})\b)\w)(?:{any_label})"
    alone = rf"\W*({any_label})\W*"
    marked = (
        rf"[(\[\"](?i:({any_label}))[)\]\"]"
        rf"|\\boxed\{{\s*+(?:\\text\{{)?(?i:(?P<boxed>{any_label}))\}}"
        rf"|^[ \t]*+({any_label})(?:(?:[.):]|(?<!\d),)(?=\s|$)|[ \t]++[-–—]|[ \t\r]*+$)"
        rf"|(?<![\w.(\[])({any_label})\)(?=\s|$)"
        rf"|\b(?i:{_SAID})[\"']?(?P<said>{label})(?![\w'’.-]*\w)"
    )
    held = rf"(?<![\w'’-])(?:{label})\)?[ \t]++is[ \t]++(?:the[ \t]++)?(?:correct|right|best)\b"
    flags = (re.IGNORECASE, re.MULTILINE, 0, re.MULTILINE)
    other = rf"[)\]\"']*+[ \t]*+(?:\b(?:or|and)\b|[/&])[ \t]*+[(\[\"']?({label})(?=\W*$|[)\].,;])"
    patterns = zip((alone, marked, held, other), flags, strict=True)
    return tuple(re.compile(pattern, flag) for pattern, flag in patterns)
