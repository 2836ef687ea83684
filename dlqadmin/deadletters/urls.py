"""Addresses of dead letters and groups, below /api/v1/."""

from django.urls import path

from dlqadmin.deadletters import group_views, views

urlpatterns = [
    path("dead-letters", views.DeadLetterList.as_view()),
    path("dead-letters/facets", views.DeadLetterFacets.as_view()),
    path("dead-letters/histogram", views.DeadLetterHistogram.as_view()),
    path("dead-letters/export", views.DeadLetterExport.as_view()),
    path("dead-letters/<int:pk>", views.DeadLetterRecord.as_view()),
    path("dead-letters/<int:pk>/bytes", views.DeadLetterBytes.as_view()),
    path("dead-letters/<int:pk>/neighbours", views.DeadLetterNeighbours.as_view()),
    path("groups", group_views.GroupList.as_view()),
    path("groups/<int:pk>", group_views.GroupRecord.as_view()),
    path("groups/<int:pk>/resolve", group_views.GroupResolve.as_view()),
    path("groups/<int:pk>/reopen", group_views.GroupReopen.as_view()),
    path("groups/<int:pk>/assign", group_views.GroupAssign.as_view()),
    path("groups/<int:pk>/notes", group_views.GroupNotes.as_view()),
]
