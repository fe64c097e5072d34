"""Files of dataset repositories on the Hugging Face Hub, or on a mirror of the same layout.

`HF_ENDPOINT` names a mirror; `HF_TOKEN` is a token for repositories that are not open. The token
goes to that endpoint only, as a header.

Written from the Hub's documentation and run against a loopback copy, not yet against the Hub.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from trueground.errors import InputError
from trueground.net.download import refusal
from trueground.net.failures import HttpError
from trueground.net.http import HttpClient, Policy
from trueground.net.redact import shown

_ENDPOINT = "https://huggingface.co"


@dataclass(frozen=True)
class HubFile:
    """A file of a repository; `size` in bytes and `sha256` where the Hub says them."""

    path: str
    url: str
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class HubFiles:
    """All files of a dataset repository at one commit (`revision`), in the Hub's order."""

    repo: str
    revision: str
    files: tuple[HubFile, ...]


async def hub_files(
    repo: str, revision: str = "main", endpoint: str | None = None, *, max_attempts: int = 6
) -> HubFiles:
    """List a dataset repository at a branch, tag or commit.

    InputError: no such repository or revision, or no such reply as the Hub gives.
    UnreachableError: nobody there, or nobody let in.
    """
    base = (endpoint or os.environ.get("HF_ENDPOINT") or _ENDPOINT).rstrip("/")
    url = f"{base}/api/datasets/{quote(repo)}/revision/{quote(revision, safe='')}?blobs=true"
    client = HttpClient(Policy(timeout=60.0, max_attempts=max_attempts), secrets=(_token(),))
    try:
        listing = await client.get_json(url, headers=token_header())
    except HttpError as error:
        raise refusal(url, error) from None
    finally:
        await client.close()
    try:
        commit = quote(listing["sha"], safe="")
        root = f"{base}/datasets/{quote(repo)}/resolve/{commit}/"
        files = tuple(_file(root, entry) for entry in listing["siblings"])
        return HubFiles(repo, listing["sha"], files)
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            f"{shown(url)}: found JSON without `sha` and `siblings[].rfilename`; expected a "
            "listing as the Hugging Face Hub gives it. Check HF_ENDPOINT"
        ) from None


def token_header() -> dict[str, str]:
    """The header that carries $HF_TOKEN; empty without it."""
    token = _token()
    return {"Authorization": f"Bearer {token}"} if token else {}


def _token() -> str:
    return os.environ.get("HF_TOKEN", "").strip()


def _file(root: str, entry: dict[str, Any]) -> HubFile:
    path = entry["rfilename"]
    large = entry.get("lfs") or {}
    return HubFile(path, root + quote(path), entry.get("size"), large.get("sha256"))
