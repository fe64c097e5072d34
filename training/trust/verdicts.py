"""How often the verdict of an answer agrees with people: counts that ship beside the judge.

python -m training.trust.verdicts --data DIR   measures only them, and writes them into the package
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from training.trust import tables
from training.trust.measuring import Settings, count_verdicts, fit_without_each
from trueground.judges.people import FILE, LabeledVerdicts


def write_verdicts(found: LabeledVerdicts, path: Path = FILE) -> None:
    """Write the counts, a line a set."""
    sets = ",\n".join(msgspec.json.encode(one).decode() for one in found.sets)
    signature = msgspec.json.encode(found.signature).decode()
    path.write_text(f'{{"signature": {signature}, "sets": [\n{sets}\n]}}\n', "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the labeled sets")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    settings = Settings(given.data, seed=given.seed)
    counts = count_verdicts(settings, fit_without_each(settings))
    write_verdicts(counts)
    print(tables.people(counts), counts.sentence(), FILE, sep="\n\n")
