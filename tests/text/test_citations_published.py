"""The answers of Tables 19 and 20 (Li et al. 2024): their citations, counted by hand.

The sentences are in our words; brackets, their order and their places are those of the paper.
"""

from __future__ import annotations

from trueground.text.citations import CitedText
from trueground.text.triples import GraphTriple
from trueground.types import Graph

CRANE: Graph = {
    "qid": "Q206534",
    "name": "Stephen Crane",
    "sex or gender": "male",
    "place of birth": "Newark",
    "place of death": "Badenweiler",
    "country of citizenship": "United States of America",
    "cause of death": "Tuberculosis",
    "place of burial": "Evergreen Cemetery",
    "alma mater": "Syracuse University",
    "instance of": "human",
    "given name": "Stephen",
    "medical condition": "Tuberculosis",
    "occupation": "writer",
    "described by source": "Great Soviet Encyclopedia (1969–1978)",
    "manner of death": "natural causes",
    "movement": "literary realism",
    "notable works": "The Red Badge of Courage",
    "surname": "Crane",
    "topic's main category": "Category:Stephen Crane",
    "religion": "atheism",
    "languages spoken": "English",
    "mother": "Mary Helen Peck Crane",
    "sport": "baseball",
    "member of sports team": "Syracuse Orange baseball",
    "father": "Jonathan Townley Crane",
    "date_of_birth": "1871-11-01",
    "date_of_death": "1900-06-05",
}
TABLE_19 = (
    "This male writer came to the world in Newark in 1871 and left it in 1900 in Badenweiler "
    "[Q206534, sex or gender: male, place of birth: Newark, place of death: Badenweiler, country "
    "of citizenship: United States of America, cause of death: Tuberculosis, medical condition: "
    "Tuberculosis, date of birth: 1871-11-01, date of death: 1900-06-05]. He was a realist "
    "[Q206534, movement: literary realism] and without faith [Q206534, religion: atheism]. He "
    'wrote "The Red Badge of Courage" [Q206534, notable works: The Red Badge of Courage].\n\n'
    "At university he played ball [Q206534, alma mater: Syracuse University, sport: baseball, "
    "member of sports team: Syracuse Orange baseball]. Those years shaped his tales [NA]."
)
TABLE_20 = (
    "Crane lived from 1871 to 1900 [Q206534, date of birth: 1871-11-01, date of death: "
    "1900-06-05, place of birth: Newark, place of death: Badenweiler]. He is known as a realist "
    "[Q206534, movement: literary realism, notable works: The Red Badge of Courage]. He had no "
    "faith [Q206534, religion: atheism]. War and want fill his books [NA].\n\n"
    "He studied in Syracuse [Q206534, alma mater: Syracuse University], where he may have learnt "
    "much. What he met there could explain his style [NA].\n\n"
    "He was in its baseball team [Q206534, member of sports team: Syracuse Orange baseball]."
)


def counts(answer: str) -> tuple[list[int], list[int]]:
    read = CitedText(answer, [CRANE]).triple_sentences()
    cited = [(c.qid, c.property, c.value) for s in read for c in s.citations]
    assert {GraphTriple(*triple).key for triple in cited} <= GraphTriple.keys_of([CRANE])
    return [len(s.citations) for s in read], [s.missing for s in read]


def test_table_19() -> None:
    assert counts(TABLE_19) == ([8, 2, 1, 3, 0], [0, 0, 0, 0, 1])


def test_table_20() -> None:
    assert counts(TABLE_20) == ([4, 2, 1, 0, 1, 0, 1], [0, 0, 0, 1, 0, 1, 0])
