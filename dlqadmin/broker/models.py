"""Kafka clusters that administrators configured, beside those of the environment."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class ConfiguredCluster(models.Model):
    """A Kafka cluster. `secret` is the name of an entry of KAFKA_CLUSTER_SECRETS, never a secret itself.

    `dead_letter_topics` are the names and regular expressions that its indexer reads. Without any, replays only write
    to the cluster.
    """

    name = models.CharField(max_length=64, unique=True)
    bootstrap_servers = models.CharField(max_length=1000)
    security_protocol = models.CharField(max_length=14, default="PLAINTEXT")
    sasl_mechanism = models.CharField(max_length=20, blank=True)
    user = models.CharField(max_length=200, blank=True)
    secret = models.CharField(max_length=64, blank=True)
    ca_file = models.CharField(max_length=500, blank=True)
    certificate_file = models.CharField(max_length=500, blank=True)
    key_file = models.CharField(max_length=500, blank=True)
    dead_letter_topics = models.JSONField(default=list)
    is_read_only = models.BooleanField(default=False)
    is_enabled = models.BooleanField(default=True)
    environment = models.CharField(max_length=40, blank=True)
    colour = models.CharField(max_length=10, blank=True)
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "Kafka cluster"

    def __str__(self) -> str:
        return self.name
