"""What is measured in the texts of a dataset: lengths, doubles, what questions share with contexts.

Words are those of the normaliser "faitheval" (text/): small letters, without punctuation and
articles. Lengths count words in any script, also in those that put no spaces between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from trueground.builders.checks import words
from trueground.builders.quality.base import Piece
from trueground.builders.quality.doubles import near, same
from trueground.builders.quality.spread import spread


def sizes(pieces: Sequence[Piece]) -> dict[str, int]:
    """Items, contexts and answers, each also without repetitions of the same text."""
    contexts = [text for piece in pieces for text in piece.contexts]
    answers = [text for piece in pieces for text in piece.answers]
    return {
        "items": len(pieces),
        "questions_distinct": len({piece.question for piece in pieces}),
        "contexts": len(contexts),
        "contexts_distinct": len(set(contexts)),
        "answers": len(answers),
        "words": sum(words(text) for text in contexts)
        + sum(words(piece.question) for piece in pieces),
    }


def lengths(pieces: Sequence[Piece]) -> dict[str, Any]:
    """Words of each question, of all contexts of an item, of each answer; contexts of an item."""
    return {
        "question": spread([words(piece.question) for piece in pieces]),
        "contexts": spread([sum(words(text) for text in p.contexts) for p in pieces if p.contexts]),
        "answer": spread([words(text) for piece in pieces for text in piece.answers]),
        "contexts_per_item": spread([len(piece.contexts) for piece in pieces]),
    }


def doubles(pieces: Sequence[Piece]) -> dict[str, Any]:
    """The same question, the same contexts, both the same; questions that are nearly the same."""
    from trueground.text.normalize import get_normalizer
    from trueground.text.tokens import tokenise

    ids = [piece.id for piece in pieces]
    rule = get_normalizer("faitheval")
    questions = tokenise([piece.question for piece in pieces], rule).strings()
    whole = tokenise(["\n".join(piece.contexts) for piece in pieces], rule).strings()
    both = [(q, c) if q else None for q, c in zip(questions, whole, strict=True)]
    return {
        "question": same([text or None for text in questions], ids),
        "contexts": same([text or None for text in whole], ids),
        "both": same(both, ids),
        "near_question": near(questions, ids),
    }


def overlap(pieces: Sequence[Piece]) -> dict[str, Any]:
    """How much of question and answer stands in the contexts.

    `question`: the share of its content words that stand there, over items with contexts and such
    words. `answer`: in how many items one of the answers stands there as a whole phrase, of those
    with answers and contexts.
    """
    from trueground.metrics.entailment import content_words
    from trueground.metrics.overlap import overlap as shared
    from trueground.text.normalize import contains_words, get_normalizer
    from trueground.text.tokens import tokenise

    read = [piece for piece in pieces if piece.contexts]
    asked = [" ".join(sorted(content_words(piece.question))) for piece in read]
    there = ["\n".join(piece.contexts) for piece in read]
    rule = get_normalizer("faitheval")
    tokens = tokenise(asked + there, rule)
    n = len(read)
    counts = shared(tokens.part(0, n), tokens.part(n, 2 * n))
    some = counts.a > 0
    cuts = [0]
    for piece in read:
        cuts.append(cuts[-1] + len(piece.answers))
    answers = tokenise([text for piece in read for text in piece.answers], rule).strings()
    contexts = tokens.part(n, 2 * n).strings()
    found = [
        any(contains_words(context, answer) for answer in answers[a:b])
        for (a, b), context in zip(pairwise(cuts), contexts, strict=True)
        if b > a
    ]
    return {
        "question": spread((counts.common[some] / counts.a[some]).tolist(), 0.0, 1.0),
        "answer": {"items": len(found), "found": sum(found)},
    }
