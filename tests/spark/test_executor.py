"""The command of an executor's pod, compared with Spark's own program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from engine.spark.executor import ARGUMENTS, MAIN_CLASS, SPARK_HOME, command
from tests.spark.engine_process import ROOT

POD = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@dlqadmin-engine-driver:7078",
    "SPARK_EXECUTOR_ID": "1",
    "SPARK_EXECUTOR_CORES": "4",
    "SPARK_EXECUTOR_MEMORY": "1g",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.1",
    "SPARK_EXECUTOR_POD_NAME": "engine-exec-1",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_CONF_DIR": "/opt/spark/conf",
}


def run(environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engine.spark.executor", "executor"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_java_options_are_in_the_order_of_their_numbers() -> None:
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 2, 0)}
    words = command({**POD, **options}, "java")
    assert words[1:6] == ["-Dn=0", "-Dn=2", "-Dn=10", "-Xms1g", "-Xmx1g"]
    assert words[7].startswith("/opt/spark/conf:")


def test_spark_knows_every_argument() -> None:
    """Spark's program prints its options when it gets one that it does not know."""
    asked = subprocess.run(
        ["java", "-cp", f"{SPARK_HOME}/jars/*", MAIN_CLASS, "--unknown"], capture_output=True, text=True, check=False
    )
    assert ARGUMENTS.keys() <= set(re.findall(r"^ +(--\S+) <", asked.stderr, re.MULTILINE))


def test_the_process_becomes_java(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\necho "$$ $SPARK_HOME $*"\n')
    java.chmod(0o755)
    done = run({**POD, "JAVA_HOME": str(tmp_path)}, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    _, home, *words = done.stdout.split()
    assert home == str(SPARK_HOME)
    assert words == command(POD, "java")[1:]


def test_outside_a_pod_it_names_what_is_missing(tmp_path: Path) -> None:
    done = run({name: value for name, value in POD.items() if name != "SPARK_DRIVER_URL"}, tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "SPARK_DRIVER_URL missing: Spark starts this program in executors' pods, with"
        " spark.kubernetes.executor.podTemplateFile.\n"
    )
