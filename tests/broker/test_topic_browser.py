"""Topics and their records over REST, against a real broker."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import READ, AuditEntry
from dlqadmin.broker.topic_scan import ScanLimits
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.host.network import wait_until
from dlqadmin.topics.record_pages import PageRequest, read_page
from tests.dlqadmin import conftest
from tests.dlqadmin.conftest import member, person, signed_in, team
from tests.dlqadmin.deadletters.letters import index_one, letter

pytestmark = pytest.mark.django_db

alone, operator = conftest.alone, conftest.operator
as_reader, as_viewer, viewer = conftest.as_reader, conftest.as_viewer, conftest.viewer

HOUR_MS = 3_600_000
START_MS = 1_795_000_000_000
VALUE = b'{"id": 9007199254740993, "a": 1.0, "a": 2,  "html": "<script>alert(1)</script>"}'


@pytest.fixture
def topic(broker: str, settings: Settings) -> Iterator[str]:
    """A topic of two partitions: ten records in each, one a minute, partition 1 half a minute later."""
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = broker, 20.0
    name = f"browse-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(20)
    producer = Producer({"bootstrap.servers": broker})
    for number in range(20):
        minute, partition = divmod(number, 2)
        producer.produce(
            name,
            partition=partition,
            key=b"key-%d" % minute,
            value=VALUE,
            headers=[("h", b"\xff"), ("h", None)],
            timestamp=START_MS + minute * 60_000 + partition * 30_000,
        )
    producer.flush(20)
    yield name
    admin.delete_topics([name])[name].result(20)


def places(answer: Any) -> list[tuple[int, int]]:
    assert answer.status_code == 200, answer.content
    return [(row["partition"], row["offset"]) for row in answer.json()["results"]]


def test_a_topic_is_read_from_either_end_page_by_page_without_gap_or_repetition(
    topic: str, as_reader: APIClient
) -> None:
    address = f"/api/v1/topics/{topic}/records"
    newest = as_reader.get(address, {"limit": "5"})
    assert places(newest) == [(1, 9), (0, 9), (1, 8), (0, 8), (1, 7)]
    assert (newest.json()["stopped"], newest.json()["read"]) == ("found", 10)
    older = as_reader.get(address, {"limit": "5", "before": newest.json()["before"]})
    assert places(older) == [(0, 7), (1, 6), (0, 6), (1, 5), (0, 5)]

    every: list[tuple[int, int]] = []
    page = as_reader.get(address, {"limit": "7", "start": "oldest"})
    while found := places(page):
        every += found
        page = as_reader.get(address, {"limit": "7", "after": page.json()["after"]})
    assert every == [(partition, minute) for minute in range(10) for partition in (0, 1)]
    assert page.json()["stopped"] == "end"


def test_records_are_found_by_offset_time_and_key(topic: str, as_reader: APIClient) -> None:
    address = f"/api/v1/topics/{topic}/records"
    around = as_reader.get(address, {"partition": "1", "offset": "9"})
    assert places(around) == [(1, offset) for offset in range(10)]  # its neighbours before it too
    since = as_reader.get(address, {"at": "2026-11-18T11:14:40Z", "limit": "3"})  # START_MS + 8 minutes
    assert places(since) == [(0, 8), (1, 8), (0, 9)]
    keyed = as_reader.get(address, {"key": "key-3", "start": "oldest"})
    assert places(keyed) == [(0, 3), (1, 3)]
    assert (keyed.json()["read"], keyed.json()["stopped"]) == (20, "end")
    assert places(as_reader.get(address, {"key": "key-3"})) == [(1, 3), (0, 3)]


def test_a_read_says_at_which_limit_it_stopped_and_goes_on_from_there(topic: str) -> None:
    for limits, stopped in (
        (ScanLimits(7, 1 << 20, 20.0), "records"),
        (ScanLimits(1000, 7 * 88, 20.0), "bytes"),
        (ScanLimits(1000, 1 << 20, 0.0), "time"),
    ):
        page = read_page(topic, [0], PageRequest(start="oldest", key=b"key-9"), limits)
        assert (list(page.records), page.scanned.stopped) == ([], stopped)
        assert page.scanned.read == (0 if stopped == "time" else 7)
        assert page.after == {0: page.scanned.read}
    rest = read_page(topic, [0], PageRequest(after={0: 7}, key=b"key-9"))
    assert [record.offset for record in rest.records] == [9]


def test_a_records_bytes_are_shown_as_they_are(topic: str, as_reader: APIClient) -> None:
    shown = as_reader.get(f"/api/v1/topics/{topic}/partitions/0/records/4").json()
    assert base64.b64decode(shown["value"]["base64"]) == VALUE
    assert shown["value"]["text"] == VALUE.decode()
    assert [(row["base64"], row["is_null"]) for row in shown["headers"]] == [("/w==", False), (None, True)]
    raw = as_reader.get(f"/api/v1/topics/{topic}/partitions/0/records/4/bytes?part=value")
    assert (raw.content, raw["Content-Type"]) == (VALUE, "application/octet-stream")
    assert as_reader.get(f"/api/v1/topics/{topic}/partitions/0/records/10").status_code == 404
    assert as_reader.get(f"/api/v1/topics/{topic}/partitions/7/records/0").status_code == 404


def test_content_is_for_payload_readers_and_each_read_is_audited(topic: str, operator: User) -> None:
    viewer = signed_in(person("viewer-2", "viewer"))
    address = f"/api/v1/topics/{topic}/records"
    row = viewer.get(address, {"limit": "1"}).json()["results"][0]
    assert (row["value"]["withheld"], row["value"]["base64"], row["value"]["size"]) == (True, "", len(VALUE))
    assert row["key"]["withheld"]
    assert viewer.get(address, {"key": "key-3"}).status_code == 403
    assert viewer.get(f"/api/v1/topics/{topic}/partitions/0/records/0/bytes").status_code == 403
    assert viewer.get(f"/api/v1/topics/{topic}/partitions/0/records/0").json()["headers"][0]["withheld"]
    assert not AuditEntry.objects.filter(action=READ).exists()

    reader = signed_in(operator)
    reader.get(address, {"partition": "1", "key": "key-3", "start": "oldest"})
    reader.get(f"/api/v1/topics/{topic}/partitions/0/records/4")
    reader.get(f"/api/v1/topics/{topic}/partitions/0/records/4/bytes")
    entries = AuditEntry.objects.filter(action=READ).order_by("id").values_list("object_type", "object_id", "detail")
    assert list(entries) == [
        ("topic", topic, {"what": "records of partition 1 with a key, oldest", "records": 1}),
        ("topic", topic, {"what": "record 0 / 4"}),
        ("topic", topic, {"what": "bytes of the value of record 0 / 4"}),
    ]


def test_internal_topics_and_those_that_are_not_listed_cannot_be_read(
    topic: str, as_reader: APIClient, settings: Settings
) -> None:
    settings.STATUS_TOPIC = topic  # as if the engine wrote its state there
    for path in ("records", "partitions/0/records/0", "partitions/0/records/0/bytes"):
        refused = as_reader.get(f"/api/v1/topics/{topic}/{path}")
        assert refused.status_code == 403, path
        assert f"{topic} is the engine's own" in refused.json()["detail"]
    assert as_reader.get(f"/api/v1/topics/{topic}").json()["refusal"] == f"{topic} is the engine's own"
    settings.BROWSE_TOPICS = [topic]
    assert as_reader.get(f"/api/v1/topics/{topic}/records").status_code == 403  # no name lifts it

    settings.STATUS_TOPIC, settings.BROWSE_TOPICS = "connect-status", ["orders"]
    assert "BROWSE_TOPICS does not list" in as_reader.get(f"/api/v1/topics/{topic}/records").json()["detail"]
    settings.BROWSE_TOPICS = ["browse-.*"]
    assert as_reader.get(f"/api/v1/topics/{topic}/records").status_code == 200


def test_a_record_leads_to_its_dead_letter(topic: str, as_reader: APIClient) -> None:
    dead = index_one(letter(0))
    DeadLetter.objects.update(origin_topic=topic, origin_partition=1, origin_offset=4)
    rows = as_reader.get(f"/api/v1/topics/{topic}/records", {"partition": "1"}).json()["results"]
    assert {row["offset"]: row["dead_letter"] for row in rows if row["dead_letter"]} == {4: dead.pk}


def test_the_list_names_every_topic_with_what_kafka_keeps_of_it(topic: str, as_viewer: APIClient) -> None:
    listed = as_viewer.get("/api/v1/topics", {"text": topic.upper()}).json()
    row = {"name": topic, "partitions": 2, "offsets": 20, "is_dead_letter_topic": False, "internal": None}
    assert listed == {"results": [row], "count": 1}
    ranges = as_viewer.get(f"/api/v1/topics/{topic}").json()["partitions"]
    assert ranges == [{"partition": p, "begin": 0, "end": 10} for p in (0, 1)]
    assert as_viewer.get("/api/v1/topics/nowhere").status_code == 404


def test_the_list_reads_the_rules_about_topics_once(topic: str, broker: str, as_viewer: APIClient) -> None:
    admin = AdminClient({"bootstrap.servers": broker})
    for future in admin.create_topics([NewTopic(f"{topic}.{n}", 1, 1) for n in range(2)]).values():
        future.result(20)

    def found() -> Any:
        return as_viewer.get("/api/v1/topics", {"text": topic}).json()

    # The broker may learn of a topic after its creation, and refuses questions about one without a leader.
    wait_until(lambda: found().get("count") == 3, "All three topics", 20, 0.1)
    with CaptureQueriesContext(connection) as seen:
        assert found()["count"] == 3
    assert sum("topicrule" in row["sql"] for row in seen) == 1


def test_rates_are_counted_by_the_times_of_the_records(topic: str, as_viewer: APIClient) -> None:
    span = {"from": "2026-11-18T11:05:00Z", "to": "2026-11-18T11:25:00Z"}
    rates = as_viewer.get(f"/api/v1/topics/{topic}/rates", span).json()
    assert (rates["bucket_ms"], rates["total"], len(rates["points"])) == (60_000, 20, 20)
    # START_MS is 11:06:40, so a minute has the first record of each pair and the second of the pair before.
    assert rates["points"][:4] == [0, 1, 2, 2]
    assert as_viewer.get(f"/api/v1/topics/{topic}/rates", {"from": "now-1h"}).json()["total"] == 0


@pytest.mark.parametrize(
    ("asked", "parameter"),
    [
        ({"offset": "1"}, "partition"),
        ({"partition": "2"}, "partition"),
        ({"offset": "x", "partition": "0"}, "offset"),
        ({"start": "middle"}, "start"),
        ({"at": "tomorrow"}, "at"),
        ({"after": "0"}, "after"),
        ({"before": "9:1"}, "before"),
        ({"at": "now-1h", "after": "0:1"}, "after"),
        ({"limit": "101"}, "limit"),
    ],
)
def test_a_wrong_parameter_is_named(topic: str, as_reader: APIClient, asked: dict[str, str], parameter: str) -> None:
    answer = as_reader.get(f"/api/v1/topics/{topic}/records", asked)
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (400, parameter)


def test_people_of_a_team_browse_only_topics_of_the_team(topic: str, broker: str) -> None:
    """Another topic with the same records exists for nobody of the team, and does not count."""
    admin = AdminClient({"bootstrap.servers": broker})
    other, address = f"other-{topic}", "/api/v1/topics"
    admin.create_topics([NewTopic(other, 1, 1)])[other].result(20)
    client = signed_in(member("sam", {team("browsers", [topic]): ("viewer", "payload reader")}))
    try:
        listed = client.get(address, {"text": topic}).json()
        assert ([row["name"] for row in listed["results"]], listed["count"]) == ([topic], 1)
        record = "/partitions/0/records/0"
        for path in ("", "/rates", "/records", record, f"{record}/bytes"):
            assert client.get(f"{address}/{topic}{path}").status_code == 200, path
            assert client.get(f"{address}/{other}{path}").status_code == 404, path
    finally:
        admin.delete_topics([other])[other].result(20)
