"""One local Spark session with Kafka's source for all tests of DataFrames."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from engine.spark.java import driver_options
from tests.spark.dataframes.session_options import session_options

ROOT = Path(__file__).resolve().parents[3]
END_S = 60


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    """The session. It and its JVM end with these tests: the tests of leases start a JVM with other options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local[2]").config("spark.driver.extraJavaOptions", driver_options())
        for name, value in session_options().items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")  # tests provoke errors, and Spark logs each with its stack
        logging.getLogger("py4j").setLevel(logging.WARNING)  # it speaks when the test's output is closed already
        yield session
        session.stop()
        _end_jvm()


def _end_jvm() -> None:
    gateway = SparkContext._gateway
    assert gateway is not None
    jvm: subprocess.Popen[bytes] = gateway.proc
    assert jvm.stdin is not None
    gateway.shutdown()
    jvm.stdin.close()  # the JVM ends when its input closes
    jvm.wait(END_S)
    SparkContext._gateway = SparkContext._jvm = None
