"""The console of processes that run until Ctrl-C: one line for each that is up, then only problems."""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Mapping, Sequence

from dlqadmin.host.supervisor import Supervisor
from dlqadmin.serve.processes import Launch, ManagedProcess

UP_TIMEOUT_S = 180
PROBE_EVERY_S = 0.25
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalReceived(Exception):
    """A signal ends all processes."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class LaunchFailed(Exception):
    """The processes can't run, or can't go on. The message is one sentence for the user."""


def end_on_signals() -> None:
    """Let Ctrl-C, SIGTERM and the end of the terminal raise SignalReceived. `nohup` keeps its effect."""
    for number in STOPS:
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def announce_each(
    env: Mapping[str, str],
    processes: Sequence[ManagedProcess],
    supervisor: Supervisor,
    timeout_s: float = UP_TIMEOUT_S,
) -> None:
    """Print one line for each process when it is up. Returns when all are. Raises LaunchFailed."""
    began, began_at = time.monotonic(), time.time()
    up: queue.SimpleQueue[ManagedProcess] = queue.SimpleQueue()
    for process in processes:
        launch = Launch(env, supervisor.log(process.name), began_at)
        threading.Thread(target=_report_when_up, args=(process, launch, up), daemon=True).start()
    waiting = {process.name for process in processes}
    while waiting:
        check_all_run(supervisor)
        try:
            process = up.get(timeout=PROBE_EVERY_S)
        except queue.Empty:
            if time.monotonic() - began > timeout_s:
                late = min(waiting)
                raise LaunchFailed(f"{late} is not up after {timeout_s:g} s; see {supervisor.log(late)}.") from None
            continue
        waiting.remove(process.name)
        print(status_line(process, env, time.monotonic() - began), flush=True)


def status_line(process: ManagedProcess, env: Mapping[str, str], seconds: float) -> str:
    """Return the line of a process that is up."""
    return f"  {process.name:<9} {process.title:<39} {process.address(env):<24} {seconds:5.1f} s"


def check_all_run(supervisor: Supervisor) -> None:
    """Raise LaunchFailed if a process has ended."""
    for name, code in supervisor.ended().items():
        raise LaunchFailed(f"{name} {how_it_ended(code)}, so all processes stop; see {supervisor.log(name)}.")


def how_it_ended(code: int) -> str:
    """Return the predicate of a sentence about a process with this exit code."""
    return f"ended with exit code {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"


def _report_when_up(process: ManagedProcess, launch: Launch, up: queue.SimpleQueue[ManagedProcess]) -> None:
    while not process.is_up(launch):
        time.sleep(PROBE_EVERY_S)
    up.put(process)


def _interrupt(number: int, _frame: object) -> None:
    for other in STOPS:
        signal.signal(other, signal.SIG_IGN)  # the stop takes seconds, and must not be cut short
    raise SignalReceived(number)
