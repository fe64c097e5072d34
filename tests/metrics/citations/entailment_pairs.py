"""Sentences beside triples, right and wrong ones, as answers about people and places have them.

Each line: sentence, property, value, whether the sentence entails it.
"""

from __future__ import annotations

_PAINTER = "Livia Corsi was a painter born on July 8, 1596."
_LIFE = "She was born in Siena and died in Naples."
_DEATH = "Harlan Voss died on June 5, 1900, of tuberculosis."
_BELIEF = "He was raised as a Lutheran and later became a Quaker."
_FAMILY = "She was the daughter of the engraver Orlando Corsi."
_PARTY = "He was a member of the Liberal Party."
_NEVER = "He was never a member of the Liberal Party."
_TALL = "He was 1.86 m tall."
_TOWN = "The town has 12,400 inhabitants."
_BORN = "Born on 3 May 1842 in Turku, Elin Berg grew up by the sea."
_BRACKETS = "Elin Berg (3 May 1842 – 9 June 1911) was a Finnish composer."
_PASSED = "She passed away in Helsinki at the age of 69."
_OPERAS = "She composed operas and songs."
_LAKE = "The lake covers 1,240 square kilometres."
_CATHOLIC = "He was a Roman Catholic."

PAIRS = (
    (_PAINTER, "date of birth", "1596-07-08", True),
    (_PAINTER, "date of birth", "1596", True),
    (_PAINTER, "occupation", "painter", True),
    (_PAINTER, "date of birth", "1597-07-08", False),
    (_PAINTER, "date of birth", "1596-08-08", False),
    (_PAINTER, "date of death", "1596-07-08", False),
    (_PAINTER, "occupation", "sculptor", False),
    (_PAINTER, "place of birth", "Rome", False),
    (_LIFE, "place of birth", "Siena", True),
    (_LIFE, "place of death", "Naples", True),
    (_LIFE, "place of birth", "Naples", False),
    (_LIFE, "place of death", "Siena", False),
    (_LIFE, "place of burial", "Siena", False),
    (_LIFE, "country of citizenship", "France", False),
    ("He taught at the University of Jena until 1820.", "employer", "University of Jena", True),
    ("He was a professor at Jena University.", "employer", "University of Jena", True),
    ("He was a professor at the University of Halle.", "employer", "University of Jena", False),
    ("He studied law at the University of Jena.", "educated at", "University of Jena", True),
    ("His doctorate came from Harvard University.", "alma mater", "Harvard University", True),
    ("He studied at Yale.", "alma mater", "Harvard University", False),
    (_DEATH, "date of death", "1900-06-05", True),
    (_DEATH, "cause of death", "Tuberculosis", True),
    (_DEATH, "date of birth", "1900-06-05", False),
    (_DEATH, "date of death", "1900-06-06", False),
    (_DEATH, "cause of death", "pneumonia", False),
    ("Voss died in June 1900.", "date of death", "1900-06-05", False),
    ("Voss died in June 1900.", "date of death", "1900-06", True),
    ("Voss died in 1900 at a spa.", "date of death", "1900", True),
    ("Voss was the first realist of his country.", "movement", "realism", True),
    ("Voss was the first realist of his country.", "movement", "surrealism", False),
    (_BELIEF, "religion", "Quakers", True),
    (_BELIEF, "religion", "Islam", False),
    ("He wrote short novels about the sea.", "occupation", "writer", True),
    ("He wrote short novels about the sea.", "occupation", "engineer", False),
    ("His most famous book is The Grey Harbour.", "notable works", "The Grey Harbour", True),
    ("His most famous book is The Grey Harbour.", "notable works", "The Salt Road", False),
    (_FAMILY, "father", "Orlando Corsi", True),
    (_FAMILY, "mother", "Pia Monti", False),
    ("He married Helene Brandt in 1920.", "spouse", "Helene Brandt", True),
    ("His wife was called Helene.", "spouse", "Helene Brandt", False),
    (_TOWN, "population", "12400", True),
    (_TOWN, "population", "14200", False),
    (_TALL, "height", "186 cm", True),
    (_TALL, "height", "168 cm", False),
    (_PARTY, "member of political party", "Liberal Party", True),
    (_NEVER, "member of political party", "Liberal Party", False),
    ("He was an American of German descent.", "country of citizenship", "United States", True),
    ("She is buried in the Elmwood Cemetery.", "place of burial", "Elmwood Cemetery", True),
    ("She is buried in Highgate.", "place of burial", "Elmwood Cemetery", False),
    ("She spoke English and French.", "languages spoken", "French", True),
    ("She spoke English and French.", "languages spoken", "Italian", False),
    ("Voss played baseball at college.", "sport", "baseball", True),
    ("Voss played football at college.", "sport", "baseball", False),
    ("She won the Ferris Prize in Physics.", "award received", "Ferris Prize in Physics", True),
    ("She won the Ferris Prize in Chemistry.", "award received", "Ferris Prize in Physics", False),
    ("He was the fourth mayor of Lund.", "position held", "mayor of Lund", True),
    ("He was vice president of a bank.", "position held", "President of Norway", False),
    (_BORN, "date of birth", "1842-05-03", True),
    (_BORN, "place of birth", "Turku", True),
    (_BORN, "date of birth", "1842-03-05", False),
    (_BRACKETS, "date of death", "1911-06-09", True),
    (_BRACKETS, "date of birth", "1842-05-03", True),
    (_BRACKETS, "country of citizenship", "Finland", True),
    (_BRACKETS, "occupation", "composer", True),
    (_BRACKETS, "occupation", "conductor", False),
    (_PASSED, "place of death", "Helsinki", True),
    (_PASSED, "place of death", "Turku", False),
    ("Her brother Aksel was a ship's captain.", "sibling", "Aksel Berg", False),
    ("Her brother Aksel Berg was a ship's captain.", "sibling", "Aksel Berg", True),
    (
        "She was educated at the Royal Conservatory of Leipzig.",
        "educated at",
        "Leipzig Conservatory",
        True,
    ),
    (_OPERAS, "genre", "opera", True),
    (_OPERAS, "genre", "symphony", False),
    (
        "She received the Order of the White Rose in 1905.",
        "award received",
        "Order of the White Rose",
        True,
    ),
    (_LAKE, "area", "1240 square kilometre", True),
    (_LAKE, "area", "2140 square kilometre", False),
    ("The bridge was opened in March 1931.", "date of official opening", "1931-03-14", False),
    ("The bridge was opened on March 14, 1931.", "date of official opening", "1931-03-14", True),
    (
        "He served as governor of Maine from 1951 to 1955.",
        "position held",
        "Governor of Maine",
        True,
    ),
    (
        "He served as senator for Maine from 1951 to 1955.",
        "position held",
        "Governor of Maine",
        False,
    ),
    ("His remains were buried at Oakland Cemetery.", "place of burial", "Oakland Cemetery", True),
    (_CATHOLIC, "religion", "Catholic Church", True),
    (_CATHOLIC, "religion", "Islam", False),
    ("He is known for his work on whales.", "field of work", "zoology", False),
)
