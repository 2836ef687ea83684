"""REST views of channels and of the log of deliveries."""

from __future__ import annotations

import msgspec
from django.db import IntegrityError
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView

from dlqadmin.audit.permissions import OPERATE, IsAdministrator, IsViewerOrAdministrator, requires
from dlqadmin.notifications import channels, deliveries, queries
from dlqadmin.notifications.documents import (
    ChannelList,
    ChannelWithSecret,
    DeliveryDocument,
    DeliveryPage,
    channel_document,
    delivery_document,
)
from dlqadmin.notifications.models import Channel, ChannelDelivery, DeliveryState
from dlqadmin.notifications.requests import ChannelBody, ChannelReplacement
from dlqadmin.notifications.sealed_text import keyed_digest
from dlqadmin.rest.idempotency import IDEMPOTENCY, RequestKey, made_by, once
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.requests import actor, checked

DELIVERY_FILTERS = [
    OpenApiParameter("channel", int, description="The id of a channel."),
    OpenApiParameter("state", str, enum=DeliveryState.values),
    OpenApiParameter("source", str, description="The part of the dashboard that sent it, such as `rule 12`."),
    OpenApiParameter("cursor", str, description="`next` of the page before."),
    OpenApiParameter("limit", int, description="1 to 500; default 50."),
]


class ChannelsView(APIView):
    """The channels."""

    permission_classes = (IsViewerOrAdministrator,)  # on a read-only cluster too: a channel writes nothing to Kafka

    @extend_schema(operation_id="channels_list", responses=ChannelList)
    def get(self, request: Request) -> Response:
        """Return all channels. Their targets are left out."""
        return Response(ChannelList(channels=[channel_document(one) for one in queries.channels()]))

    @extend_schema(
        operation_id="channels_create",
        parameters=[IDEMPOTENCY],
        request=ChannelBody,
        responses={200: ChannelWithSecret, 201: ChannelWithSecret},
    )
    def post(self, request: Request) -> Response:
        """Create a channel. A webhook gets a secret, which only this response shows.

        The same Idempotency-Key returns the same channel, without its secret.
        """
        asked_once = _request_key(request)
        if known := made_by(Channel, asked_once):
            return Response(ChannelWithSecret(channel=channel_document(known), secret=None))
        body = checked(ChannelBody, request)
        try:
            made, secret = channels.create(**body, actor=actor(request), once=asked_once)
        except IntegrityError:
            if known := made_by(Channel, asked_once):  # the same request arrived twice concurrently
                return Response(ChannelWithSecret(channel=channel_document(known), secret=None))
            raise
        return Response(ChannelWithSecret(channel=channel_document(made), secret=secret or None), status=201)


class ChannelView(APIView):
    """One channel."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="channels_replace", request=ChannelReplacement, responses=ChannelWithSecret)
    def put(self, request: Request, pk: int) -> Response:
        """Change a channel. Without `target` the former one stays."""
        body = checked(ChannelReplacement, request)
        changed, secret = channels.replace(_channel(pk), **body, actor=actor(request))
        return Response(ChannelWithSecret(channel=channel_document(changed), secret=secret or None))

    @extend_schema(operation_id="channels_destroy", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a channel. Its queued deliveries are given up; the log stays."""
        channels.delete(_channel(pk), actor(request))
        return Response(status=204)


class ChannelTestView(APIView):
    """A test of a channel."""

    permission_classes = (IsAdministrator,)
    throttle_classes = (ScopedRateThrottle,)
    throttle_scope = "test-connection"

    @extend_schema(operation_id="channels_test", request=None, responses=DeliveryDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Send a test message, and return the delivery with its result.

        The state is `queued` if no worker has a result within 15 seconds.
        """
        return Response(delivery_document(channels.send_test(_channel(pk), actor(request)), request.user))


class ChannelSecretView(APIView):
    """The secret of a webhook."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="channels_rotate_secret", request=None, responses=ChannelWithSecret)
    def post(self, request: Request, pk: int) -> Response:
        """Make a new secret, which only this response shows. Messages are signed with the former one too for 24 h."""
        changed, secret = channels.rotate_secret(_channel(pk), actor(request))
        return Response(ChannelWithSecret(channel=channel_document(changed), secret=secret))


class DeliveriesView(APIView):
    """The log of deliveries."""

    @extend_schema(operation_id="deliveries_list", parameters=DELIVERY_FILTERS, responses=DeliveryPage)
    def get(self, request: Request) -> Response:
        """Return deliveries, newest first, with their tries. Their bodies are left out.

        People of a team see those of its alert rules.
        """
        rows, following = queries.page(request.query_params)
        shown = [delivery_document(row, request.user) for row in rows]
        return Response(DeliveryPage(results=shown, next=following))


class DeliveryRetryView(APIView):
    """Another try of a delivery that ended badly."""

    permission_classes = (requires(OPERATE),)  # on a read-only cluster too: a message writes nothing to Kafka

    @extend_schema(operation_id="deliveries_retry", request=None, responses=DeliveryDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Queue a delivery again that failed or was given up. Its id stays the same for the receiver."""
        deliveries.retry(_delivery(pk), actor(request))
        return Response(delivery_document(_delivery(pk), request.user))


def _channel(pk: int) -> Channel:
    found = queries.channels().filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no channel with this id.")
    return found


def _delivery(pk: int) -> ChannelDelivery:
    found = queries.visible(ChannelDelivery.objects.filter(pk=pk)).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no delivery with this id.")
    return found


def _request_key(request: Request) -> RequestKey:
    """Return the idempotency key. The body holds the target, so its digest is keyed."""
    asked = once(request)
    return msgspec.structs.replace(asked, digest=keyed_digest(asked.digest)) if asked.key else asked
