"""Real foreign consumers: their dead letters are indexed, repaired, replayed to them, and their outcomes observed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from demo.jars import KAFKA_VERSION
from tests.dlqadmin.fakes import FakeEngine
from tests.interop.documented import AGAIN, IDENTICAL, PASSED, RETRIED, reasons
from tests.interop.fact_checks import problems, read
from tests.interop.foreign_replay import ForeignReplay, index
from tests.interop.recorder import prepare, recording, until_written
from tests.interop.recordings import save
from tests.interop.writer_programs import WRITERS, Writer, share_broker

pytestmark = pytest.mark.django_db
SETTLE_S = 3.0


@pytest.fixture
def servers(writer: Writer, broker: str, tmp_path: Path) -> Iterator[str]:
    """The broker of the version that the writer needs."""
    if writer.kafka == KAFKA_VERSION:
        yield broker
        return
    started = share_broker(tmp_path / "broker").start()
    yield started.bootstrap_servers
    started.stop()


@pytest.fixture
def dashboard(servers: str, settings: Any) -> Any:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.CLUSTER, settings.KAFKA_TIMEOUT_S = servers, "local", 20.0
    settings.OBSERVED_SETTLE_S, settings.OUTCOME_TOPIC = SETTLE_S, "outcomes"
    with FakeEngine() as engine:
        settings.ENGINE_URL = engine.url
        yield settings


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.name)
def test_dead_letters_of_a_writer_are_read_replayed_and_followed(
    writer: Writer, servers: str, dashboard: Any, tmp_path: Path, as_operator: APIClient
) -> None:
    dashboard.DLQ_TOPICS = [writer.final_topic]
    prepare(writer, servers)
    with writer.running(servers, tmp_path) as program:
        found = recording(writer, servers, until_written(program, writer, servers))
        if "RECORD" in os.environ:
            save(found)
        told = problems(read(found, writer.final_topic))
        assert index(writer) == sum(bool(origin.cause) for origin in found.origins)
        replay = ForeignReplay(writer, servers, as_operator)
        told[IDENTICAL] = list(replay.wrong_messages())
        replay.until_decided()
        if writer.retry_topics:
            retried = ForeignReplay(writer, servers, as_operator, writer.retry_topics[0])
            told[RETRIED] = list(retried.wrong_messages())
            retried.until_decided()
            told[RETRIED] += [*retried.wrong_outcomes(), *retried.wrong_chains()]
        program.check()
    told[AGAIN] = list(replay.wrong_outcomes("failed_again()"))
    told[PASSED] = list(replay.wrong_outcomes("passed(observed)"))
    assert all(outcome in reasons(writer.name).get(PASSED, "") for outcome in replay.unknown_outcomes())
    seen = "\n".join(f"{column}: {problem}" for column, problems in told.items() for problem in problems)
    assert {column for column, problems in told.items() if problems} == reasons(writer.name).keys(), seen
