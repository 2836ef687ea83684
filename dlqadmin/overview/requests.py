"""The body of a request to dismiss a finding."""

from rest_framework import serializers

from dlqadmin.rest.documents import Form


class DismissalBody(Form):
    """The reason, and the end of the dismissal; null: until the finding changes."""

    reason = serializers.CharField(max_length=1000)
    until = serializers.DateTimeField(allow_null=True)
