"""Indexes: built, broken off, added to, out of date; and how retrievers are written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from trueground.components import Registry
from trueground.components.specs import ComponentSpec
from trueground.errors import InputError, OutputError, UsageError, WriteError
from trueground.net.cache import ResponseCache
from trueground.net.cache_contents import CacheStats
from trueground.options.shared import Progress, do_nothing
from trueground.wings.search import building, kinds
from trueground.wings.search.base import Hit, OpenedRetriever, RetrieverKind
from trueground.wings.search.building import (
    add_retrievers,
    build_index,
    default_index_path,
    open_index,
    ready_index,
)
from trueground.wings.search.corpus import CorpusReading
from trueground.wings.search.index import Index, is_index
from trueground.wings.search.kinds import bases, compose, kinds as all_kinds, open_over
from trueground.wings.search.store import PassageEntry, PassageStore

ROWS = [
    {"id": "ruck", "title": "Anna Ruck", "text": "Anna Ruck led the Brenta expedition."},
    {"id": "brenta", "title": "Brenta", "text": "The Brenta expedition set out from Korvik."},
    {"id": "korvik", "title": "Korvik", "text": "Korvik lies on the island of Ulm."},
    {"id": "bees", "title": "Bees", "text": "Bees make honey."},
]


class Letters:
    """Scores by letters in common; reads what its kind wrote."""

    name = "letters"

    def __init__(self, file: Path, weight: float) -> None:
        self.signature = f"{file.parent.name}:{weight}"
        self.counts = [Counter(text) for text in orjson.loads(file.read_bytes())]
        self.weight = weight
        self.asked: list[str] = []

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        self.asked += queries
        return [self._hits(Counter(query.lower()), top) for query in queries]

    def _hits(self, query: Counter[str], top: int) -> list[Hit]:
        scores = [self.weight * (query & count).total() for count in self.counts]
        order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
        return [Hit(i, scores[i]) for i in order if scores[i] > 0][:top]


class Workshop:
    """Makes the kind `letters`, and notes what was built and opened."""

    def __init__(self) -> None:
        self.built: list[str] = []
        self.opened: list[Letters] = []
        self.closed = 0
        self.fail = False

    def kind(self) -> RetrieverKind:
        """Letters in common."""
        return RetrieverKind(self.folder, self.build, self.open, self.check)

    def folder(self, given: ComponentSpec) -> str:
        given.check(("case", "weight"), model=False)
        return f"letters-{given.text('case', 'lower', ('lower', 'upper'))}"

    def build(
        self, folder: Path, passages: PassageStore, given: ComponentSpec, progress: Progress
    ) -> None:
        if self.fail:
            folder.mkdir()
            raise KeyboardInterrupt
        self.built.append(folder.name)
        folder.mkdir(exist_ok=True)
        upper = given.options.get("case") == "upper"
        texts = [t.upper() if upper else t.lower() for t in passages.searched]
        (folder / "texts.json").write_bytes(orjson.dumps(texts))
        progress("letters", len(texts), len(texts))

    def check(self, folder: Path, _passages: PassageStore, _given: ComponentSpec) -> None:
        if not (folder / "texts.json").exists():
            raise InputError(f"{folder} is damaged")

    def open(self, folder: Path, _passages: PassageStore, given: ComponentSpec) -> OpenedRetriever:
        self.opened.append(Letters(folder / "texts.json", given.number("weight", 1.0) or 0.0))

        def close() -> None:
            self.closed += 1

        return OpenedRetriever(self.opened[-1], close)


@pytest.fixture(autouse=True)
def workshop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Workshop:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    made = Workshop()
    monkeypatch.setitem(kinds.retrievers, "letters", made.kind)
    return made


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in ROWS))
    return path


def test_an_index_is_built_and_opened(corpus: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    out = tmp_path / "x" / "index"
    made = build_index(corpus, out, ["letters"], progress=lambda what, _d, _t: steps.append(what))
    assert is_index(out)
    assert not is_index(corpus.parent)
    assert {"see", "letters"} <= set(steps)
    again = open_index(out)
    assert [passage.id for passage in again.passages] == [row["id"] for row in ROWS]
    assert again.signature == made.signature == f"passages:{again.passages.sha256}"
    assert again.retrievers == ["letters"]
    opened = again.open("letters")
    [hits] = opened.retriever.search(["bees honey"], 2)
    assert hits[0].index == 3
    opened.close()


def test_hits_are_kept_across_openings_unless_told_otherwise(
    corpus: Path, tmp_path: Path, workshop: Workshop
) -> None:
    index = build_index(corpus, tmp_path / "i", ["letters"])
    found = []
    for cache in (True, True, False):
        opened = index.open("letters", cache=cache)
        found.append(opened.retriever.search(["korvik", "ulm"], 3))
        opened.close()
    assert found[0] == found[1] == found[2]
    assert [made.asked for made in workshop.opened] == [["korvik", "ulm"], [], ["korvik", "ulm"]]
    assert workshop.closed == 3
    assert [
        (share.model, share.entries)
        for share in CacheStats.count(ResponseCache.path_of("searches")).models
    ] == [("letters", 2)]
    assert index.problem is None


def test_options_that_share_files_share_a_folder_and_no_hits(
    corpus: Path, tmp_path: Path, workshop: Workshop
) -> None:
    index = build_index(corpus, tmp_path / "i", ["letters", "letters(weight=2)"])
    assert workshop.built == ["letters-lower"]
    scores = []
    for written in ("letters", "letters(weight=2)"):
        opened = index.open(written)
        scores.append(opened.retriever.search(["ulm"], 1)[0][0].score)
        opened.close()
    assert scores[1] == 2 * scores[0]


def test_what_is_put_together_uses_the_files_and_kept_hits_of_its_parts(
    corpus: Path, tmp_path: Path, workshop: Workshop
) -> None:
    hybrid = 'hybrid:"letters + letters(case=upper)"(k=1)'
    index = build_index(corpus, tmp_path / "i", [hybrid])
    assert index.retrievers == ["letters", "letters(case=upper)"]
    found = []
    for _ in range(2):
        opened = index.open(hybrid)
        found.append(opened.retriever.search(["Korvik"], 2))
        opened.close()
    assert found[0] == found[1]
    assert [made.asked for made in workshop.opened] == [["Korvik"], ["Korvik"], [], []]
    chain = index.open("multi-hop:'letters'(hops=2,beam=2,passages=titled)")
    chain.retriever.search(["Korvik"], 2)
    chain.close()
    assert all(asked.startswith("Korvik ") for asked in workshop.opened[-1].asked[1:])
    assert "Korvik Korvik Korvik lies on" in " ".join(workshop.opened[-1].asked)
    assert workshop.closed == len(workshop.opened) == 5


def test_building_goes_on_where_it_stopped(
    corpus: Path, tmp_path: Path, workshop: Workshop
) -> None:
    out = tmp_path / "i"
    workshop.fail = True
    with pytest.raises(KeyboardInterrupt):
        build_index(corpus, out, ["letters"])
    written = (out / "passages.sqlite").stat().st_mtime_ns
    with pytest.raises(InputError, match=r"has no files for letters; it has no retriever\. Build"):
        open_index(out).open("letters")
    workshop.fail = False
    assert build_index(corpus, out, ["letters"]).retrievers == ["letters"]
    build_index(corpus, out, ["letters"])
    assert workshop.built == ["letters-lower"]
    assert (out / "passages.sqlite").stat().st_mtime_ns == written


def test_passages_that_were_whole_before_it_was_noted_are_taken(tmp_path: Path) -> None:
    out, folder = tmp_path / "i", tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("Some text.")
    (folder / "empty.txt").write_text(" ")
    told: list[str] = []
    before = build_index(folder, out, [], note=told.append).signature
    assert told == [f"{folder / 'empty.txt'} has no text"]
    written = (out / "passages.sqlite").stat().st_mtime_ns
    # As a process leaves it that was killed before it wrote index.json.
    (out / "index.json").unlink()
    with pytest.raises(InputError, match="isn't an index"):
        open_index(out)
    assert build_index(folder, out, [], note=told.append).signature == before
    assert told == told[:1] * 2
    assert (out / "passages.sqlite").stat().st_mtime_ns == written


@pytest.mark.parametrize("other", ["corpus", "reading"])
def test_passages_of_another_corpus_are_not_taken(tmp_path: Path, other: str) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("One text. It has two sentences.")
    two.write_text("Another one.")
    out, beside = tmp_path / "i", tmp_path / "beside"
    build_index(one, out, [])
    source, reading = (two, CorpusReading()) if other == "corpus" else (one, CorpusReading(words=3))
    expected = build_index(source, beside, [], reading).signature
    (out / "index.json").unlink()
    assert build_index(source, out, [], reading).signature == expected
    assert sorted(entry.name for entry in out.iterdir()) == ["index.json", "passages.sqlite"]


def test_a_rebuild_that_cannot_remove_the_old_says_so(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "i"
    before = build_index(corpus, out, ["letters"])
    corpus.write_bytes(orjson.dumps(ROWS[0]) + b"\n")

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        with pytest.raises(WriteError, match=r"can't remove .*: Permission denied"):
            build_index(corpus, out, [], rebuild=True)
    assert Index(out).signature == before.signature
    assert len(build_index(corpus, out, [], rebuild=True).passages) == 1
    assert sorted(entry.name for entry in out.iterdir()) == ["index.json", "passages.sqlite"]


def test_a_retriever_is_added_without_the_corpus(
    corpus: Path, tmp_path: Path, workshop: Workshop
) -> None:
    out = tmp_path / "i"
    build_index(corpus, out, ["letters"])
    corpus.unlink()
    shutil.move(out, tmp_path / "moved")
    index = add_retrievers(tmp_path / "moved", ["letters(case=upper)"])
    assert index.retrievers == ["letters", "letters(case=upper)"]
    assert workshop.built == ["letters-lower", "letters-upper"]
    assert ready_index(tmp_path / "moved", ["letters"]).retrievers == index.retrievers


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "a.txt").write_text("Other words."), "a.txt has changed"),
        (lambda folder: (folder / "a.txt").write_text("One text!"), "a.txt has changed"),
        (lambda folder: (folder / "b.txt").unlink(), "b.txt is gone"),
        (lambda folder: (folder / "c.txt").write_text("Third."), "c.txt is new"),
    ],
)
def test_a_corpus_that_has_changed_is_told(
    change: Callable[[Path], object], words: str, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("One text.")
    (folder / "b.txt").write_text("Another.")
    out = tmp_path / "i"
    first = build_index(folder, out, ["letters"])
    os.utime(folder / "a.txt", ns=(1, 1))  # another time alone is no change
    assert open_index(out).signature == first.signature
    change(folder)
    os.utime(folder, None)
    for attempt in (lambda: open_index(out), lambda: build_index(folder, out, ["letters"])):
        with pytest.raises(InputError, match=words) as told:
            attempt()
        assert "--rebuild" in str(told.value)
    anew = build_index(folder, out, ["letters"], rebuild=True)
    assert open_index(out).signature == anew.signature != first.signature


def test_an_index_of_another_corpus_or_reading_is_not_touched(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("One text.")
    two.write_text("Another one.")
    out = tmp_path / "i"
    build_index(one, out, [])
    with pytest.raises(InputError, match=r"from .*one\.txt, and .*two\.txt is a different corpus"):
        build_index(two, out, [])
    with pytest.raises(UsageError, match=r"i is an index, not a corpus\. Leave out .*one\.txt"):
        build_index(out, tmp_path / "new", [])
    with pytest.raises(UsageError, match=r"was made with .*, not with the requested .*words=7"):
        build_index(one, out, [], CorpusReading(words=7))
    with pytest.raises(UsageError, match=r"words=7.* or name the corpus .* instead of its index"):
        ready_index(out, [], CorpusReading(words=7))


def test_ready_indexes_go_by_content_and_reading(
    corpus: Path, tmp_path: Path, workshop: Workshop
) -> None:
    first = ready_index(corpus, ["letters"])
    assert first.path == default_index_path(corpus)
    assert first.path.parent == tmp_path / "home" / "indexes"
    os.utime(corpus, ns=(5, 5))
    assert ready_index(corpus, ["letters"]).path == first.path
    assert workshop.built == ["letters-lower"]
    assert ready_index(corpus, [], CorpusReading(words=9)).path != first.path
    corpus.write_bytes(orjson.dumps(ROWS[0]) + b"\n")
    assert len(ready_index(corpus, ["letters"]).passages) == 1


def test_bm25_and_a_bi_encoder_together(corpus: Path, tmp_path: Path) -> None:
    for library in ("bm25s", "Stemmer", "torch", "transformers"):
        pytest.importorskip(library, reason="the retrieval or the hf extra is not installed")
    from tests.encoders.tiny import tiny_text_encoder

    model = tiny_text_encoder(tmp_path / "model")
    hybrid = f'hybrid:"bm25 + dense:{model}"(depth=4)'
    chain = f"multi-hop:\"hybrid:'bm25 + dense:{model}'\"(beam=2)"
    index = build_index(corpus, tmp_path / "i", [hybrid])
    assert index.missing([chain, "bm25", f"dense:{model}"]) == []
    lists = {}
    for written in ("bm25", f"dense:{model}", hybrid, chain):
        opened = index.open(written)
        [lists[written]] = opened.retriever.search(["Who was Anna Ruck?"], 4)
        assert opened.retriever.search(["Who was Anna Ruck?"], 2) == [lists[written][:2]]
        opened.close()
    expected = [0.0] * len(ROWS)
    for written in ("bm25", f"dense:{model}"):
        for rank, hit in enumerate(lists[written], 1):
            expected[hit.index] += 1 / (60 + rank)
    assert {hit.index: hit.score for hit in lists[hybrid]} == {
        number: score for number, score in enumerate(expected) if score
    }
    assert len(lists[chain]) == len(ROWS)


def test_other_peoples_folders_are_left_alone(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.json").write_text('{"name": "a web app"}')
    with pytest.raises(OutputError, match="contains files but no index"):
        build_index(corpus, tmp_path / "mine", [], rebuild=True)
    with pytest.raises(OutputError, match="is a file"):
        build_index(corpus, corpus, [])
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("Text.")
    with pytest.raises(OutputError, match="is inside the corpus"):
        build_index(folder, folder / "index", [])
    with pytest.raises(InputError, match=r"isn't an index: index\.json"):
        open_index(folder)


def test_what_a_killed_build_leaves_is_known(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "index"
    out.mkdir()
    (out / ".passages.sqlite.part").write_bytes(b"SQL")
    (out / ".index.json.part").write_text('{"true')
    assert len(build_index(corpus, out, []).passages) > 0
    assert sorted(one.name for one in out.iterdir()) == ["index.json", "passages.sqlite"]


def test_files_that_are_no_index_of_ours(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "i"
    build_index(corpus, out, [])
    state = orjson.loads((out / "index.json").read_bytes())
    (out / "index.json").write_bytes(orjson.dumps(state | {"trueground_index": 99}))
    with pytest.raises(InputError, match=r"found format 99, and this trueground reads format 2"):
        open_index(out)
    (out / "index.json").write_bytes(orjson.dumps(state | {"files": 3}))
    with pytest.raises(InputError, match=r"can't read .*; delete .* and build it again"):
        open_index(out)
    state["passages"] = "0"
    (out / "index.json").write_bytes(orjson.dumps(state))
    with pytest.raises(InputError, match=r"don't belong to .*: trueground index build "):
        open_index(out)
    add_retrievers(out, [])
    open_index(out)


def test_rebuilding_removes_nothing_outside(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "i"
    build_index(corpus, out, [])
    (tmp_path / "precious").mkdir()
    state = orjson.loads((out / "index.json").read_bytes())
    state["retrievers"] = {"../precious": "letters"}
    (out / "index.json").write_bytes(orjson.dumps(state))
    build_index(corpus, out, [], rebuild=True)
    assert (tmp_path / "precious").is_dir()


def test_rebuilding_leaves_nothing_of_before(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "i"
    build_index(corpus, out, ["letters"])
    (out / "retrievers" / "letters-beside").mkdir()
    build_index(corpus, out, [], rebuild=True)
    assert sorted(entry.name for entry in out.iterdir()) == ["index.json", "passages.sqlite"]


HOLD = """
import sys, pathlib
from trueground.files.locks import FolderLock
with FolderLock(pathlib.Path(sys.argv[1])).hold(OSError('held')):
    print('held', flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(out: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the folder, until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        try:
            yield other
        finally:
            other.kill()


def test_another_process_is_waited_for(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_SILENT_WAIT_SECONDS", 1)
    out = tmp_path / "i"
    out.mkdir()
    told: list[str] = []
    steps: list[tuple[str, int, int | None]] = []
    with held(out) as other:
        assert other.stdin is not None
        end = other.stdin.close

        def note(said: str) -> None:
            told.append(said)
            end()

        made = build_index(corpus, out, [], progress=lambda *step: steps.append(step), note=note)
        assert len(made.passages) == len(ROWS)
    [words] = told
    assert words.startswith(f"another process is building the index {out}; waiting until")
    assert [step for step in steps if step[0] == "wait for another"][:2] == [
        ("wait for another", 0, None),
        ("wait for another", 1, None),
    ]


RACE = """
import sys, pathlib
from trueground.wings.search.building import build_index
print('ready', flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    out = pathlib.Path(f'{sys.argv[2]}-{number}')
    made = build_index(pathlib.Path(sys.argv[1]), out, ['bm25'])
    print(len(made.passages), *made.retrievers, flush=True)
    sys.stdin.readline()
"""


def test_builders_that_begin_at_once_all_have_the_index(corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="the retrieval extra is not installed")
    rounds = 12
    command = [sys.executable, "-c", RACE, str(corpus), str(tmp_path / "i"), str(rounds)]
    pipe = subprocess.PIPE
    all_ = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(3)]
    try:
        prior_turns = [process.stdout.readline() for process in all_ if process.stdout]
        for _ in range(rounds):
            for process in all_:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            prior_turns += [process.stdout.readline() for process in all_ if process.stdout]
    finally:
        for process in all_:
            process.kill()
            process.communicate()
    assert prior_turns == ["ready\n"] * 3 + ["4 bm25\n"] * 3 * rounds
    for number in range(rounds):
        assert open_index(tmp_path / f"i-{number}").damaged() == []


def test_what_a_killed_process_began_is_gone_on_with(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "i"
    out.mkdir()
    (out / ".index.json.part").write_text('{"trueground_in')
    assert len(build_index(corpus, out, []).passages) == len(ROWS)
    assert not (out / ".index.json.part").exists()


WAIT = """
import sys, pathlib
from trueground.wings.search.building import build_index
build_index(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), [], note=print)
"""


def test_ctrl_c_ends_the_waiting(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "i"
    out.mkdir()
    with (
        held(out),
        subprocess.Popen(
            [sys.executable, "-u", "-c", WAIT, str(corpus), str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as waiting,
    ):
        assert waiting.stdout is not None
        assert "another process is building" in waiting.stdout.readline()
        waiting.send_signal(signal.SIGINT)
        _, words = waiting.communicate(timeout=10)
    assert "KeyboardInterrupt" in words
    assert not (out / "index.json").exists()


def test_what_is_whole_is_used_while_another_process_builds(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_SILENT_WAIT_SECONDS", 0)
    place, out = ready_index(corpus, ["letters"]).path, tmp_path / "i"
    build_index(corpus, out, ["letters"])
    with held(place), held(out):
        assert ready_index(corpus, ["letters"]).retrievers == ["letters"]
        assert build_index(corpus, out, ["letters"]).retrievers == ["letters"]

        def give_up(said: str) -> None:
            raise LookupError(said)

        with pytest.raises(LookupError, match="another process is building the index"):
            ready_index(corpus, ["letters(case=upper)"], note=give_up)


def test_an_index_that_is_made_anew_meanwhile_gets_no_old_files(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workshop: Workshop
) -> None:
    out, other = tmp_path / "i", tmp_path / "other.jsonl"
    build_index(corpus, out, [])
    other.write_bytes(orjson.dumps(ROWS[0]) + b"\n")

    @contextmanager
    def later(path: Path, *_: object) -> Iterator[None]:
        monkeypatch.undo()
        monkeypatch.setitem(kinds.retrievers, "letters", workshop.kind)
        build_index(other, out, [], rebuild=True)
        with building._lock_for_build(path, do_nothing, do_nothing):
            yield

    monkeypatch.setattr(building, "_lock_for_build", later)
    with pytest.raises(
        OutputError, match=r"another process rebuilt the index .* from other passages"
    ):
        add_retrievers(out, ["letters"])
    assert workshop.built == []
    assert add_retrievers(out, ["letters"]).retrievers == ["letters"]


def test_a_corpus_is_read_through_once_before_it_is_used(corpus: Path) -> None:
    steps: list[tuple[str, int, int | None]] = []
    for _ in range(2):
        steps.clear()
        ready_index(corpus, [], progress=lambda *step: steps.append(step))
        assert steps.count(("see", 0, 1)) == 1


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("letters", ["letters"]),
        ("letters( case = 'upper' )", ["letters(case=upper)"]),
        ('hybrid:"letters + letters(case=upper)"(k=3)', ["letters", "letters(case=upper)"]),
        ("multi-hop:\"hybrid:'letters + letters'\"(hops=3)", ["letters"]),
        ('multi-hop:"letters(weight=2,case=upper)"', ["letters(weight=2,case=upper)"]),
    ],
)
def test_the_parts_that_keep_files(written: str, found: list[str]) -> None:
    assert bases(written) == found


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("leters", r"unknown retriever 'leters'\. Did you mean 'letters'"),
        ("hybrd:'letters + letters'", "Did you mean 'hybrid'"),
        ("letters(kase=1)", "unknown option of the retriever letters 'kase'"),
        ("hybrid", 'none is named; write hybrid:"bm25 \\+ dense:MODEL"'),
        ("hybrid:'letters'", "needs two or more retrievers, found 1"),
        ("hybrid:'letters + '", "found nothing on one side"),
        ("hybrid:'letters +  + letters'", "found nothing on one side"),
        ("hybrid:'letters+letters'", "expected a space on each side of the \\+ between"),
        ("hybrid:'letters(weight=2) +letters'", "expected a space on each side of the \\+"),
        ("hybrid:'dense:a+letters'", "found 1; .* with a space on each side of the"),
        ("hybrid:'letters + letters'(depth=0)", "depth='0'; expected a whole number, 1 or more"),
        ("hybrid:'letters + letters'(k=-1)", "k='-1'; expected a number, 0 or more"),
        ("multi-hop:'letters + letters'", "needs one retriever, found 2"),
        ("multi-hop:letters(hops=0)", "hops='0'; expected a whole number, 1 or more"),
        ("multi-hop:letters(passages=all)", "expected one of text, titled"),
        ("multi-hop:letters(beams=2)", "Did you mean 'beam'"),
        ("multi-hop:'nothing'", "unknown retriever 'nothing'"),
    ],
)
def test_what_cannot_be_meant(written: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        bases(written)


def test_signs_in_names_are_no_joints() -> None:
    seen: list[ComponentSpec] = []

    def note(given: ComponentSpec) -> OpenedRetriever:
        seen.append(given)
        return open_over("bm25", untitled("text"))

    pytest.importorskip("bm25s", reason="the retrieval extra is not installed")
    written = "hybrid:\"dense:'a + b' + dense:c+d(file='x + y')\""
    opened = compose(written, note, untitled())
    opened.close()
    assert [(given.model, dict(given.options)) for given in seen] == [
        ("a + b", {}),
        ("c+d", {"file": "x + y"}),
    ]


def test_in_memory_too() -> None:
    pytest.importorskip("bm25s", reason="the retrieval extra is not installed")
    entries = (PassageEntry(row["text"], row["id"], row["title"]) for row in ROWS)
    corpus = PassageStore(None, entries)
    plain = open_over("bm25", corpus)
    fused = open_over('hybrid:"bm25 + bm25(k1=0.9)"', corpus)
    chained = open_over("multi-hop:bm25(beam=2)", corpus)
    for opened in (plain, fused, chained):
        assert opened.retriever.search(["Who was Anna Ruck?"], 1)[0][0].index == 0
        opened.close()
    stems = open_over("bm25", untitled("He built cranes.", "A crane was built."))
    assert len(stems.retriever.search(["cranes"], 5)[0]) == 2
    exact = open_over("bm25(stem=false)", untitled("He built cranes.", "A crane was built."))
    assert len(exact.retriever.search(["cranes"], 5)[0]) == 1
    with pytest.raises(UsageError, match="letters needs an index on disk"):
        open_over("letters", corpus)


def untitled(*texts: str) -> PassageStore:
    return PassageStore(None, [PassageEntry(text, str(n)) for n, text in enumerate(texts)])


def test_titles_are_searched_in_memory_as_in_an_index(tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="the retrieval extra is not installed")
    rows = [
        PassageEntry("He led the expedition.", "0", "Brenta"),
        PassageEntry("The Brenta is a river.", "1"),
        PassageEntry("Bees make honey.", "2", "Bees"),
    ]
    file = tmp_path / "titled.jsonl"
    file.write_bytes(b"".join(orjson.dumps(row._asdict()) + b"\n" for row in rows))
    on_disk = build_index(file, tmp_path / "titled", ["bm25"]).open("bm25", cache=False)
    in_memory = open_over("bm25", PassageStore(None, rows))
    queries = ["Where is Brenta?", "the bees", "who led it"]
    assert in_memory.retriever.search(queries, 3) == on_disk.retriever.search(queries, 3)
    for opened in (in_memory, on_disk):
        assert opened.retriever.signature.startswith("bm25:lucene,k1=1.5,b=0.75,title+text,")
        opened.close()


def test_retrievers_of_other_packages(monkeypatch: pytest.MonkeyPatch, workshop: Workshop) -> None:
    monkeypatch.setattr(kinds, "retrievers", Registry("retriever", kinds.retrievers))
    kinds.retriever("mine")(workshop.kind)
    shown = {kind["name"]: kind["doc"] for kind in all_kinds()}
    assert shown["mine"] == "Letters in common."
    assert {"bm25", "dense:MODEL", 'hybrid:"A + B"', 'multi-hop:"A"'} <= set(shown)
    assert all(shown.values())
    for name in ("mine", "hybrid"):
        with pytest.raises(UsageError, match="exists already"):
            kinds.retriever(name)(lambda: workshop.kind())
