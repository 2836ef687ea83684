"""The columns that the tables of all jobs have."""

from __future__ import annotations

from django.db import models


class Job(models.Model):
    """A row that one worker at a time works on.

    - `claim_token`: the claim of the worker that holds the job. Empty: nobody holds it.
    - `heartbeat`: the last time at which a worker was known to live. Null: the job can be claimed at once.
    - `tries`: tries in a row that stored nothing. A try is counted when it begins, because a killed worker can't count.
    - `trouble`: why the job waits, stopped or was given up, for people.
    """

    claim_token = models.CharField(max_length=64, blank=True)
    heartbeat = models.DateTimeField(null=True, blank=True)
    tries = models.IntegerField(default=0, db_default=0)
    trouble = models.TextField(blank=True)

    class Meta:
        abstract = True
