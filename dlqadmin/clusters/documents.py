"""The API documents of clusters and connection tests."""

from __future__ import annotations

from typing import Literal

from dlqadmin.broker.connection_test import Kind
from dlqadmin.clusters.required_acls import Verdict
from dlqadmin.overview.documents import TextHealth
from dlqadmin.rest.documents import Document, Time
from engine.config.acls import Resource


class SaslDocument(Document):
    """The SASL settings of clients. The password is never returned."""

    mechanism: str
    username: str | None


class CertificateDocument(Document):
    """The certificate of the clients."""

    subject: str
    issuer: str
    expires: Time


class TlsDocument(Document):
    """The TLS settings of clients. A null `ca` means the CAs that the system trusts."""

    ca: str | None
    checks_host_name: bool
    certificate: CertificateDocument | None


class ClusterDocument(Document):
    """A cluster and its connection settings, without its password.

    - `dead_letter_topics` are the names and patterns that are indexed, as far as they are in reach. Replays only write
      to a cluster that has none; `is_indexed` is false then.
    - `is_fixed`: the environment sets it, so it can't be changed here. `by` and `at` are null then.
    - `secret` is the name of an entry of KAFKA_CLUSTER_SECRETS, or "".
    - `ca_file`, `certificate_file` and `key_file` are files of the dashboard's machine, or "".
    - `trouble` is the reason why the settings can't be used; "" if there is none.
    """

    name: str
    own: bool
    is_fixed: bool
    is_enabled: bool
    is_read_only: bool
    is_indexed: bool
    environment: str
    colour: str
    dead_letter_topics: list[str]
    bootstrap_servers: list[str]
    security_protocol: str
    sasl: SaslDocument | None
    tls: TlsDocument | None
    ca_file: str
    certificate_file: str
    key_file: str
    secret: str
    principal: str
    trouble: str
    by: str | None
    at: Time | None


class TopicReading(Document):
    """The most frequent dialect among the newest `of` dead letters of a topic, and the number of unreadable ones."""

    dialect: str
    of: int
    unreadable: int


class TopicProgress(Document):
    """The index's progress in a topic, in offsets. `reading` is null if the index has no dead letter of the topic.

    `rate` is offsets per second, and null until two samples exist. `eta_s` is null if it is not known, or if no
    indexer has read the topic yet. `pattern` is the one of DLQ_TOPICS that matches the
    topic. It is null for a topic that only an administrator added.
    """

    topic: str
    pattern: str | None
    partitions: int
    read: int
    of: int
    records_behind: int
    seconds_behind: float
    rate: float | None
    eta_s: float | None
    reading: TopicReading | None


class TopicRuleDocument(Document):
    """The decision of an administrator to index a topic, or to exclude it from the index."""

    topic: str
    rule: Literal["added", "excluded"]
    by: str
    at: Time
    reason: str


class IndexProgress(Document):
    """The topics of a cluster that the index follows, its start and its progress.

    `patterns` are those of the cluster's settings, such as DLQ_TOPICS, and `rules` the decisions of administrators,
    which take precedence. `lookalikes` are topics that it does not follow, but that are named like dead letter topics.
    `undecoded` is the number of values that name a schema and are not decoded yet, on all clusters, and
    `undecoded_reason` the most frequent reason.
    """

    cluster: str
    reachable: bool
    patterns: list[str]
    rules: list[TopicRuleDocument]
    start: Literal["earliest"]
    topics: list[TopicProgress]
    lookalikes: list[str]
    text: TextHealth
    undecoded: int
    undecoded_reason: str


class ClusterList(Document):
    """All clusters, the own one first, also those that are disabled.

    `secrets` are the names of the secrets that a cluster may refer to. `colours` are the colours that it may have.
    """

    results: list[ClusterDocument]
    index: IndexProgress
    secrets: list[str]
    colours: list[str]


class BrokerAddress(Document):
    """A broker of the cluster."""

    id: int
    address: str


class RequiredPermission(Document):
    """A required permission, whether it is granted, and the command that grants it."""

    operations: list[str]
    resource: Resource
    name: str
    prefixed: bool
    why: str
    verdict: Verdict
    missing: list[str]
    note: str
    command: str


class ConnectionTestAnswer(Document):
    """The result of a connection test. `detail` is the client's own message."""

    reached: bool
    kind: Kind
    verdict: str
    detail: str
    took_ms: int
    brokers: list[BrokerAddress]
    topics: int
    dead_letter_topics: list[str]
    principal: str
    permissions: list[RequiredPermission]
