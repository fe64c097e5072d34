"""Where FaithEval's files come from: three repositories of the Hub, each with a split `test`."""

from __future__ import annotations

from trueground.benchmarks.datasets import DataFile, Dataset
from trueground.benchmarks.faitheval.source import TASKS

# A split is one or several files, as Parquet or JSON lines: data/test-00000-of-00001.parquet.
_TEST = "*test[-.]*"

DATASET = Dataset(
    name="faitheval",
    doc="FaithEval's unanswerable, inconsistent and counterfactual contexts",
    licence="for research only; the terms of the source datasets apply",
    origin_note=(
        "Salesforce on the Hugging Face Hub; its format is written from the publisher's "
        "description and not yet run against the original. Original contexts and keys are not in "
        "it: MRQA and ARC-Challenge hold them"
    ),
    files=tuple(DataFile(task, f"Salesforce/FaithEval-{task}-v1.0", _TEST) for task in TASKS),
)
