"""The HTML file of a page, which opens from disk and makes no network requests.

The viewer is the same for every page: the scripts of `assets/` draw the blocks, which are in the
file as JSON. No text of the data becomes markup: JSON is escaped here, and the viewer inserts texts
as text nodes. The page's content security policy allows only its script and its style, by their
hashes.
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
_COMPRESSION_LEVEL = 9  # of zstd, from 1 to 22
_STYLES = ("vendor/uplot.css", "viewer.css")
_ESCAPES = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"} | {
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}
# The HTML before and after the data. `{files}` allows scripts from the folder of the page.
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
    """Return a value as JSON that is safe inside a script element."""
    data = msgspec.json.encode(value)
    for raw, escaped in _ESCAPES.items():
        data = data.replace(raw, escaped)
    return data


def json_block(name: str, value: object) -> bytes:
    """Return a value as a data block of a page."""
    return (
        f'<script type="application/json" id="{name}">'.encode()
        + json_bytes(value)
        + b"</script>\n"
    )


def packed_block(name: str, value: object) -> bytes:
    """Return a value as a data block that is compressed with zstd and encoded as base64.

    zlib isn't used because its bytes depend on the build of Python. The page has a script that
    decompresses zstd, because browsers can't.
    """
    import zstandard

    data = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(msgspec.json.encode(value))
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
        mark: The value of the `generator` tag, which identifies pages of trueground.
        files: The page may load scripts from its folder.
    """
    script, style = _joined(_SCRIPTS), _joined(_STYLES)
    head = _HEAD.format(
        mark=html.escape(mark),
        title=html.escape(title),
        script_hash=_hash(script),
        style_hash=_hash(style),
        style=style,
        # Chromium and WebKit treat files of the same folder as another origin: `file:` allows them.
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
