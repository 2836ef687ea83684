"""Run every process of the demonstration until Ctrl-C: `make run`.

The console shows one line for each process when it is up, then the address and the sign-in. After
that it shows only what ends the demonstration.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from demo import preflight, table
from demo.environment import FILES, REDIS_URL, ROOT, demo_environment, engine_token, own_redis_url
from demo.processes import CONNECTORS, PROCESSES
from dlqadmin.host.supervisor import Supervisor, shell_commands
from dlqadmin.serve.console import (
    PROBE_EVERY_S,
    LaunchFailed,
    SignalReceived,
    announce_each,
    check_all_run,
    end_on_signals,
)
from dlqadmin.serve.processes import ManagedProcess, web_url

SERVERS = ("broker", "redis")


def main() -> int:
    """Check the machine, prepare the data, and run the processes."""
    os.chdir(ROOT)
    end_on_signals()
    env = demo_environment()
    try:
        problems = [*preflight.missing_programs(), *preflight.used_ports(env)]
        if problems:
            raise LaunchFailed("\n".join(problems))
        prepare(env)
        return run(env, PROCESSES, procfile(Path("Procfile")))
    except LaunchFailed as problem:
        print(problem, file=sys.stderr, flush=True)
        return 1
    except SignalReceived as signalled:
        return signalled.exit_code


def prepare(env: dict[str, str]) -> None:
    """Create what the processes need: tables, connector files, the engine's token, the demo user."""
    local = Path(env["LOCAL_DIR"])
    logs_of(env).mkdir(parents=True, exist_ok=True)
    table.create(local / FILES / "demo.sqlite3")
    engine_token(env)
    prepare_redis(env)
    env["DEMO_CONNECTORS"] = str(write_connectors(local))
    manage(env, "migrate")
    manage(env, "ensure_demo_user")


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


def manage(env: Mapping[str, str], command: str) -> None:
    """Run a command of manage.py. Raises LaunchFailed if it fails."""
    log = logs_of(env) / f"{command}.log"
    with log.open("wb") as output:
        done = subprocess.run(
            [sys.executable, "manage.py", command], env=env, check=False, stdout=output, stderr=subprocess.STDOUT
        )
    if done.returncode != 0:
        raise LaunchFailed(f"manage.py {command} failed; see {log}.")


def logs_of(env: Mapping[str, str]) -> Path:
    """Return the folder of the processes' log files."""
    return Path(env["LOCAL_DIR"], "logs")


def procfile(path: Path) -> dict[str, str]:
    """Return the commands of a Procfile by name."""
    lines = path.read_text().splitlines()
    return {name: command for name, _, command in (line.partition(": ") for line in lines)}


def run(env: Mapping[str, str], processes: Sequence[ManagedProcess], commands: Mapping[str, str]) -> int:
    """Run all processes until one ends or a signal arrives. Raises LaunchFailed, and SignalReceived."""
    supervisor = Supervisor(shell_commands(commands), env, logs_of(env), SERVERS)
    try:
        supervisor.start()
        announce_each(env, processes, supervisor)
        print(sign_in(env), flush=True)
        while True:
            check_all_run(supervisor)
            time.sleep(PROBE_EVERY_S)
    except SignalReceived:
        print("Stopping all processes.", flush=True)
        raise
    finally:
        supervisor.stop()


def sign_in(env: Mapping[str, str]) -> str:
    """Return the lines with the address, the sign-in and the log files."""
    password = Path(env["LOCAL_DIR"], "demo-password").read_text().strip()
    logs = logs_of(env)
    return (
        f"\n  dlqadmin is up: {web_url(env)}\n"
        f"  sign in as demo with the password {password}\n"
        f"  the connectors log their errors to {logs / 'engine.log'}; the other logs are beside it\n"
    )


if __name__ == "__main__":
    sys.exit(main())
