"""Our one Java class, compiled with the Janino that PySpark ships: no JDK is needed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyspark

from benchmarks.anchors import CONNECT_HOME, CONNECT_MODULES
from demo.jars import class_path

SOURCES = Path(__file__).with_name("java")
RECORDING_SINK = "RecordingSink"
AWAY = f"{RECORDING_SINK}$Away"


def compile_sink(target: Path) -> Path:
    """Compile it, and tell Kafka Connect of the sink and the transform; returns the folder of the classes."""
    services = target / "META-INF" / "services"
    services.mkdir(parents=True)
    (services / "org.apache.kafka.connect.sink.SinkConnector").write_text(f"{RECORDING_SINK}\n")
    (services / "org.apache.kafka.connect.transforms.Transformation").write_text(f"{AWAY}\n")
    compiler = f"{Path(pyspark.__file__).parent}/jars/*"
    command = ["java", "-cp", f"{class_path(CONNECT_HOME, CONNECT_MODULES)}:{compiler}"]
    command += ["org.codehaus.janino.SimpleCompiler", str(SOURCES / "Compile.java"), "Compile"]
    subprocess.run([*command, str(target), str(SOURCES / f"{RECORDING_SINK}.java")], check=True)
    return target
