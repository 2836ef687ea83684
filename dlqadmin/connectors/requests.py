"""The bodies of requests to control, configure and delete a connector."""

from rest_framework import serializers

from dlqadmin.rest.documents import Form

MAX_REASON = 1000


class OptionsField(serializers.DictField):
    """A configuration: the options by name, all of them text."""

    child = serializers.CharField(allow_blank=True, trim_whitespace=False)


class ControlBody(Form):
    """The operator's reason, for the audit trail."""

    reason = serializers.CharField(max_length=MAX_REASON, required=False, allow_blank=True)


class RestartBody(ControlBody):
    """The operator's reason, and whether only failed parts restart: the connector and its failed tasks."""

    only_failed = serializers.BooleanField(default=False)


class DeletionBody(Form):
    """The reason to delete the connector, for the audit trail."""

    reason = serializers.CharField(max_length=MAX_REASON)


class NewConnectorBody(Form):
    """A new connector, and the reason for the audit trail."""

    name = serializers.CharField(max_length=200, trim_whitespace=False)
    config = OptionsField(allow_empty=False)
    reason = serializers.CharField(max_length=MAX_REASON)


class ConfigBody(Form):
    """The new configuration, the one that the person saw before, and the reason for the audit trail.

    Masked values that stay as they were shown stand for the stored values.
    """

    config = OptionsField(allow_empty=False)
    opened = OptionsField()
    reason = serializers.CharField(max_length=MAX_REASON)


class ValidationBody(Form):
    """A configuration to validate, and the connector that has the values behind masked ones."""

    config = OptionsField()
    connector = serializers.CharField(max_length=200, required=False, allow_null=True, trim_whitespace=False)
