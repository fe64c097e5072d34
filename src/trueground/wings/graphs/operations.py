"""Knowledge graphs: stores and endpoints, one-hop subgraphs, linking of names to entities."""

# No `from __future__ import annotations`: the command line reads the options here as values.
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


WRITTEN = (
    "a folder that `trueground graph load` made; a file of graphs (.json, .jsonl); a file of "
    "triples (.nt, .ttl, .rdf, .csv and others that it reads; also packed); sparql:URL or wikidata"
)


def open_graph(
    written: "str | Path | Sequence[Graph]",
    *,
    lang: str | None = None,
    cache: bool = True,
    progress: Progress = do_nothing,
) -> "KnowledgeGraph":
    """The graph that is written so (WRITTEN says how one is), or of graphs as records have them.

    Files are read into memory; they are for what fits there. `lang` chooses names where a
    graph has them in several languages, default that in which a folder was loaded, else English.
    `cache` keeps what an endpoint answers. GraphError: nothing is there, or it cannot be read;
    MissingExtraError.
    """
    from trueground.errors import GraphError

    if not isinstance(written, str | Path):
        from trueground.wings.graphs.json_graph import JsonGraph

        return JsonGraph.of(written)
    text = str(written)
    if text == "wikidata" or text.startswith("sparql:"):
        from trueground.wings.graphs.endpoint import WIKIDATA, EndpointGraph

        url = WIKIDATA if text == "wikidata" else text.removeprefix("sparql:")
        return EndpointGraph(url, lang=lang or "en", cache=cache)
    path = Path(written)
    if not text.strip() or "\0" in text or not path.exists():
        raise GraphError(
            f"the knowledge graph {text!r}: found no such file or folder; expected {WRITTEN}"
        )
    if path.is_dir():
        from trueground.wings.graphs.folder import open_folder

        return open_folder(path, lang)
    from trueground.wings.graphs.loading import Loading, format_of

    loading = Loading(lang or "en")
    found = format_of(path, loading)
    if found in ("graphs", "kalma"):
        from trueground.wings.graphs.json_graph import JsonGraph

        return JsonGraph.read(path)
    if found == "wikidata-json":  # dumps are too large for memory
        raise GraphError(
            f"{path}: found a dump of Wikidata; expected {WRITTEN}. Dumps are loaded into a folder "
            f"first: trueground graph load {path} --out DIR"
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
    """Load files into the graph in the folder `out`: what it then holds, file by file.

    `note` is told which files are passed over, since the graph has their content. Errors are as of
    `embedded.building.build_graph` and `loading.Loading`.
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
            f"{path} is passed over: its content was loaded before as {before.path}"
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
            type=list[str] | None,
            parse=_parse_bindings,
        ),
    ] = None,
    cache: KeepReplies = True,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "Iterator[Row]":
    """Ask a graph in SPARQL: rows by variable; behind the last the graph is closed.

    `note` is then told why replies of an endpoint are no longer kept. GraphError, UsageError.
    """
    from trueground.errors import UsageError
    from trueground.wings.graphs.base import Queried

    opened = open_graph(graph, cache=cache, progress=progress)

    def rows() -> "Iterator[Row]":
        with _closed_after(opened, note):
            if not isinstance(opened, Queried):
                raise UsageError(
                    f"{graph} is a file of graphs, which answers no SPARQL; load it first with: "
                    f"trueground graph load {graph} --out DIR, or see an entity with: trueground "
                    f"graph show {graph} NAME"
                )
            yield from opened.query(sparql, bindings)

    return rows()


def find_entities(
    graph: str,
    wanted: Sequence[str],
    *,
    lang: Annotated[
        str | None,
        Option("Language of names. Default: the graph's, or en.", "--lang"),
    ] = None,
    cache: KeepReplies = True,
    progress: Progress = do_nothing,
    note: Callable[[str], None] = do_nothing,
) -> "Iterator[tuple[str, list[NamedEntity], list[Entity]]]":
    """For each id, name or alias: which entities have the name (none for an id), and what they are.

    Behind the last the graph is closed. InputError then for those that no entity has; GraphError.
    """
    from trueground.errors import InputError

    opened = open_graph(graph, lang=lang, cache=cache, progress=progress)

    def found() -> "Iterator[tuple[str, list[NamedEntity], list[Entity]]]":
        with _closed_after(opened, note):
            by_id = opened.entities(wanted)
            names = [one for one, entity in zip(wanted, by_id, strict=True) if entity is None]
            named = dict(zip(names, opened.find(names), strict=True))
            for one, entity in zip(wanted, by_id, strict=True):
                if entity is not None:
                    yield one, [], [entity]
                else:
                    several = opened.entities([candidate.qid for candidate in named[one]])
                    yield one, named[one], [each for each in several if each is not None]
        if missing := [one for one in names if not named[one]]:
            raise InputError(
                f"{opened.name} has no entity with the name, alias or id "
                f"{' or '.join(map(repr, missing))}; names count whole, whatever their case. See "
                "how it is spelled there, or give its id"
            )

    return found()


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
    """Find the entities in the questions of a file; against gold ids also precision and recall.

    `note` is told why replies of an endpoint are no longer kept. InputError, GraphError and what
    the recognizer raises.
    """
    from trueground.wings.graphs.linking import LinkedQuestions, Linker, read_questions, retrieval

    asked = read_questions(questions)
    opened = open_graph(graph, lang=lang, cache=cache)
    with _closed_after(opened, note):
        linker = Linker(opened, recognizer, types)
        linked = linker.link([one.text for one in asked], progress)
    gold = [one.gold for one in asked]
    return LinkedQuestions(
        graph=opened.name,
        signature=opened.signature,
        recognizer=linker.recognizer.name,
        types=linker.types,
        texts=tuple(one.text for one in asked),
        linked=tuple(linked),
        retrieval=retrieval(linked, gold) if any(one is not None for one in gold) else None,
    )


@contextmanager
def _closed_after(graph: "KnowledgeGraph", note: Callable[[str], None]) -> "Iterator[None]":
    """Close it, and tell why replies of an endpoint were no longer kept, which is known then."""
    try:
        yield
    finally:
        graph.close()
    if problem := getattr(graph, "problem", None):
        note(problem)
