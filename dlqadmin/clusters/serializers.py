"""The documents of clusters and of connections on trial."""

from typing import Any

from rest_framework import serializers


class SaslDocument(serializers.Serializer[Any]):
    """How clients sign in; the password is nobody's to see."""

    mechanism = serializers.CharField()
    username = serializers.CharField(allow_null=True)


class CertificateDocument(serializers.Serializer[Any]):
    """The certificate that clients show."""

    subject = serializers.CharField()
    issuer = serializers.CharField()
    expires = serializers.CharField()


class TlsDocument(serializers.Serializer[Any]):
    """How the broker's certificate is checked (`ca` null: by the CAs that the system trusts), and which is shown."""

    ca = serializers.CharField(allow_null=True)
    checks_host_name = serializers.BooleanField()
    certificate = CertificateDocument(allow_null=True)


class ClusterDocument(serializers.Serializer[Any]):
    """A cluster and how clients connect to it. Environment and read-only are the own one's; else null."""

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
    """How far the index has read a topic, in offsets; `rate` is per second, null until it was looked at twice."""

    topic = serializers.CharField()
    partitions = serializers.IntegerField()
    read = serializers.IntegerField()
    of = serializers.IntegerField()
    records_behind = serializers.IntegerField()
    seconds_behind = serializers.FloatField()
    rate = serializers.FloatField(allow_null=True)
    eta_s = serializers.FloatField(allow_null=True)


class TextBehind(serializers.Serializer[Any]):
    """How far words are behind the list."""

    records_behind = serializers.IntegerField()
    seconds_behind = serializers.FloatField()


class IndexProgress(serializers.Serializer[Any]):
    """What the index follows, from where, and how far it is; `lookalikes` are topics it does not follow."""

    reachable = serializers.BooleanField()
    patterns = serializers.ListField(child=serializers.CharField())
    start = serializers.ChoiceField(choices=["earliest"])
    topics = TopicProgress(many=True)
    lookalikes = serializers.ListField(child=serializers.CharField())
    text = TextBehind()


class ClusterList(serializers.Serializer[Any]):
    """Every cluster, the own one first."""

    results = ClusterDocument(many=True)
    index = IndexProgress()


class BrokerAddress(serializers.Serializer[Any]):
    """A broker that was found."""

    id = serializers.IntegerField()
    address = serializers.CharField()


class Permission(serializers.Serializer[Any]):
    """What must be allowed, whether it is, and the line that allows it."""

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
    """How a connection went; `detail` is in the client's own words."""

    __test__ = False  # to pytest

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
