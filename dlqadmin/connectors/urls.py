"""URL patterns of the connectors."""

from django.urls import path

from dlqadmin.connectors import views

urlpatterns = [
    path("connectors", views.ConnectorsView.as_view(), name="connectors"),
    path("connectors/<str:name>", views.ConnectorView.as_view(), name="connector"),
    path("connectors/<str:name>/config", views.ConnectorConfigView.as_view(), name="connector-config"),
    path("connectors/<str:name>/delete", views.ConnectorDeletionView.as_view(), name="connector-delete"),
    path("connector-plugins", views.ConnectorPluginsView.as_view(), name="connector-plugins"),
    path("connector-plugins/<str:plugin>/validate", views.ConfigValidationView.as_view(), name="connector-validate"),
    path("connectors/<str:name>/tasks/<int:task>/restart", views.TaskRestartView.as_view(), name="task-restart"),
    *(
        path(f"connectors/<str:name>/{action}", views.control_view(action).as_view(), name=f"connector-{action}")
        for action in ("pause", "resume", "stop", "restart")
    ),
]
