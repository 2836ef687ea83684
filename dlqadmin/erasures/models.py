"""The table of erasures."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from dlqadmin.jobs.models import Job


class ErasureState(models.TextChoices):
    """The state of an erasure. A failed one has erased `progress` records; a new one continues with the rest."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Erasure(Job):
    """One decision to erase the content of dead letters, applied slice by slice.

    It never has a key or another content: `key_digest` is an HMAC, and `title` shows content filters without values.

    - `ids`: the dead letters, ascending, as `word_index.pack` packs them. `digest` is that of a selection.
    - `progress`: how many of the ids were handled.
    - `prepared`: a worker has added the letters that were written while it was made, and filled `quoted`.
    - `future`: new dead letters of the key are indexed without content.
    - `counts`: what was erased, by kind.
    - `quoted`: what may quote the content and was not changed, by kind: ids of audit entries, programs and others.
    """

    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    actor_name = models.CharField(max_length=150)  # stays if the account is deleted
    reason = models.TextField()
    title = models.CharField(max_length=300)
    key_digest = models.CharField(max_length=64, blank=True)
    future = models.BooleanField(default=False)
    prepared = models.BooleanField(default=False)
    ids = models.BinaryField()
    count = models.IntegerField()
    digest = models.CharField(max_length=64)
    watermark = models.BigIntegerField()
    progress = models.IntegerField(default=0)
    state = models.CharField(max_length=10, choices=ErasureState, default=ErasureState.RUNNING)
    counts = models.JSONField(default=dict)
    quoted = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=100, null=True, blank=True, unique=True)
    request_digest = models.CharField(max_length=64, blank=True)  # an HMAC: the request body may have the key

    class Meta:
        indexes = [models.Index(fields=["state"], name="erasure_state")]

    def __str__(self) -> str:
        return f"X-{self.pk}"
