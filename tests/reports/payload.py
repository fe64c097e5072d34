"""What a page of blocks holds: its JSON, and all texts of it in reading order."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import zstandard


def payload(page: str, name: str = "page") -> Any:
    """The data block of that name of a page as the file has it."""
    kinds = "application/(?P<kind>json|zstd)"
    found = re.search(rf'<script type="{kinds}" id="{name}">(?P<data>.*?)</script>', page, re.S)
    assert found, f"the page has no data block {name!r}"
    if found["kind"] == "zstd":
        return json.loads(zstandard.decompress(base64.b64decode(found["data"])))
    return json.loads(found["data"])


def blocks(page: str | dict[str, Any], type_: str) -> list[dict[str, Any]]:
    """All blocks of a type, from anywhere in the page."""
    data = payload(page) if isinstance(page, str) else page
    return [one for one in _dicts(data) if one.get("type") == type_]


def words(page: str | dict[str, Any]) -> str:
    """All texts of the page, those of one place joined, one place a line."""
    return "\n".join(_texts(payload(page) if isinstance(page, str) else page))


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for one in value.values():
            yield from _dicts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _dicts(one)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and value and all(_is_rich(one) for one in value):
        yield "".join(one if isinstance(one, str) else one["text"] for one in value)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in ("type", "kind", "mark", "tone", "style", "href", "id"):
                yield from _texts(one)


def _is_rich(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, dict) and "text" in value and "type" not in value
    )
