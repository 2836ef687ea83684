"""Request bodies that several views share."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.rest.documents import Form


class WhyBody(Form):
    """A reason, for the log and the audit trail."""

    reason = serializers.CharField(max_length=2000)


class MaybeWhyBody(Form):
    """An optional reason."""

    reason = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")
