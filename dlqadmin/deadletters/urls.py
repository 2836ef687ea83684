"""URLs of dead letters and groups, below /api/v1/."""

from django.urls import path

from dlqadmin.deadletters.groups import action_views, ownership_views
from dlqadmin.deadletters.groups import views as group_views
from dlqadmin.deadletters.records import decoded_views, expiry_views, lookup_views, masking_views, views
from dlqadmin.deadletters.search import list_views
from dlqadmin.deadletters.search import views as search_views

urlpatterns = [
    path("dead-letters", list_views.DeadLetterList.as_view()),
    path("dead-letters/facets", list_views.DeadLetterFacets.as_view()),
    path("dead-letters/histogram", list_views.DeadLetterHistogram.as_view()),
    path("dead-letters/complete", search_views.Completions.as_view()),
    path("queries/<str:query_id>", search_views.RunningQuery.as_view()),
    path("saved-searches", search_views.SavedSearches.as_view()),
    path("saved-searches/<int:pk>", search_views.OneSavedSearch.as_view()),
    path("dead-letters/<int:pk>", views.DeadLetterRecord.as_view()),
    path("dead-letters/<int:pk>/bytes", views.DeadLetterBytes.as_view()),
    path("dead-letters/<int:pk>/decoded", decoded_views.DeadLetterDecoded.as_view()),
    path("dead-letters/<int:pk>/neighbours", views.DeadLetterNeighbours.as_view()),
    path("dead-letters/<int:pk>/reveal", masking_views.DeadLetterReveal.as_view()),
    path("masking-rules", masking_views.MaskingRuleListing.as_view()),
    path("masking-rules/preview", masking_views.MaskingRulePreview.as_view()),
    path("masking-rules/<int:pk>", masking_views.OneMaskingRule.as_view()),
    path("dead-letters/<int:pk>/retention", expiry_views.DeadLetterRetention.as_view()),
    path("dead-letters/at/<str:topic>/<int:partition>/<int:offset>", lookup_views.DeadLetterAt.as_view()),
    path("groups", group_views.GroupList.as_view()),
    path("groups/<int:pk>", group_views.GroupRecord.as_view()),
    path("groups/<int:pk>/retention", expiry_views.GroupRetentionView.as_view()),
    path("groups/<int:pk>/resolve", action_views.GroupResolve.as_view()),
    path("groups/<int:pk>/reopen", action_views.GroupReopen.as_view()),
    path("groups/<int:pk>/assign", action_views.GroupAssign.as_view()),
    path("groups/<int:pk>/notes", action_views.GroupNotes.as_view()),
    path("groups/<int:pk>/common", group_views.GroupCommon.as_view()),
    path("groups/<int:pk>/split", action_views.GroupSplit.as_view()),
    path("groups/<int:pk>/issues", ownership_views.GroupIssues.as_view()),
    path("groups/<int:pk>/issues/create", ownership_views.GroupIssueCreation.as_view()),
    path("groups/<int:pk>/issues/<int:issue>", ownership_views.GroupIssueView.as_view()),
    path("ownership-rules", ownership_views.OwnershipRulesView.as_view()),
    path("ownership-rules/preview", ownership_views.OwnershipPreviewView.as_view()),
    path("ownership-rules/apply", ownership_views.OwnershipApplyView.as_view()),
    path("assignees", ownership_views.AssigneesView.as_view()),
    path("mentions", ownership_views.MentionsView.as_view()),
    path("mentions/seen", ownership_views.MentionsSeenView.as_view()),
    path("issue-trackers", ownership_views.IssueTrackersView.as_view()),
    path("issue-trackers/<int:pk>", ownership_views.IssueTrackerView.as_view()),
    path("groups/merge", action_views.GroupsMerge.as_view()),
    path("groups/mute", action_views.GroupsMute.as_view()),
    path("groups/reopen", action_views.GroupsReopen.as_view()),
    path("groups/resolve", action_views.GroupsResolve.as_view()),
    path("groups/assign", action_views.GroupsAssign.as_view()),
    path("regroupings/<int:pk>/undo", action_views.RegroupingUndo.as_view()),
]
