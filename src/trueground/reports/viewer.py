"""A page of blocks → one HTML file that opens from disk and asks nothing of the network.

The viewer is the same for every page: the scripts of `assets/` draw the blocks that stand in the
file as JSON. No text of the data is read as markup: JSON is escaped here, and the viewer sets texts
as texts. The page's policy allows its own script and style, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
from functools import cache
from importlib import resources

import msgspec

_SCRIPTS = (
    "vendor/htm-preact.js",
    "vendor/uplot.js",
    "vendor/fzstd.js",
    "blocks.js",
    "charts.js",
    "graph.js",
    "citations.js",
    "source.js",
    "answers.js",
    "markdown.js",
    "answer.js",
    "page.js",
)
_LEVEL = 9  # of compression, from 1 to 22
_STYLES = ("vendor/uplot.css", "viewer.css")
_ESCAPES = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"} | {
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}
# What stands before the data, and after it. `{files}` lets data files beside the page be loaded.
_HEAD = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="{mark}">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src '{script_hash}'{files}; style-src '{style_hash}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="viewer"><noscript>This page needs JavaScript. It loads nothing from the network.
</noscript></div>
"""
_TAIL = "<script>{script}</script>\n</body>\n</html>\n"


def json_bytes(value: object) -> bytes:
    """JSON that no text in it can end or turn into markup, in a script too."""
    data = msgspec.json.encode(value)
    for raw, escaped in _ESCAPES.items():
        data = data.replace(raw, escaped)
    return data


def json_block(name: str, value: object) -> bytes:
    """The same as a data block of a page."""
    return (
        f'<script type="application/json" id="{name}">'.encode()
        + json_bytes(value)
        + b"</script>\n"
    )


def packed_block(name: str, value: object) -> bytes:
    """The same, compressed: zstd in base64, which the viewer unpacks when it reads the block.

    The library comes with the package `zstandard`; zlib's bytes would depend on how Python was
    built, and browsers unpack no zstd by themselves.
    """
    import zstandard

    data = zstandard.ZstdCompressor(level=_LEVEL).compress(msgspec.json.encode(value))
    start = f'<script type="application/zstd" id="{name}">'.encode()
    return start + base64.b64encode(data) + b"</script>\n"


def viewer_assets(*more: str) -> dict[str, tuple[str, str]]:
    """Return the viewer's script and style for pages of a server, with their media types, by name.

    `more` scripts are before the one that draws pages.
    """
    script = _joined(_SCRIPTS[:-1]) + "\n".join([*more, _joined(_SCRIPTS[-1:])])
    return {
        "viewer.js": (script, "text/javascript"),
        "viewer.css": (_joined(_STYLES), "text/css"),
    }


def make_frame(title: str, mark: str, *, files: bool = False) -> tuple[bytes, bytes]:
    """Return what is before the data of a page, and what is after it.

    Args:
        title: The title of the page.
        mark: What tells our pages from other people's files.
        files: The page may load scripts from its folder.
    """
    script, style = _joined(_SCRIPTS), _joined(_STYLES)
    head = _HEAD.format(
        mark=html.escape(mark),
        title=html.escape(title),
        script_hash=_hash(script),
        style_hash=_hash(style),
        style=style,
        # Chromium and WebKit take a file's neighbors as another origin: `file:` names them.
        files=" 'self' file:" if files else "",
    )
    return head.encode("utf-8", "replace"), _TAIL.format(script=script).encode()


@cache
def _joined(names: tuple[str, ...]) -> str:
    folder = resources.files("trueground.reports") / "assets"
    return "\n".join((folder / name).read_text("utf-8").strip() for name in names) + "\n"


@cache
def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
