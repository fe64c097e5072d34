"""A whole JSON object from a file, with every key once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from trueground.errors import InputError
from trueground.records.problems import describe


def read_object(path: Path) -> dict[str, Any]:
    """The object in the file, in its order. InputError: unreadable, no object, a key twice."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text; save it as UTF-8") from error
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply; expected the published layout") from error
    except ValueError as error:
        raise InputError(f"{path} is no sound JSON: {error}. Take a fresh copy of it") from error
    if not isinstance(found, dict) or not found:
        what = "an empty object" if found == {} else describe(found)
        raise InputError(f"{path}: found {what}; expected a JSON object with an entry a question")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
