"""URL patterns of incident reports."""

from django.urls import path

from dlqadmin.reports import views

urlpatterns = [
    path("groups/<int:pk>/report", views.GroupReportFile.as_view()),
    path("replays/<int:pk>/report", views.ReplayReportFile.as_view()),
]
