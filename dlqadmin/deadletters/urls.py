"""Addresses of dead letters and groups, below /api/v1/."""

from django.urls import path

from dlqadmin.deadletters import expiry_views, group_act_views, group_views, lookup_views, search_views, views

urlpatterns = [
    path("dead-letters", views.DeadLetterList.as_view()),
    path("dead-letters/facets", views.DeadLetterFacets.as_view()),
    path("dead-letters/histogram", views.DeadLetterHistogram.as_view()),
    path("dead-letters/complete", search_views.Completions.as_view()),
    path("queries/<str:query_id>", search_views.RunningQuery.as_view()),
    path("saved-searches", search_views.SavedSearches.as_view()),
    path("saved-searches/<int:pk>", search_views.OneSavedSearch.as_view()),
    path("dead-letters/<int:pk>", views.DeadLetterRecord.as_view()),
    path("dead-letters/<int:pk>/bytes", views.DeadLetterBytes.as_view()),
    path("dead-letters/<int:pk>/neighbours", views.DeadLetterNeighbours.as_view()),
    path("dead-letters/<int:pk>/retention", expiry_views.DeadLetterRetention.as_view()),
    path("dead-letters/at/<str:topic>/<int:partition>/<int:offset>", lookup_views.DeadLetterAt.as_view()),
    path("groups", group_views.GroupList.as_view()),
    path("groups/<int:pk>", group_views.GroupRecord.as_view()),
    path("groups/<int:pk>/retention", expiry_views.GroupRetentionView.as_view()),
    path("groups/<int:pk>/resolve", group_act_views.GroupResolve.as_view()),
    path("groups/<int:pk>/reopen", group_act_views.GroupReopen.as_view()),
    path("groups/<int:pk>/assign", group_act_views.GroupAssign.as_view()),
    path("groups/<int:pk>/notes", group_act_views.GroupNotes.as_view()),
    path("groups/<int:pk>/common", group_views.GroupCommon.as_view()),
    path("groups/<int:pk>/split", group_act_views.GroupSplit.as_view()),
    path("groups/merge", group_act_views.GroupsMerge.as_view()),
    path("groups/mute", group_act_views.GroupsMute.as_view()),
    path("groups/reopen", group_act_views.GroupsReopen.as_view()),
    path("groups/resolve", group_act_views.GroupsResolve.as_view()),
    path("groups/assign", group_act_views.GroupsAssign.as_view()),
    path("regroupings/<int:pk>/undo", group_act_views.RegroupingUndo.as_view()),
]
