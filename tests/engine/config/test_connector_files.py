"""Connector files: properties, and the two forms of JSON that Kafka Connect accepts."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config.connector_files import load_connector, load_connectors
from engine.config.topic import TargetState
from engine.errors import ConfigError

PROPERTIES = {"name": "c", "tasks.max": "2"}


@pytest.mark.parametrize(
    ("name", "text", "state"),
    [
        ("c.properties", "name=c\ntasks.max=2\n", None),
        ("c.json", '{"name": "c", "tasks.max": 2}', None),
        ("c.properties", '\n {"name": "c", "tasks.max": "2"}', None),
        ("c.json", '\ufeff{"name": "c", "config": {"tasks.max": 2}}', None),
        ("c.json", '{"name": "c", "config": {"name": "c", "tasks.max": "2"}, "more": 1}', None),
        ("c.json", '{"name": "c", "config": {"tasks.max": "2"}, "initial_state": "paused"}', TargetState.PAUSED),
        ("c.json", '{"name": "c", "config": {"tasks.max": "2"}, "initial_state": "RUNNING"}', TargetState.STARTED),
    ],
)
def test_each_form_gives_the_same_properties(tmp_path: Path, name: str, text: str, state: TargetState | None) -> None:
    file = tmp_path / name
    file.write_text(text)
    loaded = load_connector(file)
    assert (loaded.properties, loaded.initial_state) == (PROPERTIES, state)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[]", "holds a list; write one JSON object for each connector, in a file of its own"),
        ('"c"', "holds a text; write one JSON object"),
        ('{"name": "c"', "is not valid JSON: "),
        ('{"name": "c", "transforms": ["a"]}', "option transforms is a list; write its value as a text"),
        ('{"name": "c", "config": {"topics": null}}', "option topics is null"),
        ('{"config": {"name": "c"}}', "has no text in `name` beside `config`"),
        ('{"name": "c", "config": {"name": "d"}}', "has the name c beside `config`, and the name d in it"),
        ('{"name": "c", "config": {}, "initial_state": "PAUSE"}', "initial_state PAUSE; use one of RUNNING, PAUSED"),
    ],
)
def test_bad_json_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "c.json"
    file.write_text(text)
    with pytest.raises(ConfigError) as raised:
        load_connector(file)
    [(where, _, message)] = raised.value.problems
    assert where == str(file)
    assert sentence in message


def test_two_files_with_one_name_are_refused_and_so_is_a_file_without_a_name(tmp_path: Path) -> None:
    first, second, nameless = tmp_path / "1.json", tmp_path / "2.properties", tmp_path / "3.properties"
    first.write_text('{"name": "c"}')
    second.write_text("name=c\n")
    nameless.write_text("topics=t\n")
    with pytest.raises(ConfigError, match=r"has the name c, as .*1\.json has"):
        load_connectors([first, second])
    with pytest.raises(ConfigError, match="has no option `name`"):
        load_connectors([nameless])
