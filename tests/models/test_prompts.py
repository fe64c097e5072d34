"""Prompt files: places, messages, ids and hashes."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import pytest

from trueground.errors import InputError, UsageError
from trueground.models.base import Message
from trueground.models.prompts import Prompt

FOLDER = files("trueground.wings.papers") / "faitheval" / "prompts"
NAMES = sorted(Path(str(file)).stem for file in FOLDER.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_packaged_prompt_has_an_id_and_the_hash_of_its_text(name: str) -> None:
    prompt = Prompt.packaged("trueground.wings.papers.faitheval", name)
    data = (FOLDER / f"{name}.txt").read_bytes()
    assert prompt.file.id == f"faitheval/{name}"
    assert prompt.file.sha256 == sha256(data).hexdigest()
    assert prompt.user
    assert name[-2:] == "-1"


def test_values_keep_their_braces_and_empty_lines_go(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text('{question}\n{options}\n\nIn short ({options}): {"json": {}}\n{options}')
    prompt = Prompt.read(path, ("question",), ("options",))
    asked = prompt.fill({"question": "{options} or {x}?", "options": ""})
    assert asked == (Message("user", '{options} or {x}?\n\nIn short (): {"json": {}}'),)
    asked = prompt.fill({"question": "q", "options": "A. {question}"})
    assert asked[0].content.startswith("q\nA. {question}\n\nIn short (A. {question})")


def test_a_division_makes_a_system_message(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text("---system---\nYou are {question}.\n\n---user---\nHello\n")
    assert Prompt.read(path, ("question",)).fill({"question": "it"}) == (
        Message("system", "You are it."),
        Message("user", "Hello"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Hello",
            r"has no placeholder \{question\}, which is required\. Placeholders: \{question\}, ",
        ),
        ("{question} {optoins}", r"has an unknown placeholder \{optoins\}"),
        ("---system---\n{question}", "must begin with a line ---system---"),
        ("hi\n---system---\n{question}\n---user---\nx", "must begin with a line ---system---"),
        ("---user---\nx\n---system---\n{question}", "must begin with a line ---system---"),
        ("---system---\n{question}\n---user---\n ", "nothing after the line ---user---"),
    ],
)
def test_read_prompt_rejects_invalid_prompt(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        Prompt.read(path, ("question",), ("options",))


def test_a_prompt_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.txt can't be read: No such file"):
        Prompt.read(tmp_path / "no.txt", ("question",))
    (tmp_path / "p.txt").write_bytes(b"\xff{question}")
    with pytest.raises(InputError, match="isn't UTF-8"):
        Prompt.read(tmp_path / "p.txt", ("question",))


def test_line_ends_do_not_change_the_hash(tmp_path: Path) -> None:
    for name, data in (("a", b"x\r\n{question}"), ("b", b"x\n{question}")):
        (tmp_path / name).write_bytes(data)
    one, other = (Prompt.read(tmp_path / name, ("question",)) for name in "ab")
    assert one.file.sha256 == other.file.sha256
    assert one.user == other.user


def test_two_braces_around_a_word_are_text(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text('{{x}}\n{{options}} {question}: {"json": {"a": {}}} {{a b}} {{question}}')
    asked = Prompt.read(path, ("question",), ("options",)).fill({"question": "{{q}}"})
    assert asked[0].content == '{x}\n{options} {{q}}: {"json": {"a": {}}} {{a b}} {question}'
    path.write_text("{{question}}")
    with pytest.raises(UsageError, match=r"has no placeholder \{question\}"):
        Prompt.read(path, ("question",))
    path.write_text("{question} {x}")
    with pytest.raises(UsageError, match=r"For the literal text \{x\}, write \{\{x\}\}"):
        Prompt.read(path, ("question",))


def test_nul_characters_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes(b"{question}\0")
    with pytest.raises(UsageError, match="has NUL characters"):
        Prompt.read(tmp_path / "p.txt", ("question",))
