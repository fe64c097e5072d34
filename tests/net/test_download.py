"""Downloads and Hub listings against real servers: redirects, ranges, failures midway."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.net.loopback_hub import TOKEN, LoopbackHub, Repo, loopback_hub

from trueground.errors import InputError, TruegroundError, UnreachableError, UsageError, WriteError
from trueground.net.download import Downloaded, download
from trueground.net.hub import HubFiles, list_hub_files, token_header

CONTENT = os.urandom(700_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with loopback_hub() as hub:
        hub.repos["org/set"] = Repo("c0ffee", {"data/test.parquet": CONTENT, "README.md": b"# x"})
        monkeypatch.setenv("HF_ENDPOINT", hub.hub_url)
        yield hub


def listing(repo: str = "org/set", revision: str = "main") -> HubFiles:
    return asyncio.run(list_hub_files(repo, revision, max_attempts=2))


def take(hub: LoopbackHub, path: Path, **options: object) -> Downloaded:
    url = f"{hub.hub_url}/datasets/org/set/resolve/c0ffee/data/test.parquet"
    options = {"backoff": 0.01, **options}
    return asyncio.run(download(url, path, **options))  # type: ignore[arg-type]


def parts(folder: Path) -> list[Path]:
    return list(folder.glob(".*.part"))


def test_a_listing_has_commit_addresses_and_checksums(hub: LoopbackHub) -> None:
    found = listing()
    assert (found.repo, found.revision) == ("org/set", "c0ffee")
    data, readme = found.files
    assert data.path == "data/test.parquet"
    assert data.url == f"{hub.hub_url}/datasets/org/set/resolve/c0ffee/data/test.parquet"
    assert (data.size, data.sha256) == (len(CONTENT), DIGEST)
    assert readme.path == "README.md"


def test_a_listing_without_checksums_will_do(hub: LoopbackHub) -> None:
    hub.repos["org/set"].says_checksums = False
    assert {(file.size, file.sha256) for file in listing().files} == {(None, None)}


def test_names_are_quoted(hub: LoopbackHub) -> None:
    hub.repos["org/set"].files = {"data/a b#1?.parquet": b"x"}
    (file,) = listing().files
    assert file.url.endswith("/data/a%20b%231%3F.parquet")


def test_a_repository_that_is_not_there(hub: LoopbackHub) -> None:
    for repo, revision in (("org/other", "main"), ("org/set", "refs/none")):
        with pytest.raises(InputError, match="doesn't exist: HTTP 404"):
            listing(repo, revision)


def test_offline_nothing_is_asked(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UnreachableError, match=r"HF_HUB_OFFLINE is set.*--from PATH"):
        listing()
    assert hub.seen == []


def test_list_files_rejects_unexpected_reply(hub: LoopbackHub) -> None:
    hub.repos["org/set"].sha = None  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"siblings.*HF_ENDPOINT"):
        listing()


def test_a_passing_failure_of_the_listing_is_repeated(hub: LoopbackHub) -> None:
    hub.statuses.append(503)
    assert listing().revision == "c0ffee"
    assert len(hub.seen) == 2


def test_a_file_comes_whole_over_a_redirect(hub: LoopbackHub, tmp_path: Path) -> None:
    steps: list[tuple[int, int | None]] = []
    path = tmp_path / "deep" / "test.parquet"
    done = take(hub, path, sha256=DIGEST, progress=lambda done, total: steps.append((done, total)))
    assert done == Downloaded(path, len(CONTENT), DIGEST)
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["test.parquet"]
    assert [server.server for server in hub.seen] == ["hub", "cdn"]
    assert steps == sorted(steps)
    assert steps[-1] == (len(CONTENT), len(CONTENT))


def test_a_download_that_breaks_off_goes_on_from_there(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.breaks.extend([300_000, 100_000])
    done = take(hub, tmp_path / "f", sha256=DIGEST)
    assert done.sha256 == DIGEST
    assert (tmp_path / "f").read_bytes() == CONTENT
    assert [seen.range for seen in hub.of("cdn")] == [None, "bytes=300000-", "bytes=400000-"]
    assert parts(tmp_path) == []


def test_another_call_takes_up_what_the_last_one_left(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.breaks.extend([200_000, 1_000])
    with pytest.raises(UnreachableError, match=r"resumes after 201,000 bytes.*--from PATH"):
        take(hub, tmp_path / "f", max_attempts=2)
    assert not (tmp_path / "f").exists()
    assert [part.stat().st_size for part in parts(tmp_path)] == [201_000]
    assert take(hub, tmp_path / "f", size=len(CONTENT)).sha256 == DIGEST
    assert hub.of("cdn")[-1].range == "bytes=201000-"
    assert parts(tmp_path) == []


def test_a_server_without_ranges_sends_it_all_again(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.deaf = True
    hub.breaks.append(300_000)
    assert take(hub, tmp_path / "f").sha256 == DIGEST


def test_a_file_that_changes_meanwhile_is_not_patched_together(
    hub: LoopbackHub, tmp_path: Path
) -> None:
    other = os.urandom(len(CONTENT))
    hub.breaks.append(300_000)

    def swap(_done: int, _total: int | None) -> None:
        hub.repos["org/set"].files["data/test.parquet"] = other

    assert take(hub, tmp_path / "f", progress=swap).sha256 == hashlib.sha256(other).hexdigest()


def test_a_spoilt_beginning_is_fetched_again(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.breaks.append(200_000)
    with pytest.raises(UnreachableError):
        take(hub, tmp_path / "f", max_attempts=1)
    (part,) = parts(tmp_path)
    part.write_bytes(b"\0" * 200_000)
    assert take(hub, tmp_path / "f", sha256=DIGEST).sha256 == DIGEST
    # Longer than the whole, and as long as the whole but not renamed yet.
    for left in (CONTENT + b"more", CONTENT):
        part.write_bytes(left)
        assert take(hub, tmp_path / "f", sha256=DIGEST).sha256 == DIGEST
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_other_content_than_expected_is_not_kept(hub: LoopbackHub, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"found SHA-256 {DIGEST}; expected {'0' * 64}"):
        take(hub, tmp_path / "f", sha256="0" * 64)
    with pytest.raises(InputError, match="found 700,000 bytes; expected 5"):
        take(hub, tmp_path / "f", size=5)
    assert list(tmp_path.iterdir()) == []


def test_passing_failures_are_repeated_and_others_not(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.statuses.extend([500, 429, 502])
    assert take(hub, tmp_path / "f").sha256 == DIGEST
    hub.seen.clear()
    hub.statuses.append(404)
    with pytest.raises(InputError, match="doesn't exist: HTTP 404: not now"):
        take(hub, tmp_path / "g")
    assert len(hub.seen) == 1
    hub.statuses.extend([503] * 3)
    with pytest.raises(UnreachableError, match=r"HTTP 503: not now \(3 attempts\)"):
        take(hub, tmp_path / "g", max_attempts=3)
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_an_empty_file_is_a_file(hub: LoopbackHub, tmp_path: Path) -> None:
    hub.repos["org/set"].files["data/test.parquet"] = b""
    assert take(hub, tmp_path / "f", size=0).size == 0
    assert (tmp_path / "f").read_bytes() == b""


def test_download_without_server_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/f?key=secretword"
    with pytest.raises(UnreachableError, match="cannot connect") as caught:
        asyncio.run(download(url, tmp_path / "f", max_attempts=2, backoff=0.01))
    assert caught.value.exit_code == 4
    assert "secretword" not in str(caught.value)
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    with pytest.raises(UnreachableError, match="cannot connect"):
        asyncio.run(list_hub_files("org/set", max_attempts=1))
    assert list(tmp_path.iterdir()) == []


def test_the_token_opens_the_hub_and_goes_nowhere_else(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repos["org/set"].gated = True
    with pytest.raises(UnreachableError, match=r"is denied: HTTP 403.*HF_TOKEN"):
        listing()
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.seen.clear()
    (data, _) = listing().files
    asyncio.run(download(data.url, tmp_path / "f", headers=token_header()))
    assert {seen.authorization for seen in hub.of("hub")} == {f"Bearer {TOKEN}"}
    assert [seen.authorization for seen in hub.of("cdn")] == [None]


def test_no_secret_stands_in_an_error(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = "plain-word-token-987654321"
    monkeypatch.setenv("HF_TOKEN", wrong)
    hub.repos["org/set"].gated = True  # its refusal repeats the header
    told: list[TruegroundError] = []
    with pytest.raises(UnreachableError) as refused:
        listing()
    told.append(refused.value)
    with pytest.raises(UnreachableError) as refused:
        take(hub, tmp_path / "f", headers=token_header())
    told.append(refused.value)
    hub.repos["org/set"].gated = False
    hub.breaks.append(10)
    with pytest.raises(UnreachableError) as refused:
        take(hub, tmp_path / "f", headers=token_header(), max_attempts=1)
    told.append(refused.value)
    for error in told:
        assert wrong not in str(error)
        assert "secretsignature" not in str(error)
        assert error.__cause__ is None


def test_a_proxy_of_the_environment_is_used(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    # To a proxy a request carries the whole address; the loopback Hub reads the path of it.
    monkeypatch.setenv("http_proxy", hub.cdn_url)
    hub.repos["org/set"].files = {"f": CONTENT}
    done = asyncio.run(download("http://origin.invalid/org/set/f", tmp_path / "f"))
    assert done.sha256 == DIGEST


def test_a_disk_that_takes_nothing(hub: LoopbackHub, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match="Free disk space"):
        take(hub, tmp_path / "file" / "f")


def test_two_at_once_do_not_write_one_file(hub: LoopbackHub, tmp_path: Path) -> None:
    met: list[UsageError] = []

    def again(_done: int, _total: int | None) -> None:
        if not met:
            with pytest.raises(UsageError, match="another process is writing") as caught:
                _in_a_thread(hub, tmp_path / "f")
            met.append(caught.value)

    assert take(hub, tmp_path / "f", progress=again).sha256 == DIGEST
    assert met


def _in_a_thread(hub: LoopbackHub, path: Path) -> Downloaded:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(take, hub, path).result()
