"""The engine as users run it: `python -m engine run`, with Spark, in its own process."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.programs import BenchmarkProgram, run_program
from dlqadmin.host.network import free_ports

WORKER = """\
bootstrap.servers={bootstrap}
group.id={name}
config.storage.topic={name}-configs
status.storage.topic={name}-status
offset.storage.topic={name}-offsets
outcome.storage.topic={name}-outcomes
listeners=http://127.0.0.1:{port}
rest.authentication=none
plugin.classes.allow=benchmarks.*
file.connectors.root={files}
"""


def start_engine(
    folder: Path, bootstrap: str, name: str, *connectors: str, worker: str = ""
) -> AbstractContextManager[BenchmarkProgram]:
    """Start an engine whose internal topics begin with `name`.

    `connectors` are properties; `worker` are properties that override the worker's.
    """
    folder.mkdir(parents=True)
    port = free_ports(1)[0]
    properties = folder / "worker.properties"
    files = "/dev" if any("file=/dev/null" in text for text in connectors) else folder.parent
    properties.write_text(WORKER.format(bootstrap=bootstrap, name=name, port=port, files=files) + worker)
    command = [sys.executable, "-m", "engine", "run", str(properties)]
    for number, text in enumerate(connectors):
        file = folder / f"connector-{number}.properties"
        file.write_text(text)
        command += ["--connector", str(file)]
    return run_program(command, folder / "engine.log", port)
