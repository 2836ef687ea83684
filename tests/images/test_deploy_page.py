"""docs/how-to/deploy.md, command by command: from nothing to a first replayed record, an upgrade and the end."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from demo.environment import ROOT
from tests.images.deployment import UP_TIMEOUT_S, Deployment
from tests.images.docker import Docker
from tests.support.documents import blocks

PAGE = ROOT / "docs/how-to/deploy.md"
COMMANDS = [block.text for block in blocks(PAGE) if block.language == "sh"]
PASSWORD = "correct horse battery staple"

pytestmark = pytest.mark.timeout(3600)


class Shell:
    """A folder of sources in which the commands of the page run. `make images` has been run there already."""

    def __init__(self, folder: Path, deployment: Deployment) -> None:
        self._folder, self._deployment = folder, deployment
        compose = shlex.join([*deployment.docker.compose_program, *deployment.options])
        self._program("docker", f'[ "$1" = compose ] && shift && exec {compose} "$@"')
        self._program("make", '[ "$1" = images ]')

    def run(self, command: str) -> str:
        """Run a block of commands in bash; return the output."""
        env = {**self._deployment.docker.env}
        env["PATH"] = f"{self._folder / 'bin'}:{env['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self._folder,
            env=env,
            input=PASSWORD + "\n",
            capture_output=True,
            text=True,
            timeout=UP_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    def _program(self, name: str, script: str) -> None:
        path = self._folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def page(
    daemon: Docker, images: Mapping[str, str], services: Mapping[str, str], tmp_path: Path
) -> Iterator[tuple[Shell, Deployment]]:
    """A shell in an empty folder, and the deployment that its commands start."""
    deployed = Deployment(daemon, tmp_path, services)
    try:
        yield Shell(tmp_path, deployed), deployed
    finally:
        deployed.down()


def test_the_page_leads_from_nothing_to_a_replayed_record(page: tuple[Shell, Deployment]) -> None:
    shell, deployed = page
    before, after = _split("httpx.post")
    printed = [shell.run(command) for command in before]
    assert printed[-1].strip() == "201"
    deployed.sign_in()
    deployed.until_indexed(1)
    [letter] = [row["id"] for row in deployed.letters()]
    deployed.repair(letter, {"id": 2, "amount": 10})
    replay = deployed.replay([letter])
    deployed.until_done(replay)
    assert deployed.outcomes(replay) == [("passed", "proven")]
    for command in after:
        shell.run(command)
    assert deployed.running() == []


def _split(last: str) -> tuple[list[str], list[str]]:
    """Return the commands up to the one with this text, and those after it."""
    [at] = [number for number, command in enumerate(COMMANDS, 1) if last in command]
    return COMMANDS[:at], COMMANDS[at:]
