"""docs/how-to/read-exactly-once.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path

from engine.assembly.validation import validate
from engine.config.exactly_once_source import OPTIONS
from engine.config.properties import load_properties
from engine.config.worker import parse_worker
from engine.worker_messages import Delivery

PAGE = Path(__file__).parents[3] / "docs/how-to/read-exactly-once.md"
WORKER, CONNECTOR = re.findall(r"```properties\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_its_connector_is_delivered_exactly_once_by_its_worker(tmp_path: Path) -> None:
    for name, text in (("worker", WORKER), ("connector", CONNECTOR)):
        (tmp_path / name).write_text(text)
    plan = validate(load_properties(tmp_path / "connector"), parse_worker(load_properties(tmp_path / "worker")))
    assert (plan.delivery, plan.warnings) == (Delivery.EXACTLY_ONCE, ())


def test_it_names_every_option() -> None:
    assert [option.name for option in OPTIONS if f"`{option.name}`" not in PAGE.read_text()] == []
