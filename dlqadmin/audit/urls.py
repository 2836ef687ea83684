"""URLs of the audit trail."""

from django.urls import path

from dlqadmin.audit import views

urlpatterns = [
    path("audit", views.AuditView.as_view(), name="audit"),
    path("audit/options", views.AuditOptionsView.as_view(), name="audit-options"),
    path("audit/export", views.AuditExport.as_view(), name="audit-export"),
]
