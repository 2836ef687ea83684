"""Report what this machine lacks before anything is installed: `python3 -m demo.preflight`.

It runs with the system's Python and only the standard library.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping

from demo.environment import demo_environment
from dlqadmin.host.network import HOST, is_answering, port_of

PYTHON, JAVA, NODE = (3, 11), 17, 20


def missing_programs() -> Iterator[str]:
    """Yield one sentence for each program that is missing or too old."""
    if sys.version_info < PYTHON:
        yield f"Python 3.11 or newer is needed; this is {sys.version.split()[0]} (set PYTHON=… to name another)."
    elif importlib.util.find_spec("ensurepip") is None:
        yield "Python's venv module is needed (Debian: apt-get install python3-venv)."
    yield from _program("java", "-version", "Java", JAVA, "default-jre-headless")
    yield from _program("node", "--version", "Node", NODE, "nodejs")
    if shutil.which("npm") is None:
        yield "npm is needed, but it is not on the PATH (Debian: apt-get install npm)."


def used_ports(env: Mapping[str, str]) -> Iterator[str]:
    """Yield one sentence for each of our ports that another program uses."""
    broker = port_of(env["KAFKA_BOOTSTRAP_SERVERS"])
    ports = {
        "KAFKA_BOOTSTRAP_SERVERS": (broker, broker + 1),
        "REDIS_URL": (port_of(env["REDIS_URL"]),),
        "ENGINE_URL": (port_of(env["ENGINE_URL"]),),
        "WEB_PORT": (int(env["WEB_PORT"]),),
    }
    for name, numbers in ports.items():
        for number in numbers:
            if is_answering(HOST, number):
                yield f"Port {number} is in use. Stop the program that uses it, or set another port with {name}=…"


def _program(command: str, flag: str, name: str, oldest: int, package: str) -> Iterator[str]:
    if shutil.which(command) is None:
        yield f"{name} {oldest} or newer is needed, but none is on the PATH (Debian: apt-get install {package})."
        return
    result = subprocess.run([command, flag], capture_output=True, text=True, check=False)
    # Java may print the options that it picked up before its version.
    version = re.search(r'version "(\d+)|^v?(\d+)\.', result.stderr + result.stdout, re.MULTILINE)
    major = int(version[1] or version[2]) if version else 0
    if major < oldest:
        yield f"{name} {oldest} or newer is needed; the one on the PATH is {major}."


def main(arguments: list[str]) -> int:
    """Print what is missing, and with `--ports` also the ports in use. Returns 0 if there is nothing."""
    problems = list(missing_programs())
    if "--ports" in arguments:
        problems += used_ports(demo_environment())
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
