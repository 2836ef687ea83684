"""Key and trust stores written by Java's own keytool: an authority, a server and a client that it vouches for."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, pkcs12

PASSWORD = "test1234"
KEYTOOL = ("keytool", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1")  # short lives
HOSTS = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]


class Stores:
    """Stores of one kind (JKS or PKCS12) in `home`; the client's key has `key_password`.

    Keys and certificates are made in this process, because each keytool command starts a JVM.
    """

    def __init__(self, home: Path, kind: str = "PKCS12", key_password: str = PASSWORD) -> None:
        self.home, self.kind, self.key_password = home, kind, key_password
        home.mkdir(parents=True, exist_ok=True)
        self._key = rsa.generate_private_key(65537, 2048)
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        self._authority = self._certificate("authority", self._key.public_key(), constraints)
        self.certificate = home / "authority.pem"
        self.certificate.write_bytes(self._authority.public_bytes(Encoding.PEM))
        self.trust = home / f"truststore.{kind.lower()}"
        self._trust(self.trust)

    @cached_property
    def server(self) -> Path:
        """The key store of a server on this machine."""
        return self._vouched("server", x509.SubjectAlternativeName(HOSTS), PASSWORD)

    @cached_property
    def client(self) -> Path:
        """The key store of a client, which also holds the authority's certificate."""
        store = self._vouched("client", x509.BasicConstraints(ca=False, path_length=None), self.key_password)
        self._trust(store)
        return store

    def _vouched(self, name: str, extension: x509.ExtensionType, key_password: str) -> Path:
        key = rsa.generate_private_key(65537, 2048)
        certificate = self._certificate(name, key.public_key(), extension)
        made, store = self.home / f"{name}.made", self.home / f"{name}.{self.kind.lower()}"
        encryption = BestAvailableEncryption(PASSWORD.encode())
        made.write_bytes(
            pkcs12.serialize_key_and_certificates(name.encode(), key, certificate, [self._authority], encryption)
        )
        source = ["-srckeystore", str(made), "-srcstoretype", "PKCS12", "-srcstorepass", PASSWORD, "-srcalias", name]
        target = ["-destkeystore", str(store), "-deststoretype", self.kind, "-deststorepass", PASSWORD]
        more = ["-destkeypass", key_password] if self.kind == "JKS" else []
        self._keytool("-importkeystore", "-noprompt", *source, *target, *more)
        return store

    def _certificate(self, name: str, key: rsa.RSAPublicKey, extension: x509.ExtensionType) -> x509.Certificate:
        """Return the authority's certificate of a key."""
        now = datetime.now(UTC)
        names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, one)]) for one in (name, "authority")]
        builder = (
            x509.CertificateBuilder()
            .subject_name(names[0]).issuer_name(names[1]).public_key(key).serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=3650))
            .add_extension(extension, critical=False)
        )  # fmt: skip
        return builder.sign(self._key, hashes.SHA256())

    def _trust(self, store: Path) -> None:
        kind = ["-keystore", str(store), "-storepass", PASSWORD, "-storetype", self.kind]
        self._keytool("-importcert", "-alias", "root", "-noprompt", "-file", str(self.certificate), *kind)

    def _keytool(self, *arguments: str) -> None:
        subprocess.run([*KEYTOOL, *arguments], check=True, capture_output=True)
