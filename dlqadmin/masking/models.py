"""Masking rules: which fields of which topics are shown masked, and to whom they are not."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class MaskedField(models.TextChoices):
    """The way in which a rule names the content to mask.

    - JSON_PATH: members of the value, such as `$.contact.phone`; of the key with the prefix `key.`.
    - HEADER: the exact name of a header.
    - EXPRESSION: each match of a regular expression in the value, the key, headers and error messages.
    """

    JSON_PATH = "json path"
    HEADER = "header"
    EXPRESSION = "regular expression"


class MaskedShape(models.TextChoices):
    """The text that is shown instead: `***0142`, a keyed hash such as `sha256:4be1…07c2`, or `***`."""

    LAST_FOUR = "last four"
    HASH = "hash"
    NOTHING = "nothing"


class MaskingRule(models.Model):
    """A field that is masked for everybody except people with one of some roles.

    - `topics`: patterns, compared with the topic of a dead letter and with the topic of its origin.
    - `except_roles`: `{"team": id or null, "role": name}`. Null stands for the global role.
    """

    topics = models.JSONField(default=list)
    kind = models.CharField(max_length=20, choices=MaskedField)
    field = models.CharField(max_length=500)
    show = models.CharField(max_length=10, choices=MaskedShape)
    except_roles = models.JSONField(default=list)
    reason = models.CharField(max_length=500)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    is_active = models.BooleanField(default=True)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"M-{self.pk}"
