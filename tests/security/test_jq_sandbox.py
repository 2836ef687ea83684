"""jq, and the repair of broken JSON, reach nothing of the server; without a sandbox jq is off."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from pytest_django import Settings

from dlqadmin.masking.json_spans import NotJson, read
from dlqadmin.replays.fixes.errors import ProgramRefused
from dlqadmin.replays.fixes.jq_process import WORKER, Jq
from dlqadmin.replays.fixes.json_repair import repaired
from dlqadmin.replays.fixes.record_changes import changer
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.sandbox import trial
from dlqadmin.sandbox.commands import ConfinedProgram, Confinement, command, visible_paths
from dlqadmin.sandbox.trial import ConfinementVerdict

UNCONFINED = ConfinementVerdict(Confinement.NONE, "bwrap: not permitted")
# Read by the same command line as jq's worker, in its place: as if libjq ran code of an attacker.
CODE = """
import json, os, socket, sys
from pathlib import Path
def succeeds(act):
    try:
        act()
    except OSError:
        return False
    return True
print(json.dumps({
    "files": [path for path in sys.argv[2:] if succeeds(lambda: Path(path).read_bytes())],
    "network": succeeds(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=1)),
    "environment": sorted(set(os.environ) - {"LC_CTYPE"}),
}))
"""


def test_jq_runs_in_the_sandbox() -> None:
    with Jq(".") as jq:
        spaces = networks(jq._process.pid)
    assert spaces
    assert str(Path("/proc/self/ns/net").readlink()) not in spaces


def test_code_in_the_place_of_jq_reaches_nothing(tmp_path: Path, settings: Settings) -> None:
    place = tmp_path / "open"
    place.mkdir()
    attacker, secret = place / "attacker.py", place / "secret-key"
    attacker.write_text(CODE)
    secret.write_text("hunter2")
    files = (str(secret), str(settings.BASE_DIR / "manage.py"), "/etc/passwd", f"/proc/{os.getpid()}/environ")
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = ConfinedProgram(str(attacker), (str(server.getsockname()[1]), *files), shown=(attacker,))
        done = subprocess.run(
            command(program, trial.verdict().means), env={"SECRET_KEY": "x"}, capture_output=True,
            start_new_session=True, check=True,
        )  # fmt: skip
    assert json.loads(done.stdout) == {"files": [], "network": False, "environment": []}


def test_the_sandbox_of_jq_shows_its_worker_and_python_alone(settings: Settings) -> None:
    shown = visible_paths(ConfinedProgram(str(WORKER), shown=(WORKER,)))
    own = [path for path in shown if path.is_relative_to(settings.BASE_DIR) and ".venv" not in path.parts]
    assert {path.name for path in own} == {"jq_worker.py", "launcher.py"}


def test_without_a_sandbox_jq_is_off_and_says_why() -> None:
    with pytest.raises(ProgramRefused) as refused:
        Jq(".", found=UNCONFINED)
    assert str(refused.value) == (
        "jq programs are disabled on this server, because it has no sandbox (bwrap: not permitted). Install "
        "bubblewrap and allow user namespaces, or set ALLOWED_WITHOUT_SANDBOX=jq."
    )


def test_an_operator_can_allow_jq_without_a_sandbox(settings: Settings) -> None:
    settings.ALLOWED_WITHOUT_SANDBOX = ["jq"]
    with Jq(".a", found=UNCONFINED) as jq:
        assert jq.run(b'{"a": 1}') == b"[1]"


def test_many_values_go_through_one_process() -> None:
    with changer("jq", ".a += 1") as change:
        for number in range(100):
            assert change(Outgoing(None, b'{"a": %d}' % number, ())).what == "changed"


def test_the_repair_of_json_works_in_the_sandbox() -> None:
    broken = b'{"a": [1, 2}'
    with pytest.raises(NotJson) as fault:
        read(broken)
    found = repaired(broken, fault.value)
    assert found is not None
    assert json.loads(found.data) == {"a": [1, 2]}


def networks(pid: int) -> list[str]:
    """The network name spaces of a process's descendants."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [str(Path(f"/proc/{child}/ns/net").readlink()), *networks(child)]
    return found
