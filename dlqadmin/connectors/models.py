"""The engine's last good responses, which are shown while the engine is unreachable."""

from django.db import models


class EngineAnswer(models.Model):
    """The engine's last response at one address, with its time."""

    address = models.CharField(max_length=300, unique=True)
    body = models.JSONField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.address} at {self.at:%Y-%m-%d %H:%M:%S}"
