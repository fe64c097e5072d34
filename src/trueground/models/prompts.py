"""Prompts as text files with places such as {question}; messages as one text.

Each prompt is named by its id and its hash. One that ships with the package is the file
`prompts/NAME-VERSION.txt` beside the code that uses it; a change of words is a new version. A line
`---system---` before, and a line `---user---` behind, mark what goes into a system message; without
them the whole text is the user message. `{{word}}` stands for `{word}`; all other braces are text.

Texts that are judged stand between lines that they cannot forge: these carry a mark, a hash of what
stands between them. So the same texts always make the same prompt, which can be cached, and no text
can hold the mark of the prompt that it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from trueground.errors import InputError, UsageError
from trueground.models.base import Message
from trueground.text import Template
from trueground.types import PromptFile

# A place alone on its line takes the line with it where it has nothing to say.
_LINE = re.compile(r"^[ \t]*\{([a-z_]+)\}[ \t]*(?:\n|\Z)", re.MULTILINE)
PLAIN = "plain_"
MARK_LENGTH = 12  # hexadecimal digits
MAX_TURNS = 1_000_000  # hashes tried for a mark
_SYSTEM, _USER = "---system---", "---user---"
_WRAPPED = re.compile(r"\{(system|user)\}")


@dataclass(frozen=True)
class Prompt:
    """A prompt's text, cut into its messages, and how a manifest names it."""

    file: PromptFile
    system: str
    user: str

    def has(self, place: str) -> bool:
        """Whether the text has this place, as a marked block or plain."""
        places = Template(f"{self.system}\n{self.user}").placeholders
        return place in places or f"{PLAIN}{place}" in places

    def fill(self, places: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages with every place filled; braces inside the values stay as they are."""

        def filled(text: str) -> str:
            text = _LINE.sub(lambda match: match[0] if places.get(match[1], "") else "", text)
            return Template(text).fill(places).strip("\n")

        texts = (("system", self.system), ("user", self.user))
        return tuple(Message(role, filled(text)) for role, text in texts if text)

    @staticmethod
    def marks(texts: Sequence[str], others: Sequence[str] = ()) -> TextMarks:
        """Return marks for the lines around the texts of a prompt, see `TextMarks.of`."""
        return TextMarks.of(texts, others)

    @classmethod
    def packaged(cls, package: str, name: str) -> Prompt:
        """Return the prompt of that name in `prompts/` of a package.

        Its id is the last part of the package and the name: `faitheval/direct-1`.
        """
        file = files(package) / "prompts" / f"{name}.txt"
        return _parse(f"{package.rpartition('.')[2]}/{name}", file.read_text(encoding="utf-8"))

    @classmethod
    def read(
        cls,
        path: Path,
        required: Iterable[str],
        optional: Iterable[str] = (),
        *,
        plain: Iterable[str] = (),
    ) -> Prompt:
        """Return a prompt of the user's own; its id is the file's name.

        Args:
            path: The file.
            required: Placeholders that it must have.
            optional: Placeholders that it may have.
            plain: Placeholders that may also be written `{plain_NAME}`: the text without the lines
                that mark where it begins and ends, for prompts that are sent to the letter.

        Raises:
            InputError: The file can't be read.
            UsageError: A required placeholder is missing, one is unknown, or there are NUL
                characters.
        """
        required = tuple(required)
        allowed = (*required, *optional, *(f"{PLAIN}{name}" for name in plain))
        text = _read_text(path, "prompt")
        if "\0" in text:
            raise UsageError(f"the prompt {path} holds NUL characters; save it as plain UTF-8 text")
        _check_placeholders(path, Template(text).placeholders, required, allowed)
        return _parse(path.name, text)


def _check_placeholders(
    path: Path, names: Collection[str], required: Sequence[str], allowed: Sequence[str]
) -> None:
    shown = ", ".join(f"{{{name}}}" for name in allowed)
    for name in required:
        has_plain = f"{PLAIN}{name}" in names and f"{PLAIN}{name}" in allowed
        if name not in names and not has_plain:
            raise UsageError(f"the prompt {path} has no place {{{name}}}; it may have {shown}")
    for name in sorted(set(names).difference(allowed)):
        raise UsageError(
            f"the prompt {path} has an unknown place {{{name}}}; it may have {shown}. For the "
            f"text {{{name}}} itself write {{{{{name}}}}}"
        )


def _read_text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"the {what} {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the {what} {path} is not UTF-8 text; save it as UTF-8") from error


def _parse(name: str, text: str) -> Prompt:
    text = text.replace("\r\n", "\n")
    file = PromptFile(name, sha256(text.encode()).hexdigest())
    raw = text.split("\n")
    lines = [line.strip() for line in raw]
    marks = [(line, at) for at, line in enumerate(lines) if line in (_SYSTEM, _USER)]
    if not marks:
        return Prompt(file, "", text.strip("\n"))
    if [line for line, _ in marks] != [_SYSTEM, _USER] or any(lines[: marks[0][1]]):
        raise UsageError(
            f"the prompt {name} must begin with a line {_SYSTEM} and have one line {_USER} after "
            "it, or neither"
        )
    (_, begin), (_, middle) = marks
    system, user = "\n".join(raw[begin + 1 : middle]), "\n".join(raw[middle + 1 :])
    if not user.strip():
        raise UsageError(f"the prompt {name} has nothing after the line {_USER}")
    return Prompt(file, system.strip("\n"), user.strip("\n"))


def lay_out(messages: Sequence[Message], wrapper: str | None) -> str:
    """The messages as one text in the wrapper, for models without a chat template.

    Without a wrapper: system text, empty line, user text, newline. A conversation of several turns
    names the speaker of each. A system text for which the wrapper has no place stands before the
    user's.
    """
    system = "\n\n".join(m.content for m in messages if m.role == "system")
    turns = [m for m in messages if m.role != "system"]
    if len(turns) == 1:
        user = turns[0].content
    else:
        user = "\n\n".join(f"{m.role.capitalize()}: {m.content}" for m in turns)
    if wrapper is None or "{system}" not in wrapper:
        user = f"{system}\n\n{user}" if system else user
    if wrapper is None:
        return f"{user}\n"
    # In one pass: a text that itself holds "{user}" must stay as it is.
    return _WRAPPED.sub(lambda place: system if place[1] == "system" else user, wrapper)


def read_wrapper(path: Path) -> str:
    """The wrapper in a file: a text with the places {user} and {system}. InputError, UsageError."""
    wrapper = _read_text(Path(path), "prompt wrapper")
    if "{user}" not in wrapper:
        raise UsageError(
            f"the prompt wrapper {path} has no place {{user}}; write {{user}} where the question "
            "goes, and {system} where instructions go, if anywhere"
        )
    return wrapper


@dataclass(frozen=True)
class TextMarks:
    """Lines around the texts of a prompt that no text can forge: they have a mark that none holds.

    `mark` has 12 hexadecimal digits.
    """

    mark: str

    @classmethod
    def of(cls, texts: Sequence[str], others: Sequence[str] = ()) -> TextMarks:
        """Return marks that are in none of `texts` and `others`.

        They depend on `texts` alone, unless one of all texts holds them: then on the next hash. So
        prompts with the same texts begin alike, and endpoints can reuse these beginnings.
        """
        joined = "\0".join(f"{len(text)}:{text}" for text in texts)
        for turn in range(MAX_TURNS):
            digest = sha256(f"{turn}\0{joined}".encode("utf-8", "replace")).hexdigest()
            mark = digest[:MARK_LENGTH]
            if not any(mark in text.lower() for text in (*texts, *others)):
                return cls(mark)
        raise AssertionError("a text holds a million hashes of itself")

    def surround(self, name: str, texts: str | Sequence[str]) -> str:
        """Return the text between two lines that name it; several texts are numbered."""
        if isinstance(texts, str):
            return f"=== BEGIN {name} {self.mark} ===\n{texts}\n=== END {name} {self.mark} ==="
        if len(texts) == 1:
            return self.surround(name, texts[0])
        return "\n\n".join(
            self.surround(f"{name} {number} OF {len(texts)}", text)
            for number, text in enumerate(texts, 1)
        )

    def fields(
        self, texts: Mapping[str, str | Sequence[str]], *, keep: Container[str] = ()
    ) -> dict[str, str]:
        """Return the values of a prompt's placeholders.

        Args:
            texts: A text, or several, per placeholder.
            keep: Placeholders that have marked lines even if their text is blank.

        Returns:
            `mark`, and for each text its name with marked lines, and `plain_NAME` as it is.
        """
        fields = {"mark": self.mark}
        for name, text in texts.items():
            several = [text] if isinstance(text, str) else text
            is_blank = not text.strip() if isinstance(text, str) else not several
            has_lines = name in keep or not is_blank
            fields[name] = self.surround(name.upper(), several) if has_lines else ""
            fields[f"{PLAIN}{name}"] = "\n".join(several)
        return fields
