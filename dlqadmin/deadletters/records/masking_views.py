"""REST views of masking rules, their preview, and fields that are revealed once."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import IsExporter, is_administrator
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import as_base64_and_text, reader_of
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.deadletters.records.masking_documents import (
    MaskedExample,
    MaskingPreview,
    MaskingRuleBody,
    MaskingRuleDocument,
    MaskingRuleList,
    PreviewBody,
    RevealBody,
    RevealedDocument,
    RevealedField,
    rule_document,
)
from dlqadmin.deadletters.records.views import find
from dlqadmin.masking.json_paths import BadPath, matches, parse
from dlqadmin.masking.json_spans import NotJson, read
from dlqadmin.masking.masks import HiddenWhole, RecordMasks, check
from dlqadmin.masking.models import MaskedField, MaskingRule
from dlqadmin.masking.rules import is_excepted, topic_mask
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.rest.requests import actor, checked
from dlqadmin.teams.models import Team, TeamRoleName
from dlqadmin.teams.patterns import owns
from dlqadmin.teams.reach import EVERYTHING, Reach, of_teams, set_reach, teams_with_roles
from engine.record.record import Headers

MOST_RULES = 500
NEWEST = 200
BUDGET_S = 2.0
MAX_SHOWN = 64 * 1024


class IsMaskingAdministrator(BasePermission):
    """Permission to change masking rules: administrators, and the admins of teams for their own topics."""

    message = "This needs an administrator, or the role admin in a team."

    def has_permission(self, request: Request, view: Any) -> bool:
        reach = _administered(request.user)
        set_reach(request, reach)
        return not reach.is_limited or bool(reach.teams)


class MaskingRuleListing(APIView):
    """Masking rules."""

    permission_classes = (IsMaskingAdministrator,)  # on a read-only cluster too: a rule changes what is shown

    @extend_schema(operation_id="masking_rules_list", responses=MaskingRuleList)
    def get(self, request: Request) -> Response:
        """Return the rules. The admin of a team gets those for topics of the team."""
        rows = MaskingRule.objects.select_related("created_by")
        shown = [
            rule_document(row, editable=_may_change(request.user, row)) for row in rows if _owns(request.user, row)
        ]
        return Response(MaskingRuleList(results=shown))

    @extend_schema(operation_id="masking_rules_create", request=MaskingRuleBody, responses={201: MaskingRuleDocument})
    def post(self, request: Request) -> Response:
        """Add a rule. It holds from the next request on."""
        if MaskingRule.objects.count() >= MOST_RULES:
            raise StateConflict(f"There are {MOST_RULES} masking rules, the maximum. Delete one first.")
        now = timezone.now()
        made = _rule(MaskingRule(created_by=actor(request), created_at=now, changed_at=now), request.data, request.user)
        with transaction.atomic():
            made.save()
            record(request.user, "created", "masking rule", str(made), _detail(made))
        return Response(rule_document(made, editable=True), status=201)


class OneMaskingRule(APIView):
    """One masking rule."""

    permission_classes = (IsMaskingAdministrator,)

    @extend_schema(operation_id="masking_rules_replace", request=MaskingRuleBody, responses=MaskingRuleDocument)
    def put(self, request: Request, pk: int) -> Response:
        """Replace a rule."""
        row = _changeable(request, pk)
        before = _detail(row)
        _rule(row, request.data, request.user)
        row.changed_at = timezone.now()
        with transaction.atomic():
            row.save()
            record(request.user, "changed", "masking rule", str(row), {**_detail(row), "before": before})
        return Response(rule_document(row, editable=True))

    @extend_schema(operation_id="masking_rules_delete", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> HttpResponse:
        """Delete a rule. What it masked is shown from the next request on."""
        row = _changeable(request, pk)
        with transaction.atomic():
            record(request.user, "deleted", "masking rule", str(row), _detail(row))
            row.delete()
        return Response(status=204)


class MaskingRulePreview(APIView):
    """A masking rule on trial."""

    permission_classes = (IsMaskingAdministrator,)

    @extend_schema(operation_id="masking_rules_preview", request=PreviewBody, responses=MaskingPreview)
    def post(self, request: Request) -> Response:
        """Try an unsaved rule on the newest 200 dead letters of a topic, and show one before and after.

        It stops after two seconds. Nothing is stored.
        """
        body = checked(PreviewBody, request)
        rule = _rule(MaskingRule(), body["rule"], request.user)
        person = User.objects.filter(username=body["person"]).first() if body["person"] else None
        if body["person"] and person is None:
            raise ParameterError("person", "does not exist")
        return Response(_preview(rule, body, person, request))


class DeadLetterReveal(APIView):
    """Masked fields of one dead letter, revealed once."""

    permission_classes = (IsExporter,)  # the roles operator and payload reader; on a read-only cluster too

    @extend_schema(operation_id="dead_letters_reveal", request=RevealBody, responses=RevealedDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Return content without masks. The audit trail keeps the reason and what was revealed, not the content."""
        body, row = checked(RevealBody, request), find(pk, "body")
        if not reader_of(request.user).of(row).may_read:
            raise Http404("There is no dead letter with this id.")
        found = _revealed(row, body)
        detail = {name: body[name] for name in ("part", "path", "header", "reason") if body[name]}
        record(request.user, "revealed", "dead letter", str(row), {"id": row.pk, **detail})
        fields = [RevealedField(**as_base64_and_text(one)) for one in found]
        return Response(RevealedDocument(results=fields), headers={"Cache-Control": "no-store"})


def _administered(user: Any) -> Reach:
    if is_administrator(user):
        return EVERYTHING
    if not isinstance(user, User) or not user.is_active or hasattr(user, "token_scopes"):
        return of_teams(frozenset())  # no scope of an API token covers administration
    return of_teams(teams_with_roles(user, (TeamRoleName.ADMIN,)))


def _owns(user: Any, row: MaskingRule) -> bool:
    """Return whether the rule is for topics that this administrator is responsible for, and for no other."""
    reach = _administered(user)
    return not reach.is_limited or all(_is_own(topic, reach) for topic in row.topics)


def _is_own(topic: str, reach: Reach) -> bool:
    return topic in reach.topics or ("*" not in topic and owns(reach.topics, settings.CLUSTER, topic))


def _may_change(user: Any, row: MaskingRule) -> bool:
    """Return whether the person may change the rule. The admin of a team may not change an administrator's."""
    made_by_administrator = row.created_by is None or row.created_by.is_superuser
    return _owns(user, row) and (is_administrator(user) or not made_by_administrator)


def _changeable(request: Request, pk: int) -> MaskingRule:
    row = MaskingRule.objects.select_related("created_by").filter(pk=pk).first() if pk <= MAX_ID else None
    if row is None or not _owns(request.user, row):
        raise Http404("There is no masking rule with this id.")
    if not _may_change(request.user, row):
        raise PermissionDenied("An administrator made this rule, so only administrators can change it.")
    return row


def _rule(row: MaskingRule, data: Any, user: Any) -> MaskingRule:
    """Fill an unsaved rule from a body. Raises ParameterError and PermissionDenied."""
    form = MaskingRuleBody(data=data)
    form.is_valid(raise_exception=True)
    body = form.validated_data
    try:
        check(body["kind"], body["field"])
    except HiddenWhole as error:
        raise ParameterError("field", str(error)) from None
    row.topics, row.kind, row.field, row.show = body["topics"], body["kind"], body["field"], body["show"]
    row.except_roles, row.reason, row.is_active = (
        [dict(one) for one in body["except_roles"]],
        body["reason"],
        body["active"],
    )
    _require_own_topics(row, _administered(user))
    _require_own_exceptions(row, _administered(user))
    return row


def _require_own_topics(row: MaskingRule, reach: Reach) -> None:
    if reach.is_limited and (other := [topic for topic in row.topics if not _is_own(topic, reach)]):
        raise PermissionDenied(f"No team that you administer owns the topics {other[0]}. Ask an administrator.")


def _require_own_exceptions(row: MaskingRule, reach: Reach) -> None:
    """Raise PermissionDenied for a role that the admin of a team cannot except, ParameterError for no team."""
    teams = {one["team"] for one in row.except_roles} - {None}
    if reach.teams is None:
        if unknown := teams - set(Team.objects.filter(pk__in=teams).values_list("pk", flat=True)):
            raise ParameterError("except_roles", f"there is no team {min(unknown)}")
        return
    if teams - reach.teams:
        raise PermissionDenied("You can except roles only in teams that you administer.")
    if any(one["team"] is None for one in row.except_roles):
        raise PermissionDenied("Only administrators can except roles that hold for all teams.")


def _detail(row: MaskingRule) -> dict[str, Any]:
    names = ("topics", "kind", "field", "show", "except_roles", "reason", "is_active")
    return {name: getattr(row, name) for name in names}


def _preview(rule: MaskingRule, body: dict[str, Any], person: User | None, request: Request) -> MaskingPreview:
    ends, reader, masks = time.monotonic() + BUDGET_S, reader_of(request.user), RecordMasks((topic_mask(rule).mask,))
    rows = DeadLetter.objects.filter(cluster=settings.CLUSTER, topic=body["topic"]).select_related("body")
    counts, example, of = {"masked": 0, "without_path": 0, "hidden_whole": 0}, None, 0
    excepted = person is not None and is_excepted(person, rule.except_roles)
    for index, row in enumerate(rows.order_by("-failed_at", "-pk")[:NEWEST].iterator(chunk_size=20)):
        if time.monotonic() > ends:
            break
        of += 1
        own = reader.of(row)
        effect, after = _effect(row, masks, own.masks)
        counts[effect] += 1
        if index == body["index"]:
            before = own.part("value", as_bytes(row.body.value))
            shown = None if before is None else before if excepted else after
            example = MaskedExample(dead_letter=row.pk, before=_text(before), after=_text(shown))
            own.note("dead letter", str(row), {"id": row.pk, "what": "preview of a masking rule"})
    return MaskingPreview(of=of, excepted=excepted, example=example, **counts)


def _effect(row: DeadLetter, rule: RecordMasks, own: RecordMasks | None) -> tuple[str, bytes | None]:
    """Return what the rule does to a record, and the value that it leaves. `own` are the masks for the reader.

    What the reader does not see stays masked, and an expression is not tried on it: the counts would answer a guess.
    """
    record_parts = as_bytes(row.body.key), as_bytes(row.body.value), unpack_headers(bytes(row.body.headers))
    is_guess = own is not None and rule.fields[0].kind == MaskedField.EXPRESSION
    try:
        before = _masked(own if is_guess else None, *record_parts)
        both = RecordMasks((*own.fields, *rule.fields)) if own is not None else rule
        after = _masked(both if is_guess else rule, *record_parts)
        left = both.value(record_parts[1])
    except HiddenWhole:
        return "hidden_whole", None
    return ("masked" if before != after else "without_path"), left


def _masked(masks: RecordMasks | None, key: bytes | None, value: bytes | None, headers: Headers) -> tuple[Any, ...]:
    """Return the parts of a record with these masks. Raises HiddenWhole."""
    if masks is None:
        return value, key, *(data for _, data in headers)
    secrets = masks.secrets(key, value, headers)
    return masks.value(value), masks.key(key), *(masks.header(name, data, secrets) for name, data in headers)


def _text(data: bytes | None) -> str | None:
    return None if data is None else data[:MAX_SHOWN].decode("utf-8", "replace")


def _revealed(row: DeadLetter, body: dict[str, Any]) -> list[bytes | None]:
    """Return what the request names. Raises ParameterError."""
    if body["part"] == "header":
        headers = unpack_headers(bytes(row.body.headers))
        return [value for name, value in headers if name == body["header"]]
    data = as_bytes(row.body.key if body["part"] == "key" else row.body.value)
    if data is None or not body["path"]:
        return [data]
    try:
        return [data[one.start : one.end] for one in matches(read(data), parse(body["path"]))]
    except (BadPath, NotJson) as error:
        raise ParameterError("path", str(error)) from None
