"""URLs of the session and the audit trail."""

from django.urls import path

from dlqadmin.audit import views

urlpatterns = [
    path("session", views.SessionView.as_view(), name="session"),
    path("audit", views.AuditView.as_view(), name="audit"),
    path("audit/options", views.AuditOptionsView.as_view(), name="audit-options"),
    path("audit/export", views.AuditExport.as_view(), name="audit-export"),
]
