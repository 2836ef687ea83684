"""The body of a request to index a topic, or to exclude it."""

from rest_framework import serializers

from dlqadmin.rest.documents import Form


class TopicRuleBody(Form):
    """The new state of the topic, and the reason for the audit trail. `default` leaves it to DLQ_TOPICS."""

    rule = serializers.ChoiceField(["added", "excluded", "default"])
    reason = serializers.CharField(max_length=1000)
