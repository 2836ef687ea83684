"""The bodies of requests about channels."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.notifications.models import ChannelKind
from dlqadmin.rest.documents import Form

MAX_TARGET = 2000
TARGET = (
    "A webhook's URL, e-mail addresses separated by commas, or a URL of Apprise such as `slack://…`. It is stored "
    "encrypted and never returned."
)


class ChannelBody(Form):
    """A new channel."""

    name = serializers.CharField(max_length=100)
    kind = serializers.ChoiceField(choices=ChannelKind.choices)
    target = serializers.CharField(max_length=MAX_TARGET, help_text=TARGET, write_only=True)


class ChannelReplacement(ChannelBody):
    """The new name and target of a channel. Without `target` the former one stays."""

    target = serializers.CharField(
        max_length=MAX_TARGET, help_text=TARGET, write_only=True, required=False, default="", allow_blank=True
    )
