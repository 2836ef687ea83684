"""Docker for the tests of the images: the daemon that runs on this machine, or else one of their own."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from demo.environment import ROOT
from dlqadmin.host.network import wait_until

HOME = ROOT / ".local" / "images"  # images and layers of the own daemon, which later runs use again
COMPOSE = "github.com/docker/compose/v2"
COMPOSE_VERSION = "v2.40.3"
START_TIMEOUT_S = 60
BUILD_TIMEOUT_S = 3600  # on two shared cores, with everything to download


class DockerMissing(Exception):
    """A program that these tests need is missing. The message says which."""


class Docker:
    """A client of one daemon."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = dict(env)

    def run(self, *arguments: str, timeout_s: float = 120, check: bool = True, text: str = "") -> str:
        """Run `docker` with the arguments; return its output. Raises RuntimeError with its errors if it fails."""
        return self.call(["docker", *arguments], timeout_s=timeout_s, check=check, text=text)

    def compose(self, *arguments: str, timeout_s: float = 120, check: bool = True, text: str = "") -> str:
        """Run `docker compose` with the arguments, as `run` does."""
        return self.call([*self.compose_program, *arguments], timeout_s=timeout_s, check=check, text=text)

    def call(self, command: list[str], *, timeout_s: float, check: bool = True, text: str = "") -> str:
        """Run a program that talks to this daemon."""
        done = subprocess.run(
            command, cwd=ROOT, env=self.env, input=text, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        if check and done.returncode != 0:
            raise RuntimeError(
                f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-6000:]}"
            )
        return done.stdout

    def inspect(self, name: str) -> dict[str, Any]:
        """Return the facts of an image or a container."""
        [found] = json.loads(self.run("inspect", name))
        return dict(found)

    def has(self, image: str) -> bool:
        """Return whether the daemon has an image."""
        return bool(self.run("images", "--quiet", image))

    @cached_property
    def compose_program(self) -> list[str]:
        """The command of Docker Compose 2: a plugin, a program, or one that is built here."""
        for command in (["docker", "compose"], ["docker-compose"]):
            if shutil.which(command[0]) and _major_version([*command, "version", "--short"]) >= 2:
                return command
        return [str(_built_compose())]


@contextmanager
def docker() -> Iterator[Docker]:
    """Yield the client of the daemon that answers, or of one that runs meanwhile. Raises DockerMissing."""
    if not shutil.which("docker"):
        raise DockerMissing("Docker is not installed (Debian: apt-get install docker.io debootstrap).")
    if _answers(os.environ):
        yield Docker(os.environ)
        return
    with _own_daemon(HOME) as address:
        yield Docker({**os.environ, "DOCKER_HOST": address})


@contextmanager
def _own_daemon(home: Path) -> Iterator[str]:
    """Run a daemon and yield its address.

    It has no default bridge: builds use the network of the host, and compose creates its own networks.
    """
    if not shutil.which("dockerd") or os.geteuid() != 0:
        raise DockerMissing("No Docker daemon responds, and only root with dockerd can start one.")
    home.mkdir(parents=True, exist_ok=True)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[
        1
    ]  # a daemon without CAP_SYS_RESOURCE can't allow its containers more
    with tempfile.TemporaryDirectory(prefix="dlqadmin-docker-") as scratch, (home / "dockerd.log").open("wb") as log:
        address = f"unix://{scratch}/socket"
        command = ["dockerd", "--data-root", str(home / "data"), "--exec-root", f"{scratch}/run"]
        command += ["--pidfile", f"{scratch}/pid", "--host", address, "--bridge", "none"]
        command += [
            "--default-ulimit",
            f"nofile={most}:{most}",
            "--config-file",
            str(_empty(Path(scratch, "daemon.json"))),
        ]
        daemon = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            env = {**os.environ, "DOCKER_HOST": address}
            wait_until(lambda: _answers(env), f"The Docker daemon (its log is {log.name})", START_TIMEOUT_S, 0.5)
            yield address
        finally:
            daemon.terminate()
            daemon.wait(START_TIMEOUT_S)


def _empty(path: Path) -> Path:
    path.write_text("{}")
    return path


def _answers(env: Mapping[str, str]) -> bool:
    return subprocess.run(["docker", "info"], env=dict(env), capture_output=True, check=False).returncode == 0


def _major_version(command: list[str]) -> int:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.match(r"v?(\d+)\.", done.stdout)
    return int(found[1]) if found and done.returncode == 0 else 0


def _built_compose() -> Path:
    """Return Docker Compose, built once from its Go module."""
    program = ROOT / ".local" / f"docker-compose-{COMPOSE_VERSION}"
    if program.exists():
        return program
    if not shutil.which("go"):
        raise DockerMissing("Docker Compose 2 is not installed, and there is no Go to build it with.")
    with tempfile.TemporaryDirectory() as scratch:
        fetched = ["go", "mod", "download", "-json", f"{COMPOSE}@{COMPOSE_VERSION}"]
        source = json.loads(subprocess.run(fetched, cwd=scratch, check=True, stdout=subprocess.PIPE).stdout)["Dir"]
        shutil.copytree(source, f"{scratch}/source", copy_function=shutil.copyfile)
        build = ["go", "build", "-o", str(program), "./cmd"]
        subprocess.run(build, cwd=f"{scratch}/source", check=True, timeout=BUILD_TIMEOUT_S)
    return program
