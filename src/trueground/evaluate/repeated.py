"""What several answers to each question come to: a part of the summary, and repeats.jsonl."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from trueground.evaluate.plan import Plan
from trueground.evaluate.questioned import NO_ANSWER
from trueground.evaluate.values import Values
from trueground.stats.repeats import VERDICT_AT, PerQuestion, noise, per_question

_LINES = 4_096  # of a piece


def told(plan: Plan, values: Values) -> tuple[dict[str, Any], Iterator[bytes]] | None:
    """The part of the summary on repeated answers, and the lines of repeats.jsonl.

    None where no question has a second answer. Numbers of whole runs, harmonic means of means and
    micro values, have no value for an answer and are left out.
    """
    names = list(values.questions)
    codes = values.question_codes
    if len(names) == len(codes):
        return None
    columns = [i for i, spec in enumerate(plan.specs) if not spec.metric.harmonic]
    keys = [plan.specs[i].key for i in columns]
    answers = per_question(values.scores, codes, len(names), columns)
    whole, different = _answers(codes, values.answer_hashes, len(names))
    clusters = np.zeros(len(names), np.int64)
    clusters[codes] = values.clusters
    found = noise(
        answers,
        clusters,  # even if each question is one: their order gives the draws of the items' means
        resamples=plan.resamples,
        seed=plan.seed,
        level=plan.level,
    )
    several = whole > 1
    part = {
        "of": plan.repeats_of,
        "most": int(answers.asked.max()),
        "questions": len(names),
        "answers": len(codes),
        "several": int(several.sum()),
        "same_answer": int((different[several] == 1).sum()),
        "incomplete": int((whole < answers.asked).sum()),
        "ci_level": plan.level,
        "metrics": {
            key: dataclasses.asdict(one) | {"verdicts": _verdicts(answers, i)}
            for i, (key, one) in enumerate(zip(keys, found, strict=True))
        },
    }
    return part, _lines(names, keys, answers, whole, different)


def _verdicts(answers: PerQuestion, i: int) -> str | None:
    """By what a verdict changes: `binary` for values 0 and 1, `0.5` for crossing it, else None."""
    if not np.isfinite(answers.low[i]):
        return None
    if answers.whole[i]:
        return "binary"
    return str(VERDICT_AT) if answers.has_verdicts[i] else None


def _answers(
    codes: NDArray[np.int64], hashes: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Whole answers to each question, and how many different ones are among them."""
    whole = hashes != NO_ANSWER
    pairs = np.unique(np.stack([codes[whole], hashes[whole]], axis=1), axis=0)
    return (
        np.bincount(codes[whole], minlength=count),
        np.bincount(pairs[:, 0], minlength=count),
    )


def _lines(
    names: Sequence[str],
    keys: Sequence[str],
    answers: PerQuestion,
    whole: NDArray[np.int64],
    different: NDArray[np.int64],
) -> Iterator[bytes]:
    """One line for each question, in the order in which they came, many lines a piece."""
    sds, flips = np.sqrt(answers.variances), answers.flips
    piece = []
    for q, name in enumerate(names):
        numbers = zip(answers.means[q], sds[q], answers.scored[q], flips[q], strict=True)
        scores = {
            key: {
                "mean": mean,  # NaN is written as null
                "sd": sd,
                "scored": int(scored),
                "flipped": None if np.isnan(flip) or not rule else bool(flip),
            }
            for key, rule, (mean, sd, scored, flip) in zip(
                keys, answers.has_verdicts, numbers, strict=True
            )
        }
        line = {
            "id": name,
            "asked": int(answers.asked[q]),
            "answered": int(whole[q]),
            "different": int(different[q]),
            "scores": scores,
        }
        piece.append(
            orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)
        )
        if len(piece) == _LINES:
            yield b"".join(piece)
            piece = []
    yield b"".join(piece)
