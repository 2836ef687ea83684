"""URL patterns of exports, below /api/v1/."""

from django.urls import path

from dlqadmin.exports import views

urlpatterns = [
    path("dead-letters/export", views.DeadLetterExport.as_view()),
    path("exports", views.ExportList.as_view()),
    path("exports/<int:pk>", views.ExportRecord.as_view()),
    path("exports/<int:pk>/cancel", views.ExportCancel.as_view()),
    path("exports/<int:pk>/manifest", views.ExportManifest.as_view()),
    path("exports/<int:pk>/file", views.ExportFile.as_view()),
]
