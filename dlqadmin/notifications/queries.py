"""Reads of channels and deliveries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from dlqadmin.notifications.models import Channel, ChannelDelivery, DeliveryState
from dlqadmin.rest.pagination import newest_page, parse_id, parse_limit
from dlqadmin.rest.problems import ParameterError
from dlqadmin.teams.reach import current_reach

MAX_SOURCE = 100


def visible(deliveries: QuerySet[ChannelDelivery]) -> QuerySet[ChannelDelivery]:
    """Return the deliveries about what the teams in reach own. Every read and retry over REST asks here."""
    reach = current_reach()
    return deliveries.filter(team_id__in=reach.teams or ()) if reach.is_limited else deliveries


def channels() -> QuerySet[Channel]:
    """Return all channels, by name."""
    return Channel.objects.select_related("created_by").order_by("name")


def page(params: Mapping[str, str]) -> tuple[list[ChannelDelivery], str | None]:
    """Return one page of deliveries, newest first, and the cursor of the next. Raises ParameterError."""
    limit = parse_limit(params.get("limit"), default=50)
    rows = visible(ChannelDelivery.objects.filter(**_filters(params)))
    return newest_page(rows.defer("body", "facts"), params.get("cursor"), limit)


def _filters(params: Mapping[str, str]) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    if channel := params.get("channel"):
        filters["channel"] = parse_id("channel", channel)
    if state := params.get("state"):
        if state not in DeliveryState.values:
            raise ParameterError("state", f"must be one of {', '.join(DeliveryState.values)}")
        filters["state"] = state
    if source := params.get("source"):
        if len(source) > MAX_SOURCE or "\0" in source:
            raise ParameterError("source", f"must have at most {MAX_SOURCE} characters")
        filters["source"] = source
    return filters
