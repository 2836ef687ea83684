"""The entry point of the command `dlqadmin`: `python -m dlqadmin`."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from dlqadmin.serve.arguments import parser
from engine.config.plugin_versions import VERSION

FAILED, MISUSED = 1, 2


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line of this process and return the exit code."""
    asked = parser().parse_args(words)
    if asked.version:
        print(f"dlqadmin {VERSION}")
        return 0
    os.umask(0o077)  # the database and the logs have content of records
    commands = {"serve": _serve, "doctor": _doctor, "manage": _manage}
    if asked.command is None:
        parser().print_help()
        return MISUSED
    return commands[asked.command](asked)


def _serve(asked: Namespace) -> int:
    from dlqadmin.serve.run import serve

    return serve(asked)


def _doctor(asked: Namespace) -> int:
    if not _configure(asked):
        return FAILED
    from dlqadmin.doctor.run import examine

    return examine(json=asked.json)


def _manage(asked: Namespace) -> int:
    if not _configure(asked):
        return FAILED
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(["dlqadmin manage", *asked.arguments])
    except ImproperlyConfigured as problem:
        print(f"dlqadmin: {problem}", file=sys.stderr)
        return FAILED
    return 0


def _configure(asked: Namespace) -> bool:
    """Put the settings of the options into the environment of this process."""
    from dlqadmin.serve.console import LaunchFailed
    from dlqadmin.serve.environment import settings_of

    try:
        os.environ.update(settings_of(asked, os.environ))
    except LaunchFailed as problem:
        print(f"dlqadmin: {problem}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
