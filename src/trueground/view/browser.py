"""Pages of one paragraph, and how a browser is opened at a link that nobody else may read."""

from __future__ import annotations

import asyncio
import html
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>trueground</title>
<link rel="icon" href="data:,">{head}
</head>
<body>
{body}
</body>
</html>
"""


def html_document(body: str, *, head: str = "") -> str:
    """Return the HTML of a whole page.

    Args:
        body: HTML of the body.
        head: More HTML for the end of the head, such as links to scripts.
    """
    return _DOCUMENT.format(head=head and f"\n{head}", body=body)


def plain_page(text: str, *, leads_to: str | None = None) -> str:
    """Return the HTML of a page with a text, which leads to a URL at once if there is one."""
    refresh = ""
    if leads_to is not None:
        target = html.escape(leads_to, quote=True)
        refresh = f'<meta http-equiv="refresh" content="0; url={target}">'
    return html_document(f"<p>{html.escape(text)}</p>", head=refresh)


@contextmanager
def private_page(url: str) -> Iterator[str]:
    """Write a page that leads to a URL, and give the page's URL while it exists.

    A browser gets the page instead of the URL, because all accounts of a machine can read the
    arguments of its processes, but only this account the page.
    """
    with tempfile.TemporaryDirectory(prefix="trueground-") as folder:
        page = Path(folder) / "open.html"
        page.write_text(plain_page("Opening trueground …", leads_to=url), encoding="utf-8")
        yield page.as_uri()


async def open_browser(url: str) -> bool:
    """Open a URL in the user's browser, and return whether there is one."""
    return await asyncio.to_thread(webbrowser.open, url)
