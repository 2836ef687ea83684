"""The bodies of requests to configure a cluster, and to index a topic or exclude it."""

from rest_framework import serializers

from dlqadmin.broker.cluster_settings import COLOURS
from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField


class ClusterBody(Form):
    """The settings of a cluster. `secret` is the name of an entry of KAFKA_CLUSTER_SECRETS.

    Without `dead_letter_topics`, names and regular expressions, replays only write to the cluster.
    """

    bootstrap_servers = serializers.CharField(max_length=1000)
    security_protocol = serializers.ChoiceField(
        ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], required=False, default="PLAINTEXT"
    )
    sasl_mechanism = serializers.ChoiceField(
        ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], required=False, allow_blank=True, default=""
    )
    user = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    secret = serializers.CharField(max_length=64, required=False, allow_blank=True, default="")
    ca_file = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    certificate_file = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    key_file = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    dead_letter_topics = BoundedListField(
        child=serializers.CharField(max_length=249), max_length=100, required=False, default=list
    )
    is_read_only = serializers.BooleanField(required=False, default=False)
    is_enabled = serializers.BooleanField(required=False, default=True)
    environment = serializers.CharField(max_length=40, required=False, allow_blank=True, default="")
    colour = serializers.ChoiceField(COLOURS, required=False, allow_blank=True, default="")


class TopicRuleBody(Form):
    """The new state of the topic, and the reason for the audit trail. `default` leaves it to DLQ_TOPICS."""

    rule = serializers.ChoiceField(["added", "excluded", "default"])
    reason = serializers.CharField(max_length=1000)
