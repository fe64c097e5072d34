"""data/rarity.txt of the judge: in how many sentences of the training texts each word stands.

python -m training.offline_judge.rarity --data DIR
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections import Counter
from pathlib import Path

import trueground.judges.lexical
from training.offline_judge.sets import permissive, read
from trueground.judges.lexical.texts import TextView

FILE = Path(trueground.judges.lexical.__file__).parent / "data" / "rarity.txt"
_LEAST = 5  # sentences; a rarer word counts as unseen
_STEP = 0.05
_WRAP = textwrap.TextWrapper(92, break_long_words=False, break_on_hyphens=False)
_HEAD = """\
# How rare the key of a word is, from 0 to 1: log(N / n) / log(N / {least}) for n of the N = {n:,}
# sentences of the texts on which the judge is trained; a word that is not listed has 1. The keys
# are those of stems.py, groups.txt and opposites.txt; "_" stands before words without content.
# Written by training/offline_judge/rarity.py; no sentence of the texts can be had from it.
"""


def write(folder: Path) -> None:
    """Count the words of the permissive sets' texts and write the file."""
    found: Counter[str] = Counter()
    total = 0
    seen = set()
    for name in permissive("faithful"):
        for text in {text: None for one in read(folder, name) for text in one.contexts}:
            if text not in seen:
                seen.add(text)
                for sentence in TextView(text).sentences:
                    found.update(set(sentence))
                    total += 1
    bands: dict[float, list[str]] = {}
    for key, n in sorted(found.items()):
        if n >= _LEAST and key.isascii():
            rare = math.log(total / n) / math.log(total / _LEAST)
            bands.setdefault(round(rare / _STEP) * _STEP, []).append(key)
    lines = [_HEAD.format(least=_LEAST, n=total)]
    for rare, keys in sorted(bands.items()):
        if rare < 1:
            lines += [f"{rare:.2f}: {part}\n" for part in _WRAP.wrap(" ".join(keys))]
    FILE.write_text("".join(lines), "utf-8")
    print(f"{FILE}: {sum(map(len, bands.values())):,} words of {total:,} sentences")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    write(parser.parse_args().data)
