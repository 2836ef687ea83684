"""Addresses of fixes, selections and replays, below /api/v1/."""

from django.urls import path

from dlqadmin.replays import control_views, fix_views, views

urlpatterns = [
    path("dead-letters/<int:pk>/fix", fix_views.FixRecord.as_view()),
    path("dead-letters/<int:pk>/replays", views.DeadLetterReplays.as_view()),
    path("fixes", fix_views.FixListing.as_view()),
    path("selections", views.SelectionList.as_view()),
    path("selections/<int:pk>", views.SelectionRecord.as_view()),
    path("replays", views.ReplayList.as_view()),
    path("replays/<int:pk>", views.ReplayRecord.as_view()),
    path("replays/<int:pk>/plan", views.ReplayPlan.as_view()),
    path("replays/<int:pk>/items", views.ReplayItems.as_view()),
    path("replays/<int:pk>/log", views.ReplayLog.as_view()),
    path("replays/<int:pk>/series", views.ReplaySeries.as_view()),
    path("replays/<int:pk>/events", views.ReplayEvents.as_view()),
    path("replays/<int:pk>/run", control_views.ReplayRun.as_view()),
    path("replays/<int:pk>/pause", control_views.ReplayPause.as_view()),
    path("replays/<int:pk>/resume", control_views.ReplayResume.as_view()),
    path("replays/<int:pk>/cancel", control_views.ReplayCancel.as_view()),
    path("replays/<int:pk>/rate", control_views.ReplayRate.as_view()),
]
