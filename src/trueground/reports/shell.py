"""A template and its data → one page that opens from disk and asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from trueground.reports.blocks import number


def draw(
    template: str, scripts: Sequence[str], styles: Sequence[str], view: Mapping[str, Any]
) -> str:
    """Fill templates/<template>; scripts and styles stand inside, each kind as one.

    The template puts `script`, `style`, `script_hash` and `style_hash` in their places. Functions
    in `view` can be called there.
    """
    program = "".join(_file(name) for name in scripts)
    style = "".join(_file(name) for name in styles)
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_file),
    )
    environment.filters["number"] = number
    return environment.get_template(template).render(
        view,
        script=Markup(program),
        style=Markup(style),
        script_hash=_hash(program),
        style_hash=_hash(style),
    )


def _file(name: str) -> str:
    return (resources.files("trueground.reports") / "templates" / name).read_text("utf-8")


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
