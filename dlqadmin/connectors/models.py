"""The last good answers of the engine, so that its absence leaves something to show."""

from django.db import models


class EngineAnswer(models.Model):
    """What the engine last said at one address, and when."""

    address = models.CharField(max_length=300, unique=True)
    body = models.JSONField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.address} at {self.at:%Y-%m-%d %H:%M:%S}"
