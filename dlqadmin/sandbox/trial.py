"""The sandbox that works on this machine, found by testing each means, strongest first."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from dlqadmin.sandbox.commands import ConfinedProgram, Confinement, candidates, command

PROBE = Path(__file__).with_name("probe.py")
TRIAL_S = 20.0
AGAIN_S = 60.0  # a machine that was too busy for the trial is tested again
NO_PROGRAM = "neither bubblewrap nor unshare is installed"


class ConfinementVerdict(msgspec.Struct, frozen=True):
    """The means that confines programs here. `reason` says why there is none, as a clause."""

    means: Confinement
    reason: str = ""

    @property
    def confines(self) -> bool:
        """Return whether programs are confined."""
        return self.means is not Confinement.NONE


Attempt = Callable[[Confinement], str]  # returns why a means does not confine, as a clause; empty if it does


def choose_confinement(means: Sequence[Confinement], attempt: Attempt) -> ConfinementVerdict:
    """Return the first means that confines; if none does, the reasons of all."""
    reasons = []
    for one in means:
        reason = attempt(one)
        if not reason:
            return ConfinementVerdict(one)
        reasons.append(reason)
    return ConfinementVerdict(Confinement.NONE, "; ".join(reasons) or NO_PROGRAM)


class _VerdictCache:
    """The cached verdict of this process. A means that works is kept for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._verdict: ConfinementVerdict | None = None
        self._until = 0.0

    def verdict(self) -> ConfinementVerdict:
        with self._lock:
            if self._verdict is None or (not self._verdict.confines and time.monotonic() > self._until):
                self._verdict = choose_confinement(candidates(), try_confinement)
                self._until = time.monotonic() + AGAIN_S
            return self._verdict


_kept = _VerdictCache()


def verdict() -> ConfinementVerdict:
    """Return how programs are confined here. Thread-safe.

    The first call tests the means, which takes about 0.2 s.
    """
    return _kept.verdict()


def try_confinement(means: Confinement) -> str:
    """Run the probe under this means.

    Returns why the probe is not confined, as a clause; empty if it is.
    """
    with _outside_targets() as outside:
        try:
            done = subprocess.run(
                command(ConfinedProgram(str(PROBE), shown=(PROBE,)), means), input=json.dumps(outside).encode(),
                env={}, cwd="/", capture_output=True, start_new_session=True, timeout=TRIAL_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{means}: {error}"
    try:
        escapes = msgspec.json.decode(done.stdout, type=list[str])
    except msgspec.DecodeError:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return f"{means}: {lines[-1] if lines else f'exit code {done.returncode}'}"
    return f"{means}: a program could {', '.join(escapes)}" if escapes else ""


@contextlib.contextmanager
def _outside_targets() -> Iterator[dict[str, object]]:
    """Create a file and a listening port outside of the sandbox, and yield the probe's input."""
    with tempfile.NamedTemporaryFile() as secret, socket.create_server(("127.0.0.1", 0)) as server:
        hidden = [secret.name, str(Path(__file__)), "/etc/passwd"]
        yield {"hidden": hidden, "port": server.getsockname()[1]}
