"""Where KaLMA's files come from."""

from __future__ import annotations

from trueground.benchmarks.datasets import DataFile, Dataset
from trueground.benchmarks.kalma.source import FILES

_REPOSITORY = "lixinze777/Knowledge-aware-Language-Model-Attribution"

KALMA = Dataset(
    name="kalma",
    doc="BioKaLMA's 1,085 specific and 1,085 general questions with the graphs retrieved for them",
    licence="non-commercial use only, as the publisher states it",
    origin_note=(
        f"{_REPOSITORY} on GitHub, which trueground does not download from: clone it, and name the "
        "clone with --from. The minimum knowledge sets are not in it"
    ),
    files=tuple(DataFile(name, _REPOSITORY, f"*{name}.json") for name in FILES.values()),
    hint="One folder with both files under their published names will do",
    from_only=True,
)

DATASETS = (KALMA,)
