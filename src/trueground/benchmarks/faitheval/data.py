"""Where FaithEval's files come from, and those of the questions that it was made of."""

from __future__ import annotations

from trueground.benchmarks.datasets import DataFile, Dataset
from trueground.benchmarks.faitheval import TASKS

_UNTRIED = (
    "its format is written from the publisher's description and not yet run against the original"
)
_UNFETCHED = "need no fetch: name their folder when you run, with --original PATH"
# A split is one or several files, as Parquet or JSON lines: data/test-00000-of-00001.parquet.
_TEST = "*test[-.]*"

FAITHEVAL = Dataset(
    name="faitheval",
    doc="FaithEval's unanswerable, inconsistent and counterfactual contexts",
    licence="for research only; the terms of the source datasets apply",
    origin_note=(
        f"Salesforce on the Hugging Face Hub; {_UNTRIED}. Original contexts and keys are not "
        "in it: mrqa and arc-challenge hold them"
    ),
    files=tuple(DataFile(task, f"Salesforce/FaithEval-{task}-v1.0", _TEST) for task in TASKS),
)

# FaithEval took MRQA's test sets: the in-domain ones are published as its validation split.
MRQA = Dataset(
    name="mrqa",
    doc="MRQA's questions with their original contexts, for faitheval/original",
    licence="see the publisher; the terms of the source datasets apply",
    origin_note=f"mrqa-workshop on the Hugging Face Hub; {_UNTRIED}",
    files=tuple(
        DataFile(split, "mrqa-workshop/mrqa", f"*{split}[-.]*") for split in ("validation", "test")
    ),
    hint=f"MRQA's own files, one a source dataset (SQuAD.jsonl.gz), {_UNFETCHED}",
)

ARC = Dataset(
    name="arc-challenge",
    doc="ARC-Challenge's questions with their original keys, for faitheval/original --closed-book",
    licence="CC BY-SA 4.0",
    origin_note=f"allenai on the Hugging Face Hub; {_UNTRIED}",
    files=tuple(
        DataFile(split, "allenai/ai2_arc", f"ARC-Challenge/*{split}[-.]*")
        for split in ("train", "validation", "test")
    ),
    hint=f"ARC's own files (ARC-Challenge-Test.jsonl) {_UNFETCHED}",
)

DATASETS = (FAITHEVAL, MRQA, ARC)
