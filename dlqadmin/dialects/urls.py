"""URL patterns of dialects and mappings."""

from django.urls import path

from dlqadmin.dialects import views

urlpatterns = [
    path("dialects", views.DialectsView.as_view(), name="dialects"),
    path("dialects/try", views.MappingTryView.as_view(), name="dialects-try"),
    path("dialects/yaml", views.YamlView.as_view(), name="dialects-yaml"),
    path("dialects/rereads", views.RereadsView.as_view(), name="dialects-rereads"),
    path("dialects/mappings/<str:name>", views.MappingView.as_view(), name="mapping"),
    path("dialects/mappings/<str:name>/yaml", views.MappingYamlView.as_view(), name="mapping-yaml"),
]
