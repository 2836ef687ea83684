"""The OpenID providers of the environment: parse and validate OIDC_PROVIDERS."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")  # a part of an address
SECRETS = ("secret", "secret_file")


class InvalidProvider(Exception):
    """A provider of OIDC_PROVIDERS cannot be used. The message does not contain its secret."""


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """An OpenID provider, and the rights that values of its groups claim give."""

    name: str
    issuer: str
    client_id: str
    title: str = ""
    secret: str = field(default="", repr=False)
    secret_file: str = ""
    ca_file: str = ""  # PEM; empty: the system's certificates
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    username_claim: str = "preferred_username"
    groups_claim: str = "groups"
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    administrators: tuple[str, ...] = ()

    def client_secret(self) -> str:
        """Return the secret. A file is read each time, so that it can be rotated."""
        return Path(self.secret_file).read_text().strip() if self.secret_file else self.secret


def names() -> list[str]:
    """Return the names of all providers, in the order of the setting."""
    return list(settings.OIDC_PROVIDERS)


def get(name: str) -> IdentityProvider | None:
    """Return a provider, or None. Raises InvalidProvider."""
    given = settings.OIDC_PROVIDERS.get(name)
    return None if given is None else parse(name, given)


def parse(name: str, given: Any) -> IdentityProvider:
    """Return the provider that an entry of OIDC_PROVIDERS describes. Raises InvalidProvider."""
    if not NAME.fullmatch(name):
        raise InvalidProvider(f"{name!r}: use lower-case letters, digits and hyphens in the name")
    if not isinstance(given, dict):
        raise InvalidProvider(f"{name} is not an object")
    if unknown := sorted(set(given) - {one.name for one in fields(IdentityProvider)} | ({"name"} & set(given))):
        raise InvalidProvider(f"{name} has no option {unknown[0]!r}")
    values = {option: _value(name, option, value) for option, value in given.items()}
    if missing := [option for option in ("issuer", "client_id") if not values.get(option)]:
        raise InvalidProvider(f"{name} needs {missing[0]}")
    if all(values.get(option) for option in SECRETS):
        raise InvalidProvider(f"{name} has secret and secret_file; keep one")
    if not is_protected(values["issuer"]):
        raise InvalidProvider(f"{name}.issuer must begin with https://")
    found = IdentityProvider(**{"name": name, "title": name, **values})
    if "openid" not in found.scopes:
        raise InvalidProvider(f"{name}.scopes must contain openid")
    return found


def problems() -> Iterator[str]:
    """Yield what is wrong with OIDC_PROVIDERS, and with LOCAL_SIGN_IN beside it."""
    for name, given in settings.OIDC_PROVIDERS.items():
        try:
            parse(name, given)
        except InvalidProvider as error:
            yield f"OIDC_PROVIDERS: {error}"
    if not settings.LOCAL_SIGN_IN and not settings.OIDC_PROVIDERS:
        yield "LOCAL_SIGN_IN is off, but OIDC_PROVIDERS has no provider"


def is_protected(address: str) -> bool:
    """Return whether requests to an address are encrypted, or do not leave this machine."""
    parts = urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return True
    return parts.scheme == "http" and _is_loopback(parts.hostname or "")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _value(name: str, option: str, value: Any) -> Any:
    """Return the value of an option with its type. Raises InvalidProvider."""
    if option in ("scopes", "administrators"):
        return _texts(f"{name}.{option}", value)
    if option == "groups":
        if not isinstance(value, dict):
            raise InvalidProvider(f"{name}.groups must be an object")
        return {claimed: _texts(f"{name}.groups", given) for claimed, given in value.items()}
    if not isinstance(value, str):
        raise InvalidProvider(f"{name}.{option} must be a string")
    return value


def _texts(where: str, value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise InvalidProvider(f"{where} must be a string or a list of strings")
    return tuple(listed)
