"""Truly-Ground (Lee et al. 2024): does an answer use all of its context that it needs, and no more?

Only the declaration stands here, so that listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping

from trueground.benchmarks.base import Benchmark, BenchmarkOption, Sources, Task, Value
from trueground.benchmarks.studies import Studies
from trueground.benchmarks.truly_ground.names import USUAL_SET

_OPTIONS = (
    BenchmarkOption(
        "preset",
        "greedy",
        "greedy: temperature 0; paper: the same, scored as the paper's code does, by its judge "
        "where none is named; llama2, vicuna, falcon: top-k 10 at temperature 1; tulu: "
        "temperature 0.6; each with at most 2,048 new tokens",
        ("greedy", "paper", "llama2", "vicuna", "falcon", "tulu"),
    ),
    BenchmarkOption(
        "distractors",
        None,
        'file of distractors, {"Q0": {"2k_distractor": ["Title: …"]}}; without it and --retriever '
        "qId2distractor.json of the data, or else they are mined by bm25",
    ),
    BenchmarkOption("distractor-set", USUAL_SET, "which set of that file"),
    BenchmarkOption("retriever", None, "mine distractors from the corpus with bm25 or dense:MODEL"),
    BenchmarkOption(
        "corpus", None, "folder of localDocId2localDocText.json and …title.json, if not the data's"
    ),
    BenchmarkOption("top", "40", "how many passages to mine for a question"),
    BenchmarkOption(
        "budget",
        None,
        "tokens of all contexts together, the gold ones included; mined: 2048, a file: all it has",
    ),
    BenchmarkOption(
        "gold-position",
        "random",
        "where the gold contexts stand among the distractors",
        ("random", "beginning", "middle", "end"),
    ),
    BenchmarkOption("position-seed", "0", "seed of the random position"),
    BenchmarkOption(
        "tokenizer",
        None,
        "tokenizer.json, model folder or name that tokens are counted with; default: that of a "
        "model hf:…, else 4 characters a token",
    ),
    BenchmarkOption(
        "input-cap", None, "most tokens of a prompt; distractors are left out to stay within it"
    ),
    BenchmarkOption(
        "fluency", False, "also rate the fluency of free-form answers (needs a rater: --rater)"
    ),
)


def _prepare(task: str, options: Mapping[str, Value], sources: Sources) -> Task:
    from trueground.benchmarks.registry import settled
    from trueground.benchmarks.truly_ground.task import prepare

    return prepare(task, settled(BENCHMARK, task, options), sources)


def _judge(options: Mapping[str, Value]) -> str:
    return "cross-encoder" if options.get("preset") == "paper" else "lexical"


def _studies() -> Studies:
    from trueground.benchmarks.truly_ground.studies import STUDIES

    return STUDIES


BENCHMARK = Benchmark(
    name="truly-ground",
    doc="strict grounding: all necessary knowledge of the contexts, and nothing else",
    source="Lee et al. 2024, How Well Do Large Language Models Truly Ground?",
    default_tasks=("original-gold", "original-dist", "conflict-gold", "conflict-dist"),
    other_tasks=("no-context",),
    options=_OPTIONS,
    prepare=_prepare,
    judge=_judge,
    studies=_studies,
)
