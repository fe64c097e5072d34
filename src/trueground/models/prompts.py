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
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from trueground.errors import InputError, UsageError
from trueground.models.base import Message
from trueground.text.placeholders import PLACEHOLDER, placeholders_in
from trueground.types import PromptFile

# A place alone on its line takes the line with it where it has nothing to say.
_LINE = re.compile(r"^[ \t]*\{([a-z_]+)\}[ \t]*(?:\n|\Z)", re.MULTILINE)
PLAIN = "plain_"
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
        places = placeholders_in(f"{self.system}\n{self.user}")
        return place in places or f"{PLAIN}{place}" in places

    def fill(self, places: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages with every place filled; braces inside the values stay as they are."""

        def filled(text: str) -> str:
            text = _LINE.sub(lambda match: match[0] if places.get(match[1], "") else "", text)
            return PLACEHOLDER.sub(lambda m: m[1] or places.get(m[2], ""), text).strip("\n")

        texts = (("system", self.system), ("user", self.user))
        return tuple(Message(role, filled(text)) for role, text in texts if text)


def packaged_prompt(package: str, name: str) -> Prompt:
    """The prompt of that name in `prompts/` of a package, such as trueground.benchmarks.faitheval.

    Its id is the last word of the package and the name: `faitheval/direct-1`.
    """
    file = files(package) / "prompts" / f"{name}.txt"
    return _parse(f"{package.rpartition('.')[2]}/{name}", file.read_text(encoding="utf-8"))


def user_prompt(
    path: Path, needed: Iterable[str], optional: Iterable[str] = (), *, plain: Iterable[str] = ()
) -> Prompt:
    """A prompt of the user's own; its id is the file's name.

    What `plain` names may stand as `{plain_NAME}` too: the bare text, without the lines that mark
    where it begins and ends, for prompts that are to be sent to the letter.

    InputError: the file cannot be read. UsageError: a needed place is absent, one is unknown, or
    there are NUL characters.
    """
    needed, known = tuple(needed), (*needed, *optional, *(f"{PLAIN}{name}" for name in plain))
    text = _read_text(path, "prompt")
    if "\0" in text:
        raise UsageError(f"the prompt {path} holds NUL characters; save it as plain UTF-8 text")
    found = placeholders_in(text)
    shown = ", ".join(f"{{{name}}}" for name in known)
    for name in needed:
        if name not in found and (f"{PLAIN}{name}" not in found or f"{PLAIN}{name}" not in known):
            raise UsageError(f"the prompt {path} has no place {{{name}}}; it may have {shown}")
    for name in sorted(found.difference(known)):
        raise UsageError(
            f"the prompt {path} has an unknown place {{{name}}}; it may have {shown}. For the "
            f"text {{{name}}} itself write {{{{{name}}}}}"
        )
    return _parse(path.name, text)


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


_LENGTH = 12


def mark_for(texts: Sequence[str], others: Sequence[str] = ()) -> str:
    """A mark of 12 hexadecimal digits that stands in none of `texts` and `others`.

    It depends on `texts` alone, unless one of all holds it: then on the next hash. So prompts with
    the same texts begin alike, which endpoints that keep beginnings make use of.
    """
    words = "\0".join(f"{len(text)}:{text}" for text in texts)
    for turn in range(1_000_000):
        mark = sha256(f"{turn}\0{words}".encode("utf-8", "replace")).hexdigest()[:_LENGTH]
        if not any(mark in text.lower() for text in (*texts, *others)):
            return mark
    raise AssertionError("a text holds a million hashes of itself")


def block(name: str, text: str, mark: str) -> str:
    """The text between two lines that name it and bear the mark."""
    return f"=== BEGIN {name} {mark} ===\n{text}\n=== END {name} {mark} ==="


def blocks(name: str, texts: Sequence[str], mark: str) -> str:
    """Several texts, numbered; a single one has no number."""
    if len(texts) == 1:
        return block(name, texts[0], mark)
    return "\n\n".join(
        block(f"{name} {number} OF {len(texts)}", text, mark)
        for number, text in enumerate(texts, 1)
    )


def marked_places(
    mark: str, texts: Mapping[str, str | Sequence[str]], *, keep: Container[str] = ()
) -> dict[str, str]:
    """What a prompt's places hold: {mark}, and for each text {name} in marked lines and
    {plain_name} as it is. A blank text, or no text of several, has no lines unless it is in `keep`.
    """
    places = {"mark": mark}
    for name, text in texts.items():
        parts = [text] if isinstance(text, str) else text
        shown = name in keep or (bool(text.strip()) if isinstance(text, str) else bool(parts))
        places[name] = blocks(name.upper(), parts, mark) if shown else ""
        places[f"plain_{name}"] = "\n".join(parts)
    return places
