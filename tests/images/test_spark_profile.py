"""The standalone Spark cluster of compose.yaml: leases run in the containers of its workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.images.deployment import Deployment
from tests.images.docker import Docker

ORDERS: list[Mapping[str, Any]] = [{"id": "order-1", "amount": 1}, {"id": "order-2", "amount": "ten"}]
DAEMON = "-m engine.spark.daemon"  # the parent of Python workers
WORKERS = ("spark-worker-1", "spark-worker-2")

pytestmark = pytest.mark.timeout(3600)


@pytest.fixture
def cluster(
    daemon: Docker, images: Mapping[str, str], services: Mapping[str, str], tmp_path: Path
) -> Iterator[Deployment]:
    """All services of compose.yaml, with the profile `spark`."""
    deployed = Deployment(daemon, tmp_path, services, profile="spark")
    deployed.configure(SPARK_MASTER="spark://spark-master:7077", SPARK_WORKER_MEMORY="1g")
    try:
        deployed.up()
        deployed.add_person()
        deployed.sign_in()
        deployed.create_topics()
        yield deployed
    finally:
        deployed.down()


def test_leases_run_on_the_cluster(cluster: Deployment) -> None:
    cluster.do_main_job(ORDERS, {"order-2": {"id": "order-2", "amount": 10}})
    busy = [name for name in WORKERS if DAEMON in cluster.execute(name, "ps", "-eo", "args")]
    assert busy
    assert DAEMON not in cluster.execute("engine", "ps", "-eo", "args")
