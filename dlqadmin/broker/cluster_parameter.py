"""The query parameter that chooses the Kafka cluster of a REST view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotFound
from rest_framework.views import APIView

from dlqadmin.broker import clusters

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase
    from rest_framework.request import Request

NAME = "cluster"
CLUSTER = OpenApiParameter(NAME, OpenApiTypes.STR, description="the Kafka cluster; default: the own one")


class OneClusterView(APIView):
    """A view about one Kafka cluster: all its queries go to the one that the parameter `cluster` names."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Handle the request on the cluster."""
        with clusters.on(request.GET.get(NAME, "")):
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the permissions, then that there is such a cluster. Raises NotFound."""
        super().initial(request, *args, **kwargs)
        if not clusters.is_known(clusters.current()):
            raise NotFound(f"{clusters.unknown(clusters.current())}.")
