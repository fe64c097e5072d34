"""Datasets of the Hugging Face Hub, or of a mirror.

HF_ENDPOINT is the address of a mirror. With HF_HUB_OFFLINE, nothing is downloaded. HF_TOKEN is the
token for private and gated repositories, and is sent only to that endpoint. The tests use a local
copy of the API, not the Hub.
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
    """A file of a repository, with size in bytes and SHA-256 if the Hub reports them."""

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
        """Download the file, with $HF_TOKEN if it is set. Raises the errors of `download`.

        Args:
            path: The local file.
            sha256: Expected SHA-256. Default: that of the Hub.
            size: Expected size in bytes. Default: that of the Hub.
            progress: Called with the bytes so far and in total.
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

    Raises:
        InputError: The repository or revision doesn't exist, or the reply isn't one of the Hub.
        UnreachableError: There is no server or no access, or HF_HUB_OFFLINE is set.
    """
    if is_offline():
        raise UnreachableError(
            f"HF_HUB_OFFLINE is set, so {repo} can't be downloaded. Unset it, or use a local copy "
            "with --from PATH"
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
            f"{shown(url)} isn't the API of the Hugging Face Hub: the reply has no `sha` and "
            "`siblings[].rfilename`. Check HF_ENDPOINT"
        ) from None
    finally:
        await client.close()


def token_header() -> dict[str, str]:
    """Return the header with $HF_TOKEN; empty if it isn't set."""
    token = os.environ.get("HF_TOKEN", "").strip()
    return {"Authorization": f"Bearer {token}"} if token else {}
