"""The tables of a labeling project, and how an older database becomes one of this version.

One schema for SQLite and PostgreSQL. Texts that people or models wrote stand in columns of JSON
text: PostgreSQL's own JSON takes no zero characters, and nothing is ever looked for inside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

FORMAT = "trueground-labels"
VERSION = 1
PLACES = 2**32  # places times an odd number, modulo this, are all different again

metadata = MetaData()

# What holds for the whole project, by name: format, version, title, overlap, order, seed.
meta = Table(
    "meta",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

# Where tasks came from: a run or a file of records, and the number before the ids of its tasks.
sources = Table(
    "sources",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("path", Text, nullable=False, unique=True),
    Column("mark", String(20), nullable=False),
)

# `shown` and `drawn` are as in a file of tasks. `place` is by what people meet them where the order
# is random, `rank` where the worst come first (None: last).
# `part` and `hints` are what the screen points at, worked out when the task was added.
tasks = Table(
    "tasks",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("kind", String(40), nullable=False),
    Column("id", Text, nullable=False),
    Column("check", String(40), nullable=False),
    Column("shown", Text, nullable=False),
    Column("drawn", Text),
    Column("place", BigInteger, nullable=False),
    Column("rank", Float),
    Column("part", Text),
    Column("hints", Text, nullable=False),
    Column("source", ForeignKey("sources.number")),
    UniqueConstraint("kind", "id"),
)

# `token` is the hash of the link that lets in. A forgotten person has no name any more.
people = Table(
    "people",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("name", Text, unique=True),
    Column("role", String(20), nullable=False),
    Column("token", String(64), unique=True),
    Column("created", Float, nullable=False),
    Column("withdrawn", Float),
    CheckConstraint("role in ('annotator', 'lead')"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("secret", String(64), primary_key=True),  # its hash
    Column("person", ForeignKey("people.number"), nullable=False, index=True),
    Column("created", Float, nullable=False),
    Column("seen", Float, nullable=False),
)

# Every label that was ever given. `decision`: by a lead, of what others had labeled. `key` is made
# by the page for each save, so that the same save twice is one.
labels = Table(
    "labels",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("task", ForeignKey("tasks.number"), nullable=False),
    Column("person", ForeignKey("people.number"), nullable=False),
    Column("state", String(20), nullable=False),
    Column("values", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("seconds", Float),
    Column("at", Float, nullable=False),
    Column("key", String(80), nullable=False),
    Column("decision", Boolean, nullable=False),
    UniqueConstraint("person", "key"),
    CheckConstraint("state in ('done', 'skipped', 'unclear')"),
    Index("labels_of_task", "task", "person"),
)

# Who has which task, or has had it: one row for a task and a person, one person in each slot. As
# slots are below the wanted overlap, no task gets more people than that, whoever asks. A lease
# holds `until`; an answer takes the slot for good, without an end. Who skips gives the slot back.
_LEASED = text("until is not null")
work = Table(
    "work",
    metadata,
    Column("task", ForeignKey("tasks.number"), primary_key=True),
    Column("person", ForeignKey("people.number"), primary_key=True),
    Column("slot", Integer),
    Column("until", Float),
    Column("label", ForeignKey("labels.number")),
    UniqueConstraint("task", "slot"),
    CheckConstraint("slot >= 0"),
    Index("work_of_person", "person", "label"),
    Index("leases", "until", sqlite_where=_LEASED, postgresql_where=_LEASED),
)

# By the version that they begin from: what makes a database of it one of the next.
Steps = Mapping[int, Callable[[Connection], None]]
STEPS: Steps = {}
