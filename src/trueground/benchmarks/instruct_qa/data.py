"""Where the three datasets come from."""

from __future__ import annotations

from trueground.benchmarks.datasets import DataFile, Dataset

_UNTRIED = (
    "its format is written from the publisher's description and not yet run against the original"
)

NQ = Dataset(
    name="nq-open",
    doc="Natural Questions open, the validation split: 3,610 questions",
    licence="CC BY-SA 3.0",
    origin_note=(
        f"google-research-datasets on the Hugging Face Hub; {_UNTRIED}. Gold passages are not in "
        "it: DPR's nq-test_gold_info.json has them (--gold)"
    ),
    files=(DataFile("validation", "google-research-datasets/nq_open", "*validation[-.]*"),),
)

HOTPOTQA = Dataset(
    name="hotpotqa",
    doc="HotpotQA, the validation split in both versions: 7,405 questions",
    licence="CC BY-SA 4.0",
    origin_note=f"hotpotqa on the Hugging Face Hub; {_UNTRIED}",
    files=tuple(
        DataFile(variant, "hotpotqa/hotpot_qa", f"{variant}/validation[-.]*")
        for variant in ("distractor", "fullwiki")
    ),
    hint=(
        "The publisher's own files (hotpot_dev_distractor_v1.json) need no fetch: name one with "
        "--data when you run"
    ),
)

TOPIOCQA = Dataset(
    name="topiocqa",
    doc="TopiOCQA, the validation split: 2,514 questions of 205 conversations",
    licence="CC BY-NC-SA 4.0",
    origin_note=f"McGill-NLP on the Hugging Face Hub; {_UNTRIED}",
    files=(DataFile("validation", "McGill-NLP/TopiOCQA", "*valid*.*"),),
    hint="The publisher's topiocqa_dev.json needs no fetch: name it with --data when you run",
)

DATASETS = (NQ, HOTPOTQA, TOPIOCQA)
