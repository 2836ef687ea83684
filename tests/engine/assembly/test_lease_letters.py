"""What dead letters, and waits, may cost the other tasks of a lease."""

from __future__ import annotations

import pytest

from engine.assembly.lease import ALONE_PATIENCE_MS, FOR_EVER_MS, POOLED_PATIENCE_MS, longest_wait
from engine.assembly.validation import validate
from engine.pipeline.lease import Deadline
from engine.tasks.dead_letters import letter_admin_settings, letter_settings
from engine.tasks.plan import ConnectorPlan
from engine.worker_messages import ConnectorKind, Lease, TaskConfig
from tests.fakes import Clock
from tests.support.permissions import open_worker

WORKER = open_worker({"bootstrap.servers": "here:1", "security.protocol": "PLAINTEXT"})
LETTERS = "errors.deadletterqueue."


def plan(**options: str) -> ConnectorPlan:
    more = {f"{LETTERS}producer.{name.replace('_', '.')}": value for name, value in options.items()}
    props = {"name": "c", "topics": "t", "connector.class": "FileStreamSink", "file": "/tmp/out"}
    return validate({**props, f"{LETTERS}topic.name": "dlq", **more}, WORKER)


def lease(count: int, kind: ConnectorKind = ConnectorKind.SINK) -> Lease:
    return Lease("l", tuple(TaskConfig("c", number, 1, {}, (), kind=kind) for number in range(count)), 1, 5_000, {})


@pytest.mark.parametrize(
    ("count", "kind", "expected"),
    [
        (1, ConnectorKind.SINK, 1_000),
        (2, ConnectorKind.SINK, 50),
        (50, ConnectorKind.SOURCE, 50),
        (1, ConnectorKind.STREAM, FOR_EVER_MS),
    ],
)
def test_a_task_that_shares_its_lease_waits_no_longer_than_the_others_can_bear(
    count: int, kind: ConnectorKind, expected: int
) -> None:
    clock = Clock()
    assert longest_wait(lease(count, kind), Deadline(clock, 5_000))(clock.now_ms()) == expected


@pytest.mark.parametrize(("count", "most_ms"), [(1, ALONE_PATIENCE_MS), (2, POOLED_PATIENCE_MS)])
def test_no_wait_outlasts_the_lease(count: int, most_ms: int) -> None:
    clock = Clock()
    allowed = longest_wait(lease(count), Deadline(clock, 5_000))
    now = clock.now_ms()
    assert [allowed(now + 5_000 - most_ms), allowed(now + 4_990), allowed(now + 6_000)] == [most_ms, 10, -1_000]


def test_the_topic_is_made_where_the_letters_are_written() -> None:
    there = plan(bootstrap_servers="there:2", security_protocol="SSL", linger_ms="7")
    admin = letter_admin_settings(there, WORKER)
    assert (admin["bootstrap.servers"], admin["security.protocol"]) == ("there:2", "SSL")
    assert letter_settings(there, WORKER, 1000)[0]["bootstrap.servers"] == "there:2"
    assert "linger.ms" not in admin
    assert letter_admin_settings(plan(), WORKER)["bootstrap.servers"] == "here:1"


def test_a_flush_of_dead_letters_is_short_unless_somebody_says_how_long_a_delivery_may_take() -> None:
    settings, is_bounded = letter_settings(plan(), WORKER, 1000)
    assert (is_bounded, settings["delivery.timeout.ms"]) == (True, "5000")
    settings, is_bounded = letter_settings(plan(delivery_timeout_ms="60000"), WORKER, 1000)
    assert (is_bounded, settings["delivery.timeout.ms"]) == (False, "60000")
    worker = open_worker({"bootstrap.servers": "here:1", "producer.delivery.timeout.ms": "70000"})
    settings, is_bounded = letter_settings(plan(), worker, 1000)
    assert (is_bounded, settings["delivery.timeout.ms"]) == (False, "70000")


@pytest.mark.parametrize(
    ("options", "largest", "kbytes"),
    [({}, "100000000", "97657"), ({"max_request_size": "1000000"}, "1000000", "65536")],
)
def test_the_producer_of_letters_has_room_for_the_largest_that_their_topic_takes(
    options: dict[str, str], largest: str, kbytes: str
) -> None:
    settings, _ = letter_settings(plan(**options), WORKER, 100_000_000)
    assert (settings["message.max.bytes"], settings["queue.buffering.max.kbytes"]) == (largest, kbytes)
