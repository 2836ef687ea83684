"""The connectors of docs/how-to/write-exactly-once.md are valid, and its statements make the tables."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa

from engine.assembly.validation import validate
from engine.config.properties import parse_properties
from engine.connectors.sql.database import open_engine
from engine.connectors.sql.engine_tables import LETTERS, OFFSETS, TaskRows, make_tables
from engine.connectors.sql.offsets import SqlOffsets
from engine.pipeline.database_positions import PositionRow
from engine.record.record import TopicPartition
from engine.worker_messages import Delivery
from tests.support.permissions import open_worker

PAGE = Path(__file__).parents[3] / "docs/how-to/write-exactly-once.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("text", blocks("properties"))
def test_its_connectors_are_exactly_once(text: str) -> None:
    plan = validate(parse_properties(text), open_worker({}))
    assert (plan.delivery, plan.warnings) == (Delivery.EXACTLY_ONCE, ())


@pytest.mark.slow
def test_its_statements_make_the_tables_and_give_what_is_needed(postgres_url: str) -> None:
    role = f"r{uuid4().hex[:8]}"
    (text,) = blocks("sql")
    owner = open_engine(f"{postgres_url}?options=-csearch_path%3D{role}")
    with owner.begin() as connection:
        connection.execute(sa.text(f"CREATE ROLE {role} LOGIN"))
        connection.execute(sa.text(f"CREATE SCHEMA {role}"))
        connection.execute(sa.text(f"GRANT USAGE ON SCHEMA {role} TO {role}"))
        for statement in text.replace("TO sink", f"TO {role}").split(";\n"):
            connection.execute(sa.text(statement))
    for table in (OFFSETS, LETTERS):
        found = sa.Table(table.name, sa.MetaData(), autoload_with=owner)
        assert [(one.name, one.nullable) for one in found.columns] == [
            (one.name, one.nullable) for one in table.columns
        ]
    sink = open_engine(f"{postgres_url.replace('postgres@', f'{role}@')}?options=-csearch_path%3D{role}")
    make_tables(sink)
    offsets = SqlOffsets(sink, TaskRows("g", "c", [TopicPartition("t", 0)]))
    offsets.claim()
    offsets.adopt({TopicPartition("t", 0): PositionRow(0, "")})
    offsets.save({TopicPartition("t", 0): PositionRow(1, "")}, TopicPartition("t", 0), (), 5)
    offsets.close()
    sink.dispose()
    owner.dispose()
