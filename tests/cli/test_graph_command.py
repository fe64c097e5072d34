"""`trueground graph load|query|show` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.marks import mostly_long
from typer.testing import CliRunner, Result

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

from tests.commands import trueground
from tests.wings.graphs.loading.files import dump, item, nt, of_item, write
from tests.wings.graphs.people import people

from trueground.errors import GraphError, InputError, OutputError, TruegroundError, UsageError
from trueground.wings.graphs.command import graph

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(graph)
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


@pytest.fixture
def loaded(tmp_path: Path) -> Path:
    assert run("load", people(tmp_path), "--out", tmp_path / "g", "--quiet").exit_code == 0
    return tmp_path / "g"


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["graph", *map(str, words)])


def refused(kind: type[TruegroundError], *words: object) -> str:
    done = run(*words)
    assert isinstance(done.exception, kind), done.exception or done.output
    assert done.exception.exit_code == 2
    assert done.stdout == ""
    return str(done.exception)


def test_load_says_what_it_made(tmp_path: Path) -> None:
    out = tmp_path / "g"
    done = run("load", people(tmp_path), "--out", out)
    assert done.stdout.splitlines() == [
        str(out),
        "  people.ttl (rdf): 46 triples",
        "46 triples, 9 names in 'en'",
    ]
    table = tmp_path / "more.csv"
    table.write_text("qid,property,value\nQ77,name,Ulm\nQ77,country,Korvia\n")
    done = run("load", table, "--out", out, "--format", "csv")
    assert done.stdout.splitlines()[1:3] == [
        "  people.ttl (rdf): 46 triples",
        "  more.csv (csv): 3 triples, 1 entity",
    ]
    assert run("load", table, "--out", out, "--quiet").stdout == ""
    assert run("load", table, "--out", out).stdout.splitlines()[-1] == (
        f"skipped {table}: its content was loaded before as {table}"
    )


def test_load_counts_one_and_none(tmp_path: Path) -> None:
    one = tmp_path / "one.nt"
    one.write_text(f'<urn:a> {LABEL} "A"@en .\n')
    done = run("load", one, "--out", tmp_path / "g")
    assert done.stdout.splitlines()[1:] == ["  one.nt (rdf): 1 triple", "1 triple, 1 name in 'en'"]
    assert done.stderr == ""
    done = run("load", one, "--out", tmp_path / "h", "--lang", "fr")
    assert done.stdout.splitlines()[-1] == "1 triple, 0 names in 'fr'"
    assert "has a name in the language 'fr'" in done.stderr


def test_a_dump_is_loaded_without_nul_characters(tmp_path: Path) -> None:
    text = nt("Q1", "P31", "Q5") + nt("Q1", "label", '"Ana"@en') + nt("Q1", "P1", '"a\\u0000b"')
    dump = write(tmp_path / "truthy.nt", text)
    told = run("load", dump, "--out", tmp_path / "g").stdout
    assert "2 triples, 1 entity\n    left out: 1 × a text with a NUL character\n" in told
    assert f"      {dump}, <http://www.wikidata.org/entity/Q1> <" in told


@pytest.mark.parametrize("lang", ["pt-BR", "pt-br", "PT-BR"])
@pytest.mark.parametrize("kind", ["rdf", "wikidata-rdf", "wikidata-json"])
def test_languages_have_no_case(tmp_path: Path, lang: str, kind: str) -> None:
    text = nt("Q1", "label", '"Ana"@pt-BR') + nt("Q1", "alias", '"Aninha"@pt-Br')
    if kind == "wikidata-rdf":
        text += nt("Q1", "P31", "Q5")
    if kind == "wikidata-json":
        found = item("Q1", {"pt-br": "Ana"}, [of_item("P31", "Q5")], {"pt-br": ["Aninha"]})
        text = dump([found])
    path = write(tmp_path / ("a.json" if kind == "wikidata-json" else "a.nt"), text)
    done = run("load", path, "--out", tmp_path / "g", "--lang", lang, "--format", kind)
    assert done.stdout.splitlines()[-1].endswith(", 2 names in 'pt-br'"), done.output
    assert run("show", tmp_path / "g", "ANINHA", "--lang", lang).stdout.startswith("Q1  Ana")


def test_load_says_what_it_left_out_and_where(tmp_path: Path) -> None:
    entity = "<http://www.wikidata.org/entity/Q1>"
    direct = "http://www.wikidata.org/prop/direct/"
    lines = [f"{entity} <{direct}P31> <http://www.wikidata.org/entity/Q5> ."]
    lines += [f"{entity} <{direct}P856> <http://example.org/{n} b\x1b> ." for n in range(7)]
    dump = tmp_path / "truthy.nt"
    dump.write_text("\n".join(lines) + "\n")
    told = run("load", dump, "--out", tmp_path / "g").stdout
    assert "    left out: 7 × no valid triple\n" in told
    places = [line.strip() for line in told.splitlines() if ": no valid triple (" in line]
    assert [place.partition(": ")[0] for place in places] == [
        f"{dump}, line {number}" for number in range(2, 7)
    ]
    assert "\x1b" not in told


def test_load_refuses_what_cannot_be_meant(tmp_path: Path, loaded: Path) -> None:
    source = people(tmp_path)
    words = refused(UsageError, "load", source, "--out", tmp_path / "n", "--format", "xls")
    assert "graph format 'xls'" in words
    words = refused(UsageError, "load", source, "--out", tmp_path / "n", "--class", "human")
    assert "such as 'Q5'" in words
    assert "names in 'en'" in refused(GraphError, "load", source, "--out", loaded, "--lang", "de")
    assert run("load", source, "--out", loaded, "--lang", "de", "--overwrite").exit_code == 0
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    words = refused(OutputError, "load", source, "--out", tmp_path / "full", "--overwrite")
    assert "isn't a knowledge graph; choose" in words


def test_query_prints_rows(loaded: Path) -> None:
    query = f"SELECT ?s ?l {{ ?s {LABEL} ?l FILTER(STR(?l) = ?name) }}"
    done = run("query", loaded, query, "--bind", "name=Anna Ruck")
    head, row = done.stdout.splitlines()
    assert head.split() == ["s", "l"]
    assert row.split(maxsplit=1) == ["http://www.wikidata.org/entity/Q2", "Anna Ruck"]
    done = run("query", loaded, query, "--bind", "?name=two\nlines > . } ?s", "--format", "json")
    assert json.loads(done.stdout) == {
        "s": "http://www.wikidata.org/entity/Q12",
        "l": "two\nlines > . } ?s",
    }
    assert run("query", loaded, query, "--bind", "name=x").stdout == "nothing found\n"
    assert run("query", loaded, query, "--bind", "name=x", "--format", "json").stdout == ""
    ask = run("query", loaded, "ASK { ?s ?p ?o }", "--format", "json").stdout
    assert json.loads(ask) == {"ask": "true"}


def test_query_refuses_what_cannot_be_meant(tmp_path: Path, loaded: Path) -> None:
    assert "write NAME=VALUE" in refused(UsageError, "query", loaded, "ASK {}", "--bind", "name")
    assert "which changes a graph" in refused(GraphError, "query", loaded, "DROP ALL")
    assert "SERVICE" in refused(GraphError, "query", loaded, "ASK { SERVICE <urn:x> {} }")
    flat = tmp_path / "flat.json"
    flat.write_text('[{"qid": "Q1", "name": "One"}]')
    assert "doesn't support SPARQL. Load it first" in refused(UsageError, "query", flat, "ASK {}")


def test_show_takes_names_and_ids(loaded: Path) -> None:
    done = run("show", loaded, "Q2")
    assert done.stdout.splitlines()[:3] == [
        "Q2  Anna Ruck (also A. Ruck)",
        "  date of birth: 1871-11-01",
        "  date of death: 1900",
    ]
    assert "  place of birth: Korvik  [Q100]" in done.stdout.splitlines()
    # A line feed in a name does not look like another line of the result.
    assert run("show", loaded, "Q12").stdout.splitlines()[0] == "Q12  two lines > . } ?s"
    done = run("show", loaded, "anna ruck", "Q5", "--format", "json")
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["qid"] for one in shown] == ["Q2", "Q10", "Q5"]
    assert shown[0]["occupation"] == ["Q777", "writer"]
    assert "'anna ruck' names 2 entities:\n  Q2 Anna Ruck (human, Q5)\n  Q10" in done.stderr
    assert run("show", loaded, "anna ruck", "--quiet").stderr == ""


def test_show_reads_files(tmp_path: Path) -> None:
    flat = tmp_path / "flat.json"
    flat.write_text('[["Who?", [{"qid": "Q1", "name": "One", "alive": true}]]]')
    assert run("show", flat, "one").stdout == "Q1  One\n  alive: true\n"
    german = run("show", people(tmp_path), "Q5", "--lang", "de").stdout
    assert german == "Q5  Mensch\n"


def test_who_is_not_there_is_told(loaded: Path) -> None:
    done = run("show", loaded, "Q2", "Nobody", "No One")
    assert done.stdout.startswith("Q2  Anna Ruck")
    assert isinstance(done.exception, InputError)
    words = "has no entity with the name, alias or id 'Nobody' or 'No One'"
    assert words in str(done.exception)
    assert "doesn't exist; expected" in refused(GraphError, "show", loaded / "x", "Q2")


def test_no_traceback_from_the_whole_program(tmp_path: Path) -> None:
    for words in (
        ["query", people(tmp_path), "SELECT ?s {"],
        ["show", tmp_path, "x"],
        ["load", tmp_path / "absent", "--out", tmp_path / "n"],
    ):
        done = trueground("graph", *words)
        assert done.returncode == 2
        assert done.stderr.startswith("trueground: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    mostly_long(2, [["query", "SELECT * { ?s ?p ?o }"], ["link"], ["show", "Q2"]]),
)
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, words: list[str]) -> None:
    questions = tmp_path / "q.txt"
    questions.write_text("Where was Anna Ruck born?\n" * 500)
    command, *rest = words
    places = [str(questions)] if command == "link" else []
    program = [sys.executable, "-m", "trueground", "graph", command]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*program, *places, str(people(tmp_path)), *rest, "--no-progress"], stdout=pipe, stderr=pipe
    ) as begun:
        assert begun.stdout is not None
        begun.stdout.close()
        assert begun.stderr is not None
        assert begun.stderr.read() == b""
    assert begun.returncode == 0
