"""Bodies of requests that dispose of dead letters or restore them."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.replays.models import DisposalKind
from dlqadmin.replays.requests import WhyBody
from dlqadmin.rest.fields import IdField

ASKED = {
    "discard": DisposalKind.DISCARDED,
    "park": DisposalKind.PARKED,
    "handled_elsewhere": DisposalKind.HANDLED,
}


class RestoreBody(WhyBody):
    """The selection to restore, and the reason."""

    selection = IdField()


class DisposalBody(RestoreBody):
    """The selection, the decision about it, and the reason."""

    kind = serializers.ChoiceField(list(ASKED))
