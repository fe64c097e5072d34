"""A WordNet database of a few synonyms, so that METEOR is tested where WordNet isn't installed.

The files have the layout of Princeton's database (wndb(5WN)): an index line names the byte offsets
of a word's synsets, and each synset is one line of a data file.
"""

from __future__ import annotations

from pathlib import Path

HEADER = "  1 A small database for tests.  \n"
SYNSETS = {
    "noun": (
        ("car", "auto", "automobile"),
        ("doctor", "physician"),
        ("house", "home"),
        ("person",),
    ),
    "verb": (("buy", "purchase"), ("run", "race"), ("leave", "go")),
    "adj": (("ill", "sick"), ("big", "large")),
    "adv": (("quickly", "rapidly"),),
}
LETTERS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
IRREGULAR_FORMS = {"noun": "men man\n", "verb": "left leave\nran run\n", "adj": "", "adv": ""}


def write_small_wordnet(folder: Path) -> Path:
    """Write the database files into `folder`, which is made, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, synsets in SYNSETS.items():
        letter = LETTERS[part]
        data, offsets = HEADER, {}
        for words in synsets:
            offset = len(data)
            listed = " ".join(f"{word} 0" for word in words)
            frames = " 00" if part == "verb" else ""
            data += f"{offset:08d} 00 {letter} {len(words):02x} {listed} 000{frames} | a test\n"
            for word in words:
                offsets[word] = offset
        index = HEADER
        for word, offset in sorted(offsets.items()):
            index += f"{word} {letter} 1 0 1 0 {offset:08d}\n"
        (folder / f"data.{part}").write_text(data, encoding="ascii")
        (folder / f"index.{part}").write_text(index, encoding="ascii")
        (folder / f"{part}.exc").write_text(IRREGULAR_FORMS[part], encoding="ascii")
    return folder
