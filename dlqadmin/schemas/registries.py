"""The schema registry of each cluster: from SCHEMA_REGISTRIES, or configured by an administrator.

Secrets are in the environment only, each with the addresses to which it may be sent. So a changed address never gets a
secret that was meant for another.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from django.conf import settings

from dlqadmin.schemas.models import ConfiguredRegistry
from engine.schemas.registry import Authentication, RegistryOptions, SchemaRegistry

FIELDS = ("name", "url", "ca_file", "auth", "user", "secret", "token_url", "scope")
AUTHENTICATIONS: tuple[Authentication, ...] = ("none", "basic", "bearer", "oauth")


class RegistrySettings(msgspec.Struct, frozen=True):
    """The settings of a registry, without its secret. `is_fixed`: the environment sets them."""

    cluster: str
    name: str
    url: str
    ca_file: str = ""
    auth: Authentication = "none"
    user: str = ""
    secret: str = ""
    token_url: str = ""
    scope: str = ""
    is_fixed: bool = False

    def __repr__(self) -> str:
        """Leave out what a mistake may have filled with a password: the address, and the name of the secret."""
        return f"RegistrySettings({self.cluster!r}, {self.name!r}, auth={self.auth!r})"


class UnusableRegistry(Exception):
    """The settings of the registry can't be used. The message is a sentence without a full stop."""


def all_settings() -> list[RegistrySettings]:
    """Return the registries by cluster. One of the environment replaces the one of an administrator."""
    found = {row.cluster: _of_row(row) for row in ConfiguredRegistry.objects.all()}
    found.update({one.cluster: one for one in _of_environment()})
    return [found[cluster] for cluster in sorted(found)]


def settings_of(cluster: str) -> RegistrySettings | None:
    """Return the settings of a cluster's registry, or None if it has none."""
    for one in _of_environment():
        if one.cluster == cluster:
            return one
    row = ConfiguredRegistry.objects.filter(cluster=cluster).first()
    return None if row is None else _of_row(row)


def registry_of(cluster: str) -> SchemaRegistry | None:
    """Return the registry of a cluster, or None if it has none or its settings can't be used.

    The processes of the dashboard keep one client for each set of options, so its cache outlives a request.
    """
    found = settings_of(cluster)
    try:
        return None if found is None else client(found)
    except UnusableRegistry:
        return None


def client(given: RegistrySettings) -> SchemaRegistry:
    """Return the client of these settings. Raises UnusableRegistry."""
    if problem := next(problems(given), None):
        raise UnusableRegistry(problem)
    options = RegistryOptions(
        url=given.url,
        ca_file=given.ca_file,
        auth=given.auth,
        user=given.user,
        secret=_secret(given.secret) if given.auth != "none" else "",
        token_url=given.token_url,
        scope=given.scope,
        timeout_s=settings.SCHEMA_REGISTRY_TIMEOUT_S,
    )
    with _LOCK:
        kept = _CLIENTS.get(given.cluster)
        if kept is None or kept.options != options:
            # The former client is not closed: another thread may be asking it. It goes with its last reference.
            kept = _CLIENTS[given.cluster] = SchemaRegistry(options)
        return kept


def problems(given: RegistrySettings) -> Iterator[str]:
    """Yield what is wrong with the settings, without secrets."""
    for field in ("url", "token_url"):
        address = getattr(given, field)
        needed = field == "url" or given.auth == "oauth"
        if (address or needed) and (problem := _address_problem(address)):
            yield f"{field} {problem}"
    if given.auth not in AUTHENTICATIONS:
        yield f"auth {given.auth!r} is not known; write one of {', '.join(AUTHENTICATIONS)}"
    if given.ca_file and not Path(given.ca_file).is_file():
        yield f"ca_file {given.ca_file} does not exist"
    if given.auth in ("basic", "oauth") and not given.user:
        yield f"user is missing; {given.auth} needs one"
    if given.auth != "none":
        yield from _secret_problems(given)


def problems_of_environment() -> Iterator[str]:
    """Yield a sentence for each problem with the two settings of the environment, without secrets."""
    malformed = [*_malformed_secrets(), *_malformed_registries()]
    yield from malformed
    if malformed:
        return
    given = _of_environment()
    clusters = [one.cluster for one in given]
    for one in given:
        if clusters.count(one.cluster) > 1:
            yield f"SCHEMA_REGISTRIES: {one.name}: the cluster {one.cluster} has another registry"
        yield from (f"SCHEMA_REGISTRIES: {one.name}: {problem}" for problem in problems(one))


def _malformed_secrets() -> Iterator[str]:
    for name, entry in settings.SCHEMA_REGISTRY_SECRETS.items():
        addresses = entry.get("addresses") if isinstance(entry, dict) else None
        has_addresses = isinstance(addresses, list) and bool(addresses)
        if not has_addresses or isinstance(entry.get("value"), str) == isinstance(entry.get("file"), str):
            yield f"SCHEMA_REGISTRY_SECRETS: {name} needs 'addresses', a list, and either 'value' or 'file'"


def _malformed_registries() -> Iterator[str]:
    for name, entry in settings.SCHEMA_REGISTRIES.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("url"), str):
            yield f"SCHEMA_REGISTRIES: {name} must be an object with 'url'"
            continue
        unknown = sorted(entry.keys() - {"cluster", *FIELDS[1:]})
        if unknown:
            yield f"SCHEMA_REGISTRIES: {name}: {unknown[0]} is not a known option"
        elif not all(isinstance(value, str) for value in entry.values()):
            yield f"SCHEMA_REGISTRIES: {name}: each option must be a string"


def origin_of(address: str) -> str:
    """Return the scheme, host and port of an address: what a secret is bound to."""
    parts = urlsplit(address)
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def _secret_problems(given: RegistrySettings) -> Iterator[str]:
    entry = settings.SCHEMA_REGISTRY_SECRETS.get(given.secret)
    if entry is None:
        yield f"secret {given.secret!r} is not an entry of SCHEMA_REGISTRY_SECRETS"
        return
    allowed = {origin_of(address) for address in entry["addresses"]}
    for address in (given.url, given.token_url if given.auth == "oauth" else given.url):
        if origin_of(address) not in allowed:
            where = origin_of(address)
            yield f"secret {given.secret!r} may not be sent to {where}; SCHEMA_REGISTRY_SECRETS lists its addresses"
            return
    if "file" in entry and not Path(entry["file"]).is_file():
        yield f"the file of secret {given.secret!r} does not exist"


def _address_problem(address: str) -> str | None:
    try:
        parts = urlsplit(address)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_whole = False
    if not is_whole or "," in address or any(character.isspace() for character in address):
        return f"{address!r} is not an address; write one like https://registry.example:8081"
    if parts.username or parts.password:
        return "holds a user or password; use auth, user and secret instead"
    return "holds a query or fragment" if parts.query or parts.fragment else None


def _secret(name: str) -> str:
    entry: Mapping[str, Any] = settings.SCHEMA_REGISTRY_SECRETS[name]
    if "file" not in entry:
        return str(entry["value"])
    try:
        return Path(entry["file"]).read_text().strip()
    except OSError as error:
        raise UnusableRegistry(f"the file of secret {name!r} can't be read: {error.strerror}") from None


def _of_environment() -> list[RegistrySettings]:
    return [
        RegistrySettings(**{"cluster": settings.CLUSTER, **entry, "name": name, "is_fixed": True})
        for name, entry in settings.SCHEMA_REGISTRIES.items()
    ]


def _of_row(row: ConfiguredRegistry) -> RegistrySettings:
    return RegistrySettings(
        cluster=row.cluster,
        **{field: getattr(row, field) for field in FIELDS if field != "auth"},
        auth=cast("Authentication", row.auth),
    )


_CLIENTS: dict[str, SchemaRegistry] = {}
_LOCK = threading.Lock()
