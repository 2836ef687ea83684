"""REST views of schema registries."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView

from dlqadmin.audit.permissions import OPERATE, IsAdministrator, requires
from dlqadmin.rest.requests import checked
from dlqadmin.schemas import registries, registry_settings
from dlqadmin.schemas.documents import RegistryList, RegistryTestAnswer
from dlqadmin.schemas.requests import RegistryBody


class RegistriesView(APIView):
    """The schema registries."""

    @extend_schema(operation_id="registries_list", responses=RegistryList)
    def get(self, request: Request) -> Response:
        """Return the registry of each cluster. Secrets are left out."""
        return Response(registry_settings.listing())


class RegistryView(APIView):
    """The schema registry of a cluster."""

    permission_classes = (IsAdministrator,)  # on a read-only cluster too: a registry is only read

    @extend_schema(operation_id="registries_change", request=RegistryBody, responses=RegistryList)
    def put(self, request: Request, cluster: str) -> Response:
        """Set the registry of a cluster. Nothing is sent to it yet."""
        if cluster not in registry_settings.cluster_names():
            raise NotFound(f"There is no cluster {cluster}.")
        registry_settings.change(request.user, cluster, checked(RegistryBody, request))
        return Response(registry_settings.listing())

    @extend_schema(operation_id="registries_remove", request=None, responses={204: None})
    def delete(self, request: Request, cluster: str) -> HttpResponse:
        """Remove the registry of a cluster. Its records are shown as bytes again."""
        if not registry_settings.remove(request.user, cluster):
            raise NotFound(f"The cluster {cluster} has no registry.")
        return Response(status=204)


class RegistryTestView(APIView):
    """A connection test of a registry."""

    permission_classes = (requires(OPERATE),)
    throttle_classes = (ScopedRateThrottle,)
    throttle_scope = "test-connection"

    @extend_schema(operation_id="registries_test", request=None, responses=RegistryTestAnswer)
    def post(self, request: Request, cluster: str) -> Response:
        """Ask the registry for its subjects, without changing anything."""
        given = registries.settings_of(cluster)
        if given is None:
            raise NotFound(f"The cluster {cluster} has no registry.")
        return Response(registry_settings.test(given))
