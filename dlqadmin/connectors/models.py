"""The last good responses of the Connect clusters, which are shown while a cluster is unreachable."""

from django.db import models


class EngineAnswer(models.Model):
    """The last list of connectors of one Connect cluster, with its time.

    `software` is what the cluster runs, empty if its response did not tell. See `cluster_responses.Software`.
    """

    cluster = models.CharField(max_length=50, unique=True)
    software = models.CharField(max_length=20, default="")
    version = models.CharField(max_length=100, default="")
    body = models.JSONField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.cluster} at {self.at:%Y-%m-%d %H:%M:%S}"
