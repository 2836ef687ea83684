"""The Connect clusters of the settings: ENGINE_URL, named `engine`, and those of CONNECT_CLUSTERS.

A cluster runs this project's engine or Java's Kafka Connect; its responses tell which. All of them use the own Kafka
cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings

from dlqadmin.metrics.reporter_names import SPARK, query_reporter
from dlqadmin.teams.reach import current_reach

ENGINE = "engine"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,49}")
_TEXTS = ("url", "token", "token_file", "user", "password", "password_file", "ca_file")


class ConnectorKey(NamedTuple):
    """A connector's cluster and name. Two clusters may have a connector of the same name.

    Guarded Spark queries are in the cluster `spark`, which is no Connect cluster.
    """

    cluster: str
    name: str

    @property
    def is_query(self) -> bool:
        """Return whether it is a Spark query."""
        return self.cluster == SPARK

    @property
    def reporter(self) -> str:
        """Return the name under which its figures are stored."""
        return query_reporter(self.name) if self.is_query else self.name

    def __str__(self) -> str:
        """Return the name in texts. It begins with the cluster, unless that is `engine`."""
        return self.name if self.cluster == ENGINE else f"{self.cluster}/{self.name}"


@dataclass(frozen=True, slots=True)
class ConnectCluster:
    """The addresses and credentials of one Connect cluster. Its credentials go to `urls` only.

    The first address that accepts a connection answers. Files are read for every request.
    """

    name: str
    urls: tuple[str, ...]
    token: str = ""
    token_file: str = ""
    user: str = ""
    password: str = ""
    password_file: str = ""
    ca_file: str = ""

    @property
    def title(self) -> str:
        return title_of(self.name)

    def setting(self, option: str) -> str:
        """Return the name of the setting of an option, as messages show it."""
        return f"ENGINE_{option.upper()}" if self.name == ENGINE else f"CONNECT_CLUSTERS.{self.name}.{option}"


def configured() -> tuple[ConnectCluster, ...]:
    """Return all clusters, `engine` first."""
    others = (_cluster(name, options) for name, options in sorted(settings.CONNECT_CLUSTERS.items()))
    return (*((_engine(),) if settings.ENGINE_URL else ()), *others)


def named(name: str) -> ConnectCluster | None:
    """Return the cluster of this name; None if there is none."""
    return next((cluster for cluster in configured() if cluster.name == name), None)


def is_in_reach(connector: str) -> bool:
    """Return whether the present request may reach the connectors of this name.

    All Connect clusters use the own Kafka cluster. So `cluster/name` in a team's pattern means that cluster, as for
    dead letters, and a team has the connectors of a name in all Connect clusters.
    """
    return current_reach().has_connector(connector, settings.CLUSTER)


def own_engine() -> ConnectCluster:
    """Return the cluster of ENGINE_URL, whose tasks report to this dashboard."""
    return _engine()


def title_of(name: str) -> str:
    """Return the subject of a sentence about a cluster."""
    return "The engine" if name == ENGINE else f"The Connect cluster {name}"


def problems() -> Iterator[str]:
    """Yield a sentence for each problem with CONNECT_CLUSTERS, without secrets."""
    for name, options in settings.CONNECT_CLUSTERS.items():
        if not _NAME.fullmatch(name) or name in (ENGINE, SPARK):
            yield (
                f"CONNECT_CLUSTERS: {name!r} is not a name for a cluster. Write up to 50 letters, digits, '.', '_' "
                f"and '-'; {ENGINE!r} is the cluster of ENGINE_URL, and {SPARK!r} has the Spark queries"
            )
        elif not isinstance(options, dict):
            yield f"CONNECT_CLUSTERS: {name} must be an object with 'url' and other options"
        else:
            yield from _problems(name, options)


def _problems(name: str, options: dict[str, Any]) -> Iterator[str]:
    if unknown := sorted(options.keys() - {*_TEXTS, "urls"}):
        yield f"CONNECT_CLUSTERS: {name} has the unknown option {unknown[0]!r}. Options are {', '.join(_TEXTS)}, urls"
    if wrong := [option for option in _TEXTS if not isinstance(options.get(option, ""), str)]:
        yield f"CONNECT_CLUSTERS: {name}.{wrong[0]} must be text"
        return
    urls = options.get("urls", [])
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        yield f"CONNECT_CLUSTERS: {name}.urls must be a list of addresses"
        return
    if not all(_is_address(url) for url in (options.get("url", ""), *urls)):
        yield f"CONNECT_CLUSTERS: {name} needs 'url', and each address must be like https://connect:8083"
    if options.get("password_file") and not options.get("user"):
        yield f"CONNECT_CLUSTERS: {name}.password_file needs {name}.user"


def _is_address(url: str) -> bool:
    """Return whether it is an HTTP address without credentials."""
    try:
        found = urlsplit(url)
        return found.scheme in ("http", "https") and bool(found.hostname) and "@" not in found.netloc
    except ValueError:
        return False


def _engine() -> ConnectCluster:
    return ConnectCluster(
        name=ENGINE,
        urls=_distinct(settings.ENGINE_URL, settings.ENGINE_URLS),
        token=settings.ENGINE_TOKEN,
        token_file=settings.ENGINE_TOKEN_FILE,
        user=settings.ENGINE_USER,
        password=settings.ENGINE_PASSWORD,
        ca_file=settings.ENGINE_CA_FILE,
    )


def _cluster(name: str, options: dict[str, Any]) -> ConnectCluster:
    texts = {option: str(options.get(option, "")) for option in _TEXTS if option != "url"}
    return ConnectCluster(name=name, urls=_distinct(options["url"], options.get("urls", [])), **texts)


def _distinct(first: str, others: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(url.rstrip("/") for url in (first, *others)))
