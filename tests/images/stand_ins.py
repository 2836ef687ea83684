"""Images of Debian's packages in place of those that this machine can't pull."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from demo.environment import ROOT
from demo.jars import TOOLS_MODULES, class_path, fetch, pins
from tests.images.docker import BUILD_TIMEOUT_S, Docker, DockerMissing

PYTHON, NODE = "dlqadmin-test-python", "dlqadmin-test-node"
SERVICES = ("kafka", "redis", "postgres")
RELEASE = "bookworm"  # it has Python 3.11, as the image of the Dockerfile has
PACKAGES = "python3,python3-pip,python3-venv,ca-certificates"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
# As in the images of Debian: apt leaves no archives and no caches in a layer.
CLEAN = """\
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
"""
NODE_DOCKERFILE = f"FROM {PYTHON}\nCOPY . /\nENV NODE_EXTRA_CA_CERTS=/{CERTIFICATES}\n"


def build_arguments(docker: Docker) -> list[str]:
    """Return the arguments of `docker build` that name the base images; none if the right ones can be pulled."""
    python = re.search(r"^ARG PYTHON_IMAGE=(\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert python
    if can_pull(docker, python[1]):
        return []
    make_bases(docker)
    return ["--build-arg", f"PYTHON_IMAGE={PYTHON}", "--build-arg", f"NODE_IMAGE={NODE}"]


def can_pull(docker: Docker, image: str) -> bool:
    """Return whether the daemon has the image or can pull it."""
    try:
        docker.run("pull", "--quiet", image, timeout_s=BUILD_TIMEOUT_S)
    except RuntimeError:
        return False
    return True


def make_bases(docker: Docker) -> None:
    """Make the images with Python and with Node, unless the daemon has them."""
    if not docker.has(PYTHON):
        with tempfile.TemporaryDirectory(prefix="dlqadmin-base-") as scratch:
            _bootstrap(Path(scratch, "root"))
            archive = f"{scratch}/root.tar"
            subprocess.run(["tar", "-C", f"{scratch}/root", "-cf", archive, "."], check=True)
            docker.run("import", archive, PYTHON, timeout_s=BUILD_TIMEOUT_S)
    if not docker.has(NODE):
        with tempfile.TemporaryDirectory(prefix="dlqadmin-node-") as scratch:
            _copy_node(Path(scratch, "context"))
            Path(scratch, "Dockerfile").write_text(NODE_DOCKERFILE)
            build = ("build", "--quiet", "--tag", NODE, "--file", f"{scratch}/Dockerfile", f"{scratch}/context")
            docker.run(*build, timeout_s=BUILD_TIMEOUT_S)


def _bootstrap(root: Path) -> None:
    """Install a small Debian with Python, and this machine's certificates and settings of pip."""
    if not shutil.which("debootstrap"):
        raise DockerMissing("The base images can't be pulled, and debootstrap is not installed.")
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", RELEASE, str(root)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=BUILD_TIMEOUT_S)
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        marker.unlink()
    (root / "etc/apt/apt.conf.d/docker-clean").write_text(CLEAN)
    for pattern in ("var/cache/apt/archives/*.deb", "var/cache/apt/*.bin", "var/lib/apt/lists/*_*"):
        for cached in root.glob(pattern):
            cached.unlink()
    for settings in (CERTIFICATES, "etc/pip.conf"):
        if Path("/", settings).exists():
            shutil.copyfile(f"/{settings}", root / settings)


def _copy_node(context: Path) -> None:
    """Copy this machine's Node and npm."""
    programs, modules = context / "usr/bin", context / "usr/lib/node_modules"
    programs.mkdir(parents=True)
    shutil.copy(str(shutil.which("node")), programs / "node")
    installed = subprocess.run(["npm", "root", "--global"], check=True, capture_output=True, text=True).stdout.strip()
    shutil.copytree(f"{installed}/npm", modules / "npm", symlinks=True)
    (programs / "npm").symlink_to("../lib/node_modules/npm/bin/npm-cli.js")


def make_services(docker: Docker) -> dict[str, str]:
    """Return an image for each third-party service of compose.yaml that can't be pulled."""
    make_bases(docker)
    with tempfile.TemporaryDirectory(prefix="dlqadmin-services-") as scratch:
        context = Path(scratch, "context")
        shutil.copytree(Path(__file__).with_name("services"), context)
        shutil.copytree(class_path().rstrip("*"), context / "libs")
        fetch(Path(scratch, "tools"), TOOLS_MODULES, pins(), configuration="master")
        for jar in Path(scratch, "tools").iterdir():
            shutil.copy(jar, context / "libs")
        for name in SERVICES:
            build = ("build", "--quiet", "--network", "host", "--build-arg", f"BASE={PYTHON}", "--target", name)
            docker.run(*build, "--tag", f"dlqadmin-test-{name}", str(context), timeout_s=BUILD_TIMEOUT_S)
    return {name: f"dlqadmin-test-{name}" for name in SERVICES}
