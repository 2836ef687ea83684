"""Running, pausing, resuming and cancelling a replay over REST."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.replays import controlling, queries
from dlqadmin.replays.bodies import MaybeWhyBody, RateBody, RunBody, actor, checked, replay_of
from dlqadmin.replays.models import ReplayStatus
from dlqadmin.replays.planning.allowed import refusal
from dlqadmin.replays.serializers import ReplaySaid
from dlqadmin.rest.problems import Conflict


class ReplayAct(APIView):
    """Something a person does to a replay."""

    permission_classes = (IsOperator,)


class ReplayRun(ReplayAct):
    """Run a planned replay."""

    @extend_schema(operation_id="replays_run", request=RunBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Send what the plan of this digest says; refused when it is another one by now, or says stop."""
        body, replay = checked(RunBody, request), replay_of(pk)
        if replay.status == ReplayStatus.PLANNED and not replay.plan.get("runnable"):
            stops = [row["title"] for row in replay.plan.get("checks", []) if row["level"] == "stop"]
            raise Conflict(f"The plan can't be run: {'; '.join(stops)}. Check the plan again.")
        if replay.status == ReplayStatus.PLANNED and replay.plan.get("digest") != body["plan_digest"]:
            raise Conflict(controlling.CHANGED)
        if why_not := refusal(replay, actor(request), body["typed"], timezone.now()):
            raise Conflict(why_not)
        said = controlling.run(
            replay, actor(request), body["reason"], body["plan_digest"], timezone.now(),
            resolve_groups=body["resolve_groups"],
        )  # fmt: skip
        return _answer(pk, said)


class ReplayPause(ReplayAct):
    """Pause a running replay."""

    @extend_schema(operation_id="replays_pause", request=None, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Send no more until it is resumed."""
        return _answer(pk, controlling.pause(replay_of(pk), actor(request), timezone.now()))


class ReplayResume(ReplayAct):
    """Resume a paused replay."""

    @extend_schema(operation_id="replays_resume", request=MaybeWhyBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Go on where it was paused; past a canary that did not pass, with a reason."""
        body = checked(MaybeWhyBody, request)
        return _answer(pk, controlling.resume(replay_of(pk), actor(request), timezone.now(), body["reason"]))


class ReplayCancel(ReplayAct):
    """Cancel a replay."""

    @extend_schema(operation_id="replays_cancel", request=MaybeWhyBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Send no more at all; what was sent can't be recalled."""
        body = checked(MaybeWhyBody, request)
        return _answer(pk, controlling.cancel(replay_of(pk), actor(request), body["reason"], timezone.now()))


class ReplayRate(ReplayAct):
    """A replay's speed."""

    @extend_schema(operation_id="replays_rate", request=RateBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Send so many records a second from now on; 0 means no limit."""
        body = checked(RateBody, request)
        return _answer(pk, controlling.set_rate(replay_of(pk), actor(request), body["rate"], timezone.now()))


def _answer(pk: int, said: str) -> Response:
    """The replay as it is after the act, and what the act says of itself."""
    return Response({**queries.documents([replay_of(pk)], plan=True)[0], "said": said})
