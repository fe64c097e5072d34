"""Claims made from texts and supported claims by one change each, with a label that follows.

python -m training.offline_judge.perturb --data DIR --out FILE.jsonl [--seed 0] [--per-kind 600]
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from training.offline_judge import (
    change_names,
    change_sentences,
    change_values,
    change_words,
    sets,
)
from training.offline_judge.sources import Pool, Source, sources
from training.offline_judge.writing import Changed, Generator
from trueground.errors import OutputError

SUPPORTED: dict[str, Generator] = {
    "copied": change_sentences.copied,
    "shortened": change_sentences.shortened,
    "joined": change_sentences.joined,
    "turned": change_sentences.turned,
    "respelled": change_values.respelled,
    "synonym": change_words.synonym,
    "name_shortened": change_names.name_shortened,
}
UNSUPPORTED: dict[str, Generator] = {
    "number_near": change_values.number_near,
    "number_digits": change_values.number_digits,
    "number_tenfold": change_values.number_tenfold,
    "date_year": change_values.date_year,
    "date_month": change_values.date_month,
    "date_day": change_values.date_day,
    "unit": change_values.unit,
    "value_from_text": change_values.value_from_text,
    "name_same_text": change_names.name_same_text,
    "name_other_text": change_names.name_other_text,
    "roles_swapped": change_names.roles_swapped,
    "subject_swapped": change_names.subject_swapped,
    "negation_added": change_words.negation_added,
    "negation_removed": change_words.negation_removed,
    "quantity": change_words.quantity,
    "opposite": change_words.opposite,
    "hedge_removed": change_words.hedge_removed,
    "detail_added": change_sentences.detail_added,
    "other_sentence": change_sentences.other_sentence,
}
KINDS = SUPPORTED | UNSUPPORTED
PER_TEXT = 2  # claims of one kind from one text
PER_KIND = 600
_TRIES = 8  # claims of a text that a kind is tried on
_ROOT = Path(__file__).parents[2]


class Row(msgspec.Struct, frozen=True):
    """One made claim. `base` is what it was made from; `before` → `after` is the change."""

    set: str
    group: str
    contexts: tuple[str, ...]
    claim: str
    label: int
    kind: str
    base: str
    before: str
    after: str

    def record(self, number: int) -> dict[str, object]:
        """The row as a record of the package, which `sets.read` and `trueground` can read."""
        change = {"set": self.set, "kind": self.kind, "base": self.base}
        return {
            "id": f"perturbed-{number}",
            "question": "",
            "contexts": self.contexts,
            "references": [],
            "response": self.claim,
            "human": {"faithful": float(self.label)},
            "group": self.group,
            "meta": {**change, "before": self.before, "after": self.after},
        }


def make(
    texts: Sequence[Source], seed: int, per_kind: int = PER_KIND, per_text: int = PER_TEXT
) -> list[Row]:
    """Return the rows of all kinds, at most `per_kind` of each and `per_text` of one text.

    The sets take turns, so that a set of many texts does not crowd out the others. The rows of a
    kind depend on the texts, the seed and the limits only.
    """
    pool = Pool(texts)
    rows: list[Row] = []
    for kind in KINDS:
        rng = random.Random(f"{seed} {kind}")
        turns = [_of_set(kind, part, pool, rng, per_text) for part in _by_set(texts)]
        rows += _in_turns(turns, per_kind)
    return rows


def _by_set(texts: Sequence[Source]) -> list[list[Source]]:
    found: dict[str, list[Source]] = {}
    for text in texts:
        found.setdefault(text.set, []).append(text)
    return list(found.values())


def _in_turns(turns: list[Iterator[Row]], limit: int) -> Iterator[Row]:
    """Take one row of each set after the other until all are at their end or `limit` is reached."""
    taken = 0
    while turns and taken < limit:
        for turn in list(turns):
            row = next(turn, None)
            if row is None:
                turns.remove(turn)
            elif taken < limit:
                taken += 1
                yield row


def _of_set(
    kind: str, texts: list[Source], pool: Pool, rng: random.Random, per_text: int
) -> Iterator[Row]:
    """The rows of a kind from one set, in as many rounds over its texts as `per_text`."""
    order = rng.sample(texts, len(texts))
    made: dict[int, set[str]] = {}
    for _ in range(per_text):
        for source in order:
            known = made.setdefault(id(source), set())
            row = _one(kind, source, pool, rng, known)
            if row is not None:
                known |= {row.base, row.claim}
                yield row


def _one(kind: str, source: Source, pool: Pool, rng: random.Random, known: set[str]) -> Row | None:
    """One row from a claim of the text that was not used before."""
    bases = [base for base in _bases(kind, source) if base not in known]
    for base in rng.sample(bases, min(_TRIES * 5, len(bases))):
        changed = KINDS[kind](source, base, pool, rng)
        if changed is not None and changed.claim not in known and holds(kind, source, changed):
            label = int(kind in SUPPORTED)
            return Row(source.set, source.group, source.contexts, changed.claim, label, kind, base,
                       changed.before, changed.after)  # fmt: skip
    return None


def _bases(kind: str, source: Source) -> tuple[str, ...]:
    """Sentences of the text; and, where people's judgment adds no doubt, supported claims."""
    if kind in ("copied", "joined", "other_sentence"):
        return source.sentences
    return tuple(dict.fromkeys(source.claims + source.sentences))


def holds(kind: str, source: Source, changed: Changed) -> bool:
    """Whether the label may be trusted: an unsupported claim must not occur in the text."""
    return kind in SUPPORTED or not source.says(changed.claim)


def write(rows: Iterable[Row], path: Path) -> None:
    """Write the rows as records, one a line. Raises OutputError inside the repository."""
    refuse_tracked(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    encoder = msgspec.json.Encoder()
    with open(path, "wb") as file:
        for number, row in enumerate(rows):
            file.write(encoder.encode(row.record(number)) + b"\n")


def refuse_tracked(path: Path) -> None:
    """Raise OutputError where git would take the file: the texts must not ship."""
    if not path.resolve().is_relative_to(_ROOT):
        return
    command = ["git", "-C", str(_ROOT), "check-ignore", "--quiet", str(path.resolve())]
    if subprocess.run(command, check=False).returncode != 0:
        raise OutputError(
            f"{path}: found a place in the repository; expected one outside of it or in an "
            "ignored folder, since the texts of the sets must not be shipped; give --out runs/…"
        )


def main() -> None:
    """Make the claims from the permissive sets, write them and print the counts by kind."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the labeled sets")
    parser.add_argument("--out", type=Path, required=True, help="file to write, JSON lines")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per-kind", type=int, default=PER_KIND)
    options = parser.parse_args()
    refuse_tracked(options.out)
    texts = [s for name in sets.permissive("faithful") for s in sources(options.data, name)]
    rows = make(texts, options.seed, options.per_kind)
    write(rows, options.out)
    for (kind, label), n in Counter((row.kind, row.label) for row in rows).items():
        sys.stdout.write(f"{kind}\t{label}\t{n}\n")


if __name__ == "__main__":
    main()
