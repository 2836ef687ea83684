"""A YARN cluster of one resource manager and two node managers: Hadoop's own mini-cluster, in one JVM."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from benchmarks.anchors import YARN_MODULES
from demo.jars import KAFKA_HOME, class_path
from dlqadmin.host.network import HOST
from tests.chaos.processes import Process, end, executors, process
from tests.spark.engine_process import descendants

HOME = KAFKA_HOME.parent / "yarn"
NODES = 2
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
OPTIONS = MappingProxyType(
    {
        "yarn.resourcemanager.hostname": HOST,
        "yarn.nodemanager.hostname": HOST,
        "yarn.nodemanager.resource.memory-mb": "8192",
        "yarn.nodemanager.resource.cpu-vcores": "8",
        "yarn.nodemanager.disk-health-checker.enable": "false",
        "yarn.scheduler.minimum-allocation-mb": "128",
        "yarn.scheduler.capacity.root.queues": "default",
        "yarn.scheduler.capacity.root.default.capacity": "100",
        "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
    }
)


class YarnCluster:
    """Containers are processes below its JVM."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.configuration = home / "conf"  # what a driver needs as HADOOP_CONF_DIR
        self._process: Any = None

    def start(self) -> Self:
        """Start it and return when all node managers have joined."""
        self.configuration.mkdir(parents=True)
        port, self._process = launch_gateway(
            jarpath=str(next(SPARK_JARS.glob("py4j-*.jar"))),
            classpath=os.pathsep.join([class_path(HOME, YARN_MODULES), f"{SPARK_JARS}/*"]),
            javaopts=["-Xmx768m"],
            die_on_exit=True,
            redirect_stdout=subprocess.DEVNULL,
            redirect_stderr=subprocess.DEVNULL,
            cwd=str(self.home),
            return_proc=True,
        )
        java = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        hadoop = java.jvm.org.apache.hadoop
        options = hadoop.yarn.conf.YarnConfiguration()
        for name, value in OPTIONS.items():
            options.set(name, value)
        cluster = hadoop.yarn.server.MiniYARNCluster("yarn", NODES, 1, 1)
        cluster.init(options)
        cluster.start()
        assert cluster.waitForNodeManagersToConnect(60_000)
        file = java.jvm.java.io.FileOutputStream(str(self.configuration / "yarn-site.xml"))
        cluster.getConfig().writeXml(file)
        file.close()
        return self

    def executors(self) -> list[Process]:
        """Return the executors' JVMs, without the shells that YARN starts them with."""
        return [one for one in executors(self._process.pid) if Path(f"/proc/{one.pid}/comm").read_text() == "java\n"]

    def close(self) -> None:
        """End the cluster with all its containers."""
        if self._process is None:
            return
        end([process(pid) for pid in (self._process.pid, *descendants(self._process.pid))])
        self._process.stdin.close()
        self._process.wait()
