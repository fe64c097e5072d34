"""Datasets of the Hugging Face Hub, or of a mirror with its layout.

`HF_ENDPOINT` names a mirror; with `HF_HUB_OFFLINE` nothing is fetched; `HF_TOKEN` is a token for
repositories that are not open, and goes to that endpoint only. Run against a loopback copy,
not yet against the Hub.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from trueground.errors import InputError, UnreachableError
from trueground.net.checkpoints import is_offline
from trueground.net.download import Downloaded, download, open_client, refusal
from trueground.net.failures import HttpError, HttpReply
from trueground.net.http import Progress
from trueground.net.redact import shown

_ENDPOINT = "https://huggingface.co"


@dataclass(frozen=True)
class HubFile:
    """A file of a repository; `size` in bytes and `sha256` where the Hub says them."""

    path: str
    url: str
    size: int | None = None
    sha256: str | None = None

    @staticmethod
    async def list_all(repo: str, revision: str = "main") -> HubFiles:
        """List the files of a dataset repository, see `list_hub_files`."""
        return await list_hub_files(repo, revision)

    async def download(
        self,
        path: Path,
        *,
        sha256: str | None = None,
        size: int | None = None,
        progress: Progress | None = None,
    ) -> Downloaded:
        """Fetch the file, with $HF_TOKEN if there is one; raises as `download` does.

        `sha256` and `size` (bytes) are checked instead of those that the Hub says.
        """
        return await download(
            self.url,
            path,
            headers=token_header(),
            sha256=sha256 or self.sha256,
            size=self.size if size is None else size,
            progress=progress,
        )


@dataclass(frozen=True)
class HubFiles:
    """All files of a dataset repository at one commit (`revision`), in the Hub's order."""

    repo: str
    revision: str
    files: tuple[HubFile, ...]


async def list_hub_files(repo: str, revision: str = "main", *, max_attempts: int = 6) -> HubFiles:
    """List the files of a dataset repository at a branch, tag or commit.

    InputError: no such repository or revision, or no such reply as the Hub gives.
    UnreachableError: nobody there, nobody let in, or $HF_HUB_OFFLINE forbids to ask.
    """
    if is_offline():
        raise UnreachableError(
            f"HF_HUB_OFFLINE is set, so nothing of {repo} is fetched. Unset it, or take a copy "
            "from disk with --from PATH"
        )
    base = (os.environ.get("HF_ENDPOINT") or _ENDPOINT).rstrip("/")
    url = f"{base}/api/datasets/{quote(repo)}/revision/{quote(revision, safe='')}?blobs=true"
    headers = token_header()
    client = open_client(headers, max_attempts)
    try:
        listing = await client.get(url, HttpReply.json, headers=headers)
        root = f"{base}/datasets/{quote(repo)}/resolve/{quote(listing['sha'], safe='')}/"
        files = []
        for entry in listing["siblings"]:
            path, large = entry["rfilename"], entry.get("lfs") or {}
            files.append(HubFile(path, root + quote(path), entry.get("size"), large.get("sha256")))
        return HubFiles(repo, listing["sha"], tuple(files))
    except HttpError as error:
        raise refusal(url, error) from None
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            f"{shown(url)}: found JSON without `sha` and `siblings[].rfilename`; expected a "
            "listing as the Hugging Face Hub gives it. Check HF_ENDPOINT"
        ) from None
    finally:
        await client.close()


def token_header() -> dict[str, str]:
    """The header that carries $HF_TOKEN; empty without it."""
    token = os.environ.get("HF_TOKEN", "").strip()
    return {"Authorization": f"Bearer {token}"} if token else {}
