"""The API of a replay's plan: check it again, ask for approval, approve, reject."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsApprover, IsOperator
from dlqadmin.replays.jobs import queries
from dlqadmin.replays.jobs.documents import ReplayDocument, ReplaySaid
from dlqadmin.replays.lookup import replay_of
from dlqadmin.replays.models import ReplayStatus
from dlqadmin.replays.plans import approvals, planner, tasks
from dlqadmin.replays.plans.options import options_of
from dlqadmin.replays.plans.requests import ApproveBody, AskBody, OptionsBody
from dlqadmin.replays.plans.target_reach import check_target
from dlqadmin.replays.requests import WhyBody
from dlqadmin.rest.documents import extend
from dlqadmin.rest.requests import actor, checked


class ReplayPlan(APIView):
    """A replay's plan."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="replays_plan", request=OptionsBody, responses=ReplayDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Check the plan again, with other options if they are given. Nothing is written to Kafka.

        A task checks a large selection. The response then has the status `planning`.
        """
        replay, who = replay_of(pk), actor(request)
        form = OptionsBody(data=request.data)
        form.is_valid(raise_exception=True)
        options = form.options(planner.options_of(replay))
        check_target(replay.selection, options)
        again = planner.check_again(replay, options, who, timezone.now())
        if again.status == ReplayStatus.PLANNING:
            tasks.enqueue(again.pk, who.pk)
        return _answer(pk)


class ReplayAsk(APIView):
    """Ask for approval of a plan."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="replays_ask", request=AskBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Ask a second person to approve the plan with this digest."""
        body = checked(AskBody, request)
        said = approvals.ask(replay_of(pk), actor(request), body["reason"], body["plan_digest"], timezone.now())
        return _answer(pk, said)


class ReplayApprove(APIView):
    """Approve a plan."""

    permission_classes = (IsApprover,)

    @extend_schema(operation_id="replays_approve", request=ApproveBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Approve the plan with this digest, which somebody else asked for."""
        body, replay = checked(ApproveBody, request), replay_of(pk)
        check_target(replay.selection, options_of(replay))
        said = approvals.approve(replay, actor(request), body["reason"], body["plan_digest"], timezone.now())
        return _answer(pk, said)


class ReplayReject(APIView):
    """Reject a plan."""

    permission_classes = (IsApprover,)

    @extend_schema(operation_id="replays_reject", request=WhyBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Reject a request for approval, or withdraw an approval."""
        body = checked(WhyBody, request)
        return _answer(pk, approvals.reject(replay_of(pk), actor(request), body["reason"], timezone.now()))


def _answer(pk: int, said: str | None = None) -> Response:
    """Return the replay after the action, with the action's message."""
    document = queries.document(replay_of(pk))
    return Response(document if said is None else extend(ReplaySaid, document, said=said))
