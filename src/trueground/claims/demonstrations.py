"""Demonstrations for a language model: sentences, and the facts that they were taken apart into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from trueground.errors import InputError
from trueground.models.prompts import PromptFile
from trueground.records.problems import describe
from trueground.retrieval.bm25.memory import BM25

NONE = "NONE"
_SHAPE = '{"sentence": "…", "facts": ["…", …]}'


@dataclass(frozen=True)
class Demonstration:
    """One sentence and its facts; both stand on one line each."""

    sentence: str
    facts: tuple[str, ...]

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
            data, name, id_ = _read(path), str(path), path.name
        self.file = PromptFile(id_, sha256(data.replace(b"\r\n", b"\n")).hexdigest())
        self._all = [
            _demonstration(f"{name}, line {number}", line)
            for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
            if line.strip()
        ]
        if not self._all:
            raise InputError(f"{name} holds no demonstration; expected lines like {_SHAPE}")
        self._retriever = BM25([demo.sentence for demo in self._all])
        self.signature = f"{id_}:{self.file.sha256[:12]}/{self._retriever.signature}"

    def nearest(self, sentences: Sequence[str], most: int) -> list[list[Demonstration]]:
        """For each sentence the `most` nearest by BM25, the nearest last, next to the sentence.

        Where fewer share a word with it, the first ones of the file make up the number.
        """
        picked = []
        for hits in self._retriever.search(sentences, most):
            near = [hit.index for hit in hits]
            others = (i for i in range(len(self._all)) if i not in near)
            order = [*near, *others][:most]
            picked.append([self._all[i] for i in reversed(order)])
        return picked


def one_line(text: str) -> str:
    """The text on one line, so that nothing in it can look like a line of the prompt's own."""
    return " ".join(text.split())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"the demonstrations {path} cannot be read: {error.strerror or error}"
        ) from error


def _demonstration(place: str, line: bytes) -> Demonstration:
    try:
        row: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{place}: no JSON ({error}); expected {_SHAPE}") from None
    if not isinstance(row, dict):
        raise InputError(f"{place}: found {describe(row)}; expected {_SHAPE}")
    if unknown := sorted(row.keys() - {"sentence", "facts"}):
        raise InputError(f"{place}: found the field {unknown[0]!r}; expected {_SHAPE}")
    sentence, facts = row.get("sentence"), row.get("facts")
    if not isinstance(sentence, str) or not sentence.strip():
        raise InputError(
            f"{place}, field 'sentence': found {describe(sentence)}; expected a text, not a "
            "blank one"
        )
    if not isinstance(facts, list):
        raise InputError(
            f"{place}, field 'facts': found {describe(facts)}; expected a list of texts"
        )
    for fact in facts:
        if not isinstance(fact, str) or not fact.strip():
            raise InputError(
                f"{place}, field 'facts': found {describe(fact)} in the list; expected texts, "
                "none of them blank"
            )
    return Demonstration(one_line(sentence), tuple(map(one_line, facts)))
