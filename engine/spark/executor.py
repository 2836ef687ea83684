"""`python -m engine.spark.executor`: become the process of an executor in a pod of Kubernetes.

Spark starts an executor's pod with environment variables, and expects that the image makes a command of them. This
module does it for images that install Spark with pip.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import which

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
MAIN_CLASS = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
JAVA_OPTION = "SPARK_JAVA_OPT_"  # followed by a number
ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
MEMORY = "SPARK_EXECUTOR_MEMORY"


class NotAPod(Exception):
    """The variables of Spark are missing, so this is no executor's pod."""


def command(environment: Mapping[str, str], java: str, spark_home: Path = SPARK_HOME) -> list[str]:
    """Return the command of the executor. Raises NotAPod without the variables that Spark sets."""
    missing = [name for name in (*ARGUMENTS.values(), MEMORY) if name not in environment]
    if missing:
        raise NotAPod(
            f"{', '.join(missing)} missing: Spark starts this program in executors' pods, with"
            " spark.kubernetes.executor.podTemplateFile."
        )
    numbers = sorted(int(name.removeprefix(JAVA_OPTION)) for name in environment if name.startswith(JAVA_OPTION))
    memory = environment[MEMORY]
    folders = [environment.get("SPARK_CONF_DIR", ""), f"{spark_home}/jars/*", environment.get("SPARK_CLASSPATH", "")]
    return [
        java,
        *(environment[f"{JAVA_OPTION}{number}"] for number in numbers),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        ":".join(filter(None, folders)),
        MAIN_CLASS,
        *(word for option, name in ARGUMENTS.items() for word in (option, environment[name])),
    ]


def main() -> None:
    """Replace this process by the executor. Exit with status 1 and one sentence if it can't."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else which("java")
    if java is None:
        sys.exit("There is no program java on PATH: install a Java runtime in the executors' image.")
    try:
        words = command(os.environ, java)
    except NotAPod as error:
        sys.exit(str(error))
    os.environ["SPARK_HOME"] = str(SPARK_HOME)  # workers find PySpark there
    os.execv(java, words)  # noqa: S606, Spark's signals must reach Java


if __name__ == "__main__":
    main()
