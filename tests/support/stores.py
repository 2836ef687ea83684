"""Key and trust stores made by Java's own keytool: an authority, a server and a client that it vouches for."""

from __future__ import annotations

import subprocess
from functools import cached_property
from pathlib import Path

PASSWORD = "test1234"
KEYTOOL = ("keytool", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1")  # dozens of short lives


class Stores:
    """Stores of one kind (JKS or PKCS12) in `home`; the client's key has `key_password`."""

    def __init__(self, home: Path, kind: str = "PKCS12", key_password: str = PASSWORD) -> None:
        self.home, self.kind = home, kind
        home.mkdir(parents=True, exist_ok=True)
        self.authority = self._pair("authority", ["-ext", "bc:c"], PASSWORD)
        self.certificate = home / "authority.pem"
        self._keytool(self.authority, "-exportcert", "-alias", "authority", "-rfc", "-file", str(self.certificate))
        self.trust = home / f"truststore.{kind.lower()}"
        self._trust(self.trust, "root")
        self.key_password = key_password

    @cached_property
    def server(self) -> Path:
        """The key store of a server on this machine."""
        return self._vouched("server", ["-ext", "san=ip:127.0.0.1,dns:localhost"], PASSWORD)

    @cached_property
    def client(self) -> Path:
        """The key store of a client."""
        return self._vouched("client", [], self.key_password)

    def _vouched(self, name: str, extensions: list[str], key_password: str) -> Path:
        store = self._pair(name, extensions, key_password)
        request, answer = self.home / f"{name}.csr", self.home / f"{name}.pem"
        more = ["-keypass", key_password] if self.kind == "JKS" else []
        self._keytool(store, "-certreq", "-alias", name, *more, "-file", str(request))
        self._keytool(
            self.authority, "-gencert", "-alias", "authority", "-infile", str(request), "-outfile", str(answer),
            "-rfc", *extensions,
        )  # fmt: skip
        self._trust(store, "root")
        self._keytool(store, "-importcert", "-alias", name, *more, "-noprompt", "-file", str(answer))
        return store

    def _pair(self, name: str, extensions: list[str], key_password: str) -> Path:
        store = self.home / f"{name}.{self.kind.lower()}"
        make = ["-genkeypair", "-alias", name, "-dname", f"CN={name}", "-keyalg", "RSA", "-keysize", "2048"]
        more = ["-keypass", key_password] if self.kind == "JKS" else []
        self._keytool(store, *make, "-validity", "3650", *more, *extensions)
        return store

    def _trust(self, store: Path, alias: str) -> None:
        self._keytool(store, "-importcert", "-alias", alias, "-noprompt", "-file", str(self.certificate))

    def _keytool(self, store: Path, command: str, *arguments: str) -> None:
        line = [*KEYTOOL, command, "-keystore", str(store), "-storepass", PASSWORD, "-storetype", self.kind]
        subprocess.run([*line, *arguments], check=True, capture_output=True)
