"""URLs of alerts, below /api/v1/."""

from django.urls import path

from dlqadmin.alerts import views

urlpatterns = [
    path("alert-rules", views.AlertRulesView.as_view()),
    path("alert-rules/templates", views.AlertTemplatesView.as_view()),
    path("alert-rules/mute-all", views.AlertRulesMuteView.as_view()),
    path("alert-rules/<int:pk>", views.AlertRuleView.as_view()),
    path("alert-rules/<int:pk>/mute", views.AlertRuleMuteView.as_view()),
    path("alert-rules/<int:pk>/unmute", views.AlertRuleUnmuteView.as_view()),
    path("alert-rules/<int:pk>/test", views.AlertRuleTestView.as_view()),
    path("alerts", views.AlertsView.as_view()),
    path("alerts/preview", views.AlertPreviewView.as_view()),
    path("alerts/<int:pk>", views.AlertView.as_view()),
    path("alerts/<int:pk>/acknowledge", views.AlertAcknowledgeView.as_view()),
    path("alerts/<int:pk>/snooze", views.AlertSnoozeView.as_view()),
]
