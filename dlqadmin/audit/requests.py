"""The body of a sign-in."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.rest.documents import Form


class SignInBody(Form):
    """A user name and a password."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)
