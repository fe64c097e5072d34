"""`trueground graph` on an endpoint whose replies can no longer be kept."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.marks import mostly_long

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from tests.wings.graphs.endpoint.invented import store_of
from tests.wings.graphs.endpoint.sparql_server import SparqlServer

ADA = "http://example.org/ada"


@pytest.mark.parametrize(
    ("words", "said"),
    mostly_long(
        2,
        [
            (("show", "{}", ADA), True),
            (("query", "{}", "SELECT ?text {{ ?who ?says ?text }}", "--quiet"), False),
            (("query", "{}", "SELECT ?text {{ ?who ?says ?text }}", "--no-cache"), False),
            (("query", "{}", "SELECT ?text {{ ?who ?says ?text }}"), True),
        ],
    ),
)
def test_a_full_disk_is_told_behind_the_answer(
    tmp_path: Path, words: tuple[str, ...], said: bool
) -> None:
    long = random.Random(1).randbytes(300_000).hex()
    with SparqlServer(store_of(f'<{ADA}> rdfs:label "Ada"@en ; ex:code "{long}" .')) as server:
        done = subprocess.run(
            [sys.executable, "-m", "trueground", "graph"]
            + [one.format(f"sparql:{server.url}") for one in words]
            + ["--format", "json", "--no-progress"],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"TRUEGROUND_HOME": str(tmp_path)},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        )
    assert long in done.stdout
    assert ("continues without caching" in done.stderr) == said
    assert len(done.stderr.splitlines()) == said
