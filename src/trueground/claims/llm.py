"""Claims by a language model: one call for each sentence, with demonstrations.

Source: Min et al. 2023 (FActScore), which Truly-Ground follows (appendix A.3); the prompt and the
demonstrations are our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from trueground.claims.base import Decomposed, Decomposer, Span, clean, is_one_word
from trueground.claims.ranking import make_ranker
from trueground.claims.statements import find_statements
from trueground.components import ComponentSpec
from trueground.errors import InputError, UsageError
from trueground.models import ChatRequest, LLMComponent, Prompt, Reply
from trueground.records import shorten
from trueground.types import Failure, PromptFile, Status

EXAMPLES = 8
_RANKER = "bm25"  # of demonstrations
# Far more than the facts of a sentence; models that think before they answer need it.
MAX_TOKENS = 1024
MAX_SHOWN_CHARS = 200  # characters of a reply that cannot be read
_FACT = re.compile(r"[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+(\S.*)")
NONE = "NONE"
_SHAPE = '{"sentence": "…", "facts": ["…", …]}'


class LLMDecomposer(LLMComponent, Decomposer):
    """`llm:MODEL(base_url=URL,…)`: asks a chat model for the facts of each sentence.

    `examples` demonstrations (8) are shown with each sentence, those nearest to it by BM25 of the
    package's own or of `demos=FILE`. Sentences that talk to the reader are not sent. A reply that
    is no list of facts, one that was cut off and a call that failed make a Failure of the text. The
    constructor makes no call; it raises UsageError, InputError for a file that cannot be read, and
    MissingExtraError.
    """

    name = "llm"

    def __init__(self, spec: ComponentSpec) -> None:
        super().__init__(spec, ("demos", "examples", "prompt"), MAX_TOKENS)
        self._prompt = _prompt(spec)
        self._examples = spec.whole("examples", EXAMPLES, 0) if self._prompt.has("examples") else 0
        self._demos = None
        if self._examples:
            path = spec.options.get("demos")
            self._demos = Demonstrations(Path(path) if path is not None else None)

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The prompt, and the file of demonstrations."""
        return (self._prompt.file, *((self._demos.file,) if self._demos else ()))

    @property
    def signature(self) -> str:
        """Model, prompt and demonstrations by id and hash, and the options that change claims."""
        demos = (self._demos.signature,) if self._demos else ()
        return self._sign(
            "llm-3", self._prompt.file.signature, f"examples={self._examples}", *demos
        )

    def decompose(self, texts: Sequence[str]) -> list[Decomposed]:
        """The claims of each text, each with its sentence's span; a Failure where one failed.

        All sentences of all texts are asked together. UnreachableError where nobody is reached.
        """
        statements = [_statements(text) for text in texts]
        sentences = [
            " ".join(text[slice(*span)].split())
            for text, text_sentences in zip(texts, statements, strict=True)
            for _, span, counts in text_sentences
            if counts
        ]
        replies = iter(self.ask(self._requests(sentences)))
        return [
            _claims(text, text_sentences, replies)
            for text, text_sentences in zip(texts, statements, strict=True)
        ]

    def _requests(self, sentences: Sequence[str]) -> list[ChatRequest]:
        demonstrations = (
            self._demos.nearest(sentences, self._examples)
            if self._demos
            else [[] for _ in sentences]
        )
        return [
            ChatRequest(self._prompt.fill(_places(sentence, examples)), self._params)
            for sentence, examples in zip(sentences, demonstrations, strict=True)
        ]


def _places(sentence: str, examples: Sequence[Demonstration]) -> dict[str, str]:
    places = Prompt.marks([sentence]).fields({"sentence": sentence}, keep=("sentence",))
    return places | {"examples": "\n\n".join(map(str, examples))}


def read_facts(reply: str) -> list[str] | None:
    """The facts of a reply, one a line behind "-", "*", "•" or a number; [] for the word NONE.

    None where any line is something else, or nothing was said: nothing is guessed.
    """
    lines = [line for line in reply.splitlines() if line.strip()]
    facts = [match[1].strip() for line in lines if (match := _FACT.fullmatch(line))]
    if len(lines) == 1 and (facts or lines)[0].strip().rstrip(".").upper() == NONE:
        return []
    return facts if facts and len(facts) == len(lines) else None


class _Sentence(NamedTuple):
    """The number of a sentence that states something, its span, and whether its facts can count."""

    number: int
    span: Span
    counts: bool


def _statements(text: str) -> list[_Sentence]:
    """The sentences that state something, without boilerplate and what the sources lack."""
    spans = {}
    for statement in find_statements(text):
        span = statement.start, statement.end
        spans[statement.number] = span if text[slice(*span)].strip() else statement.sentence
    return [
        # The cleaning drops sentences of one word that are not alone.
        _Sentence(number, span, len(spans) == 1 or not is_one_word(text[slice(*span)]))
        for number, span in spans.items()
    ]


def _claims(text: str, sentences: Sequence[_Sentence], replies: Iterator[Reply]) -> Decomposed:
    """The cleaned facts; takes as many replies as sentences were asked about."""
    results = [_read(next(replies)) if sentence.counts else [] for sentence in sentences]
    for sentence, result in zip(sentences, results, strict=True):
        if isinstance(result, Failure):
            return Failure(result.status, f"sentence {sentence.number + 1}: {result.reason}")
    facts = [result for result in results if not isinstance(result, Failure)]
    claims = clean([sentence.span for sentence in sentences], text, facts)
    return [msgspec.structs.replace(c, sentence=sentences[c.sentence].number) for c in claims]


def _prompt(spec: ComponentSpec) -> Prompt:
    path = spec.options.get("prompt")
    if path is None:
        prompt = Prompt.packaged("trueground.claims", "facts-2")
    else:
        prompt = Prompt.read(Path(path), ("sentence",), ("examples", "mark"), plain=("sentence",))
    for option in ("demos", "examples"):
        if option in spec.options and not prompt.has("examples"):
            raise UsageError(
                f"the decomposer {spec.name}: {option}={spec.options[option]!r}, but the prompt "
                f"{path} has no placeholder {{examples}}; add it, or leave {option} out"
            )
    return prompt


def _read(reply: Reply) -> list[str] | Failure:
    if reply.status is not None:
        return Failure(reply.status, reply.describe_failure("the sentence"))
    facts = read_facts(reply.text)
    if facts is not None:
        return facts
    actual = (
        f'"{shorten(reply.text.strip(), MAX_SHOWN_CHARS)}"'
        if reply.text.strip()
        else "an empty reply"
    )
    return Failure(
        Status.UNPARSEABLE, f'expected one fact a line behind "- ", or {NONE}; found {actual}'
    )


_Text = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Demonstration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sentence and its facts; both stand on one line each."""

    sentence: _Text
    facts: tuple[_Text, ...]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "sentence", " ".join(self.sentence.split()))
        facts = tuple(" ".join(fact.split()) for fact in self.facts)
        msgspec.structs.force_setattr(self, "facts", facts)

    def __str__(self) -> str:
        facts = "\n".join(f"- {fact}" for fact in self.facts) or NONE
        return f"Sentence: {self.sentence}\nFacts:\n{facts}"


class Demonstrations:
    """All demonstrations of a file; `file` is its id and hash, as a manifest names prompts."""

    def __init__(self, path: Path | None = None) -> None:
        """The package's own, or a user's JSON lines. InputError names the file and the line."""
        if path is None:
            source = files("trueground.claims") / "demos" / "demos-1.jsonl"
            data, name, id_ = source.read_bytes(), source.name, "claims/demos-1"
        else:
            name, id_ = str(path), path.name
            try:
                data = path.read_bytes()
            except OSError as error:
                reason = error.strerror or error
                raise InputError(f"the demonstrations {path} cannot be read: {reason}") from error
        self.file = PromptFile(id_, sha256(data.replace(b"\r\n", b"\n")).hexdigest())
        self._all = [
            _demonstration(f"{name}, line {number}", line)
            for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
            if line.strip()
        ]
        if not self._all:
            raise InputError(f"{name} holds no demonstration; expected lines like {_SHAPE}")
        self._ranker = make_ranker(_RANKER, [demo.sentence for demo in self._all])
        self.signature = f"{id_}:{self.file.sha256[:12]}/{self._ranker.signature}"

    def nearest(self, sentences: Sequence[str], most: int) -> list[list[Demonstration]]:
        """For each sentence the `most` nearest by BM25, the nearest last, next to the sentence.

        Where fewer share a word with it, the first ones of the file make up the number.
        """
        picked = []
        for near in self._ranker.rank(sentences, most):
            others = (i for i in range(len(self._all)) if i not in near)
            order = [*near, *others][:most]
            picked.append([self._all[i] for i in reversed(order)])
        return picked


def _demonstration(location: str, line: bytes) -> Demonstration:
    try:
        return msgspec.json.decode(line, type=Demonstration)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{location}: {error}; expected {_SHAPE}, no text blank") from None
