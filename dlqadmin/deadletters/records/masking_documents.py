"""Masking rules as API documents, and the bodies of requests about them."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.masking.models import MaskedField, MaskedShape, MaskingRule
from dlqadmin.rest.documents import Document, Form, Time
from dlqadmin.rest.fields import BoundedListField, IdField
from dlqadmin.rest.times import iso
from dlqadmin.teams.models import TeamRoleName
from dlqadmin.teams.patterns import MAX_LENGTH

MAX_TOPICS, MAX_ROLES, MAX_FIELD, MAX_REASON = 100, 50, 500, 500


class ExceptedRole(Document):
    """A role whose holders see the field. `team` is null for the global role."""

    team: int | None
    role: TeamRoleName


class MaskingRuleDocument(Document):
    """A field of some topics that is masked for everybody without one of the excepted roles.

    - `topics` are patterns, compared with the topic of a dead letter and the topic of its origin.
    - `field` is a JSON path, in the key with the prefix `key.`; the exact name of a header; or a regular expression.
    - `editable`: you may replace and delete the rule.
    """

    id: int
    topics: list[str]
    kind: MaskedField
    field: str
    show: MaskedShape
    except_roles: list[ExceptedRole]
    reason: str
    active: bool
    created_by: str | None
    created_at: Time
    editable: bool


class MaskingRuleList(Document):
    """The masking rules that you may see, the oldest first."""

    results: list[MaskingRuleDocument]


class MaskedExample(Document):
    """A value before and after. `before` is null if you may not read it, `after` if it is hidden as a whole."""

    dead_letter: int
    before: str | None
    after: str | None


class MaskingPreview(Document):
    """The effect of a rule on the newest records of a topic.

    - `of` is the number of records that were looked at. Each is `masked`, `without_path` or `hidden_whole`.
    - `excepted`: the person has an excepted role, so nothing is masked for them.
    """

    of: int
    masked: int
    without_path: int
    hidden_whole: int
    excepted: bool
    example: MaskedExample | None


class RevealedField(Document):
    """Content that is masked for you otherwise. `text` is null if the bytes are not UTF-8, both are for null."""

    base64: str | None
    text: str | None


class RevealedDocument(Document):
    """The content that was revealed once: one row for each value that the path or the header name leads to."""

    results: list[RevealedField]


class RoleBody(Form):
    """A role whose holders see the field."""

    team = IdField(allow_null=True)
    role = serializers.ChoiceField(TeamRoleName.choices)


class MaskingRuleBody(Form):
    """A masking rule."""

    topics = BoundedListField(child=serializers.CharField(max_length=MAX_LENGTH), min_length=1, max_length=MAX_TOPICS)
    kind = serializers.ChoiceField(MaskedField.choices)
    field = serializers.CharField(max_length=MAX_FIELD)
    show = serializers.ChoiceField(MaskedShape.choices)
    except_roles = BoundedListField(child=RoleBody(), max_length=MAX_ROLES, default=list)
    reason = serializers.CharField(max_length=MAX_REASON)
    active = serializers.BooleanField(default=True)


class PreviewBody(Form):
    """An unsaved rule, and a topic and a person to try it on. `index` counts the records from the newest on."""

    rule = MaskingRuleBody()
    topic = serializers.CharField(max_length=249)
    person = serializers.CharField(max_length=150, required=False, allow_null=True, default=None)
    index = serializers.IntegerField(min_value=0, max_value=199, default=0)


class RevealBody(Form):
    """The content to reveal, and the reason. `path` is a JSON path in the key or value, `header` a header's name."""

    part = serializers.ChoiceField(["key", "value", "header"])
    path = serializers.CharField(max_length=MAX_FIELD, required=False, allow_null=True, default=None)
    header = serializers.CharField(max_length=500, required=False, allow_null=True, default=None)
    reason = serializers.CharField(min_length=5, max_length=MAX_REASON)


def rule_document(row: MaskingRule, *, editable: bool) -> MaskingRuleDocument:
    """Return a rule for the API. `created_by` must be loaded."""
    return MaskingRuleDocument(
        id=row.pk,
        topics=row.topics,
        kind=MaskedField(row.kind),
        field=row.field,
        show=MaskedShape(row.show),
        except_roles=[ExceptedRole(one["team"], TeamRoleName(one["role"])) for one in row.except_roles],
        reason=row.reason,
        active=row.is_active,
        created_by=row.created_by.get_username() if row.created_by else None,
        created_at=iso(row.created_at),
        editable=editable,
    )
