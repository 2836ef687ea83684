"""Run every process of the demonstration until Ctrl-C: `make run`.

honcho runs the Procfile, each process in its own process group, so that no process outlives us.
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
from demo.environment import REDIS_URL, ROOT, demo_environment, engine_token, own_redis_url

STOP_TIMEOUT_S = 15
CONNECTORS = Path(__file__).with_name("connectors")


def main() -> int:
    """Check the machine, prepare the data, and run the processes."""
    os.chdir(ROOT)
    env = demo_environment()
    problems = [*preflight.lacks(), *preflight.taken(env)]
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    prepare(env)
    return run(env)


def prepare(env: dict[str, str]) -> None:
    """Create what the processes need: tables, connector files, the engine's token, the demo user."""
    local = Path(env["LOCAL_DIR"])
    local.mkdir(parents=True, exist_ok=True)
    table.create(local / "files" / "demo.sqlite3")
    engine_token(env)
    prepare_redis(env)
    env["DEMO_CONNECTORS"] = str(write_connectors(local))
    for command in (("migrate", "--verbosity", "0"), ("ensure_demo_user",)):
        subprocess.run([sys.executable, "manage.py", *command], env=env, check=True, stdout=subprocess.DEVNULL)


def prepare_redis(env: dict[str, str]) -> None:
    """Add the password to the URL of the demonstration's own Redis.

    A URL that the user configured stays unchanged.
    """
    if env["REDIS_URL"] == REDIS_URL:
        env["REDIS_URL"] = own_redis_url(Path(env["LOCAL_DIR"]))


def write_connectors(local: Path) -> Path:
    """Write the demo's connector files with their data in `local`, and return their folder."""
    target = local / "connectors"
    target.mkdir(exist_ok=True)
    for source in CONNECTORS.glob("*.properties"):
        Path(target, source.name).write_text(source.read_text().replace(".local/", f"{local}/"))
    return target


def run(env: dict[str, str]) -> int:
    """Run all processes until one ends or a signal arrives, and return the exit code."""
    manager.KILL_WAIT = STOP_TIMEOUT_S
    processes = manager.Manager(Printer(sys.stdout, colour=sys.stdout.isatty()))
    procfile = environ.parse_procfile(Path("Procfile").read_text())
    for process in environ.expand_processes(procfile.processes, env=env):
        processes.add_process(process.name, process.cmd, quiet=process.quiet, env=process.env)
    # honcho handles Ctrl-C itself. A closed terminal must stop it as well.
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    announcer = subprocess.Popen([sys.executable, "-m", "demo.announce"], env=env)
    processes.loop()
    announcer.terminate()
    announcer.wait()
    return int(processes.returncode or 0)


if __name__ == "__main__":
    sys.exit(main())
