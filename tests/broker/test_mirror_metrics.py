"""The metrics of a mirror between two real brokers, as Prometheus reads them from the driver (KIP-382, KIP-656)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families

from demo.broker import LocalBroker
from tests.broker.conftest import ensure_running
from tests.broker.driver import Driver, running
from tests.broker.mirror import ONCE, QUICKLY, SINK, Cluster
from tests.support.permissions import ALLOWED

AGE_MS = 3_600_000
SOURCE = "kafka_connect_mirror_source_connector_"
CHECKPOINT = "kafka_connect_mirror_checkpoint_connector_checkpoint_latency_ms"


def values(driver: Driver, name: str, labels: Mapping[str, str]) -> list[float]:
    """Return the values of a metric whose labels include these."""
    families = text_string_to_metric_families(driver.http.get("/metrics").text)
    samples = [one for family in families for one in family.samples if one.name == name]
    return [one.value for one in samples if labels.items() <= one.labels.items()]


@pytest.mark.parametrize("kind", [ONCE, SINK, {}], ids=["once", "sink", "source"])
def test_a_mirror_tells_what_it_has_written_and_how_late(
    broker: str, second_broker: LocalBroker, tmp_path: Path, kind: dict[str, str]
) -> None:
    mark = uuid4().hex[:8]
    source, target = Cluster(ensure_running(second_broker).bootstrap_servers), Cluster(broker)
    topic, group = source.create(f"t{mark}", 2), f"app-{mark}"
    now_ms = int(time.time() * 1000)
    source.send(topic, [b"1234", None, b"12"], 0, timestamp=now_ms - AGE_MS)
    source.send(topic, [b"x"], 1, timestamp=now_ms - 2 * AGE_MS)
    source.commit(group, topic, 2)
    worker = {**target.client, **ALLOWED, "group.id": f"g-{mark}", "offset.storage.partitions": "1"}
    worker |= {f"{name}.storage.topic": f"{name}-{mark}" for name in ("config", "offset", "status", "outcome")}
    mirror = {"connector.class": "mirror", "source.cluster.alias": "A", "target.cluster.alias": "B", "topics": topic}
    mirror |= {**QUICKLY, **kind, "source.cluster.bootstrap.servers": source.servers, "groups": group}
    driver = Driver(tmp_path, worker)
    with running(driver):
        driver.start().await_leading()
        assert driver.put(f"m-{mark}", mirror).status_code == 201
        labels = {"connector": f"m-{mark}", "source": "A", "target": "B", "topic": f"A.{topic}"}
        first, second = {**labels, "partition": "0"}, {**labels, "partition": "1"}
        driver.until(lambda: values(driver, f"{SOURCE}record_count_total", first) == [3], "partition 0 is counted")
        driver.until(lambda: values(driver, f"{SOURCE}record_count_total", second) == [1], "partition 1 is counted")
        assert [values(driver, f"{SOURCE}byte_count_total", one) for one in (first, second)] == [[6], [1]]
        assert [values(driver, f"{SOURCE}record_rate", one)[0] > 0 for one in (first, second)] == [True, True]
        took_ms = int(time.time() * 1000) - now_ms
        for end in ("", "_min", "_max", "_avg"):
            [age], [latency] = (
                values(driver, f"{SOURCE}{name}_ms{end}", first) for name in ("record_age", "replication_latency")
            )
            assert AGE_MS <= age <= latency <= AGE_MS + took_ms, end
        [age] = values(driver, f"{SOURCE}record_age_ms", second)
        assert 2 * AGE_MS <= age <= 2 * AGE_MS + took_ms
        # Another lease of the task goes on counting.
        source.send(topic, [b"12345678"] * 2, 0)
        driver.until(lambda: values(driver, f"{SOURCE}record_count_total", first) == [5], "later records are counted")
        assert values(driver, f"{SOURCE}byte_count_total", first) == [22]
        assert values(driver, f"{SOURCE}record_age_ms_min", first)[0] < AGE_MS
        checkpoint = {**first, "group": group}
        driver.until(lambda: values(driver, CHECKPOINT, checkpoint), "the checkpoint is counted")
        assert 0 <= values(driver, f"{CHECKPOINT}_max", checkpoint)[0] < took_ms + 60_000
