"""Where Truly-Ground's files come from."""

from __future__ import annotations

from trueground.benchmarks.datasets import DataFile, Dataset
from trueground.benchmarks.truly_ground.source import FILES

_REPOSITORY = "kaistAI/How-Well-Do-LLMs-Truly-Ground"

TRULY_GROUND = Dataset(
    name="truly-ground",
    doc="Truly-Ground's questions in both versions, their corpus, and distractors if you have them",
    licence="none stated by the publisher",
    origin_note=(
        f"{_REPOSITORY} on GitHub, which trueground does not download from: clone it, and name "
        "the clone with --from. The distractors are not in it"
    ),
    files=tuple(DataFile(name, _REPOSITORY, f"*{name}.json") for name in FILES),
    hint="One folder with all files under their published names (original_version.json …) will do",
    from_only=True,
)

DATASETS = (TRULY_GROUND,)
