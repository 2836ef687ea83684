"""The responses of the Connect clusters: the connectors of each, or its last known ones while it is away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal, get_args

from django.utils import timezone

from dlqadmin.connectors import client, connect_clusters
from dlqadmin.connectors.connect_clusters import ENGINE, ConnectCluster, ConnectorKey, is_in_reach, title_of
from dlqadmin.connectors.models import EngineAnswer
from dlqadmin.connectors.secret_options import masked, secret_options
from dlqadmin.connectors.task_documents import document
from dlqadmin.metrics.reporter_names import SPARK
from dlqadmin.rest.text import storable
from dlqadmin.teams.reach import current_reach

SAVED_EVERY = timedelta(seconds=5)
AT_ONCE = 8  # clusters
Software = Literal["dlqadmin", "kafka_connect", "spark"]


@dataclass(frozen=True, slots=True)
class ClusterResponse:
    """A cluster's current response, or its last one if the cluster is unreachable.

    `at` is None if the cluster never answered. `trouble` is a sentence if the cluster refused the dashboard, or if
    the dashboard's settings prevent access. `software` is None if no response told it.

    The reports of Spark queries have the form of a response, too: see `spark_queries.py`.
    """

    reachable: bool
    at: datetime | None
    body: Mapping[str, Any]
    trouble: str | None = None
    cluster: str = ENGINE
    software: Software | None = None
    version: str = ""

    @property
    def title(self) -> str:
        """Return the subject of a sentence about the cluster."""
        return title_of(self.cluster)

    @property
    def sentence(self) -> str:
        """Return why nothing is known of the cluster now."""
        return self.trouble or f"{self.title} does not respond."

    @property
    def has_figures(self) -> bool:
        """Return whether the dashboard has figures of its tasks: those that STATUS_TOPIC has of engine and queries."""
        return not self.is_connect or (self.cluster == ENGINE and self.software != "kafka_connect")

    @property
    def is_connect(self) -> bool:
        """Return whether it is of a Connect cluster, not of the Spark queries."""
        return self.cluster != SPARK

    def connectors(self) -> Iterator[ConnectorKey]:
        """Yield its connectors, sorted by name."""
        return (ConnectorKey(self.cluster, name) for name in sorted(self.body))


@dataclass(frozen=True, slots=True)
class _Read:
    """The answer of one cluster. `error` is set if it did not answer; then the rest is empty."""

    body: dict[str, Any] = field(default_factory=dict)
    software: str = ""
    version: str = ""
    error: Exception | None = None


def fetch_connectors(now: datetime | None = None) -> tuple[ClusterResponse, ...]:
    """Return the connectors in reach of all clusters with masked secrets, the cluster `engine` first.

    All clusters are asked at once. One that is unreachable has its last good response, with its time.
    """
    now = now or timezone.now()
    clusters = connect_clusters.configured()
    kept = {row.cluster: row for row in EngineAnswer.objects.all()}
    asked = [(cluster, _known_software(kept.get(cluster.name), now)) for cluster in clusters]
    if len(clusters) == 1:
        read = [_read(*asked[0])]
    else:
        with ThreadPoolExecutor(max(1, min(AT_ONCE, len(clusters)))) as pool:
            read = list(pool.map(lambda one: _read(*one), asked))
    return tuple(
        _within_reach(_response(cluster, one, kept.get(cluster.name), now))
        for cluster, one in zip(clusters, read, strict=True)
    )


def last_responses() -> list[EngineAnswer]:
    """Return the last good responses of the configured clusters. No request is sent.

    They have all connectors, whatever the present request may reach: the rules of replays need them.
    """
    names = [cluster.name for cluster in connect_clusters.configured()]
    kept = {row.cluster: row for row in EngineAnswer.objects.filter(cluster__in=names)}
    return [kept[name] for name in names if name in kept]


def clusters_with(connector: str) -> list[ConnectCluster]:
    """Return the clusters whose last response has a connector of this name."""
    found = {row.cluster for row in last_responses() if connector in row.body}
    return [cluster for cluster in connect_clusters.configured() if cluster.name in found]


def is_kafka_connect(cluster: ConnectCluster) -> bool:
    """Return whether the cluster runs Java's Kafka Connect. Raises EngineUnavailable or EngineRefused."""
    kept = EngineAnswer.objects.filter(cluster=cluster.name).first()
    software = kept.software if kept and kept.software else _software(client.get(cluster, "/"))[0]
    return software == "kafka_connect"


def of_own_engine(responses: Iterable[ClusterResponse]) -> ClusterResponse | None:
    """Return the response of our engine that reports to this dashboard; None if there is none."""
    return next((response for response in responses if response.has_figures and response.is_connect), None)


def _known_software(kept: EngineAnswer | None, now: datetime) -> tuple[str, str] | None:
    """Return what the cluster runs, as it lately said; None if it must be asked."""
    return (kept.software, kept.version) if kept and now - kept.at <= SAVED_EVERY else None


def _read(cluster: ConnectCluster, known: tuple[str, str] | None) -> _Read:
    """Ask a cluster. It runs in a thread of its own, so it must not use the database."""
    try:
        software, version = known or _software(client.get(cluster, "/"))
        found = client.get(cluster, client.CONNECTORS)
    except (client.EngineUnavailable, client.EngineRefused) as error:
        return _Read(error=error)
    rows = found.items() if isinstance(found, dict) else ()
    is_java = software == "kafka_connect"
    return _Read({str(name): _without_secrets(cluster, row, is_java=is_java) for name, row in rows}, software, version)


def _response(cluster: ConnectCluster, read: _Read, kept: EngineAnswer | None, now: datetime) -> ClusterResponse:
    if read.error is not None:
        return ClusterResponse(
            reachable=False,
            at=kept.at if kept else None,
            body=kept.body if kept else {},
            trouble=_error_sentence(cluster, read.error),
            cluster=cluster.name,
            software=_as_software(kept.software if kept else ""),
            version=kept.version if kept else "",
        )
    body = storable(read.body)
    facts = {"body": body, "software": read.software, "version": read.version}
    if kept is None or now - kept.at > SAVED_EVERY or any(getattr(kept, name) != facts[name] for name in facts):
        EngineAnswer.objects.update_or_create(cluster=cluster.name, defaults={**facts, "at": now})
    return ClusterResponse(
        reachable=True,
        at=now,
        body=body,
        cluster=cluster.name,
        software=_as_software(read.software),
        version=read.version,
    )


def _within_reach(response: ClusterResponse) -> ClusterResponse:
    if not current_reach().is_limited:
        return response
    return replace(response, body={name: row for name, row in response.body.items() if is_in_reach(name)})


def _software(root: Any) -> tuple[str, str]:
    """Return what answers `GET /`, and its version. Our engine names no commit; Java's Kafka Connect always does."""
    if not isinstance(root, dict) or not isinstance(root.get("commit"), str):
        return "", ""
    return "kafka_connect" if root["commit"] else "dlqadmin", storable(str(root.get("version") or ""))[:100]


def _as_software(value: str) -> Software | None:
    return next((one for one in get_args(Software) if one == value), None)


def _error_sentence(cluster: ConnectCluster, error: Exception) -> str | None:
    """Return the trouble as a sentence; None if the cluster is only unreachable.

    The sentence is for people who can change the settings.
    """
    if isinstance(error, client.EngineMisconfigured):
        return error.message
    if isinstance(error, client.EngineRefused):
        return f"{cluster.title} refused with status {error.status}: {error.message}"
    return None


def _without_secrets(cluster: ConnectCluster, row: Any, *, is_java: bool) -> dict[str, Any]:
    """Return a connector's part of the response without secrets. Any part that is not a document becomes empty."""
    info, status = document(row, "info"), document(row, "status")
    config = {str(name): str(value) for name, value in document(info, "config").items()}
    secrets = secret_options(cluster, config) if is_java else frozenset[str]()
    return {"info": {**info, "config": masked(config, secrets)}, "status": status}
