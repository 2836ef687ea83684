"""URL patterns of schema registries."""

from django.urls import path

from dlqadmin.schemas import views

urlpatterns = [
    path("registries", views.RegistriesView.as_view(), name="registries"),
    path("registries/<str:cluster>", views.RegistryView.as_view(), name="registry"),
    path("registries/<str:cluster>/test", views.RegistryTestView.as_view(), name="registry-test"),
]
