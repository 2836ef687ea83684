"""Run the dashboard, its workers, the indexer and a private Redis until Ctrl-C: `dlqadmin serve`.

The console shows one line for each process when it is up, then the address and the sign-in. After
that it shows only problems. A process that ends starts again; one that keeps ending ends all.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dlqadmin.host.network import HOST, is_answering
from dlqadmin.host.supervisor import Supervisor
from dlqadmin.serve.arguments import PASSWORD
from dlqadmin.serve.console import (
    PROBE_EVERY_S,
    LaunchFailed,
    SignalReceived,
    announce_each,
    end_on_signals,
    how_it_ended,
)
from dlqadmin.serve.environment import LOOPBACK, choose_index_group, own_redis_url, serve_environment
from dlqadmin.serve.preparation import FirstUser, PreparationResult
from dlqadmin.serve.processes import BEAT, INDEXER, REDIS, REPLAYER, WEB, WORKER, ManagedProcess, web_url
from dlqadmin.serve.restarts import RestartSchedule

DASHBOARD = (WEB, WORKER, REPLAYER, BEAT, INDEXER)
PREPARATION = ("-m", "dlqadmin.serve.preparation")


def serve(asked: Namespace) -> int:
    """Run all processes; return the exit code."""
    end_on_signals()
    try:
        env = serve_environment(asked, os.environ)
        with _only_one(Path(env["LOCAL_DIR"])):
            run(env, asked.user, os.environ.get(PASSWORD, ""))
    except LaunchFailed as problem:
        print(f"dlqadmin: {problem}", file=sys.stderr, flush=True)
        return 1
    except SignalReceived as signalled:
        return signalled.exit_code
    return 0


def run(env: dict[str, str], user: str, password: str) -> None:
    """Run all processes until a signal arrives. Raises LaunchFailed, and SignalReceived."""
    local = Path(env["LOCAL_DIR"])
    if is_answering(_host(env), int(env["WEB_PORT"])):
        raise LaunchFailed(f"Port {env['WEB_PORT']} is in use. Stop the program that uses it, or add --port.")
    if not env.get("REDIS_URL"):
        env["REDIS_URL"] = own_redis_url(local)
        processes: tuple[ManagedProcess, ...] = (REDIS, *DASHBOARD)
    else:
        processes = DASHBOARD
    choose_index_group(local)
    print(f"  Preparing the database; the first time takes some seconds. Data and logs: {local}", flush=True)
    first = FirstUser(user, password or secrets.token_urlsafe(12))
    found = prepare(env, first)
    topics = f"{found.dead_letter_topics} dead letter topic{'' if found.dead_letter_topics == 1 else 's'}"
    brokers = f"{found.brokers} broker{'' if found.brokers == 1 else 's'}"
    print(f"  {'kafka':<9} {f'{brokers}, {topics}':<39} {env['KAFKA_BOOTSTRAP_SERVERS']}", flush=True)
    known = commands(env)
    supervisor = Supervisor(
        {one.name: known[one.name] for one in processes}, env, logs_of(env), [REDIS.name], folder=local
    )
    try:
        supervisor.start()
        announce_each(env, processes, supervisor)
        print(welcome(env, first, found, is_given=bool(password)), flush=True)
        keep_running(supervisor, [one.name for one in processes])
    except SignalReceived:
        print("Stopping all processes.", flush=True)
        raise
    finally:
        supervisor.stop()


def prepare(env: Mapping[str, str], first: FirstUser) -> PreparationResult:
    """Prepare the database and the first user in a process of its own. Raises LaunchFailed."""
    logs_of(env).mkdir(exist_ok=True)
    log = logs_of(env) / "preparation.log"
    with log.open("wb") as faults:
        done = subprocess.run(
            [sys.executable, *PREPARATION],
            env=env,
            cwd=env["LOCAL_DIR"],
            input=msgspec.json.encode(first),
            stdout=subprocess.PIPE,
            stderr=faults,
            check=False,
        )
    try:
        found = msgspec.json.decode(done.stdout, type=PreparationResult)
    except msgspec.DecodeError as error:
        raise LaunchFailed(f"The preparation {how_it_ended(done.returncode)}; see {log}.") from error
    if found.problem:
        raise LaunchFailed(found.problem)
    return found


def commands(env: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """Return the command line of each process."""
    python = (sys.executable, "-m", "dlqadmin.host.bound_process", str(os.getpid()), sys.executable, "-m")
    celery = (*python, "celery", "--quiet", "-A", "dlqadmin.celery")
    worker = (*celery, "worker", "--pool", "threads", "--concurrency", "8", "--loglevel", "WARNING")
    return {
        REDIS.name: (*python, "dlqadmin.host.redis_server"),
        WEB.name: (
            *python, "uvicorn", "dlqadmin.asgi:application", "--host", env["WEB_HOST"], "--port", env["WEB_PORT"],
            "--no-proxy-headers", "--timeout-graceful-shutdown", "3", "--log-level", "warning",
        ),
        WORKER.name: (*worker, "--queues", "celery"),
        REPLAYER.name: (*worker, "--queues", "replays", "--hostname", "replayer@%h"),
        BEAT.name: (*celery, "beat", "--pidfile=", "--loglevel", "WARNING"),
        INDEXER.name: (*python, "dlqadmin", "manage", "index_deadletters"),
    }  # fmt: skip


def keep_running(supervisor: Supervisor, names: Sequence[str]) -> None:
    """Start each process that ends again, until a signal arrives. Raises LaunchFailed for one that keeps ending."""
    schedule = RestartSchedule()
    for name in names:
        schedule.started(name, time.monotonic())
    while True:
        now = time.monotonic()
        for name, code in supervisor.ended().items():
            if schedule.is_waiting(name):
                continue
            delay = schedule.ended(name, now)
            what, log = f"{name} {how_it_ended(code)}", supervisor.log(name)
            if delay is None:
                raise LaunchFailed(f"{what} again and again, so all processes stop; see {log}.")
            print(f"{what} and starts again in {delay:g} s; see {log}.", file=sys.stderr, flush=True)
        for name in schedule.due(now):
            supervisor.start_one(name)
            schedule.started(name, now)
        time.sleep(PROBE_EVERY_S)


def welcome(env: Mapping[str, str], first: FirstUser, found: PreparationResult, *, is_given: bool) -> str:
    """Return the lines with the address, the sign-in, and where the data is."""
    lines = [f"  dlqadmin is up: {web_url(env)}"]
    if not found.is_first:
        lines.append("  sign in as before; for a new password: dlqadmin manage changepassword NAME")
    elif is_given:
        lines.append(f"  sign in as {first.name} with the password of {PASSWORD}")
    else:
        lines.append(f"  sign in as {first.name} with the password {first.password}, which is not shown again")
    if env["WEB_HOST"] not in LOOPBACK:
        lines.append(
            f"  warning: everybody who reaches {env['WEB_HOST']}:{env['WEB_PORT']} gets the sign-in, unencrypted; "
            "put a proxy with TLS before it"
        )
    return "\n".join(["", *lines, ""])


def logs_of(env: Mapping[str, str]) -> Path:
    """Return the folder of the processes' log files."""
    return Path(env["LOCAL_DIR"], "logs")


def _host(env: Mapping[str, str]) -> str:
    return HOST if env["WEB_HOST"] in ("0.0.0.0", "::", "localhost") else env["WEB_HOST"]  # noqa: S104, compared only


@contextmanager
def _only_one(local: Path) -> Iterator[None]:
    """Create the data folder, for its owner only, and hold its lock. Raises LaunchFailed if another one has it."""
    try:
        local.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (local / "serve.lock").open("w")
    except OSError as error:
        raise LaunchFailed(f"The data folder {local} can't be written: {error.strerror}. Add --data.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LaunchFailed(f"Another dlqadmin uses {local}. Stop it, or add --data.") from error
        yield
