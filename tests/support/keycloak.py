"""A real Keycloak, with the realm of keycloak_realm.json."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import zipfile
from contextlib import suppress
from pathlib import Path

import httpx

from demo.jars import FetchFailed, install, sha256
from dlqadmin.host.network import HOST, free_ports, wait_until

VERSION = "26.0.7"
SHA256 = "25353b74613bcf72db67f8addbd88d832c705a69333091a16573d249d665fe21"  # of the archive
HOME = Path(__file__).resolve().parents[2] / ".local" / "keycloak"
REALM = Path(__file__).with_name("keycloak_realm.json")
START_S = 600  # its first start compiles it, which takes minutes on a busy machine
_DEPENDENCY = f"""\
<dependency org="org.keycloak" name="keycloak-quarkus-dist" rev="{VERSION}" transitive="false" conf="default->default">
  <artifact name="keycloak-quarkus-dist" type="zip" ext="zip"/>
</dependency>"""


class LocalKeycloak:
    """A Keycloak on a free port of loopback. It keeps its database in memory."""

    def __init__(self, folder: Path) -> None:
        self.port, self._management_port = free_ports(2)
        self.issuer = f"http://{HOST}:{self.port}/realms/shop"
        self._log = folder / "keycloak.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> LocalKeycloak:
        """Start it, and fetch it the first time."""
        home = _installed()
        (home / "data" / "import").mkdir(parents=True, exist_ok=True)
        shutil.copy(REALM, home / "data" / "import")
        options = [f"--http-host={HOST}", f"--http-port={self.port}", f"--http-management-port={self._management_port}"]
        options += ["--import-realm", "--cache=local", "--db=dev-mem", "--log-level=WARN"]
        java = "-Xmx512m -XX:TieredStopAtLevel=1"
        with self._log.open("wb") as log:
            # A process group of its own, because kc.sh starts Java as a child.
            self._process = subprocess.Popen(
                ["sh", str(home / "bin" / "kc.sh"), "start-dev", *options],
                stdout=log,
                stderr=log,
                env={**os.environ, "JAVA_OPTS_APPEND": java},
                start_new_session=True,
            )
        try:
            wait_until(self._is_ready, "Keycloak", START_S)
        except BaseException:  # also when the test is interrupted: the process must not stay
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop it and its child."""
        if self._process is not None:
            with suppress(ProcessLookupError):  # it may have ended by itself
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _is_ready(self) -> bool:
        """Return whether it answers. Raises RuntimeError, with its log, if it has ended."""
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"Keycloak ended: {self._log.read_text()[-2000:]}")
        try:
            return httpx.get(f"{self.issuer}/.well-known/openid-configuration", timeout=5).status_code == 200
        except httpx.TransportError:
            return False


def _installed() -> Path:
    """Return Keycloak's folder, fetched from Maven Central the first time."""
    install(HOME, _DEPENDENCY, _unpack)
    return HOME


def _unpack(fetched: Path, folder: Path) -> Path:
    (archive,) = fetched.iterdir()
    if sha256(archive) != SHA256:
        raise FetchFailed(f"{archive.name} does not match its SHA-256, so it was not installed.")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder / f"keycloak-{VERSION}"
