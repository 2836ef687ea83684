"""REST views of ownership rules, mentions, and issues in trackers."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import (
    IsAdministrator,
    IsOperator,
    IsViewer,
    IsViewerOrAdministrator,
    IsViewerOrWritingOperator,
)
from dlqadmin.deadletters.groups import issue_webhooks, issues, mentions, ownership_rules
from dlqadmin.deadletters.groups.details import issue_document
from dlqadmin.deadletters.groups.documents import (
    Assignees,
    ChangedGroups,
    IssueDocument,
    MentionDocument,
    MentionList,
    OwnershipPreview,
    OwnershipRuleDocument,
    OwnershipRules,
    TrackerDocument,
    TrackerList,
)
from dlqadmin.deadletters.groups.requests import (
    IssueBody,
    IssueCreationBody,
    OwnershipRulesBody,
    TrackerBody,
)
from dlqadmin.deadletters.groups.views import find_group
from dlqadmin.deadletters.index import ownership
from dlqadmin.deadletters.models import GroupIssue, IssueTracker
from dlqadmin.deadletters.payloads import quoting_text
from dlqadmin.rest.idempotency import IDEMPOTENCY, once
from dlqadmin.rest.links import page_link
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.requests import actor, checked
from dlqadmin.rest.times import iso
from dlqadmin.teams.models import Team, TeamRole
from dlqadmin.teams.reach import current_reach

SHOWN_MENTIONS = 50
MOST_ASSIGNEES = 1000


class OwnershipRulesView(APIView):
    """The rules about the owners of new groups."""

    permission_classes = (IsViewerOrAdministrator,)

    @extend_schema(operation_id="ownership_rules_list", responses=OwnershipRules)
    def get(self, request: Request) -> Response:
        """Return the rules in order. People of a team see those about their teams and themselves."""
        return Response(_rules(request))

    @extend_schema(operation_id="ownership_rules_replace", request=OwnershipRulesBody, responses=OwnershipRules)
    def put(self, request: Request) -> Response:
        """Replace all rules. Groups keep the owners that they have."""
        ownership_rules.replace(ownership_rules.read(checked(OwnershipRulesBody, request)["rules"]), actor(request))
        return Response(_rules(request))


class OwnershipPreviewView(APIView):
    """A preview of the groups that rules would assign."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="ownership_rules_preview", request=OwnershipRulesBody, responses=OwnershipPreview)
    def post(self, request: Request) -> Response:
        """Count for each rule the groups that nobody owns and that it would assign. Nothing is saved."""
        rules = ownership_rules.read(checked(OwnershipRulesBody, request)["rules"])
        return Response(OwnershipPreview(matches=ownership_rules.preview(rules)))


class OwnershipApplyView(APIView):
    """The act that assigns groups by the saved rules."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="ownership_rules_apply", request=None, responses=ChangedGroups)
    def post(self, request: Request) -> Response:
        """Assign the groups that nobody owns."""
        return Response(ChangedGroups(changed=ownership_rules.apply(actor(request), timezone.now())))


class AssigneesView(APIView):
    """The people and teams to whom groups can be assigned."""

    @extend_schema(operation_id="assignees_list", responses=Assignees)
    def get(self, request: Request) -> Response:
        """Return the names of active people, and of teams. People of a team see their teams and who is in them."""
        people, teams = User.objects.filter(is_active=True), Team.objects.all()
        reach = current_reach()
        if reach.teams is not None:
            roles = TeamRole.objects.filter(team__in=reach.teams)
            people = people.filter(
                Q(pk__in=roles.values("user_id")) | Q(groups__in=roles.values("group_id")) | Q(pk=request.user.pk)
            ).distinct()
            teams = teams.filter(pk__in=reach.teams)
        return Response(
            Assignees(
                people=list(people.order_by("username").values_list("username", flat=True)[:MOST_ASSIGNEES]),
                teams=list(teams.order_by("name").values_list("name", flat=True)[:MOST_ASSIGNEES]),
            )
        )


class MentionsView(APIView):
    """The user's own mentions."""

    @extend_schema(operation_id="mentions_list", responses=MentionList)
    def get(self, request: Request) -> Response:
        """Return the newest 50 notes that mention the user."""
        return Response(_mentions(actor(request)))


class MentionsSeenView(APIView):
    """The act of seeing one's mentions."""

    permission_classes = (IsViewer,)

    @extend_schema(operation_id="mentions_seen", request=None, responses=MentionList)
    def post(self, request: Request) -> Response:
        """Mark all mentions of the user as seen."""
        mentions.mark_seen(actor(request), timezone.now())
        return Response(_mentions(actor(request)))


class IssueTrackersView(APIView):
    """The issue trackers."""

    permission_classes = (IsViewerOrAdministrator,)

    @extend_schema(operation_id="issue_trackers_list", responses=TrackerList)
    def get(self, request: Request) -> Response:
        """Return the issue trackers by name."""
        return Response(TrackerList(results=[_tracker(row) for row in _trackers().order_by("name")]))

    @extend_schema(operation_id="issue_trackers_create", request=TrackerBody, responses={201: TrackerDocument})
    def post(self, request: Request) -> Response:
        """Add an issue tracker."""
        form = checked(TrackerBody, request)
        made = issues.save_tracker(IssueTracker(), form, actor(request), timezone.now())
        return Response(_tracker(made), status=201)


class IssueTrackerView(APIView):
    """One issue tracker."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="issue_trackers_replace", request=TrackerBody, responses=TrackerDocument)
    def put(self, request: Request, pk: int) -> Response:
        """Change the tracker's name, template or webhook."""
        found, form = _find_tracker(pk), checked(TrackerBody, request)
        return Response(_tracker(issues.save_tracker(found, form, actor(request), timezone.now())))

    @extend_schema(operation_id="issue_trackers_delete", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the tracker. Links to its issues stay."""
        issues.delete_tracker(_find_tracker(pk), actor(request))
        return Response(status=204)


class GroupIssues(APIView):
    """The issues that a group is linked to."""

    permission_classes = (IsViewerOrWritingOperator,)

    @extend_schema(operation_id="groups_link_issue", request=IssueBody, responses={201: IssueDocument})
    def post(self, request: Request, pk: int) -> Response:
        """Link the group to an issue."""
        form = checked(IssueBody, request)
        made = issues.link(find_group(pk).pk, form["name"], form["url"], actor(request), timezone.now())
        return Response(issue_document(made), status=201)


class GroupIssueCreation(APIView):
    """The act that creates an issue by the webhook of a tracker."""

    permission_classes = (IsOperator,)

    @extend_schema(
        operation_id="groups_create_issue",
        parameters=[IDEMPOTENCY],
        request=IssueCreationBody,
        responses={201: IssueDocument},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Ask the tracker's webhook for an issue, and link the group to it.

        Within a minute, repeats return the first issue. The status is 502 if the tracker does not answer as expected.
        """
        found, tracker = find_group(pk), _find_tracker(checked(IssueCreationBody, request)["tracker"])
        link = page_link(request, f"/groups/{found.pk}")
        asked_once = once(request, f"{found.pk} {tracker.pk}".encode())  # the body does not name the group
        made = issue_webhooks.create(found, tracker, link, actor(request), asked_once)
        return Response(issue_document(made), status=201)


class GroupIssueView(APIView):
    """One link from a group to an issue."""

    permission_classes = (IsViewerOrWritingOperator,)

    @extend_schema(operation_id="groups_unlink_issue", request=None, responses={204: None})
    def delete(self, request: Request, pk: int, issue: int) -> Response:
        """Remove the link. The issue in the tracker stays."""
        rows = GroupIssue.objects.filter(group=find_group(pk))
        found = rows.filter(pk=issue).first() if issue <= MAX_ID else None
        if found is None:
            raise Http404("The group has no link with this id.")
        issues.unlink(found, actor(request), timezone.now())
        return Response(status=204)


def _rules(request: Request) -> OwnershipRules:
    rows = ownership.rules()
    reach = current_reach()
    if reach.teams is not None:
        rows = [row for row in rows if row.team_id in reach.teams or row.owner_id == request.user.pk]
    return OwnershipRules(
        rules=[
            OwnershipRuleDocument(
                topic=row.topic,
                connector=row.connector,
                exception=row.exception,
                username=row.owner.get_username() if row.owner else None,
                team=row.team.name if row.team else None,
            )
            for row in rows
        ]
    )


def _mentions(user: User) -> MentionList:
    rows = mentions.of(user)
    return MentionList(
        results=[
            MentionDocument(
                group=row.note.group_id,
                title=quoting_text(row.note.group.title),
                at=iso(row.note.at),
                actor=row.note.actor,
                text=row.note.text,
                seen=row.seen_at is not None,
            )
            for row in rows[:SHOWN_MENTIONS]
        ],
        unseen=rows.filter(seen_at=None).count(),
    )


def _tracker(row: IssueTracker) -> TrackerDocument:
    channel = row.channel.name if row.channel else None
    return TrackerDocument(
        id=row.pk, name=row.name, template=row.template, channel=row.channel_id, channel_name=channel
    )


def _trackers() -> QuerySet[IssueTracker]:
    return IssueTracker.objects.select_related("channel")


def _find_tracker(pk: int) -> IssueTracker:
    found = _trackers().filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no issue tracker with this id.")
    return found
