"""Dead letters of two real Kafka clusters in one index: read, replayed within and across, and one cluster away."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.db import OperationalError
from django.utils import timezone
from rest_framework.test import APIClient

from demo.broker import LocalBroker
from dlqadmin.broker import availability, cluster_settings
from dlqadmin.broker.models import ConfiguredCluster
from dlqadmin.deadletters.index.cluster_indexers import follow_clusters
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.host.network import wait_until
from dlqadmin.overview import facts, verdict
from dlqadmin.replays.models import Replay, ReplayItem, WatchPosition
from dlqadmin.replays.outcomes.tasks import watch_replays
from dlqadmin.replays.sending.sender import send_slice
from tests.dlqadmin import conftest as dashboard
from tests.dlqadmin.fakes import FakeEngine
from tests.support import topics

pytestmark = pytest.mark.django_db(transaction=True)
API = "/api/v1"
DEAD = 3  # dead letters of each cluster


def read_more(reader: Consumer, found: list[bytes]) -> int:
    """Append the next value if one arrives within a second; return how many there are."""
    found += [message.value() or b"" for message in reader.consume(1, 1.0)]
    return len(found)


class TwoClusters:
    """Topics of the same names on the own cluster and on `eu`, with Spring's dead letters on both."""

    def __init__(self, own: str, eu: str) -> None:
        self.servers = {"local": own, "eu": eu}
        name = uuid.uuid4().hex[:8]
        self.topic, self.dlq, self.group = f"orders-{name}", f"orders-{name}.dlq", f"billing-{name}"
        for cluster, servers in self.servers.items():
            admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
            for made in admin.create_topics([NewTopic(topic, 1, 1) for topic in (self.topic, self.dlq)]).values():
                made.result(30)
            producer = Producer({"bootstrap.servers": servers, "log_level": 0})
            for number in range(DEAD):
                value = f"{cluster} {number}".encode()
                producer.produce(self.topic, value, b"%d" % number, partition=0)
                producer.produce(self.dlq, value, b"%d" % number, partition=0, headers=self.headers(number))
            assert producer.flush(30) == 0

    def headers(self, offset: int) -> list[tuple[str, str | bytes | None]]:
        """Return the headers that Spring's DeadLetterPublishingRecoverer writes."""
        return [
            ("kafka_dlt-original-topic", self.topic.encode()),
            ("kafka_dlt-original-partition", (0).to_bytes(4, "big")),
            ("kafka_dlt-original-offset", offset.to_bytes(8, "big")),
            ("kafka_dlt-original-consumer-group", self.group.encode()),
            ("kafka_dlt-exception-fqcn", b"java.lang.IllegalStateException"),
            ("kafka_dlt-exception-message", b"no price"),
        ]

    def index(self) -> int:
        return follow_clusters(threading.Event(), f"index-{self.topic}", once=True)

    def values(self, cluster: str, count: int) -> list[bytes]:
        """Return the committed values in the origin topic, when there are so many or more."""
        found: list[bytes] = []

        def are_there() -> bool:
            found[:] = [record.value or b"" for record in topics.read(self.servers[cluster], self.topic)]
            return len(found) >= count

        wait_until(are_there, "the records of the origin topic", 60)
        return found


@pytest.fixture
def two(broker: str, own_broker: LocalBroker, settings: Any) -> Iterator[TwoClusters]:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.CLUSTER, settings.OTHER_CLUSTERS = broker, "local", {}
    settings.OBSERVED_SETTLE_S, settings.OUTCOME_TOPIC = 1.0, f"outcomes-{uuid.uuid4().hex}"
    settings.APPROVAL_FOR_OTHER_TARGETS, settings.APPROVAL_ABOVE = False, 0
    made = TwoClusters(broker, own_broker.bootstrap_servers)
    settings.DLQ_TOPICS = [made.dlq]
    ConfiguredCluster.objects.create(
        name="eu", bootstrap_servers=own_broker.bootstrap_servers, dead_letter_topics=[made.dlq], actor="admin"
    )
    cluster_settings.forget()
    availability._answers.clear()
    with FakeEngine() as engine:
        settings.ENGINE_URL, settings.CONNECT_CLUSTERS = engine.url, {}
        yield made
    cluster_settings.forget()


@pytest.fixture
def operator(two: TwoClusters) -> APIClient:
    return dashboard.signed_in(dashboard.person(f"op-{two.topic}", "operator", payload_reader=True))


def post(client: APIClient, path: str, body: dict[str, Any], expect: int) -> Any:
    response = client.post(f"{API}/{path}", body)
    assert response.status_code == expect, response.content
    return response.json()


def run(client: APIClient, query: str, **options: Any) -> Replay:
    """Select by a filter, plan, run and send."""
    selection = post(client, "selections", {"filter": query}, 201)
    planned = post(client, "replays", {"selection": selection["id"], "rate": 0, **options}, 201)
    assert planned["plan"]["to_send"] == DEAD, planned["plan"]
    word = (planned["plan"]["confirm"] or {"word": ""})["word"]
    body = {"reason": "repaired", "plan_digest": planned["plan"]["digest"], "typed": word}
    post(client, f"replays/{planned['id']}/run", body, 200)

    def is_sent() -> bool:
        send_slice(planned["id"], "sender")
        return Replay.objects.get(pk=planned["id"]).status in ("watching", "done")

    wait_until(is_sent, "a sent replay", 60)
    return Replay.objects.get(pk=planned["id"])


def are_indexed(cluster: str) -> bool:
    """Return whether the index has the letters. SQLite in memory refuses to read while it is written."""
    try:
        return DeadLetter.objects.filter(cluster=cluster).count() == DEAD
    except OperationalError:
        return False


def test_letters_of_both_clusters_are_indexed_filtered_and_looked_up(two: TwoClusters, operator: APIClient) -> None:
    assert two.index() == 2 * DEAD
    assert two.index() == 0
    facets = operator.get(f"{API}/dead-letters/facets?topic={two.dlq}").json()["facets"]
    assert {row["value"]: row["count"] for row in facets["cluster"]} == {"local": DEAD, "eu": DEAD}
    found = operator.get(f"{API}/dead-letters?topic={two.dlq}&cluster=eu").json()["results"]
    assert {row["cluster"] for row in found} == {"eu"}
    assert len(found) == DEAD
    asked = operator.get(f"{API}/dead-letters", {"q": f"cluster:local topic:{two.dlq}"}).json()["results"]
    assert {row["cluster"] for row in asked} == {"local"}
    at = f"{API}/dead-letters/at/{two.dlq}/0/1"
    ids = {name: operator.get(f"{at}?cluster={name}").json()["id"] for name in ("local", "eu")}
    assert {name: DeadLetter.objects.get(pk=pk).cluster for name, pk in ids.items()} == {"local": "local", "eu": "eu"}


def test_a_letters_neighbours_and_topic_are_read_from_its_own_cluster(two: TwoClusters, operator: APIClient) -> None:
    two.index()
    extra = Producer({"bootstrap.servers": two.servers["eu"], "log_level": 0})
    extra.produce(two.topic, b"only in eu", b"9", partition=0)
    extra.flush(30)
    letter = DeadLetter.objects.get(cluster="eu", topic=two.dlq, offset=DEAD - 1)
    beside = operator.get(f"{API}/dead-letters/{letter.pk}/neighbours").json()
    assert DEAD in [row["offset"] for row in beside["results"]]
    records = operator.get(f"{API}/topics/{two.topic}/records?cluster=eu").json()
    assert len(records["results"]) == DEAD + 1
    assert len(operator.get(f"{API}/topics/{two.topic}/records").json()["results"]) == DEAD
    assert operator.get(f"{API}/topics/{two.topic}?cluster=nowhere").status_code == 404
    index = operator.get(f"{API}/clusters?cluster=eu").json()["index"]
    assert [(row["topic"], row["read"], row["of"]) for row in index["topics"]] == [(two.dlq, DEAD, DEAD)]


def test_a_replay_within_another_cluster_goes_home_and_its_outcome_is_observed(
    two: TwoClusters, operator: APIClient
) -> None:
    two.index()
    member = Consumer(
        {"bootstrap.servers": two.servers["eu"], "group.id": two.group, "auto.offset.reset": "latest", "log_level": 0}
    )
    member.subscribe([two.topic])
    wait_until(lambda: member.poll(0.2) is None and bool(member.assignment()), "an assigned partition", 60)
    try:
        replay = run(operator, f"topic={two.dlq}&cluster=eu", watch=[two.group])
        assert (replay.source_cluster, replay.target_cluster) == ("eu", "eu")
        read: list[bytes] = []
        wait_until(lambda: read_more(member, read) >= DEAD, "the replayed records", 60)
        member.commit(asynchronous=False)

        def is_decided() -> bool:
            member.poll(0)
            WatchPosition.objects.update(slow_at=None)
            watch_replays()
            return Replay.objects.get(pk=replay.pk).status == "done"

        wait_until(is_decided, "the outcomes", 60, 0.5)
    finally:
        member.close()
    assert set(ReplayItem.objects.filter(replay=replay).values_list("state", "reason")) == {("passed", "observed")}
    assert two.values("eu", 2 * DEAD) == [f"eu {number}".encode() for number in (*range(DEAD), *range(DEAD))]
    assert two.values("local", DEAD) == [f"local {number}".encode() for number in range(DEAD)]
    # The letters of the own cluster have the same coordinates, and are not sent by this.
    assert run(operator, f"topic={two.dlq}&cluster=local").target_cluster == ""


def test_a_replay_across_writes_to_the_other_cluster_only(two: TwoClusters, operator: APIClient) -> None:
    two.index()
    assert run(operator, f"topic={two.dlq}&cluster=local", target_cluster="eu").target_cluster == "eu"
    assert run(operator, f"topic={two.dlq}&cluster=eu", target_cluster="local").target_cluster == ""
    assert two.values("eu", 2 * DEAD)[DEAD:] == [f"local {number}".encode() for number in range(DEAD)]
    assert two.values("local", 2 * DEAD)[DEAD:] == [f"eu {number}".encode() for number in range(DEAD)]


def test_a_replay_of_two_clusters_or_to_a_read_only_one_is_refused(two: TwoClusters, operator: APIClient) -> None:
    two.index()
    both = post(operator, "selections", {"filter": f"topic={two.dlq}"}, 201)
    refused = post(operator, "replays", {"selection": both["id"]}, 400)
    assert "has dead letters of 2 clusters (eu, local)" in str(refused)
    ConfiguredCluster.objects.update(is_read_only=True)
    cluster_settings.forget()
    own = post(operator, "selections", {"filter": f"topic={two.dlq}&cluster=local"}, 201)
    assert "eu is read-only" in str(post(operator, "replays", {"selection": own["id"], "target_cluster": "eu"}, 400))
    there = post(operator, "selections", {"filter": f"topic={two.dlq}&cluster=eu"}, 201)
    plan = post(operator, "replays", {"selection": there["id"]}, 201)["plan"]
    assert plan["to_send"] == 0
    assert "is on a read-only cluster" in str(plan["checks"])


def test_a_cluster_that_is_away_holds_up_no_other(two: TwoClusters, own_broker: LocalBroker, settings: Any) -> None:
    settings.KAFKA_TIMEOUT_S = 2.0
    own_broker.stop()
    stop = threading.Event()
    indexing = threading.Thread(target=follow_clusters, args=(stop, f"index-{two.topic}"))
    indexing.start()
    try:
        wait_until(lambda: are_indexed("local"), "the letters of the own cluster", 60)
        availability._answers.clear()
        found = [reason.text for reason in verdict.reasons(facts.gather(timezone.now()))]
        assert "The Kafka cluster eu does not respond." in found
        assert "Kafka does not respond." not in found
        own_broker.start()
        wait_until(lambda: are_indexed("eu"), "the letters of the cluster that came back", 90)
    finally:
        stop.set()
        indexing.join(60)
    assert not indexing.is_alive()


def test_a_cluster_is_indexed_as_soon_as_it_is_added_and_no_longer_when_it_is_disabled(two: TwoClusters) -> None:
    ConfiguredCluster.objects.update(is_enabled=False)
    cluster_settings.forget()
    stop = threading.Event()
    indexing = threading.Thread(target=follow_clusters, args=(stop, f"index-{two.topic}"))
    indexing.start()
    try:
        wait_until(lambda: are_indexed("local"), "the own letters", 60)
        assert not DeadLetter.objects.filter(cluster="eu").exists()
        ConfiguredCluster.objects.update(is_enabled=True)
        wait_until(lambda: are_indexed("eu"), "the letters of eu", 60)
        ConfiguredCluster.objects.update(is_enabled=False)
        name = "indexer of eu"
        wait_until(lambda: name not in {one.name for one in threading.enumerate()}, "the end of its indexer", 60)
    finally:
        stop.set()
        indexing.join(60)
