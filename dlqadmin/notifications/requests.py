"""The bodies of requests about channels."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.notifications.models import ChannelKind
from dlqadmin.rest.documents import Form

MAX_TARGET = 2000
SAMPLES = "Whether messages to this channel may have masked content of records, if an alert rule wants samples."
TARGET = (
    "A webhook's URL, e-mail addresses separated by commas, or a URL of Apprise such as `slack://…`. It is stored "
    "encrypted and never returned."
)


class ChannelBody(Form):
    """A new channel."""

    name = serializers.CharField(max_length=100)
    kind = serializers.ChoiceField(choices=ChannelKind.choices)
    target = serializers.CharField(max_length=MAX_TARGET, help_text=TARGET, write_only=True)
    may_have_samples = serializers.BooleanField(default=False, help_text=SAMPLES)


class ChannelReplacement(ChannelBody):
    """The new name and target of a channel. Without `target` or `may_have_samples` the former one stays."""

    target = serializers.CharField(
        max_length=MAX_TARGET, help_text=TARGET, write_only=True, required=False, default="", allow_blank=True
    )
    may_have_samples = serializers.BooleanField(allow_null=True, default=None, help_text=SAMPLES)
