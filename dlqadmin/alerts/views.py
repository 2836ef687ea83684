"""REST views of alert rules and alerts. No GET changes anything: mail scanners open the links of messages."""

from __future__ import annotations

from django.db import IntegrityError
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.alerts import firings, queries, rules
from dlqadmin.alerts.documents import (
    AlertDocument,
    AlertPage,
    AlertPreview,
    AlertRuleDocument,
    AlertRuleList,
    AlertTemplates,
    TestsQueued,
    alert_document,
    preview_document,
    templates_document,
)
from dlqadmin.alerts.models import AlertRule, FiringState
from dlqadmin.alerts.preview import preview
from dlqadmin.alerts.requests import RuleBody, UntilBody
from dlqadmin.audit.permissions import OPERATE, IsViewerOrOperator, reach_of, requires
from dlqadmin.rest.idempotency import IDEMPOTENCY, made_by, once
from dlqadmin.rest.requests import actor, checked

ALERT_FILTERS = [
    OpenApiParameter("state", str, enum=FiringState.values),
    OpenApiParameter("rule", int, description="The id of a rule."),
    OpenApiParameter("team", int, description="The id of a team."),
    OpenApiParameter("subject", str, description="The kind and key of a subject, such as `group:17`."),
    OpenApiParameter("cursor", str, description="`next` of the page before."),
    OpenApiParameter("limit", int, description="1 to 500; default 50."),
]
Operates = requires(OPERATE)  # on a read-only cluster too: a rule writes nothing to Kafka


class AlertRulesView(APIView):
    """The alert rules."""

    permission_classes = (IsViewerOrOperator,)

    @extend_schema(operation_id="alert_rules_list", responses=AlertRuleList)
    def get(self, request: Request) -> Response:
        """Return the rules in reach, with the number of rules in each state."""
        return Response(queries.listed(timezone.now()))

    @extend_schema(
        operation_id="alert_rules_create",
        parameters=[IDEMPOTENCY],
        request=RuleBody,
        responses={200: AlertRuleDocument, 201: AlertRuleDocument},
    )
    def post(self, request: Request) -> Response:
        """Create a rule. The same Idempotency-Key returns the same rule."""
        asked_once = once(request)
        if known := made_by(AlertRule, asked_once):
            return _rule_response(known)
        body = checked(RuleBody, request)
        try:
            made = rules.create(body, actor(request), asked_once, timezone.now())
        except IntegrityError:
            if known := made_by(AlertRule, asked_once):  # the same request arrived twice concurrently
                return _rule_response(known)
            raise
        return _rule_response(made, 201)


class AlertRuleView(APIView):
    """One alert rule."""

    permission_classes = (IsViewerOrOperator,)

    @extend_schema(operation_id="alert_rules_retrieve", responses=AlertRuleDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return a rule."""
        return _rule_response(queries.find(pk))

    @extend_schema(operation_id="alert_rules_replace", request=RuleBody, responses=AlertRuleDocument)
    def put(self, request: Request, pk: int) -> Response:
        """Replace a rule. If it looks for something else then, events from before the change are not told."""
        body = checked(RuleBody, request)
        return _rule_response(rules.replace(queries.find(pk), body, actor(request), timezone.now()))

    @extend_schema(operation_id="alert_rules_destroy", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a rule. Its alerts end, and stay in the list of alerts."""
        rules.delete(queries.find(pk), actor(request), timezone.now())
        return Response(status=204)


class AlertRuleMuteView(APIView):
    """The mute of a rule."""

    permission_classes = (Operates,)

    @extend_schema(operation_id="alert_rules_mute", request=UntilBody, responses=AlertRuleDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Tell nobody until a time, at most 90 days. Alerts are still recorded."""
        rule, now = queries.find(pk), timezone.now()
        rules.mute([rule], checked(UntilBody, request)["until"], actor(request), now)
        return _rule_response(rule)


class AlertRuleUnmuteView(APIView):
    """The end of the mute of a rule."""

    permission_classes = (Operates,)

    @extend_schema(operation_id="alert_rules_unmute", request=None, responses=AlertRuleDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Tell the channels again. Alerts that still last are told now."""
        rule = queries.find(pk)
        rules.unmute(rule, actor(request))
        return _rule_response(rule)


class AlertRulesMuteView(APIView):
    """The mute of all rules."""

    permission_classes = (Operates,)

    @extend_schema(operation_id="alert_rules_mute_all", request=UntilBody, responses=AlertRuleList)
    def post(self, request: Request) -> Response:
        """Mute all rules that the user may operate."""
        now = timezone.now()
        rules.mute(list(queries.rules()), checked(UntilBody, request)["until"], actor(request), now)
        return Response(queries.listed(now))


class AlertRuleTestView(APIView):
    """A test of a rule's channels."""

    permission_classes = (Operates,)

    @extend_schema(operation_id="alert_rules_test", request=None, responses=TestsQueued)
    def post(self, request: Request, pk: int) -> Response:
        """Send a message that is marked as a test to all channels of the rule."""
        return Response(TestsQueued(channels=rules.send_test(queries.find(pk), actor(request))))


class AlertTemplatesView(APIView):
    """Templates of rules."""

    @extend_schema(operation_id="alert_rules_templates", responses=AlertTemplates)
    def get(self, request: Request) -> Response:
        """Return rules to begin with, the kinds of conditions with their fields, and the teams of possible rules."""
        reach = reach_of(request.user, OPERATE)
        return Response(templates_document(queries.teams_in(reach), everything=not reach.is_limited))


class AlertPreviewView(APIView):
    """A preview of a rule."""

    permission_classes = (Operates,)

    @extend_schema(operation_id="alerts_preview", request=RuleBody, responses=AlertPreview)
    def post(self, request: Request) -> Response:
        """Return when an unsaved rule would have fired in the last seven days. Nothing is stored or sent."""
        body, now = checked(RuleBody, request), timezone.now()
        rule = rules.draft(body, actor(request), now)
        return Response(preview_document(preview(rule, now), rule, body["tells"]))


class AlertsView(APIView):
    """The alerts: firings of rules."""

    @extend_schema(operation_id="alerts_list", parameters=ALERT_FILTERS, responses=AlertPage)
    def get(self, request: Request) -> Response:
        """Return alerts, newest first."""
        rows, following = firings.page(request.query_params)
        return Response(AlertPage(results=[alert_document(row) for row in rows], next=following))


class AlertView(APIView):
    """One alert."""

    @extend_schema(operation_id="alerts_retrieve", responses=AlertDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return an alert."""
        return Response(alert_document(firings.find(pk)))


class AlertAcknowledgeView(APIView):
    """The acknowledgement of an alert."""

    permission_classes = (Operates,)

    @extend_schema(operation_id="alerts_acknowledge", request=None, responses=AlertDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Stop the escalation and the repeats. The alert lasts until its condition ends."""
        return Response(alert_document(firings.acknowledge(firings.find(pk), actor(request), timezone.now())))


class AlertSnoozeView(APIView):
    """The snooze of an alert."""

    permission_classes = (Operates,)

    @extend_schema(operation_id="alerts_snooze", request=UntilBody, responses=AlertDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Send no repeats until a time, at most 30 days."""
        until = checked(UntilBody, request)["until"]
        return Response(alert_document(firings.snooze(firings.find(pk), until, actor(request), timezone.now())))


def _rule_response(rule: AlertRule, status: int = 200) -> Response:
    [document] = queries.described([queries.find(rule.pk)], timezone.now())
    return Response(document, status=status)
