"""Prompts: text files with placeholders such as {question}.

An id and a hash identify each prompt. A prompt of the package is the file
`prompts/NAME-VERSION.txt` next to the code that uses it. A new text gets a new version. The text
between the lines `---system---` and `---user---` is the system message, and the rest is the user
message. Without these lines, the whole text is the user message. Write `{{word}}` for a literal
`{word}`; all other braces are literal.

Texts to judge are surrounded by lines that they can't forge: each line has a mark, which is a hash
of the texts. So the same texts always give the same prompt, which can be cached, and no text
contains the mark of its own prompt.
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

# If a placeholder is alone on its line and its value is empty, the line is removed.
_LINE = re.compile(r"^[ \t]*\{([a-z_]+)\}[ \t]*(?:\n|\Z)", re.MULTILINE)
PLAIN = "plain_"
MARK_LENGTH = 12  # Hexadecimal digits.
MAX_TURNS = 1_000_000  # Number of hashes that are tried for a mark.
_SYSTEM, _USER = "---system---", "---user---"
_WRAPPED = re.compile(r"\{(system|user)\}")


@dataclass(frozen=True)
class Prompt:
    """A prompt: its system and user messages, and its entry in manifests."""

    file: PromptFile
    system: str
    user: str

    def has(self, placeholder: str) -> bool:
        """Return whether the text has this placeholder, marked or plain."""
        placeholders = Template(f"{self.system}\n{self.user}").placeholders
        return placeholder in placeholders or f"{PLAIN}{placeholder}" in placeholders

    def fill(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """Return the messages with the values of all placeholders; braces in values are literal."""

        def filled(text: str) -> str:
            text = _LINE.sub(lambda match: match[0] if values.get(match[1], "") else "", text)
            return Template(text).fill(values).strip("\n")

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
        """Return a prompt from a user's file. Its id is the name of the file.

        Args:
            path: The file.
            required: Placeholders that it must have.
            optional: Placeholders that it may have.
            plain: Placeholders that may also be written `{plain_NAME}`: the text without marked
                lines around it.

        Raises:
            InputError: The file can't be read.
            UsageError: A required placeholder is missing, one is unknown, or there are NUL
                characters.
        """
        required = tuple(required)
        allowed = (*required, *optional, *(f"{PLAIN}{name}" for name in plain))
        text = _read_text(path, "prompt")
        if "\0" in text:
            raise UsageError(f"the prompt {path} has NUL characters. Save it as UTF-8 text")
        _check_placeholders(path, Template(text).placeholders, required, allowed)
        return _parse(path.name, text)


def _check_placeholders(
    path: Path, names: Collection[str], required: Sequence[str], allowed: Sequence[str]
) -> None:
    supported = ", ".join(f"{{{name}}}" for name in allowed)
    for name in required:
        has_plain = f"{PLAIN}{name}" in names and f"{PLAIN}{name}" in allowed
        if name not in names and not has_plain:
            raise UsageError(
                f"the prompt {path} has no placeholder {{{name}}}, which is required. "
                f"Placeholders: {supported}"
            )
    for name in sorted(set(names).difference(allowed)):
        raise UsageError(
            f"the prompt {path} has an unknown placeholder {{{name}}}. Placeholders: {supported}. "
            f"For the literal text {{{name}}}, write {{{{{name}}}}}"
        )


def _read_text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"the {what} {path} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the {what} {path} isn't UTF-8 text. Save it as UTF-8") from error


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
            "it, or have neither line"
        )
    (_, begin), (_, middle) = marks
    system, user = "\n".join(raw[begin + 1 : middle]), "\n".join(raw[middle + 1 :])
    if not user.strip():
        raise UsageError(f"the prompt {name} has nothing after the line {_USER}")
    return Prompt(file, system.strip("\n"), user.strip("\n"))


def lay_out(messages: Sequence[Message], wrapper: str | None) -> str:
    """Return messages as one text, for models without a chat template.

    If there are several turns, each begins with its speaker. If the wrapper has no {system}, the
    system text is put before the user's.

    Args:
        messages: The messages.
        wrapper: Text with {user} and {system}. Default: system text, empty line, user text,
            newline.
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
    # Replace both in one pass, because a text may itself contain "{user}".
    return _WRAPPED.sub(lambda match: system if match[1] == "system" else user, wrapper)


def read_wrapper(path: Path) -> str:
    """Return the text of a wrapper file, with {user} and maybe {system}.

    Raises:
        InputError: The file can't be read.
        UsageError: The text has no {user}.
    """
    wrapper = _read_text(Path(path), "prompt wrapper")
    if "{user}" not in wrapper:
        raise UsageError(
            f"the prompt wrapper {path} has no {{user}}. Put {{user}} where the question goes; "
            "{system} for the instructions is optional"
        )
    return wrapper


@dataclass(frozen=True)
class TextMarks:
    """Lines around the texts of a prompt, with a mark of 12 digits that no text contains."""

    mark: str

    @classmethod
    def of(cls, texts: Sequence[str], others: Sequence[str] = ()) -> TextMarks:
        """Return marks that are in none of `texts` and `others`.

        They depend only on `texts`. If a text contains the mark, the next hash is used. So prompts
        with the same texts have the same beginning, which endpoints can cache.
        """
        joined = "\0".join(f"{len(text)}:{text}" for text in texts)
        for turn in range(MAX_TURNS):
            digest = sha256(f"{turn}\0{joined}".encode("utf-8", "replace")).hexdigest()
            mark = digest[:MARK_LENGTH]
            if not any(mark in text.lower() for text in (*texts, *others)):
                return cls(mark)
        raise AssertionError("a text holds a million hashes of itself")

    def surround(self, name: str, texts: str | Sequence[str]) -> str:
        """Return a text between two lines with its name; several texts are numbered."""
        if isinstance(texts, str):
            return f"=== BEGIN {name} {self.mark} ===\n{texts}\n=== END {name} {self.mark} ==="
        if len(texts) == 1:
            return self.surround(name, texts[0])
        blocks = []
        for number, text in enumerate(texts, 1):
            blocks.append(self.surround(f"{name} {number} OF {len(texts)}", text))
        return "\n\n".join(blocks)

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
