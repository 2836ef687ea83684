"""TLS of `https://` listeners and of requests to other drivers, from Java's options and key stores."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Mapping
from tempfile import NamedTemporaryFile

from engine.config.options import Problem, nearest
from engine.config.rest import TLS_PREFIX, RestConfig
from engine.errors import ConfigError
from engine.kafka.client_options import ENDPOINT, JAVA_ONLY, STORE_TYPES
from engine.kafka.keystores import with_pem

CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
STORES = ("location", "password", "type")
KNOWN = {
    *(f"ssl.{store}.{part}" for store in ("keystore", "truststore") for part in STORES),
    "ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates", "ssl.key.password",
    "ssl.client.auth", "ssl.enabled.protocols",
    # Options of Java or of clients, without effect here.
    *(name for name in JAVA_ONLY if name.startswith("ssl.")), ENDPOINT,
}  # fmt: skip


def server_context(rest: RestConfig, client: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the TLS settings of `https://` listeners; None if there is no such listener.

    As in Kafka Connect, `listeners.https.ssl.*` replaces the worker's `ssl.*` entirely. Raises ConfigError.
    """
    if not has_tls(rest):
        return None
    prefix, options, pem = _stores(rest, client)
    key, chain = pem.get("ssl.key.pem"), pem.get("ssl.certificate.pem")
    location = f"{prefix}ssl.keystore.location"
    if not key or not chain:
        name = f"{TLS_PREFIX}ssl.keystore.location"
        raise ConfigError(
            ((name, None, "is required for https:// listeners; set it to a key store with a key and its certificate"),)
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    versions = [VERSIONS[name] for name in _list(options.get("ssl.enabled.protocols", ""))] or list(VERSIONS.values())
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    try:
        _load(context, key, chain, pem.get("ssl.key.password"))
    except (ssl.SSLError, ValueError, TypeError) as error:
        raise ConfigError(((location, None, f"contains a key and certificate that can't be used: {error}"),)) from error
    verify = CLIENT_AUTH[options.get("ssl.client.auth", "none")]
    if verify is not ssl.CERT_NONE:
        trusted = pem.get("ssl.ca.pem")
        if not trusted:
            name = f"{prefix}ssl.truststore.location"
            raise ConfigError(((name, None, "is required by ssl.client.auth to check the certificates of clients"),))
        context.load_verify_locations(cadata=trusted)
    context.verify_mode = verify
    return context


def client_context(rest: RestConfig, client: Mapping[str, str]) -> ssl.SSLContext:
    """Return the TLS settings of requests to other drivers, from the same options as those of `https://` listeners.

    Other drivers are trusted by the trust store, or without one by the public authorities, and see this driver's own
    certificate. Raises ConfigError.
    """
    if not has_tls(rest):
        return ssl.create_default_context()
    prefix, _, pem = _stores(rest, client)
    try:
        context = ssl.create_default_context(cadata=pem.get("ssl.ca.pem") or None)
    except ssl.SSLError as error:
        text = f"contains certificates that can't be used: {error}"
        raise ConfigError(((f"{prefix}ssl.truststore.location", None, text),)) from error
    key, chain = pem.get("ssl.key.pem"), pem.get("ssl.certificate.pem")
    if key and chain:
        _load(context, key, chain, pem.get("ssl.key.password"))
    return context


def has_tls(rest: RestConfig) -> bool:
    """Return whether a listener is `https://`."""
    return any(listener.scheme == "https" for listener in rest.listeners)


def _stores(rest: RestConfig, client: Mapping[str, str]) -> tuple[str, Mapping[str, str], Mapping[str, str]]:
    """Return the options' prefix, the `ssl.*` options, and what their stores contain. Raises ConfigError."""
    prefix, given = (TLS_PREFIX, rest.tls) if rest.tls else ("", client)
    options = {name: value for name, value in given.items() if name.startswith("ssl.")}
    if problems := _problems(prefix, given if prefix else options, is_own=bool(prefix)):
        raise ConfigError(tuple(problems))
    try:
        return prefix, options, with_pem(options)
    except ConfigError as error:
        raise ConfigError(tuple((prefix + name, *rest_of) for name, *rest_of in error.problems)) from error  # type: ignore[misc] # three parts, as before


def _problems(prefix: str, options: Mapping[str, str], *, is_own: bool) -> list[Problem]:
    """Return problems of the options.

    The worker's own `ssl.*` options are shared with its clients, so only problems that matter here are returned for
    them.
    """
    problems: list[Problem] = []
    if is_own:
        problems += [
            (prefix + name, None, f"is not supported for listeners{nearest(name, sorted(KNOWN))}")
            for name in options
            if name not in KNOWN
        ]
    auth = options.get("ssl.client.auth", "none")
    if auth not in CLIENT_AUTH:
        problems.append((f"{prefix}ssl.client.auth", auth, f"must be one of {', '.join(CLIENT_AUTH)}"))
    if unknown := [name for name in _list(options.get("ssl.enabled.protocols", "")) if name not in VERSIONS]:
        problems.append(
            (f"{prefix}ssl.enabled.protocols", ",".join(unknown), f"must contain only {', '.join(VERSIONS)}")
        )
    for name in ("ssl.keystore.type", "ssl.truststore.type"):
        if (kind := options.get(name, "JKS")).upper() not in STORE_TYPES:
            problems.append((prefix + name, kind, f"must be one of {', '.join(STORE_TYPES)}"))
    return problems


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _load(context: ssl.SSLContext, key: str, chain: str, key_password: str | None) -> None:
    """Load key and certificate into OpenSSL, which reads them only from a file.

    The file is private and lasts for the call. It holds the key under a password that is not kept.
    """
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    is_encrypted = "ENCRYPTED" in key.partition("\n")[0]
    password = key_password.encode() if key_password and is_encrypted else None
    once = secrets.token_bytes(24).hex()
    encryption = BestAvailableEncryption(once.encode())
    locked = load_pem_private_key(key.encode(), password).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    with NamedTemporaryFile(prefix="rest-") as file:  # mode 0600
        file.write(locked + b"\n" + chain.encode())
        file.flush()
        context.load_cert_chain(file.name, password=once)
