"""`python -m engine`: the command line and exit codes."""

from __future__ import annotations

from engine import import_path

if __name__ == "__main__":
    import_path.close()  # before other imports, which modules in the working directory could replace

import argparse
import os
import sys
from collections.abc import Sequence
from getpass import getpass
from importlib.util import find_spec
from pathlib import Path

from engine.assembly.acls import grant_script, required_acls
from engine.assembly.mirror_offsets_command import GROUP, ORIGINS, copy_offsets
from engine.assembly.translation import translate
from engine.assembly.validation import check_worker, plan_of_task, validate
from engine.config.connector_files import load_connector, load_connectors
from engine.config.options import line_of
from engine.config.properties import load_properties
from engine.config.worker import WorkerConfig, parse_worker
from engine.errors import ConfigError, EngineError
from engine.rehearsal.process import rehearse_here
from engine.rest.credentials import hash_password
from engine.startup.mirror import run_mirror
from engine.startup.run import run_worker
from engine.startup.standalone import run_standalone, standalone_worker
from engine.startup.wiring import examine_connector

OK, FAILED, MISUSED = 0, 1, 2
WORKER_FAILED, CONNECTOR_FAILED = 2, 3  # of `standalone`, as of Kafka Connect's


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code: 0 done, 1 a bad configuration or a failure, 2 a wrong command line."""
    options = argument_parser().parse_args(arguments)
    if options.command in ("run", "standalone", "mirror") and find_spec("pyspark") is None:
        print("The engine needs Spark, which is not installed. Run: pip install 'dlqadmin[engine]'", file=sys.stderr)
        return FAILED
    commands = {
        "run": _run,
        "standalone": _standalone,
        "mirror": _mirror,
        "translate": _translate,
        "validate": _validate,
        "acls": _acls,
        "mirror-offsets": _mirror_offsets,
        "rehearse": lambda _: rehearse_here(sys.stdin.buffer),
        "hash-password": _hash_password,
    }
    try:
        return commands[options.command](options)
    except ConfigError as error:
        _print_problems(error)
        return FAILED
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return MISUSED


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; `command` names the subcommand."""
    parser = argparse.ArgumentParser(prog="python -m engine", description="Runs Kafka connectors on Spark.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a worker with its REST API")
    run.add_argument("worker", nargs="?", type=Path, help="worker.properties")
    run.add_argument(
        "--connector",
        action="append",
        default=[],
        type=Path,
        help="connector.properties or .json to create or update at the start; may be repeated",
    )
    alone = commands.add_parser("standalone", help="run a worker without a cluster, as connect-standalone.sh does")
    alone.add_argument("worker", type=Path, help="worker.properties")
    alone.add_argument("connector", nargs="*", type=Path, help="connector.properties or connector.json")
    mirror = commands.add_parser("mirror", help="run the flows of a MirrorMaker 2 file")
    mirror.add_argument("config", type=Path, help="mm2.properties")
    mirror.add_argument("--clusters", nargs="+", default=[], metavar="CLUSTER", help="only flows to these clusters")
    check = commands.add_parser("validate", help="print every problem of a connector's configuration")
    check.add_argument("connector", type=Path, help="connector.properties or connector.json")
    check.add_argument("--worker", type=Path, help="worker.properties")
    convert = commands.add_parser("translate", help="print a Java connector's configuration for the engine's own class")
    convert.add_argument("connector", type=Path, help="connector.properties or connector.json")
    acls = commands.add_parser("acls", help="print the kafka-acls commands that a worker and connectors need")
    acls.add_argument("worker", type=Path, help="worker.properties")
    acls.add_argument("connector", nargs="*", type=Path, help="connector.properties or connector.json")
    acls.add_argument("--principal", default="", help="the worker's principal, such as User:connect")
    copy = commands.add_parser("mirror-offsets", help="set the missing offsets of a mirror with connector.type=sink")
    copy.add_argument("connector", type=Path, help="connector.properties or connector.json")
    copy.add_argument("--worker", type=Path, help="worker.properties")
    copy.add_argument("--from", dest="origin", choices=ORIGINS, default=GROUP, help="the source of the offsets")
    copy.add_argument(
        "--group", default="", help="the consumer group on the source cluster; default: the connector's own"
    )
    copy.add_argument("--dry-run", action="store_true", help="print the offsets without setting them")
    commands.add_parser("rehearse", help="run records through a connector's steps without writing anything")
    commands.add_parser("hash-password", help="print the hash of a password for rest.basic.auth.credentials.file")
    return parser


def _worker(options: argparse.Namespace) -> WorkerConfig:
    worker = parse_worker(load_properties(options.worker) if options.worker else {}, os.environ)
    check_worker(worker)
    return worker


def _run(options: argparse.Namespace) -> int:
    worker = _worker(options)
    return OK if run_worker(worker, load_connectors(options.connector)) else FAILED


def _standalone(options: argparse.Namespace) -> int:
    """Return Kafka Connect's exit code: 2 if the worker could not start, 3 if a connector could not."""
    code = WORKER_FAILED
    try:
        with standalone_worker(load_properties(options.worker), os.environ) as worker:
            code = CONNECTOR_FAILED
            connectors = load_connectors(options.connector)
            for file in connectors:
                examine_connector(file.properties, worker)
            code = WORKER_FAILED
            return OK if run_standalone(worker, connectors) else WORKER_FAILED
    except ConfigError as error:
        _print_problems(error)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return code


def _mirror(options: argparse.Namespace) -> int:
    return OK if run_mirror(load_properties(options.config), options.clusters) else FAILED


def _hash_password(_options: argparse.Namespace) -> int:
    print(hash_password(getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")))
    return OK


def _validate(options: argparse.Namespace) -> int:
    worker, path = _worker(options), options.connector
    plan = validate(load_connector(path).properties, worker)
    for row in (*worker.warnings, *plan.warnings):
        print(f"warning: {line_of(row)}", file=sys.stderr)
    print(f"{path}: no problems")
    return OK


def _translate(options: argparse.Namespace) -> int:
    translation = translate(load_connector(options.connector).properties)
    if translation.equivalent is None:
        print(f"connector.class = {translation.class_name}: has no equivalent: {translation.reason}", file=sys.stderr)
        return FAILED
    print("\n".join(translation.lines()))
    return OK


def _acls(options: argparse.Namespace) -> int:
    worker = _worker(options)
    connectors = [load_connector(path).properties for path in options.connector]
    for line in grant_script(required_acls(worker, connectors, options.principal)):
        print(line)
    return OK


def _mirror_offsets(options: argparse.Namespace) -> int:
    worker = _worker(options)
    plan, found = plan_of_task(load_connector(options.connector).properties, worker)
    try:
        rows = copy_offsets(plan, worker, options.origin, options.group, dry_run=options.dry_run)
    except EngineError as error:
        if isinstance(error, ConfigError):
            raise
        print(found.hide(str(error)), file=sys.stderr)
        return FAILED
    for row in rows:
        print(row)
    done = "would be set" if options.dry_run else "set"
    print(f"{sum(row.is_set for row in rows)} of {len(rows)} offsets {done}")
    return OK


def _print_problems(error: ConfigError) -> None:
    for row in error.problems:
        print(line_of(row), file=sys.stderr)
    count = len(error.problems)
    print(f"{count} problem{'' if count == 1 else 's'}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
