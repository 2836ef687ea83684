"""Schema registries that administrators configured, beside those of the environment."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class ConfiguredRegistry(models.Model):
    """The registry of a cluster. `secret` is the name of an entry of SCHEMA_REGISTRY_SECRETS, never a secret itself."""

    cluster = models.CharField(max_length=64, unique=True)
    name = models.CharField(max_length=64)
    url = models.CharField(max_length=500)
    ca_file = models.CharField(max_length=500, blank=True)
    auth = models.CharField(max_length=10, default="none")
    user = models.CharField(max_length=200, blank=True)
    secret = models.CharField(max_length=64, blank=True)
    token_url = models.CharField(max_length=500, blank=True)
    scope = models.CharField(max_length=500, blank=True)
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "schema registry"
        verbose_name_plural = "schema registries"

    def __str__(self) -> str:
        return f"{self.name} of {self.cluster}"
