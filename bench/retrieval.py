"""BM25 on disk beside bm25s used directly: build, query rate and memory, each in its own process.

    TG_RETRIEVAL_PASSAGES=100000 TG_RETRIEVAL_QUERIES=2000 python bench/run.py retrieval

Passages of about 100 words are made up: a hundred words are half of the text, most of two million
stand in it a few times. No word depends on the one before it, so there are no topics.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

PASSAGES = int(os.environ.get("TG_RETRIEVAL_PASSAGES", "1000000"))
QUERIES = int(os.environ.get("TG_RETRIEVAL_QUERIES", "10000"))
TOP = 10
_WORDS = 2_000_000


def retrieval() -> None:
    """Tables of build and search, and whether both find the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_texts(folder, PASSAGES, QUERIES)
        print(f"\n{PASSAGES:,} passages of about 100 words, {os.cpu_count()} cores; load before")
        print(f"each measurement: {_load()}\n")
        print(
            "| build | seconds | passages/s | peak MB | without the texts | beside bm25s | load |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|")
        builds = {
            what: _measured(role, folder)
            for what, role in (
                ("bm25s, as its README shows (not saved)", "build-readme"),
                ("bm25s, with our words, saved", "build-words"),
                ("trueground, on disk, two processes", "build-ours"),
            )
        }
        readme = builds["bm25s, as its README shows (not saved)"]["seconds"]
        for what, got in builds.items():
            rate = PASSAGES / got["seconds"]
            print(
                f"| {what} | {got['seconds']:.1f} | {rate:,.0f} | {got['peak']:,.0f} "
                f"| {got['peak'] - got['texts']:,.0f} | {readme / got['seconds']:.2f}× "
                f"| {got['load']:.1f} |"
            )
        _searches(folder)


def _searches(folder: Path) -> None:
    print(f"\n{QUERIES:,} queries of 3 to 10 words, the best {TOP}; both indexes memory-mapped\n")
    print("| search | seconds | queries/s | largest process MB | of it mapped files | load |")
    print("|---|---:|---:|---:|---:|---:|")
    rows = {
        "bm25s.retrieve, one thread": _measured("search-bm25s-1", folder),
        "bm25s.retrieve, two threads": _measured("search-bm25s-2", folder),
        "trueground, one process": _measured("search-ours-1", folder),
        "trueground, two processes": _measured("search-ours-2", folder),
    }
    for what, got in rows.items():
        rate = QUERIES / got["seconds"]
        print(
            f"| {what} | {got['seconds']:.2f} | {rate:,.0f} | {got['process']:,.0f} "
            f"| {got['mapped']:,.0f} | {got['load']:.1f} |"
        )
    theirs = min(got["seconds"] for what, got in rows.items() if what.startswith("bm25s"))
    ours = min(got["seconds"] for what, got in rows.items() if what.startswith("trueground"))
    print(f"\nquery rate: {theirs / ours:.1f}× that of bm25s")
    print(f"opening the index: {rows['trueground, one process']['open'] * 1e3:.0f} ms, ", end="")
    print(f"bm25s: {rows['bm25s.retrieve, one thread']['open'] * 1e3:.0f} ms")
    print(_compared(folder))


def _compared(folder: Path) -> str:
    """What was found, side by side: bm25s leaves equal scores in any order, and gives zeros."""
    found = [np.load(folder / f"{role}.npz") for role in ("search-bm25s-1", "search-ours-1")]
    two = np.load(folder / "search-ours-2.npz")
    theirs, ours = (one["scores"] for one in found)
    same = np.array_equal(found[1]["passages"], two["passages"])
    apart = np.abs(theirs - ours).max()
    equal = (theirs == ours).all(axis=1).mean()
    clear = (np.diff(theirs, axis=1) < 0).all(axis=1)
    agree = (found[0]["passages"] == found[1]["passages"])[clear][:, :-1].all(axis=1).mean()
    return (
        f"equal scores: {equal:.2%} of the queries, largest difference {apart:.1e}; equal ranks "
        f"where no scores are equal ({clear.mean():.0%}): {agree:.2%}; one and two processes find "
        f"the same: {same}"
    )


def _measured(role: str, folder: Path) -> dict[str, float]:
    """What a process says that does this, and the most memory (MB) while it did."""
    load = os.getloadavg()[0]
    words = [sys.executable, __file__, role, str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    peak = largest = mapped = 0
    while process.poll() is None:
        each = list(_memory(process.pid))
        peak = max(peak, sum(anonymous + files for anonymous, files in each))
        for anonymous, files in each:
            if anonymous + files > largest:
                largest, mapped = anonymous + files, files
        time.sleep(0.1)
    assert process.stdout is not None
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    said: dict[str, float] = json.loads(process.stdout.read())
    memory = {"peak": peak / 1e3, "process": largest / 1e3, "mapped": mapped / 1e3}
    return {**said, **memory, "load": load}


def _memory(pid: int) -> Iterator[tuple[int, int]]:
    """(private, mapped files) in kB of a process and of those that it started."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if "RssAnon" in lines:
            yield int(lines["RssAnon"].split()[0]), int(lines["RssFile"].split()[0])
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _memory(int(child))
    except OSError:
        pass  # it has just ended


def _load() -> str:
    return ", ".join(f"{part:.1f}" for part in os.getloadavg())


def write_texts(folder: Path, passages: int, queries: int) -> None:
    """The files passages.txt and queries.txt, a text a line."""
    rng = np.random.default_rng(1)
    ranks = np.arange(1, _WORDS + 1)
    # Zipf's law, and a steeper one for the words beyond the ten thousand that all texts share.
    weights = np.cumsum(1 / (ranks + 2.7) / (1 + ranks / 10_000) ** 0.7)
    names = np.array([_name(number) for number in range(_WORDS)], dtype=object)
    asked: list[str] = []
    with (folder / "passages.txt").open("w") as file:
        for low in range(0, passages, 10_000):
            lengths = rng.integers(60, 141, min(10_000, passages - low))
            numbers = np.searchsorted(weights / weights[-1], rng.random(lengths.sum()))
            rows = np.split(names[numbers], np.cumsum(lengths)[:-1])
            file.writelines(" ".join(row).capitalize() + ".\n" for row in rows)
            wanted = queries * (low + len(rows)) // passages - len(asked)
            asked.extend(
                " ".join(rng.choice(rows[row], rng.integers(3, 11)))
                for row in rng.integers(0, len(rows), wanted)
            )
    (folder / "queries.txt").write_text("".join(f"{query}\n" for query in asked))


def _name(number: int) -> str:
    """A made-up word; the frequent ones are short."""
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
    word = ""
    number += 1
    while number:
        number, rest = divmod(number, len(syllables))
        word += syllables[rest]
    return word


class Texts:
    """Passages in memory."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = self.searched = texts
        self.sha256 = hashlib.sha256(str(len(texts)).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.texts)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _stemmed_words() -> Callable[[str], list[str]]:
    """Our words, each stemmed once."""
    from trueground.wings.search.search_words import stemmer, words

    key = stemmer(True)
    known: dict[str, str] = {}

    def stems(text: str) -> list[str]:
        found = words(text)
        for word in found:
            if word not in known:
                known[word] = key(word)
        return [known[word] for word in found]

    return stems


def _build(role: str, folder: Path) -> dict[str, float]:
    texts = _lines(folder / "passages.txt")
    resident = sum(sum(pair) for pair in _memory(os.getpid())) / 1e3

    def readme() -> None:
        import bm25s
        import Stemmer

        tokens = bm25s.tokenize(
            texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False
        )
        bm25s.BM25().index(tokens, show_progress=False)

    def with_our_words() -> None:
        import bm25s

        stems = _stemmed_words()
        vocabulary: dict[str, int] = {}
        ids = [[vocabulary.setdefault(s, len(vocabulary)) for s in stems(t)] for t in texts]
        index = bm25s.BM25()
        index.index((ids, vocabulary), show_progress=False, create_empty_token=False)
        index.save(folder / "theirs")

    def ours() -> None:
        from trueground.options.shared import do_nothing
        from trueground.wings.search.bm25 import Bm25Options, build_bm25

        build_bm25(folder / "ours", Texts(texts), Bm25Options(), do_nothing, workers=2)  # type: ignore[arg-type]

    work = {"build-readme": readme, "build-words": with_our_words, "build-ours": ours}[role]
    return {"seconds": _timed(work), "texts": resident}


def _search(role: str, folder: Path) -> dict[str, float]:
    """The faster of two runs, from the queries as texts to passages and scores."""
    queries = _lines(folder / "queries.txt")
    workers = int(role[-1])
    start = time.perf_counter()
    run = (_with_bm25s if "bm25s" in role else _with_ours)(folder, workers)
    opened = time.perf_counter() - start
    passages = scores = None
    taken = []
    for _ in range(2):
        start = time.perf_counter()
        passages, scores = run(queries)
        taken.append(time.perf_counter() - start)
    np.savez(folder / f"{role}.npz", passages=passages, scores=scores)
    return {"seconds": min(taken), "open": opened}


Run = Callable[[Sequence[str]], tuple[np.ndarray, np.ndarray]]


def _with_bm25s(folder: Path, threads: int) -> Run:
    import bm25s

    index = bm25s.BM25.load(folder / "theirs", mmap=True)
    stems = _stemmed_words()

    def run(queries: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        asked = [stems(query) for query in queries]
        threads_or_none = threads if threads > 1 else 0
        return tuple(index.retrieve(asked, k=TOP, n_threads=threads_or_none, show_progress=False))

    return run


def _with_ours(folder: Path, workers: int) -> Run:
    from trueground.wings.search.bm25 import BM25OnDisk, Bm25Options

    lengths = Texts([""] * PASSAGES)
    retriever = BM25OnDisk(folder / "ours", lengths, Bm25Options(), workers)  # type: ignore[arg-type]

    def run(queries: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        passages = np.full((len(queries), TOP), -1)
        scores = np.zeros((len(queries), TOP), np.float32)
        for row, hits in enumerate(retriever.search(queries, TOP)):
            passages[row, : len(hits)] = [hit.index for hit in hits]
            scores[row, : len(hits)] = [hit.score for hit in hits]
        return passages, scores

    return run


def main() -> None:
    role, folder = sys.argv[1], Path(sys.argv[2])
    print(json.dumps((_build if role.startswith("build") else _search)(role, folder)))


if __name__ == "__main__":
    main()
