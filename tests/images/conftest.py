"""The images, built as `make images` builds them, and a deployment of compose.yaml that the tests share."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping

import pytest
import yaml

from demo.environment import ROOT
from tests.images.deployment import Deployment
from tests.images.docker import BUILD_TIMEOUT_S, Docker, DockerMissing, docker
from tests.images.stand_ins import build_arguments, can_pull, make_services

FILES = ("Dockerfile", ".dockerignore", "Makefile", "manage.py", "locks", "engine", "dlqadmin", "frontend", "deploy")
UNWANTED = shutil.ignore_patterns("node_modules", "dist", "__pycache__")


@pytest.fixture(scope="session")
def daemon() -> Iterator[Docker]:
    """A Docker daemon."""
    try:
        with docker() as found:
            yield found
    except DockerMissing as missing:
        pytest.fail(str(missing))


@pytest.fixture(scope="session")
def images(daemon: Docker, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The targets of the Dockerfile and their images, built by `make images` from a fresh copy of the sources."""
    arguments = ["--network", "host", *build_arguments(daemon)]
    source = tmp_path_factory.mktemp("source")
    for name in FILES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=UNWANTED)
        else:
            shutil.copy(ROOT / name, source / name)
    command = ["make", "-C", str(source), "images", f"ARGS={' '.join(arguments)}"]
    daemon.call(command, timeout_s=BUILD_TIMEOUT_S)
    return {target: f"dlqadmin-{target}" for target in ("web", "engine")}


@pytest.fixture(scope="session")
def base(daemon: Docker, images: Mapping[str, str]) -> str:
    """The image that both images begin with."""
    named = build_arguments(daemon)[1:2]
    found = re.search(r"PYTHON_IMAGE=(\S+)", named[0] if named else (ROOT / "Dockerfile").read_text())
    assert found
    return found[1]


@pytest.fixture(scope="session")
def services(daemon: Docker) -> Mapping[str, str]:
    """Images in place of those of compose.yaml that can't be pulled."""
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    if all(can_pull(daemon, compose[name]["image"]) for name in ("kafka", "redis", "postgres")):
        return {}
    return make_services(daemon)


@pytest.fixture(scope="module")
def deployment(
    daemon: Docker, images: Mapping[str, str], services: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """All services of compose.yaml, healthy, with an administrator and the topics of a connector."""
    deployed = Deployment(daemon, tmp_path_factory.mktemp("deployment"), services)
    try:
        deployed.configure()
        deployed.up()
        deployed.add_person()
        deployed.sign_in()
        deployed.create_topics()
        yield deployed
    finally:
        deployed.down()
