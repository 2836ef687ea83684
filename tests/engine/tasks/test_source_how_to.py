"""docs/how-to/read-files-and-tables.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.assembly.validation import validate
from engine.config.properties import load_properties
from engine.connectors.file import source
from engine.connectors.sql import source as sql
from engine.worker_messages import ConnectorKind
from tests.support.permissions import open_worker

PAGE = Path(__file__).parents[3] / "docs/how-to/read-files-and-tables.md"
BLOCKS = re.findall(r"```properties\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_its_connectors_have_no_problems(block: str, tmp_path: Path) -> None:
    properties = tmp_path / "connector.properties"
    properties.write_text(block)
    plan = validate(load_properties(properties), open_worker({}))
    assert plan.known.kind is ConnectorKind.SOURCE
    assert plan.warnings == ()


def test_it_names_every_option() -> None:
    assert len(BLOCKS) == 2
    missing = [
        name
        for option in (*source.OPTIONS, *sql.OPTIONS)
        for name in option.spellings
        if not re.search(rf"(^|[`\s]){re.escape(name)}[=`]", PAGE.read_text(), re.MULTILINE)
    ]
    assert missing == []
