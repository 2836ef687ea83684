"""Properties of the images: their users, what they hold and lack, and their sizes."""

from __future__ import annotations

import json
import re
import tarfile
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from engine.config.plugin_versions import VERSION
from tests.images.docker import Docker

MB = 1_000_000
MOST_MB = {"web": 150, "engine": 500}  # compressed, without the layers of the base image
TARGETS = sorted(MOST_MB)
TOOLS = ("gcc", "cc", "g++", "make", "ld", "strip", "javac", "jlink", "node", "npm", "git")
SECRET_NAMES = re.compile(r"(^|/)(\.env|\.npmrc|\.netrc|\.pypirc|pip\.conf|id_rsa|[^/]*\.(pem|key))$")
PUBLIC = re.compile(r"(certifi|httpx2?|grpc/_cython/_credentials/roots|ssl/certs|ca-certificates)")  # authorities

pytestmark = pytest.mark.timeout(3600)

IMPORT_ALL = (
    "import importlib, os, pkgutil, sys; "
    "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'dlqadmin.settings'); "
    "sys.argv[1] == 'dlqadmin' and __import__('django').setup(); "
    "package = importlib.import_module(sys.argv[1]); "
    "[importlib.import_module(found.name) for found in pkgutil.walk_packages(package.__path__, sys.argv[1] + '.') "
    "if not found.name.endswith('__main__')]"
)


class Layer(NamedTuple):
    """The names of a layer's files, and its sizes in bytes."""

    names: list[str]
    size: int
    compressed: int


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_has_the_version_as_its_tag(daemon: Docker, images: Mapping[str, str], target: str) -> None:
    name = images[target]
    assert daemon.inspect(f"{name}:{VERSION}")["Id"] == daemon.inspect(name)["Id"]


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_runs_as_a_user_that_is_not_root(daemon: Docker, images: Mapping[str, str], target: str) -> None:
    assert daemon.inspect(images[target])["Config"]["User"] == "dlqadmin"
    assert inside(daemon, images[target], "id -u").strip() == "10001"


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_has_no_build_tools_and_no_caches(daemon: Docker, images: Mapping[str, str], target: str) -> None:
    assert inside(daemon, images[target], f"command -v {' '.join(TOOLS)}; true") == ""
    caches = (
        "find / -xdev \\( -path '/root/.cache/*' -o -path '/var/lib/apt/lists/*Packages*' -o -name '*.whl' \\) -type f"
    )
    kept = inside(daemon, images[target], f"{caches} 2>/dev/null; true").splitlines()
    assert [path for path in kept if "python-wheels" not in path and "ensurepip" not in path] == []  # those of the base


@pytest.mark.parametrize("target", TARGETS)
def test_its_user_can_change_nothing_of_the_program(daemon: Docker, images: Mapping[str, str], target: str) -> None:
    writable = "find /app /opt -writable -not -type l 2>/dev/null; true"
    assert inside(daemon, images[target], writable) == ""


@pytest.mark.parametrize("target", TARGETS)
def test_every_module_of_an_image_finds_what_it_imports(daemon: Docker, images: Mapping[str, str], target: str) -> None:
    packages = {"web": "dlqadmin", "engine": "engine"}
    assert inside(daemon, images[target], f'python -W error::ImportWarning -c "{IMPORT_ALL}" {packages[target]}') == ""


def test_no_layer_has_a_secret(daemon: Docker, images: Mapping[str, str], own_layers: tuple[str, list[Layer]]) -> None:
    target, own = own_layers
    history = daemon.run("history", "--no-trunc", "--format", "{{.CreatedBy}}", images[target])
    assert not re.search(r"(?i)(password|token|secret)\w*=", history)
    found = [name for layer in own for name in layer.names]
    assert [name for name in found if SECRET_NAMES.search(name) and not PUBLIC.search(name)] == []


def test_an_image_is_small(
    own_layers: tuple[str, list[Layer]], record_testsuite_property: Callable[[str, object], None]
) -> None:
    target, own = own_layers
    size = sum(layer.compressed for layer in own) / MB
    record_testsuite_property(f"{target}: compressed MB", f"{size:.0f}")
    record_testsuite_property(f"{target}: unpacked MB", f"{sum(layer.size for layer in own) / MB:.0f}")
    assert size <= MOST_MB[target], [(layer.compressed // MB, layer.names[:3]) for layer in own]


def inside(daemon: Docker, image: str, command: str) -> str:
    """Run a shell command in an image as its user; return the output."""
    settings = (
        "--env",
        "DLQADMIN_ENVIRONMENT=LOCAL",
        "--env",
        "LOCAL_DIR=/tmp",
        "--env",
        "DATABASE_URL=sqlite:///:memory:",
    )
    return daemon.run("run", "--rm", "--network", "none", *settings, image, "sh", "-c", command, timeout_s=300)


@pytest.fixture(scope="module", params=TARGETS)
def own_layers(
    daemon: Docker, images: Mapping[str, str], base: str, tmp_path_factory: pytest.TempPathFactory, request: Any
) -> tuple[str, list[Layer]]:
    """A target and the layers that its image has above the base."""
    archive = tmp_path_factory.mktemp("saved") / "image.tar"
    daemon.run("save", "--output", str(archive), images[request.param], timeout_s=600)
    try:
        with tarfile.open(archive) as whole:
            manifest = whole.extractfile("manifest.json")
            assert manifest
            names = json.load(manifest)[0]["Layers"][len(daemon.inspect(base)["RootFS"]["Layers"]) :]
            return request.param, [_layer(whole, name) for name in names]
    finally:
        archive.unlink()


def _layer(whole: tarfile.TarFile, name: str) -> Layer:
    file = whole.extractfile(name)
    assert file
    packer, size, compressed = zlib.compressobj(6, wbits=31), 0, 0
    while block := file.read(MB):
        size += len(block)
        compressed += len(packer.compress(block))
    file.seek(0)
    with tarfile.open(fileobj=file) as layer:
        return Layer(layer.getnames(), size, compressed + len(packer.flush()))
