"""Control characters of file names, data and endpoints are shown on the terminal, never sent."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, strategies as st
from tests.commands import PROGRAM, trueground

from trueground.cli._output import EscapedText, escaped

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202e"
SENT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / f"rows{EVIL}.jsonl"
    row = {"id": "a", "question": "q", "response": "It is old.", "contexts": ["It is old."]}
    file.write_text(json.dumps(row | {f"group{EVIL}": f"value{EVIL}"}))
    return file


def said(folder: Path, *words: str) -> str:
    environment = os.environ | {"TRUEGROUND_HOME": str(folder / "home")}
    done = trueground(*words, env=environment)
    text = done.stdout + done.stderr
    assert text
    assert not SENT.search(text), ascii(text)
    return text


@pytest.mark.parametrize("form", ["text", "json"])
def test_names_of_files_columns_and_values(rows: Path, tmp_path: Path, form: str) -> None:
    out = str(tmp_path / f"out{EVIL}")
    words = ("--metrics", "k_precision", "--by", f"group{EVIL}", "--out", out, "--format", form)
    text = said(tmp_path, "score", str(rows), *words)
    assert r"\u001b" in text or "�" in text
    if form == "json":
        assert f"group{EVIL}" in json.loads(text)["by"]


def test_what_cannot_be_meant(rows: Path, tmp_path: Path) -> None:
    assert r"\u001b]0;owned\u0007" in said(tmp_path, "score", f"{rows}{EVIL}")
    said(tmp_path, "score", str(rows), "--metrics", f"f1{EVIL}")
    said(tmp_path, "score", str(rows), f"--{EVIL}")
    said(tmp_path, "report", f"no{EVIL}")


def test_errors_of_an_endpoint(rows: Path, tmp_path: Path) -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.dumps({"error": {"message": f"no{EVIL}"}}).encode()
            self.send_response(401, "No")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        judge = f"llm:m(base_url=http://127.0.0.1:{server.server_port}/v1,max_attempts=1)"
        words = ("--metrics", "grounding_precision", "--judge", judge)
        text = said(tmp_path, "score", str(rows), *words)
        server.shutdown()
    assert "owned" in text


def test_a_bar_on_a_terminal_draws_and_the_rest_is_shown(rows: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = ["score", str(rows), "--metrics", "k_precision", "--by", f"group{EVIL}"]
    with subprocess.Popen([*PROGRAM, *words], stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        found = b""
        while True:
            try:
                found += (part := os.read(ours, 65_536))
            except OSError:  # the other end is closed
                break
            if not part:
                break
        assert process.wait(120) == 0
    os.close(ours)
    text = found.decode()
    assert "k_precision" in text
    assert "\x1b]0;owned" not in text
    assert "\x9b" not in text


@given(st.text())
def test_json_means_the_same(text: str) -> None:
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text
    assert not SENT.search(escaped(text))


def test_text_and_bytes_take_the_same_way() -> None:
    raw = io.BytesIO()
    stream = EscapedText(io.TextIOWrapper(raw, encoding="utf-8"))
    print(f"a{EVIL}\tb", file=stream)  # type: ignore[call-overload]
    stream.flush()
    stream.buffer.write(f"a{EVIL}\tb\n".encode())
    first, second = raw.getvalue().decode().splitlines()
    assert first == second == escaped(f"a{EVIL}\tb")
