"""The human-labeled sets: which may train, which are relatives, and what they say.

python -m training.offline_judge.sets --data DIR   counts the texts that two sets share
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.text.sentences import split_sentences

_TABLE = Path(__file__).with_name("sets.toml")
_SHORTEST = 8  # words; a shorter sentence may be the same by chance
_NOT_WORD = re.compile(r"[\W_]+")
# A text counts as shared when this part of its sentences stands in the other set too: less was,
# when looked at, a line of the page ("Media playback is not supported on this device").
_SHARE = 0.25


class LabeledSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of sets.toml; `trains` says whether the license permits to train on it."""

    label: str
    unit: str
    license: str
    trains: bool
    relatives: tuple[str, ...]


class Example(msgspec.Struct, frozen=True):
    """One labeled record. `label` is 0.0 or 1.0; `group` joins records about the same text."""

    set: str
    id: str
    question: str
    contexts: tuple[str, ...]
    references: tuple[str, ...]
    response: str
    label: float
    group: str


class Shared(msgspec.Struct, frozen=True):
    """What two sets share: different sentences, and texts of either that really are the same."""

    sentences: int
    texts: int
    other_texts: int

    @property
    def really(self) -> bool:
        """Whether more than lines of web pages is shared."""
        return self.texts > 0 and self.other_texts > 0


@cache
def table() -> Mapping[str, LabeledSet]:
    """Return the sets by name, in the order of sets.toml.

    Raises InputError where a relative is unknown or stated on one side only.
    """
    found = msgspec.convert(tomllib.loads(_TABLE.read_text("utf-8")), dict[str, LabeledSet])
    for name, one in found.items():
        for other in one.relatives:
            if other not in found or name not in found[other].relatives:
                raise InputError(
                    f"{_TABLE.name}, {name}: found the relative {other!r} on one side only; "
                    f"expected a set of the table that names {name!r} too; add it there"
                )
    return found


def permissive(label: str | None = None) -> tuple[str, ...]:
    """Return the sets that may train, all or those with this label ("faithful", "correct")."""
    return tuple(name for name, one in table().items() if one.trains and label in (None, one.label))


def folds(label: str | None = None) -> dict[str, tuple[str, ...]]:
    """Return, for each set, the sets that may train when it is left out.

    These are the permissive sets without the set itself and its relatives; `label` keeps only sets
    with this label, on both sides.
    """
    return {
        name: tuple(
            other for other in permissive(label) if other != name and other not in one.relatives
        )
        for name, one in table().items()
        if label in (None, one.label)
    }


def read(folder: Path, name: str) -> Iterator[Example]:
    """Yield the records of the set `name` that have a label, from `folder`/NAME.jsonl.gz.

    Raises InputError where the file is absent or a line is no record.
    """
    path = folder / f"{name}.jsonl.gz"
    if not path.is_file():
        raise InputError(
            f"{path}: not found; expected the human-labeled set {name!r}; give the folder of "
            "the sets (data/human) with --data"
        )
    key = table()[name].label
    with gzip.open(path, "rb") as lines:
        for row, line in enumerate(lines, 1):
            try:
                record = msgspec.json.decode(line)
                example = _example(name, key, record)
            except (msgspec.MsgspecError, KeyError, TypeError) as error:
                raise InputError(
                    f"{path}, row {row}: found {error!r}; expected a record with id, response, "
                    f"contexts and human; take the set from its source again"
                ) from error
            if example is not None:
                yield example


def _example(name: str, key: str, record: dict[str, Any]) -> Example | None:
    label = record["human"].get(key)
    if label is None:
        return None
    return Example(
        name,
        record["id"],
        record.get("question", ""),
        tuple(record["contexts"]),
        tuple(record.get("references", ())),
        record["response"],
        float(label),
        record.get("group") or record["id"],
    )


def marks(texts: Iterable[str]) -> set[str]:
    """Return the sentences of at least eight words, in lower case and without punctuation."""
    found = set()
    for text in texts:
        for start, end in split_sentences(text):
            plain = _NOT_WORD.sub(" ", text[start:end].lower()).strip()
            if plain.count(" ") + 1 >= _SHORTEST:
                found.add(plain)
    return found


def overlaps(folder: Path) -> dict[tuple[str, str], Shared]:
    """Return what each two sets share, for those that share any sentence of their contexts."""
    by_set = {name: _marks_by_text(folder, name) for name in table()}
    every = {name: set().union(*texts) for name, texts in by_set.items()}
    found: dict[tuple[str, str], Shared] = {}
    for one, other in itertools.combinations(by_set, 2):
        both = every[one] & every[other]
        if both:
            here, there = (_texts_with(both, by_set[name]) for name in (one, other))
            found[one, other] = Shared(len(both), here, there)
    return found


def _marks_by_text(folder: Path, name: str) -> list[set[str]]:
    """The marks of each different context (all passages of a record together)."""
    texts = {example.contexts for example in read(folder, name)}
    return [marks(passages) for passages in sorted(texts)]


def _texts_with(both: set[str], texts: list[set[str]]) -> int:
    """How many texts consist of shared sentences for at least the share that counts."""
    return sum(len(text & both) >= max(1.0, _SHARE * len(text)) for text in texts)


def main() -> None:
    """Print the sets that share sentences of their contexts, and whether the table knows it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    for (one, other), shared in overlaps(parser.parse_args().data).items():
        known = "relatives" if other in table()[one].relatives else "no relatives"
        counts = f"{shared.sentences}\t{shared.texts}\t{shared.other_texts}"
        print(f"{one}\t{other}\t{counts}\t{known}{'' if shared.really else ', a line of a page'}")


if __name__ == "__main__":
    main()
