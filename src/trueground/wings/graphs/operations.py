"""Open, load and query knowledge graphs, and link entities."""

# No `from __future__ import annotations`: the command line reads the annotations as values.

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trueground.options import Option, Progress, do_nothing, split_pair

if TYPE_CHECKING:
    from trueground.types import Graph
    from trueground.wings.graphs.base import Entity, KnowledgeGraph, NamedEntity, Row
    from trueground.wings.graphs.folder import GraphFile
    from trueground.wings.graphs.linking import LinkedQuestions


KeepReplies = Annotated[bool, Option("Don't read or write the cache.", "--no-cache")]


EXPECTED_GRAPH = (
    "a folder made by `trueground graph load`; a file of graphs (.json, .jsonl); a file of triples "
    "(.nt, .ttl, .rdf, .csv and other formats, also compressed); sparql:URL or wikidata"
)


def open_graph(
    source: "str | Path | Sequence[Graph]",
    *,
    lang: str | None = None,
    cache: bool = True,
    progress: Progress = do_nothing,
) -> "KnowledgeGraph":
    """Open a knowledge graph. Files are read into memory, so they have to fit there.

    Args:
        source: The graph as a user writes it (see `EXPECTED_GRAPH`), or graphs of records.
        lang: The language of names. Default: that of a loaded folder, else English.
        cache: Whether replies of an endpoint are cached.
        progress: Called with the progress of reading.

    Returns:
        The graph. Close it after use.

    Raises:
        GraphError: The graph doesn't exist or can't be read.
        MissingExtraError: An optional package is missing.
    """
    from trueground.errors import GraphError

    if not isinstance(source, str | Path):
        from trueground.wings.graphs.json_graph import JsonGraph

        return JsonGraph.of(source)
    text = str(source)
    if text == "wikidata" or text.startswith("sparql:"):
        from trueground.wings.graphs.endpoint import WIKIDATA, EndpointGraph

        url = WIKIDATA if text == "wikidata" else text.removeprefix("sparql:")
        return EndpointGraph(url, lang=lang or "en", cache=cache)
    path = Path(source)
    if not text.strip() or "\0" in text or not path.exists():
        raise GraphError(f"the knowledge graph {text!r} doesn't exist; expected {EXPECTED_GRAPH}")
    if path.is_dir():
        from trueground.wings.graphs.folder import open_folder

        return open_folder(path, lang)
    from trueground.wings.graphs.loading import Loading, format_of

    loading = Loading(lang or "en")
    format_ = format_of(path, loading)
    if format_ in ("graphs", "kalma"):
        from trueground.wings.graphs.json_graph import JsonGraph

        return JsonGraph.read(path)
    if format_ == "wikidata-json":
        raise GraphError(
            f"{path}: found a dump of Wikidata, which is too large for memory. Load it into a "
            f"folder first: trueground graph load {path} --out DIR"
        )
    from trueground.wings.graphs.folder import open_file

    return open_file(path, loading, progress)


def _parse_bindings(texts: Sequence[str]) -> dict[str, str]:
    form = "NAME=VALUE, such as name=Stephen Crane"
    return dict(split_pair("--bind", text, form, allow_empty=True) for text in texts)


def load_graph(
    sources: Sequence[Path],
    out: Annotated[Path, Option("Folder of the graph. If it exists, files are added.")],
    *,
    classes: Annotated[
        Sequence[str],
        Option(
            ("Load only instances of this class from a Wikidata dump, such as Q5. Repeatable."),
            "--class",
            type=list[str] | None,
        ),
    ] = (),
    lang: Annotated[str, Option("Language of names.")] = "en",
    format_: Annotated[
        str | None,
        Option(
            ("rdf, wikidata-rdf, wikidata-json, kalma, graphs or csv. Default: detected."),
            "--format",
        ),
    ] = None,
    identifiers: Annotated[bool, Option("Keep ids of other databases, URLs and images.")] = False,
    overwrite: Annotated[bool, Option("Replace an existing graph.")] = False,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "GraphFile":
    """Load files into the graph of a folder.

    Args:
        sources: The files.
        out: The folder. Files are added to an existing graph.
        classes: Ids of Wikidata classes. Only their instances are loaded from a dump.
        lang: The language of names.
        format_: The format of the files. Default: detected.
        identifiers: Keep ids of other databases, web addresses and images.
        overwrite: Replace an existing graph.
        progress: Called with the progress of the work.
        note: Called with warnings, such as files that are skipped.

    Returns:
        The description of the graph, file by file.

    Raises:
        GraphError: A file can't be read, or the graph has another language.
        MissingExtraError: An optional package is missing.
        OutputError: The folder has other files, or another process is loading into it.
        UsageError: An option isn't valid, or doesn't fit the graph.
        WriteError: The graph can't be written.
    """
    from trueground.wings.graphs.folder import build_graph, read_graph_file
    from trueground.wings.graphs.loading import Loading

    loading = Loading(lang, tuple(classes), format_, identifiers)
    build_graph(
        sources,
        out,
        loading,
        progress,
        overwrite=overwrite,
        passed_over=lambda path, before: note(
            f"skipped {path}: its content was loaded before as {before.path}"
        ),
    ).close()
    return read_graph_file(out)


def query_graph(
    graph: str,
    sparql: str,
    *,
    bindings: Annotated[
        Mapping[str, str] | None,
        Option(
            "Value of a variable: a text or an <IRI>. Repeatable.",
            "--bind",
            metavar="NAME=VALUE",
            type=list[str] | None,
            parse=_parse_bindings,
        ),
    ] = None,
    cache: KeepReplies = True,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "Iterator[Row]":
    """Query a graph with SPARQL.

    Args:
        graph: The graph as a user writes it.
        sparql: The query.
        bindings: Values of variables.
        cache: Whether replies of an endpoint are cached.
        progress: Called with the progress of reading the graph.
        note: Called with a warning if replies can no longer be cached.

    Returns:
        An iterator over the rows, each by variable. At its end, the graph is closed.

    Raises:
        GraphError: The graph can't be read, or the query fails.
        UsageError: The graph doesn't support SPARQL.
    """
    from trueground.errors import UsageError
    from trueground.wings.graphs.base import Queried

    opened = open_graph(graph, cache=cache, progress=progress)

    def rows() -> "Iterator[Row]":
        with _closed_after(opened, note):
            if not isinstance(opened, Queried):
                raise UsageError(
                    f"{graph} is a file of graphs, which doesn't support SPARQL. Load it first "
                    f"with: trueground graph load {graph} --out DIR, or show an entity with: "
                    f"trueground graph show {graph} NAME"
                )
            yield from opened.query(sparql, bindings)

    return rows()


def find_entities(
    graph: str,
    names: Sequence[str],
    *,
    lang: Annotated[
        str | None,
        Option("Language of names. Default: the graph's, or en.", "--lang"),
    ] = None,
    cache: KeepReplies = True,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "Iterator[tuple[str, list[NamedEntity], list[Entity]]]":
    """Find entities by id, name or alias.

    Args:
        graph: The graph as a user writes it.
        names: Ids, names or aliases.
        lang: The language of names. Default: that of the graph, else English.
        cache: Whether replies of an endpoint are cached.
        progress: Called with the progress of reading the graph.
        note: Called with a warning if replies can no longer be cached.

    Returns:
        An iterator over (name, the entities with this name, their facts). For an id, the second
        is empty. At its end, the graph is closed.

    Raises:
        InputError: No entity has one of the names. It is raised at the end of the iterator.
        GraphError: The graph can't be read.
    """
    from trueground.errors import InputError

    opened = open_graph(graph, lang=lang, cache=cache, progress=progress)

    def find() -> "Iterator[tuple[str, list[NamedEntity], list[Entity]]]":
        with _closed_after(opened, note):
            by_id = opened.entities(names)
            others = [name for name, entity in zip(names, by_id, strict=True) if entity is None]
            candidates = dict(zip(others, opened.find(others), strict=True))
            for name, entity in zip(names, by_id, strict=True):
                if entity is not None:
                    yield name, [], [entity]
                else:
                    entities = opened.entities([named.qid for named in candidates[name]])
                    yield name, candidates[name], [each for each in entities if each is not None]
        missing = [name for name in others if not candidates[name]]
        if missing:
            raise InputError(
                f"{opened.name} has no entity with the name, alias or id "
                f"{' or '.join(map(repr, missing))}; expected a complete name, in any case. Check "
                "its spelling in the graph, or use its id"
            )

    return find()


def link_questions(
    questions: Path,
    graph: str,
    *,
    recognizer: Annotated[
        str, Option("How names are recognized: dictionary (names in the graph) or spacy:MODEL.")
    ] = "dictionary",
    types: Annotated[
        Sequence[str],
        Option(
            "Keep only entities of this class, such as human or Q5. Repeatable.",
            type=list[str] | None,
        ),
    ] = (),
    lang: Annotated[str | None, Option("Language of names. Default: the graph's, or en.")] = None,
    cache: Annotated[bool, Option("Don't read or write the cache.", "--no-cache")] = True,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "LinkedQuestions":
    """Find the entities in questions of a file. With gold ids, measure precision and recall.

    Args:
        questions: The file of questions.
        graph: The graph as a user writes it.
        recognizer: The recognizer of names, `dictionary` or `spacy:MODEL`.
        types: Classes. Only entities of one of them are kept.
        lang: The language of names. Default: that of the graph, else English.
        cache: Whether replies of an endpoint are cached.
        progress: Called with the progress of linking.
        note: Called with a warning if replies can no longer be cached.

    Returns:
        The linked questions, and the measures if the file has gold ids.

    Raises:
        InputError: The questions can't be read.
        GraphError: The graph can't be read.
        UsageError: The recognizer isn't valid.
    """
    from trueground.wings.graphs.linking import LinkedQuestions, Linker, read_questions, retrieval

    rows = read_questions(questions)
    opened = open_graph(graph, lang=lang, cache=cache)
    with _closed_after(opened, note):
        linker = Linker(opened, recognizer, types)
        linked = linker.link([row.text for row in rows], progress)
    gold = [row.gold for row in rows]
    return LinkedQuestions(
        graph=opened.name,
        signature=opened.signature,
        recognizer=linker.recognizer.name,
        types=linker.types,
        texts=tuple(row.text for row in rows),
        linked=tuple(linked),
        retrieval=retrieval(linked, gold) if any(ids is not None for ids in gold) else None,
    )


@contextmanager
def _closed_after(graph: "KnowledgeGraph", note: Callable[[str], None]) -> "Iterator[None]":
    """Close the graph, and warn if replies of its endpoint could not be cached."""
    try:
        yield
    finally:
        graph.close()
    if problem := getattr(graph, "problem", None):
        note(problem)
