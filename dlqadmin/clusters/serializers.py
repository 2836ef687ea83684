"""Serializers of clusters and connection tests."""

from typing import Any

from rest_framework import serializers


class SaslDocument(serializers.Serializer[Any]):
    """The SASL settings of clients. The password is never returned."""

    mechanism = serializers.CharField()
    username = serializers.CharField(allow_null=True)


class CertificateDocument(serializers.Serializer[Any]):
    """The certificate of the clients."""

    subject = serializers.CharField()
    issuer = serializers.CharField()
    expires = serializers.CharField()


class TlsDocument(serializers.Serializer[Any]):
    """The TLS settings of clients. A null `ca` means the CAs that the system trusts."""

    ca = serializers.CharField(allow_null=True)
    checks_host_name = serializers.BooleanField()
    certificate = CertificateDocument(allow_null=True)


class ClusterDocument(serializers.Serializer[Any]):
    """A cluster and its connection settings.

    `environment` and `read_only` are set for the own cluster, and null for others.
    """

    name = serializers.CharField()
    own = serializers.BooleanField()
    environment = serializers.CharField(allow_null=True)
    read_only = serializers.BooleanField(allow_null=True)  # type: ignore[assignment]  # also an attribute of the base
    bootstrap_servers = serializers.ListField(child=serializers.CharField())
    security_protocol = serializers.CharField()
    sasl = SaslDocument(allow_null=True)
    tls = TlsDocument(allow_null=True)
    principal = serializers.CharField()
    trouble = serializers.CharField(allow_blank=True)


class TopicProgress(serializers.Serializer[Any]):
    """The index's progress in a topic, in offsets.

    `rate` is offsets per second, and null until two samples exist.
    """

    topic = serializers.CharField()
    partitions = serializers.IntegerField()
    read = serializers.IntegerField()
    of = serializers.IntegerField()
    records_behind = serializers.IntegerField()
    seconds_behind = serializers.FloatField()
    rate = serializers.FloatField(allow_null=True)
    eta_s = serializers.FloatField(allow_null=True)


class TextBehind(serializers.Serializer[Any]):
    """The distance of the text index behind the list."""

    records_behind = serializers.IntegerField()
    seconds_behind = serializers.FloatField()


class IndexProgress(serializers.Serializer[Any]):
    """The topics that the index follows, its start and its progress.

    `lookalikes` are topics that it does not follow, but that are named like dead letter topics.
    """

    reachable = serializers.BooleanField()
    patterns = serializers.ListField(child=serializers.CharField())
    start = serializers.ChoiceField(choices=["earliest"])
    topics = TopicProgress(many=True)
    lookalikes = serializers.ListField(child=serializers.CharField())
    text = TextBehind()


class ClusterList(serializers.Serializer[Any]):
    """All clusters, the own one first."""

    results = ClusterDocument(many=True)
    index = IndexProgress()


class BrokerAddress(serializers.Serializer[Any]):
    """A broker of the cluster."""

    id = serializers.IntegerField()
    address = serializers.CharField()


class Permission(serializers.Serializer[Any]):
    """A required permission, whether it is granted, and the command that grants it."""

    operations = serializers.ListField(child=serializers.CharField())
    resource = serializers.ChoiceField(choices=["cluster", "topic", "group", "transactional-id"])
    name = serializers.CharField(allow_blank=True)
    prefixed = serializers.BooleanField()
    why = serializers.CharField()
    verdict = serializers.ChoiceField(choices=["ok", "missing", "not_checked"])
    missing = serializers.ListField(child=serializers.CharField())
    note = serializers.CharField(allow_blank=True)
    command = serializers.CharField()


class TestAnswer(serializers.Serializer[Any]):
    """The result of a connection test. `detail` is the client's own message."""

    __test__ = False  # pytest must not collect this class

    reached = serializers.BooleanField()
    kind = serializers.ChoiceField(
        choices=[
            "ok", "configuration", "resolve", "refused", "protocol", "tls", "certificate", "authentication",
            "time_out", "other",
        ]
    )  # fmt: skip
    verdict = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    took_ms = serializers.IntegerField()
    brokers = BrokerAddress(many=True)
    topics = serializers.IntegerField()
    dead_letter_topics = serializers.ListField(child=serializers.CharField())
    principal = serializers.CharField()
    permissions = Permission(many=True)
