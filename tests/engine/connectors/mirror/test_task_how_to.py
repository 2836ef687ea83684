"""docs/how-to/mirror-a-cluster.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path

from engine.assembly.validation import validate
from engine.config.properties import load_properties
from engine.connectors.mirror.client_options import mirror_clients
from engine.connectors.mirror.options import OPTIONS
from engine.worker_messages import Delivery
from tests.support.permissions import open_worker

PAGE = Path(__file__).parents[4] / "docs/how-to/mirror-a-cluster.md"


def test_its_connector_has_no_problems_and_is_exactly_once(tmp_path: Path) -> None:
    worker = open_worker({})
    (block,) = re.findall(r"```properties\n(.*?)```", PAGE.read_text(), re.DOTALL)
    properties = tmp_path / "connector.properties"
    properties.write_text(block)
    plan = validate(load_properties(properties), worker)
    assert plan.delivery is Delivery.EXACTLY_ONCE
    assert plan.warnings == ()
    assert f"`{mirror_clients(plan.config, worker, task=0).source_consumer()['client.id']}`" in PAGE.read_text()


def test_it_names_no_option_that_is_none() -> None:
    known = {spelling for option in OPTIONS for spelling in option.spellings}
    families = ("errors.", "consumer.", "producer.", "admin.", "source.", "target.")
    named = set(re.findall(r"`((?:[a-z]+[.-])+[a-z]+)(?:=[^`]*)?`", PAGE.read_text()))
    elsewhere = {"offsets.retention.minutes", "offset.storage.topic", "exactly.once.source.enabled", "mirror-offsets"}
    elsewhere |= {"connector.class", "client.id"}
    assert {name for name in named if name not in known and not name.startswith(families)} <= elsewhere
