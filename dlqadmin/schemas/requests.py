"""The body of a request to configure a registry."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.rest.documents import Form
from dlqadmin.schemas.registries import AUTHENTICATIONS


class RegistryBody(Form):
    """The settings of a cluster's registry. `secret` is the name of an entry of SCHEMA_REGISTRY_SECRETS."""

    name = serializers.CharField(max_length=64)
    url = serializers.CharField(max_length=500)
    ca_file = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    auth = serializers.ChoiceField(AUTHENTICATIONS, required=False, default="none")
    user = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    secret = serializers.CharField(max_length=64, required=False, allow_blank=True, default="")
    token_url = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    scope = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
