"""The connection to the schema registry, from the options of a converter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from engine.config.options import HIDDEN, Problem
from engine.schemas.registry import Authentication, RegistryOptions

_UNAVAILABLE_S = 1.0  # the guard waits between retries already
_BASIC, _BEARER = "basic.auth.user.info", "bearer.auth.token"
_OAUTH = ("bearer.auth.issuer.endpoint.url", "bearer.auth.client.id", "bearer.auth.client.secret")


def connection_problems(values: Mapping[str, Any]) -> list[Problem]:
    """Return problems of options that belong together, by their names without prefix."""
    problems: list[Problem] = []
    has_info, source = bool(values[_BASIC]), values["basic.auth.credentials.source"]
    if has_info and source != "USER_INFO":
        problems.append((_BASIC, None, "has no effect; set basic.auth.credentials.source=USER_INFO too"))
    if source == "USER_INFO" and ":" not in values[_BASIC] and values[_BASIC] != HIDDEN:  # a rehearsal sees the mask
        problems.append((_BASIC, None, "must be user:password"))
    bearer = values["bearer.auth.credentials.source"]
    if values[_BEARER] and bearer == "OAUTHBEARER":
        problems.append((_BEARER, None, "can't be combined with OAUTHBEARER; remove one of the two"))
    if bearer == "STATIC_TOKEN" and not values[_BEARER]:
        problems.append((_BEARER, None, "is required by bearer.auth.credentials.source=STATIC_TOKEN"))
    if bearer == "OAUTHBEARER":
        problems += [(name, None, "is required by OAUTHBEARER") for name in _OAUTH if not values[name]]
    else:
        problems += [
            (name, None, "has no effect; set bearer.auth.credentials.source=OAUTHBEARER too")
            for name in _OAUTH
            if values[name]
        ]
    if (values[_BEARER] or bearer) and (has_info or any(urlsplit(url).username for url in _urls(values))):
        problems.append((_BEARER, None, "can't be combined with a user and password; remove one of the two"))
    for store in ("truststore", "keystore"):
        location, kind = f"schema.registry.ssl.{store}.location", f"schema.registry.ssl.{store}.type"
        if values[location] and not values[kind]:
            problems.append((kind, None, "must be PEM: Java key stores are not read for registries; export a PEM file"))
    return problems


def registry_options(values: Mapping[str, Any]) -> RegistryOptions:
    """Return the connection. User and password of a URL are taken out of it."""
    auth: Authentication = "none"
    user = secret = ""
    urls = []
    for url in _urls(values):
        parts = urlsplit(url)
        if parts.username and not user:
            auth, user, secret = "basic", unquote(parts.username), unquote(parts.password or "")
        urls.append(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])))
    if values["basic.auth.credentials.source"] == "USER_INFO":
        auth = "basic"
        user, _, secret = values[_BASIC].partition(":")
    if values[_BEARER]:
        auth, secret = "bearer", values[_BEARER]
    if values["bearer.auth.credentials.source"] == "OAUTHBEARER":
        auth, user, secret = "oauth", values["bearer.auth.client.id"], values["bearer.auth.client.secret"]
    return RegistryOptions(
        url=",".join(urls),
        ca_file=values["schema.registry.ssl.truststore.location"],
        certificate_file=values["schema.registry.ssl.keystore.location"],
        key_password=values["schema.registry.ssl.key.password"],
        auth=auth,
        user=user,
        secret=secret,
        token_url=values["bearer.auth.issuer.endpoint.url"],
        scope=values["bearer.auth.scope"],
        logical_cluster=values["bearer.auth.logical.cluster"],
        identity_pool=values["bearer.auth.identity.pool.id"],
        timeout_s=values["http.read.timeout.ms"] / 1000,
        unavailable_s=_UNAVAILABLE_S,
    )


def _urls(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(values["schema.registry.url"] or ())
