"""`make run`: every process of the demonstration, until Ctrl-C.

Runs the Procfile with honcho, each process in a process group of its own, so that nothing outlives us.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from honcho import environ, manager
from honcho.printer import Printer

from demo import preflight, table
from demo.environment import ROOT, demo_environment

STOP_TIMEOUT_S = 15
CONNECTORS = Path(__file__).with_name("connectors")


def main() -> int:
    """Prepare, run, stop."""
    os.chdir(ROOT)
    env = demo_environment()
    problems = [*preflight.lacks(), *preflight.taken(env)]
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    prepare(env)
    return run(env)


def prepare(env: dict[str, str]) -> None:
    """Make what the processes expect to be there: tables, connector files, the demo user."""
    local = Path(env["LOCAL_DIR"])
    local.mkdir(parents=True, exist_ok=True)
    table.create(local / "demo.sqlite3")
    env["DEMO_CONNECTORS"] = str(write_connectors(local))
    for command in (("migrate", "--verbosity", "0"), ("ensure_demo_user",)):
        subprocess.run([sys.executable, "manage.py", *command], env=env, check=True, stdout=subprocess.DEVNULL)


def write_connectors(local: Path) -> Path:
    """Write the demo's connector files with their data in `local`; return where they are."""
    target = local / "connectors"
    target.mkdir(exist_ok=True)
    for source in CONNECTORS.glob("*.properties"):
        Path(target, source.name).write_text(source.read_text().replace(".local/", f"{local}/"))
    return target


def run(env: dict[str, str]) -> int:
    """Run all processes until one ends or we are told to stop; return the exit code."""
    manager.KILL_WAIT = STOP_TIMEOUT_S
    processes = manager.Manager(Printer(sys.stdout, colour=sys.stdout.isatty()))
    procfile = environ.parse_procfile(Path("Procfile").read_text())
    for process in environ.expand_processes(procfile.processes, env=env):
        processes.add_process(process.name, process.cmd, quiet=process.quiet, env=process.env)
    # A closed terminal is a stop like Ctrl-C, which honcho hears itself.
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    announcer = subprocess.Popen([sys.executable, "-m", "demo.announce"], env=env)
    processes.loop()
    announcer.terminate()
    announcer.wait()
    return int(processes.returncode or 0)


if __name__ == "__main__":
    sys.exit(main())
