"""A standalone worker, as `connect-standalone.sh` runs one: no cluster, and its own offsets file."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine.assembly.connector_classes import find_class
from engine.assembly.validation import check_worker
from engine.config.connector_files import ConnectorFile
from engine.config.options import Problem
from engine.config.rooted_files import ROOT_OPTION, root_problem
from engine.config.standalone import DIRECTORY, GROUP, OFFSETS_FILE, cluster_warnings
from engine.config.worker import WorkerConfig, from_env, parse_worker
from engine.errors import ConfigError
from engine.reporting import log_lines
from engine.standalone.console import Console
from engine.standalone.directory import run_directory
from engine.startup.run import run_worker
from engine.worker_messages import ConnectorKind

log = logging.getLogger("engine")


@contextmanager
def standalone_worker(properties: Mapping[str, str], env: Mapping[str, str]) -> Iterator[WorkerConfig]:
    """Return the worker, with the files of one run. Raises ConfigError."""
    given = {"group.id": GROUP, **properties}
    worker = parse_worker(given, env)
    check_worker(worker)
    if problems := _problems(worker):
        raise ConfigError(tuple(problems))
    log_lines.configure(worker.log)
    if worker.permissions.file_root is None:
        given |= _default_root(Path.cwd())
    offsets_file = Path(worker.offsets_file or "").absolute()
    with run_directory(offsets_file) as directory:
        # Over the environment too: the processes of Spark may have another working directory.
        fixed = {OFFSETS_FILE: str(offsets_file), DIRECTORY: str(directory)}
        worker = parse_worker({**given, **from_env(env), **fixed})
        for option, value, text in cluster_warnings(properties):
            log.warning("%s = %s: %s", option, value, text)
        yield worker


def run_standalone(worker: WorkerConfig, connectors: Sequence[ConnectorFile]) -> bool:
    """Run until a signal stops it. Return False if Spark did not start. Raises ConfigError."""
    console = Console(Path(worker.run_directory or ""), reads_input=any(map(_reads_input, connectors)))
    try:
        return run_worker(worker, connectors)
    finally:
        console.close()


def _problems(worker: WorkerConfig) -> list[Problem]:
    problems: list[Problem] = []
    if not worker.offsets_file:
        problems.append((OFFSETS_FILE, None, "is required for a standalone worker"))
    if worker.exactly_once_source:
        text = "needs a cluster of workers, as in Kafka Connect; use `python -m engine run`"
        problems.append(("exactly.once.source.support", "enabled", text))
    return problems


def _default_root(working_directory: Path) -> dict[str, str]:
    """Return the option that allows connectors the files of the working directory, if that is safe."""
    problem = root_problem(str(working_directory))
    if problem is None:
        log.info("connectors may use the files below %s (%s)", working_directory, ROOT_OPTION)
        return {ROOT_OPTION: str(working_directory)}
    log.warning("connectors can't use files: %s is not set, and the working directory %s", ROOT_OPTION, problem)
    return {}


def _reads_input(file: ConnectorFile) -> bool:
    known, _ = find_class(file.properties.get("connector.class", "").strip())
    is_source = known is not None and known.kind is ConnectorKind.SOURCE
    return is_source and known is not None and known.uses_console and not file.properties.get("file")
