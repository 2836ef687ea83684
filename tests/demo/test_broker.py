from __future__ import annotations

from pathlib import Path

import pytest

from demo import broker
from demo.broker import LocalBroker


@pytest.mark.parametrize(("given", "heard"), [("-XX:+UseZGC '-Da=b c'", ["-XX:+UseZGC", "-Da=b c"]), ("", [])])
def test_the_jvm_is_started_as_the_environment_says(
    given: str, heard: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", given)
    command = LocalBroker(tmp_path).command()
    assert command[1 : command.index("-Djava.awt.headless=true")] == ["-Xmx512m", *heard]


def test_a_broker_where_nobody_listens_is_asked_by_no_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(broker, "AdminClient")
    assert not LocalBroker(tmp_path).ready()
