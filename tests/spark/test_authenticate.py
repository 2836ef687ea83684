"""A Spark cluster with a secret, as compose.yaml starts it, runs jobs for nobody who does not know it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.spark_cluster import QUICK_START, SparkCluster

SECRET = "a-secret-of-this-test-only-0123456789"
AUTHENTICATE = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
STRANGERS = {
    "with the secret": {**AUTHENTICATE, "spark.authenticate.secret": SECRET},
    "with another secret": {**AUTHENTICATE, "spark.authenticate.secret": "guessed"},
    "without a secret": {},
}
# A driver that knows the secret runs a job. Then clients in the same JVM look for the master, each with settings of
# its own. A driver's first call to the master is the same one (org.apache.spark.deploy.client.StandaloneAppClient).
DRIVER = """
import json, sys
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext

master, settings, strangers = sys.argv[1], *map(json.loads, sys.argv[2:])
context = SparkContext(conf=SparkConf().setMaster(master).setAll(settings.items()))
spark = context._jvm.org.apache.spark
host, _, port = master.removeprefix("spark://").partition(":")

def look(settings):
    conf = spark.SparkConf(False)
    for name, value in settings.items():
        conf.set(name, value)
    key, file = (getattr(spark.SecurityManager, f"$lessinit$greater$default${number}")() for number in (2, 3))
    client = spark.rpc.RpcEnv.create("stranger", host, 0, conf, spark.SecurityManager(conf, key, file), True)
    try:
        return client.setupEndpointRef(spark.rpc.RpcAddress(host, int(port)), "Master").name()
    except Py4JJavaError:
        return "refused"

answers = {name: look(settings) for name, settings in strangers.items()}
print(json.dumps({"counted": context.parallelize(range(100), 2).count(), **answers}))
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    started = SparkCluster(tmp_path / "spark", SECRET, workers=1).start()
    yield started
    started.close()


def test_only_drivers_that_know_the_secret_reach_the_master_and_run_jobs(cluster: SparkCluster) -> None:
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": QUICK_START,
        "spark.executor.extraJavaOptions": QUICK_START,
        "spark.executor.memory": "512m",
        "spark.cores.max": "2",
        **STRANGERS["with the secret"],
    }
    command = [sys.executable, "-c", DRIVER, cluster.master, json.dumps(settings), json.dumps(STRANGERS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "counted": 100,
        "with the secret": "Master",
        "with another secret": "refused",
        "without a secret": "refused",
    }
