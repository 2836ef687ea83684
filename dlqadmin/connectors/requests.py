"""The body of a request to control a connector."""

from rest_framework import serializers

from dlqadmin.rest.documents import Form


class ControlBody(Form):
    """The operator's reason, for the audit trail."""

    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)
