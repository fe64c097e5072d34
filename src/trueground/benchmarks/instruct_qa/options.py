"""The benchmark's options on the command line, with their defaults."""

from __future__ import annotations

from trueground.benchmarks.base import BenchmarkOption
from trueground.benchmarks.instruct_qa.names import INSTRUCTIONS, SETTINGS, TRIMS, VARIANTS
from trueground.retrieval.base import FORMS

OPTIONS = (
    BenchmarkOption(
        "setting",
        "retrieved",
        "what the model is given: passages that a retriever finds, the gold ones, one that is "
        "irrelevant, or none",
        SETTINGS,
        varied=True,
    ),
    BenchmarkOption(
        "instruction",
        "v1",
        'v1: answer, given the passages; v2: say "I don\'t know" where they do not hold the answer',
        INSTRUCTIONS,
        varied=True,
    ),
    BenchmarkOption(
        "retriever",
        "bm25",
        'bm25, dense:MODEL, hybrid:"bm25 + dense:MODEL", multi-hop:"dense:MODEL", file:RESULTS',
        varied=True,
    ),
    BenchmarkOption(
        "corpus", None, "where passages are found: documents, a file of passages, or an index"
    ),
    BenchmarkOption(
        "retrieval-query",
        "auto",
        "what is searched for where a question has a history: its retrieval_query or else all "
        "turns, all turns, or the last one",
        FORMS,
    ),
    BenchmarkOption("passages", None, "how many are retrieved. Default: 8, topiocqa 4"),
    BenchmarkOption(
        "irrelevant-rank", "1000", "irrelevant: the first passage after this rank, if it is no gold"
    ),
    BenchmarkOption(
        "preset",
        "paper",
        "paper: top-p 0.95, temperature 0.95, seed 0, at least 1 new token; greedy: temperature 0; "
        "both at most 500 new tokens",
        ("paper", "greedy"),
    ),
    BenchmarkOption(
        "post-process",
        "off",
        "what of a reply is scored: all, its first line, or what stands before the model begins "
        "another turn or passage",
        TRIMS,
    ),
    BenchmarkOption("history-turns", "10", "turns shown of a conversation; the middle is cut"),
    BenchmarkOption("gold", None, "nq: file of gold passages, as DPR's nq-test_gold_info.json"),
    BenchmarkOption(
        "gold-needed",
        "auto",
        "how many of a question's gold passages must be retrieved; auto: all for hotpotqa, else "
        "any",
        ("auto", "any", "all"),
    ),
    BenchmarkOption(
        "without-gold",
        "error",
        "setting gold: what to do with questions that have no gold passage",
        ("error", "skip"),
    ),
    BenchmarkOption("variant", "distractor", "hotpotqa: which of its two versions", VARIANTS),
    BenchmarkOption(
        "passage-words", None, "words of a passage that is cut from documents. Default: 100"
    ),
)
