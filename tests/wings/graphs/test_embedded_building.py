"""Graphs on disk: loading, adding, and what happens when that is broken off."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.marks import mostly_long

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from tests.wings.graphs.people import people

from trueground.errors import GraphError, OutputError
from trueground.files.locks import FolderLock
from trueground.wings.graphs.embedded import EmbeddedGraph
from trueground.wings.graphs.folder import build_graph, open_folder, read_graph_file
from trueground.wings.graphs.loading import Loading
from trueground.wings.graphs.operations import open_graph

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
    assert (held["trueground_graph"], held["lang"], held["names"]) == (2, "en", 9)
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
    with pytest.raises(GraphError, match=r"has names in 'en', .* 'de'. Use --lang en, or"):
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
    assert not out.exists()
    assert build_graph([people(tmp_path)], out, Loading(lang="de")).lang == "de"


def test_folders_of_others_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(OutputError, match=r"contains 'notes\.txt' and isn't a knowledge graph"):
        build_graph([people(tmp_path)], tmp_path / "mine", Loading(), overwrite=True)
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    with pytest.raises(OutputError, match="File exists; --out must name a folder"):
        build_graph([people(tmp_path)], people(tmp_path), Loading())


def test_sources_are_seen_before_anything_is_made(tmp_path: Path) -> None:
    for absent in (tmp_path / "absent.nt", tmp_path):
        with pytest.raises(GraphError, match=r"can't read .*; expected a file of triples"):
            build_graph([people(tmp_path), absent], tmp_path / "g", Loading())
    assert not (tmp_path / "g").exists()


def test_one_process_loads_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    with (
        FolderLock(tmp_path / "g").hold(AssertionError()),
        pytest.raises(OutputError, match="another process is loading into"),
    ):
        build_graph([people(tmp_path)], tmp_path / "g", Loading())


def test_many_processes_read_at_once(tmp_path: Path) -> None:
    build_graph([people(tmp_path)], tmp_path / "g", Loading()).close()
    code = (
        "import sys\nfrom trueground.wings.graphs import open_graph\n"
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
        "from trueground.wings.graphs.folder import build_graph\n"
        "from trueground.wings.graphs.loading import Loading\n"
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
    with pytest.raises(GraphError, match=r"can't read .*store-1: .* graph load SOURCE"):
        open_graph(out)


MANY = "".join(
    f'<urn:e{n}> <http://www.w3.org/2000/01/rdf-schema#label> "name {n}" .\n' for n in range(3000)
)


def use_all(graph: EmbeddedGraph) -> None:
    """Read all of it in every way."""
    graph.find(["name 7"])
    graph.entities([f"urn:e{n}" for n in range(0, 3000, 50)])
    assert len(list(graph.names())) > 0
    assert len(list(graph.query("SELECT * { ?s ?p ?o }"))) > 0


@pytest.mark.parametrize("kind", mostly_long(1, ["changed", "cut", "empty", "gone"]))
def test_damage_is_told_in_words(tmp_path: Path, kind: str) -> None:
    build_graph([more(tmp_path, MANY, "many.nt")], tmp_path / "g", Loading()).close()
    told = 0
    for one in sorted((tmp_path / "g" / "store-1").iterdir()):
        shutil.rmtree(tmp_path / "h", ignore_errors=True)
        shutil.copytree(tmp_path / "g", tmp_path / "h")
        path = tmp_path / "h" / "store-1" / one.name
        content = path.read_bytes()
        if kind == "gone":
            path.unlink()
        else:
            half = len(content) // 2
            changed = content[:half] + bytes(255 - byte for byte in content[half:])
            path.write_bytes({"changed": changed, "cut": content[:half], "empty": b""}[kind])
        for use in (lambda: use_all(open_folder(tmp_path / "h")), lambda: add(tmp_path)):
            try:
                use()
            except GraphError as error:
                assert "load" in str(error)  # noqa: PT017 - most damage, not all, is seen
                told += 1
    assert told > 8


def add(folder: Path) -> None:
    build_graph([more(folder)], folder / "h", Loading()).close()


def test_a_reader_goes_on_while_files_are_added(tmp_path: Path) -> None:
    out = tmp_path / "g"
    build_graph([more(tmp_path, MANY, "many.nt")], out, Loading()).close()
    reader = open_folder(out)
    build_graph([more(tmp_path)], out, Loading()).close()
    build_graph([people(tmp_path)], out, Loading(), overwrite=True).close()
    use_all(reader)
    assert len(list(reader.names())) == 3000
    assert [one.name for one in out.glob("store-*")] != [read_graph_file(out).store]
    reader.close()
    build_graph([people(tmp_path)], out, Loading()).close()  # nothing new, and still it tidies
    assert [one.name for one in out.glob("store-*")] == [read_graph_file(out).store]


def test_a_broken_off_store_goes_with_any_load(tmp_path: Path) -> None:
    out = tmp_path / "g"
    build_graph([people(tmp_path)], out, Loading()).close()
    (out / "store-7").mkdir()
    build_graph([people(tmp_path)], out, Loading()).close()
    assert [one.name for one in out.glob("store-*")] == ["store-1"]


@pytest.mark.parametrize(
    "store", ["../g/store-1", "/tmp", "store-1/..", "store-x", "store-1\n", ""]
)
def test_the_store_is_in_the_folder(tmp_path: Path, store: str) -> None:
    build_graph([people(tmp_path)], tmp_path / "g", Loading()).close()
    path = tmp_path / "g" / "graph.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "store": store}))
    with pytest.raises(GraphError, match=r"can't read .*graph\.json: .*store"):
        open_graph(tmp_path / "g")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are not listed here")
def test_a_closed_graph_holds_no_file(tmp_path: Path) -> None:
    build_graph([more(tmp_path, MANY, "many.nt")], tmp_path / "g", Loading()).close()

    def opened() -> int:
        places = (os.path.realpath(one) for one in Path("/proc/self/fd").iterdir())
        return sum(str(tmp_path) in place for place in places)

    gc.collect()
    gc.disable()
    try:
        graph = open_folder(tmp_path / "g")
        use_all(graph)
        assert opened() > 1
        graph.close()
        assert opened() == 0
    finally:
        gc.enable()


def test_a_file_that_is_passed_over_is_told(tmp_path: Path) -> None:
    told = []
    paths = [people(tmp_path), people(tmp_path, "copy.ttl")]
    for _ in range(2):
        build_graph(
            paths,
            tmp_path / "g",
            Loading(),
            passed_over=lambda path, before: told.append((path.name, Path(before.path).name)),
        ).close()
    again = [("people.ttl", "people.ttl"), ("copy.ttl", "people.ttl")]
    assert told == [again[1], *again]


FULL = """
import resource, sys
from pathlib import Path
from trueground.errors import WriteError
from trueground.wings.graphs.folder import build_graph
from trueground.wings.graphs.loading import Loading
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    build_graph([Path(sys.argv[1])], Path(sys.argv[2]), Loading())
except WriteError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["many.nt", "many.ttl"])
def test_a_full_disk_is_no_fault_of_the_file(tmp_path: Path, name: str) -> None:
    path = more(tmp_path, MANY, name)
    words = [sys.executable, "-c", FULL, str(path), str(tmp_path / "g")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout, done.stderr
    assert "can't read" not in done.stdout
    assert [one.name for one in (tmp_path / "g").iterdir()] == ["graph.json"]


def test_a_refused_load_leaves_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.nt"
    bad.write_text("x\n")
    (tmp_path / "there").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for out in (tmp_path / "a" / "b", tmp_path / "there"):
        with pytest.raises(GraphError):
            build_graph([bad], out, Loading())
        assert sorted(tmp_path.rglob("*")) == before


def test_what_a_killed_load_leaves_is_known(tmp_path: Path) -> None:
    out = tmp_path / "graph"
    out.mkdir()
    (out / ".graph.json.part").write_bytes(b"{")
    good = tmp_path / "good.nt"
    good.write_text('<urn:a> <urn:b> "c" .\n')
    build_graph([good], out, Loading()).close()
    assert sorted(one.name for one in out.iterdir()) == ["graph.json", "store-1"]
