"""The base class of the documents that the API returns and reads."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

Document = serializers.Serializer[Any]
