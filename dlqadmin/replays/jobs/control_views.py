"""The API to run, pause, resume and cancel a replay, to change its rate, and to continue it with a new fix."""

from __future__ import annotations

import hashlib

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator, IsViewerOrWritingOperator
from dlqadmin.replays.jobs import controls, queries, unfinished
from dlqadmin.replays.jobs.documents import ReplaySaid, UnfinishedRecords
from dlqadmin.replays.jobs.requests import RateBody, RunBody, UnfinishedBody
from dlqadmin.replays.lookup import replay_of
from dlqadmin.replays.models import Replay, ReplayStatus, Selection
from dlqadmin.replays.plans.options import options_of
from dlqadmin.replays.plans.run_check import refusal
from dlqadmin.replays.plans.target_reach import check_target
from dlqadmin.replays.requests import MaybeWhyBody
from dlqadmin.replays.selections.documents import SelectionDocument, selection_document
from dlqadmin.rest.documents import extend
from dlqadmin.rest.idempotency import IDEMPOTENCY, RequestKey, made_by, once
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.requests import actor, checked


class ReplayAct(APIView):
    """Base class of a person's actions on a replay."""

    permission_classes = (IsOperator,)


class ReplayRun(ReplayAct):
    """Run a planned replay."""

    @extend_schema(operation_id="replays_run", request=RunBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Start to send the records of the plan with this digest.

        Refused if the plan has another digest by now, or has a check with the level "stop".
        """
        body, replay = checked(RunBody, request), replay_of(pk)
        check_target(replay.selection, options_of(replay))
        if replay.status == ReplayStatus.PLANNED and not replay.plan.get("runnable"):
            stops = [row["title"] for row in replay.plan.get("checks", []) if row["level"] == "stop"]
            raise StateConflict(f"The plan can't be run: {'; '.join(stops)}. Check the plan again.")
        if replay.status == ReplayStatus.PLANNED and replay.plan.get("digest") != body["plan_digest"]:
            raise StateConflict(controls.CHANGED)
        if why_not := refusal(replay, actor(request), body["typed"], timezone.now()):
            raise StateConflict(why_not)
        said = controls.run(
            replay, actor(request), body["reason"], body["plan_digest"], timezone.now(),
            resolve_groups=body["resolve_groups"],
        )  # fmt: skip
        return _answer(pk, said)


class ReplayPause(ReplayAct):
    """Pause a running replay."""

    @extend_schema(operation_id="replays_pause", request=None, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Stop sending until the replay is resumed. The target topic need not be in the person's teams."""
        return _answer(pk, controls.pause(replay_of(pk), actor(request), timezone.now()))


class ReplayResume(ReplayAct):
    """Resume a paused replay."""

    @extend_schema(operation_id="replays_resume", request=MaybeWhyBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Continue to send after a pause. Continuing past a canary that did not pass needs a reason."""
        body, replay = checked(MaybeWhyBody, request), replay_of(pk)
        # Somebody else may have started it, and the topic may have changed teams since.
        check_target(replay.selection, options_of(replay))
        return _answer(pk, controls.resume(replay, actor(request), timezone.now(), body["reason"]))


class ReplayCancel(ReplayAct):
    """Cancel a replay."""

    @extend_schema(operation_id="replays_cancel", request=MaybeWhyBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Stop sending for good. Sent records can't be recalled."""
        body = checked(MaybeWhyBody, request)
        return _answer(pk, controls.cancel(replay_of(pk), actor(request), body["reason"], timezone.now()))


class ReplayRate(ReplayAct):
    """The rate of a replay."""

    @extend_schema(operation_id="replays_rate", request=RateBody, responses=ReplaySaid)
    def post(self, request: Request, pk: int) -> Response:
        """Set the rate in records per second, from now on. 0 means no limit.

        A higher rate needs the target topic in the person's teams, as running does.
        """
        body, replay = checked(RateBody, request), replay_of(pk)
        with transaction.atomic():
            # Under the lock, nobody lowers the rate between the comparison and the change.
            locked = Replay.objects.select_for_update().filter(pk=pk).first() or replay
            if controls.is_faster(body["rate"], locked.rate):
                check_target(replay.selection, options_of(replay))
            said = controls.set_rate(replay, actor(request), body["rate"], timezone.now())
        return _answer(pk, said)


class ReplayUnfinished(APIView):
    """A replay's records that still need work."""

    permission_classes = (IsViewerOrWritingOperator,)

    @extend_schema(operation_id="replays_unfinished", responses=UnfinishedRecords)
    def get(self, request: Request, pk: int) -> Response:
        """Count the records that failed again or were not sent, and that nobody has replayed or set aside since."""
        return Response(unfinished.document(replay_of(pk)))

    @extend_schema(
        operation_id="replays_continue",
        parameters=[IDEMPOTENCY],
        request=UnfinishedBody,
        responses={200: SelectionDocument, 201: SelectionDocument},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Freeze these records, to fix and replay them again.

        A paused replay is cancelled if its unsent records are wanted. The same Idempotency-Key returns the same
        selection.
        """
        body, asked, replay = checked(UnfinishedBody, request), once(request), replay_of(pk)
        if asked.key:  # equal bodies are sent for several replays, so the path is part of the request
            asked = RequestKey(asked.key, hashlib.sha256(f"{replay} {asked.digest}".encode()).hexdigest())
        if known := made_by(Selection, asked):
            return Response(selection_document(known))
        made = unfinished.select(replay, body["records"], body["reason"], actor(request), asked, timezone.now())
        return Response(selection_document(made), status=201)


def _answer(pk: int, said: str) -> Response:
    """Return the replay after the action, with the action's message."""
    return Response(extend(ReplaySaid, queries.document(replay_of(pk)), said=said))
