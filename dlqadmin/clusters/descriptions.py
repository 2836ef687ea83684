"""Descriptions of clusters: how clients connect, without credentials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.conf import settings

from dlqadmin.broker import cluster_settings, clusters
from dlqadmin.broker.availability import availability
from dlqadmin.broker.cluster_settings import FIELDS, ClusterSettings
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.models import ConfiguredCluster
from dlqadmin.broker.topic_patterns import is_name
from dlqadmin.clusters import index_progress, topic_dialects, topic_rules
from dlqadmin.clusters.client_certificates import Certificate, client_certificate
from dlqadmin.clusters.documents import (
    CertificateDocument,
    ClusterDocument,
    ClusterList,
    IndexProgress,
    SaslDocument,
    TlsDocument,
    TopicProgress,
    TopicReading,
)
from dlqadmin.clusters.index_progress import TopicIndexProgress
from dlqadmin.deadletters.index import decoded_values
from dlqadmin.deadletters.index.followed_topics import followed_topics
from dlqadmin.overview.documents import TextHealth
from dlqadmin.overview.index_lag import index_lag
from dlqadmin.rest.times import iso
from dlqadmin.teams.reach import current_reach
from engine.config.masking import mask_url

ENDPOINT = "ssl.endpoint.identification.algorithm"


def overview(now: datetime) -> ClusterList:
    """Return every cluster, the own one first, and the progress of the index."""
    rows = {row.name: row for row in ConfiguredCluster.objects.all()}
    found = [cluster_settings.own(), *cluster_settings.others().values()]
    return ClusterList(
        results=[cluster(one, None if one.is_fixed else rows.get(one.name)) for one in found],
        index=index(now),
        secrets=sorted(settings.KAFKA_CLUSTER_SECRETS),
        colours=[colour for colour in cluster_settings.COLOURS if colour],
    )


def index(now: datetime) -> IndexProgress:
    """Return the topics of the current cluster's index, the rules about them, and its progress."""
    broker = availability()
    lag = index_lag(now, broker)
    followed = followed_topics()
    waiting = decoded_values.backlog()
    progress = index_progress.progress(lag, broker, followed)
    readings = topic_dialects.readings([row.topic for row in progress])
    topics = [_progress(row, followed.matching_pattern(row.topic), readings.get(row.topic)) for row in progress]
    return IndexProgress(
        cluster=clusters.current(),
        reachable=broker.reachable,
        patterns=_patterns(topics),
        rules=topic_rules.rules(),
        start="earliest",
        topics=topics,
        lookalikes=index_progress.unfollowed_topics(broker, followed),
        text=TextHealth(records_behind=lag.text.records, seconds_behind=round(lag.text.seconds, 1)),
        undecoded=waiting.values,
        undecoded_reason=waiting.reason,
    )


def cluster(one: ClusterSettings, row: ConfiguredCluster | None) -> ClusterDocument:
    """Describe how clients connect to this cluster. `row` tells who configured it."""
    given = one.options
    try:
        options: Mapping[str, object] = clusters.client_options_of(one)
        trouble = ""
    except BrokerUnavailable as error:
        options, trouble = given, str(error)
    protocol = str(options.get("security.protocol", "plaintext")).upper()
    own = one.name == settings.CLUSTER
    return ClusterDocument(
        name=one.name,
        own=own,
        is_fixed=one.is_fixed,
        is_enabled=one.is_enabled,
        is_read_only=one.is_read_only,
        is_indexed=bool(one.dead_letter_topics),
        environment=one.environment,
        colour=one.colour,
        dead_letter_topics=_visible_patterns(one),
        bootstrap_servers=[address.strip() for address in one.servers.split(",")],
        security_protocol=protocol,
        sasl=_sasl(options) if protocol.startswith("SASL") else None,
        tls=_tls(given, options) if protocol.endswith("SSL") else None,
        ca_file=mask_url(given.get(FIELDS["ca_file"], "")),
        certificate_file=given.get(FIELDS["certificate_file"], ""),
        key_file=given.get(FIELDS["key_file"], ""),
        secret=one.secret,
        principal=principal(options),
        trouble=trouble,
        by=row.actor if row else None,
        at=iso(row.at) if row else None,
    )


def principal(options: Mapping[str, object]) -> str:
    """Return the principal of these clients ("User:…"), unless the brokers map names."""
    protocol = str(options.get("security.protocol", "plaintext")).upper()
    if protocol.startswith("SASL"):
        return f"User:{options.get('sasl.username', '<user of the token>')}"
    certificate = client_certificate(options) if protocol == "SSL" else None
    return f"User:{certificate.subject if certificate else 'ANONYMOUS'}"


def _patterns(topics: Iterable[TopicProgress]) -> list[str]:
    """Return the patterns of the cluster's settings; for a limited reach those of its topics: they name topics, too."""
    own = {row.pattern for row in topics}
    return [pattern for pattern in clusters.dead_letter_topics() if pattern in own or not current_reach().is_limited]


def _visible_patterns(one: ClusterSettings) -> list[str]:
    """Return what is indexed of a cluster; for a limited reach its topics only, because patterns name topics too."""
    reach = current_reach()
    patterns = one.dead_letter_topics
    return [text for text in patterns if not reach.is_limited or (is_name(text) and reach.has_topic(text, one.name))]


def _sasl(options: Mapping[str, object]) -> SaslDocument:
    mechanism = options.get("sasl.mechanism") or options.get("sasl.mechanisms") or "GSSAPI"
    username = options.get("sasl.username")
    return SaslDocument(mechanism=str(mechanism), username=None if username is None else str(username))


def _tls(given: Mapping[str, str], options: Mapping[str, object]) -> TlsDocument:
    named = given.get("ssl.ca.location") or given.get("ssl.truststore.location")
    is_text = any(option in given for option in ("ssl.ca.pem", "ssl.truststore.certificates"))
    found = client_certificate(options)
    return TlsDocument(
        ca=mask_url(named) if named else "set as text" if is_text else None,
        checks_host_name=str(options.get(ENDPOINT, "https")).lower() != "none",
        certificate=_certificate(found) if found else None,
    )


def _certificate(one: Certificate) -> CertificateDocument:
    return CertificateDocument(subject=one.subject, issuer=one.issuer, expires=iso(one.expires))


def _progress(row: TopicIndexProgress, pattern: str | None, reading: TopicReading | None) -> TopicProgress:
    return TopicProgress(
        topic=row.topic,
        pattern=pattern,
        partitions=row.partitions,
        read=row.read,
        of=row.of,
        records_behind=row.behind,
        seconds_behind=round(row.seconds, 1),
        rate=None if row.rate is None else round(row.rate, 1),
        eta_s=None if row.eta_s is None else round(row.eta_s, 1),
        reading=reading,
    )
