"""Inputs that must be refused with a message, never with a traceback (exit code 2 on the CLI).

Each case is a file: its name, its bytes, and parts of the message that it must bring about: the
place, what was found, and what was expected or how to fix it.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass

import zstandard

GOOD = b'{"id": "a", "response": "Paris"}\n'


@dataclass(frozen=True)
class Broken:
    """One file that is refused; `says` are parts of the message, `columns` the `--map` option."""

    name: str
    file: str
    data: bytes
    says: tuple[str, ...]
    columns: str | None = None


def line(name: str, text: str | bytes, *says: str) -> Broken:
    """A JSONL file whose second line is `text`."""
    data = text if isinstance(text, bytes) else text.encode()
    return Broken(name, "answers.jsonl", GOOD + data + b"\n", ("answers.jsonl, line 2", *says))


def field(name: str, members: str, *says: str) -> Broken:
    """A JSONL file whose second line is a record with `members` beside its response."""
    return line(name, f'{{"id": "b", "response": "x", {members}}}', "id 'b'", *says)


TYPES = [
    line("response missing", '{"id": "b", "answer": "x"}', "'response'", "no such", "--map"),
    line("response null", '{"id": "b", "response": null}', "'response'", "null", 'empty string ""'),
    line("response number", '{"id": "b", "response": 5}', "int 5", 'write "5"'),
    line("response list", '{"id": "b", "response": ["x"]}', "list of 1", "a str"),
    line("id bool", '{"id": true, "response": "x"}', "'id'", "bool true", "a str or an int"),
    line("id float", '{"id": 1.5, "response": "x"}', "'id'", "float 1.5", 'write "1.5"'),
    field("question number", '"question": 7', "'question'", "int 7", 'write "7"'),
    field("contexts number", '"contexts": 5', "'contexts'", "int 5", 'write ["5"]'),
    field("context number", '"contexts": ["a", "b", 5]', "contexts[2]", "int 5", '{"text": …}'),
    field("context text number", '"contexts": [{"text": 5}]', "contexts[0].text", "int 5", "a str"),
    field("context without text", '"contexts": [{"txt": "x"}]', "contexts[0].text", "{txt}"),
    field("context gold", '"contexts": [{"text": "x", "gold": 1}]', "gold", "int 1", "write true"),
    field("context null", '"contexts": [null]', "contexts[0]", "null"),
    field("contexts object", '"contexts": {"text": "x"}', "object {text}", "write [{…}]"),
    field("references number", '"references": 1889', "'references'", 'write ["1889"]'),
    field("reference null", '"references": ["x", null]', "references[1]", "null", "a str"),
    field("facts text", '"gold_facts": "Paris"', 'str "Paris"', 'write ["Paris"]'),
    field("response facts text", '"response_facts": "Rome"', 'str "Rome"', 'write ["Rome"]'),
    field("history text", '"history": "Hi"', "'history'", 'write ["Hi"]'),
    field("turn without content", '"history": [{"role": "user"}]', "history[0].content", "{role}"),
    field("choices texts", '"choices": ["A"]', "choices[0]", 'str "A"', '"label"'),
    field("answerable text", '"answerable": "yes"', "'answerable'", 'str "yes"', "write true"),
    field("knowledge object", '"knowledge": {"qid": "Q1"}', "'knowledge'", "write [{…}]"),
    field("graph without qid", '"knowledge": [{"x": "y"}]', "knowledge[0].qid", '"Q90"'),
    field("graph value", '"knowledge": [{"qid": "Q1", "p": {"v": 1}}]', "knowledge[0].p", "{v}"),
    field("triple short", '"gold_knowledge": [["Q1", "p"]]', "gold_knowledge[0]", "list of 2"),
    field("triple null", '"absent_knowledge": [["Q1", "p", null]]', "absent_knowledge[0][2]"),
    field("human text", '"human": {"ok": "0.5"}', "human.ok", 'str "0.5"', "write 0.5"),
    field("human list", '"human": [1]', "'human'", "list of 1", "an object of numbers"),
    field("model number", '"model": 4', "'model'", "int 4", 'write "4"'),
    field("group number", '"group": 4', "'group'", 'write "4"'),
    field("meta text", '"meta": "x"', "'meta'", 'str "x"', "an object"),
]

TEXTS = [
    line("syntax", '{"id": "b" "response": "x"}', "JSON syntax error at column 12", "','"),
    line("single quotes", "{'response': 'x'}", "column 2", "double quotes"),
    line("array in lines", '[{"response": "x"}]', "list of 1", "must end in .json"),
    line("text for object", '"x"', 'str "x"', "one JSON object"),
    line("null for object", "null", "null", "one JSON object"),
    line("two objects", '{"response": "x"} {}', "column 19", "Extra data"),
    line("NaN", '{"response": "x", "human": {"ok": NaN}}', "human.ok", "NaN", "finite number"),
    line("infinity", '{"response": "x", "score": -Infinity}', "'score'", "-Infinity", "finite"),
    line("overflow", '{"response": "x", "score": 1e999}', "'score'", "Infinity", "finite"),
    line("raw NUL", b'{"response": "x\0"}', "NUL byte at column 16", "without NUL"),
    line("escaped NUL", '{"response": "x\\u0000"}', "'response'", "NUL character at character 2"),
    line("NUL in a name", '{"response": "x", "a\\u0000": 1}', "NUL character"),
    line("invalid UTF-8", b'{"response": "caf\xe9"}', "invalid UTF-8", "0xe9", "byte 18", "UTF-8"),
    line("lone surrogate", '{"response": "ab\\ud83dcd"}', "'response'", "\\ud83d", "character 3"),
    line("surrogate elsewhere", '{"response": "x", "t": ["\\udc00"]}', "t[0]", "surrogate"),
    line("deep nesting", '{"response": ' + "[" * 100_000 + "}", "nested too deeply"),
    line("key twice", '{"response": "x", "response": "y"}', '"response" twice', "every key once"),
    line("key twice within", '{"response": "x", "meta": {"a" : 1, "\\u0061": 2}}', '"a" twice'),
    line("key twice beside signs", '{"id": "\\":", "response": " :", "id" :"b"}', '"id" twice'),
    line("control character", b'{"response": "x\x01"}', "column 16: Invalid control character;"),
    line("endless number", '{"response": "x", "n": ' + "9" * 5000 + "}", "thousands of digits"),
    line("duplicate id", '{"id": "a", "response": "x"}', "'a'", "first in answers.jsonl, line 1"),
    Broken(
        "id meets a row number",
        "answers.jsonl",
        b'{"id": 1, "response": "x"}\n{"response": "y"}\n',
        ("line 2", "'1'", "first in answers.jsonl, line 1", "unique"),
    ),
    Broken(
        "cut line",
        "answers.jsonl",
        GOOD + b'{"id": "b", "resp',
        ("line 2", "ends in the middle of a line", "column 13", "cut off"),
    ),
    Broken(
        "pretty printed",
        "answers.jsonl",
        b'{\n  "response": "x"\n}\n',
        ("line 1", "JSON syntax error", "one JSON object"),
    ),
]

ARRAYS = [
    Broken("array element", "a.json", b'[{"response": "x"}, 5]', ("a.json, row 2", "int 5")),
    Broken("array NaN", "a.json", b'[{"response": "x", "n": NaN}]', ("row 1", "'n'", "NaN")),
    Broken("array syntax", "a.json", b'[{"response" "x"}]', ("row 1", "column 13")),
    Broken("array comma", "a.json", b'[{"response": "x"},]', ("row 2", "nothing", "no comma")),
    Broken("array cut", "a.json", b'[{"response": "x"}, {"re', ("row 2", "middle of a record")),
    Broken("array open", "a.json", b'[{"response": "x"}', ("row 1", "before the closing ]")),
    Broken("array tail", "a.json", b'[{"response": "x"}] [1]', ("after the end", "one JSON array")),
    Broken("array in array", "a.json", b'[[{"response": "x"}]]', ("row 1", "list of 1")),
    Broken("array empty", "a.json", b"[ ]", ("a.json", "holds no records")),
]

TABLES = [
    Broken("few cells", "a.csv", b"id,response\n1,x\n2\n", ("a.csv, row 2", "1 cell;", "2, one")),
    Broken("many cells", "a.csv", b"id,response\n1,x,y\n", ("row 1", "3 cells", "quotation")),
    Broken("open quote", "a.csv", b'id,response\n1,"x\n', ("row 1", "inside a quoted cell")),
    Broken("stray quote", "a.csv", b'id,response\n1,"x"y\n', ("row 1", "CSV error", "doubled")),
    Broken("CSV NUL", "a.csv", b"id,response\n1,x\0\n", ("row 1", "'response'", "NUL")),
    Broken("CSV bytes", "a.csv", b"id,response\n1,\xe9\n", ("row 1", "0xe9", "UTF-8")),
    Broken("CSV header bytes", "a.csv", b"id,r\xe9sponse\n1,x\n", ("header", "UTF-8")),
    Broken("CSV twice", "a.csv", b"id,id,response\n1,2,x\n", ("'id'", "more than once")),
    Broken("CSV semicolons", "a.csv", b"id;response\n1;x\n", ("'id;response'", "comma")),
    Broken("TSV commas", "a.tsv", b"id,response\n1,x\n", ("'id,response'", "tab")),
    Broken("CSV header only", "a.csv", b"id,response\n", ("a.csv", "holds no records")),
    Broken("CSV no response", "a.csv", b"id,said\n1,x\n", ("row 1", "id, said", "--map")),
    Broken(
        "cut Python list in CSV",
        "a.csv",
        b"response,contexts\nx,\"['a', 'b'\"\n",
        ("row 1", "'contexts'", "column 2", "as Python prints it"),
    ),
    Broken(
        "CSV flag",
        "a.csv",
        b"response,answerable\nx,maybe\n",
        ("row 1", "'answerable'", 'str "maybe"', "true or false"),
    ),
    Broken(
        "CSV facts", "a.csv", b"response,gold_facts\nx,Paris\n", ("gold_facts", 'write ["Paris"]')
    ),
]

FILES = [
    Broken("empty", "a.jsonl", b"", ("a.jsonl is empty", "no records")),
    Broken("blank", "a.jsonl", b"\n \n", ("a.jsonl holds no records",)),
    Broken("blank JSON", "a.json", b"  \n", ("a.json holds no records",)),
    Broken("unknown", "a.dat", b"hello", ("a.dat", "format", ".jsonl", ".parquet", ".zst")),
    Broken("UTF-16", "a.jsonl", GOOD.decode().encode("utf-16"), ("UTF-16", "save it as UTF-8")),
    Broken("no gzip", "a.jsonl.gz", GOOD, ("a.jsonl.gz", "gzip archive")),
    Broken("no Zstandard", "a.jsonl.zst", GOOD, ("a.jsonl.zst", "Zstandard archive")),
    Broken("cut gzip", "a.jsonl.gz", gzip.compress(GOOD * 50)[:-12], ("a.jsonl.gz is cut off",)),
    Broken(
        "cut Zstandard",
        "a.jsonl.zst",
        zstandard.compress(GOOD) + zstandard.compress(GOOD)[:-3],
        ("a.jsonl.zst is cut off",),
    ),
    Broken("no Parquet", "a.parquet", b"PAR1 or not", ("a.parquet", "Parquet file")),
    Broken("empty Parquet", "a.parquet", b"", ("a.parquet is empty",)),
    Broken(
        "mapped column missing",
        "a.jsonl",
        b'{"response": "x", "query": "q", "answer": {"text": "t"}}\n',
        ("'querry'", "'question'", "Did you mean 'query'", "answer.text"),
        "question=querry",
    ),
    Broken(
        "unknown field", "a.jsonl", GOOD, ("unknown field 'kontexts'", "'contexts'"), "kontexts=c"
    ),
    Broken("mapping syntax", "a.jsonl", GOOD, ("'question'", "FIELD=COLUMN"), "question"),
]

BROKEN = [*TYPES, *TEXTS, *ARRAYS, *TABLES, *FILES]
