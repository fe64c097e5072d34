"""Graphs on disk: loading, adding, and what happens when that is broken off."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from tests.graph.people import people

from trueground.errors import GraphError, OutputError
from trueground.graph.embedded.building import build_graph, open_folder
from trueground.graph.embedded.file import read_graph_file
from trueground.graph.loading import Loading
from trueground.graph.opening import open_graph
from trueground.net.locks import locked

MORE = '<http://www.wikidata.org/entity/Q77> <http://www.w3.org/2000/01/rdf-schema#label> "Ulm" .\n'


def more(folder: Path, text: str = MORE, name: str = "more.nt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_graph_on_disk_says_what_it_holds(tmp_path: Path) -> None:
    source = people(tmp_path)
    graph = build_graph([source], tmp_path / "new" / "g", Loading())
    assert len(graph.find(["anna ruck"])[0]) == 2
    held = json.loads((tmp_path / "new" / "g" / "graph.json").read_text())
    (told,) = held["sources"]
    assert (held["trueground_graph"], held["lang"], held["names"]) == (1, "en", 9)
    assert (told["path"], told["bytes"]) == (str(source), source.stat().st_size)
    assert (told["format"], told["triples"]) == ("rdf", 46)
    assert len(told["sha256"]) == 64
    assert graph.signature == open_graph(tmp_path / "new" / "g").signature


def test_it_answers_as_in_memory(tmp_path: Path) -> None:
    in_memory = open_graph(people(tmp_path))
    on_disk = build_graph([people(tmp_path)], tmp_path / "g", Loading())
    ids = ["Q2", "Q10", "Q11", "Q12", "Q5", "P31", "Q404"]
    assert on_disk.entities(ids) == in_memory.entities(ids)
    assert list(on_disk.names()) == list(in_memory.names())  # type: ignore[attr-defined]


def test_files_are_added_once(tmp_path: Path) -> None:
    out = tmp_path / "g"
    first = build_graph([people(tmp_path)], out, Loading())
    added = build_graph([more(tmp_path), more(tmp_path, name="copy.nt")], out, Loading())
    assert [len(found) for found in added.find(["ulm", "anna ruck"])] == [1, 2]
    assert first.signature != added.signature
    assert first.find(["ulm", "korvik"])[0] == []  # whoever reads goes on with what was there
    stores = sorted(one.name for one in out.iterdir())
    again = build_graph([people(tmp_path), more(tmp_path)], out, Loading())
    assert again.signature == added.signature
    assert sorted(one.name for one in out.iterdir()) == stores
    names = [Path(one.path).name for one in read_graph_file(out).sources]
    assert names == ["people.ttl", "more.nt"]


def test_overwrite_loads_anew(tmp_path: Path) -> None:
    out = tmp_path / "g"
    build_graph([people(tmp_path)], out, Loading())
    graph = build_graph([more(tmp_path)], out, Loading(lang="de"), overwrite=True)
    assert [len(found) for found in graph.find(["ulm", "anna ruck"])] == [1, 0]
    assert graph.lang == "de"
    assert len(list(out.glob("store-*"))) == 1
    (out / "graph.json").write_text('{"trueground_graph": 99}')
    assert build_graph([people(tmp_path)], out, Loading(), overwrite=True).find(["korvik"])[0]


def test_one_graph_has_one_language(tmp_path: Path) -> None:
    build_graph([people(tmp_path)], tmp_path / "g", Loading())
    with pytest.raises(GraphError, match=r"has names in 'en', .* with 'de'. Give --lang en, or"):
        build_graph([more(tmp_path)], tmp_path / "g", Loading(lang="de"))


def test_a_bad_file_leaves_the_graph_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "g"
    before = build_graph([people(tmp_path)], out, Loading()).signature
    bad = more(tmp_path, MORE + "oops\n", "bad.nt")
    for overwrite in (False, True):
        with pytest.raises(GraphError, match=r"bad\.nt, line 2"):
            build_graph([bad], out, Loading(), overwrite=overwrite)
        after = open_folder(out)
        assert after.signature == before
        assert [len(found) for found in after.find(["ulm", "anna ruck"])] == [0, 2]
        assert len(list(out.glob("store-*"))) == 1


def test_a_first_load_that_fails_can_be_begun_anew(tmp_path: Path) -> None:
    out = tmp_path / "g"
    with pytest.raises(GraphError, match=r"bad\.nt, line 1"):
        build_graph([more(tmp_path, "oops\n", "bad.nt")], out, Loading())
    with pytest.raises(GraphError, match="nothing is loaded into the graph"):
        open_graph(out)
    assert build_graph([people(tmp_path)], out, Loading(lang="de")).lang == "de"


def test_folders_of_others_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(OutputError, match=r"holds 'notes\.txt' and is no knowledge graph"):
        build_graph([people(tmp_path)], tmp_path / "mine", Loading(), overwrite=True)
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    with pytest.raises(OutputError, match="is a file; --out must name a folder"):
        build_graph([people(tmp_path)], people(tmp_path), Loading())


def test_sources_are_seen_before_anything_is_made(tmp_path: Path) -> None:
    for absent in (tmp_path / "absent.nt", tmp_path):
        with pytest.raises(GraphError, match=r"cannot be read: .* Name one that is there"):
            build_graph([people(tmp_path), absent], tmp_path / "g", Loading())
    assert not (tmp_path / "g").exists()


def test_one_process_loads_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    with (
        locked(tmp_path / "g", AssertionError()),
        pytest.raises(OutputError, match="another process is loading into"),
    ):
        build_graph([people(tmp_path)], tmp_path / "g", Loading())


def test_many_processes_read_at_once(tmp_path: Path) -> None:
    build_graph([people(tmp_path)], tmp_path / "g", Loading()).close()
    code = (
        "import sys\nfrom trueground.graph.opening import open_graph\n"
        "graph = open_graph(sys.argv[1])\nprint(len(graph.find(['anna ruck'])[0]), flush=True)\n"
        "sys.stdin.read()\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "g")]
    pipe = subprocess.PIPE
    readers = [subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) for _ in range(3)]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "2\n"
        # Adding goes on beside them.
        assert build_graph([more(tmp_path)], tmp_path / "g", Loading()).find(["ulm"])[0]
    finally:
        for reader in readers:
            reader.communicate("")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process can be killed so here")
def test_a_load_that_was_killed_is_begun_anew(tmp_path: Path) -> None:
    out = tmp_path / "g"
    before = build_graph([people(tmp_path)], out, Loading()).signature
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from trueground.graph.embedded.building import build_graph\n"
        "from trueground.graph.loading import Loading\n"
        "def progress(phase, done, total):\n"
        "    if phase == 'names':\n        print('loading', flush=True)\n        time.sleep(60)\n"
        "build_graph([Path(sys.argv[1])], Path(sys.argv[2]), Loading(), progress)\n"
    )
    words = [sys.executable, "-c", code, str(more(tmp_path)), str(out)]
    loading = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert loading.stdout is not None
        assert loading.stdout.readline() == "loading\n"
        assert len(list(out.glob("store-*"))) == 2
    finally:
        os.kill(loading.pid, signal.SIGKILL)
        loading.communicate()
    assert open_graph(out).signature == before
    begun = time.monotonic()
    assert build_graph([more(tmp_path)], out, Loading()).find(["ulm"])[0]
    assert time.monotonic() - begun < 30  # the lock has gone with its process
    assert len(list(out.glob("store-*"))) == 1


def test_a_store_that_is_gone_is_told(tmp_path: Path) -> None:
    out = tmp_path / "g"
    build_graph([people(tmp_path)], out, Loading()).close()
    (store,) = out.glob("store-*")
    store.rename(tmp_path / "elsewhere")
    with pytest.raises(GraphError, match=r"store-1 cannot be opened: .* graph load SOURCE"):
        open_graph(out)
