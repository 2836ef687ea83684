"""A replay's plan over REST: checked again, and agreed to by a second person."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsApprover, IsOperator
from dlqadmin.replays import queries
from dlqadmin.replays.bodies import ApproveBody, AskBody, OptionsBody, WhyBody, actor, checked, replay_of
from dlqadmin.replays.models import ReplayStatus
from dlqadmin.replays.planning import approving, plans, tasks
from dlqadmin.replays.serializers import ReplayDocument, ReplaySaid


class ReplayPlan(APIView):
    """A replay's plan."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="replays_plan", request=OptionsBody, responses=ReplayDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Check again, with other options if they are given; nothing is written to Kafka.

        A large selection is checked by a task: the answer has the status `planning`.
        """
        replay, who = replay_of(pk), actor(request)
        form = OptionsBody(data=request.data)
        form.is_valid(raise_exception=True)
        options = form.options(plans.options_of(replay))
        again = plans.check_again(replay, options, who, timezone.now())
        if again.status == ReplayStatus.PLANNING:
            tasks.enqueue(again.pk, who.pk)
        return _answer(pk)


class ReplayAsk(APIView):
    """Approval of a plan, asked for."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="replays_ask", request=AskBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Ask a second person to agree to the plan of this digest."""
        body = checked(AskBody, request)
        said = approving.ask(replay_of(pk), actor(request), body["reason"], body["plan_digest"], timezone.now())
        return _answer(pk, said)


class ReplayApprove(APIView):
    """Approval of a plan, given."""

    permission_classes = (IsApprover,)

    @extend_schema(operation_id="replays_approve", request=ApproveBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Agree to the plan of this digest, which somebody else asked for."""
        body = checked(ApproveBody, request)
        said = approving.approve(replay_of(pk), actor(request), body["reason"], body["plan_digest"], timezone.now())
        return _answer(pk, said)


class ReplayReject(APIView):
    """Approval of a plan, refused."""

    permission_classes = (IsApprover,)

    @extend_schema(operation_id="replays_reject", request=WhyBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Refuse what was asked for, or take an approval back."""
        body = checked(WhyBody, request)
        return _answer(pk, approving.reject(replay_of(pk), actor(request), body["reason"], timezone.now()))


def _answer(pk: int, said: str | None = None) -> Response:
    """The replay as it is after the act, and what the act says of itself."""
    document = queries.documents([replay_of(pk)], plan=True)[0]
    return Response(document if said is None else {**document, "said": said})
