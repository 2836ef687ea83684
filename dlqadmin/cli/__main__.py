"""The entry point of the command `dlq`: `python -m dlqadmin.cli`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from dlqadmin.cli.arguments import parser
from dlqadmin.cli.client import Dashboard, DashboardError
from dlqadmin.cli.commands import Terminal, run
from dlqadmin.cli.text import escape_controls

NOT_DONE, INTERRUPTED = 2, 130


def main() -> int:
    """Run the command line of this process."""
    return run_command(sys.argv[1:], os.environ, sys.stdin, sys.stdout, sys.stderr)


def run_command(
    words: Sequence[str], environment: Mapping[str, str], source: TextIO, out: TextIO, faults: TextIO
) -> int:
    """Run a command line and return the exit status.

    argparse exits with 2 if it cannot parse the arguments.
    """
    asked = parser().parse_args(words)
    try:
        with Dashboard(*_settings(environment)) as dashboard:
            return run(asked, dashboard, Terminal(source, out))
    except DashboardError as error:
        faults.write(f"dlq: {escape_controls(str(error))}\n")
        return NOT_DONE
    except KeyboardInterrupt:
        return INTERRUPTED


def _settings(environment: Mapping[str, str]) -> tuple[str, str]:
    url, token = environment.get("DLQ_URL", ""), environment.get("DLQ_TOKEN", "")
    if not url.startswith(("http://", "https://")):
        raise DashboardError("Set DLQ_URL to the dashboard's address, such as https://dlq.example.com.")
    if not token or not (token.isascii() and token.isprintable()):
        raise DashboardError("Set DLQ_TOKEN to an API token; create one on the dashboard's profile screen.")
    return url, token


if __name__ == "__main__":
    sys.exit(main())
