"""Export requests: the body, the filters, the watermark and the start of a file."""

from __future__ import annotations

import msgspec
from django.core import signing
from django.http import QueryDict
from rest_framework import serializers

from dlqadmin.deadletters.index.watermark import complete_up_to
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.search.counters import cells
from dlqadmin.deadletters.search.filter_queries import apply, freeze_groups
from dlqadmin.deadletters.search.filters import Filters, narrowed, parse_filters
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from dlqadmin.exports.formats import FORMATS, FileFormat
from dlqadmin.rest.documents import Form
from dlqadmin.rest.pagination import parse_id, parse_limit
from dlqadmin.rest.problems import ParameterError, StateConflict

MAX_STREAMED = 1_000_000
SALT = "dlqadmin.exports"
INSTEAD = "Let a worker write the file (POST /api/v1/exports), or narrow the time."
IN_PARTS = "Or read it in parts with `limit`."


class ExportRequest(msgspec.Struct, frozen=True):
    """The requested dead letters: all matches up to the watermark.

    Records that are indexed later do not change the result.
    """

    filters: Filters
    watermark: int


class StreamRequest(msgspec.Struct, frozen=True):
    """A request for a streamed file.

    `after` is the id before the first row, `limit` the maximum number of rows.
    """

    asked: ExportRequest
    format: FileFormat
    after: int
    limit: int | None


class ExportBody(Form):
    """A file that a worker must write."""

    format = serializers.ChoiceField(choices=list(FORMATS))
    filter = serializers.CharField(
        max_length=100_000,
        allow_blank=True,
        help_text="The parameters of `GET /dead-letters`: the part after the question mark.",
    )


def ask(params: QueryDict, reader: PayloadReader) -> ExportRequest:
    """Freeze the dead letters that a list's query string selects. Raises ParameterError."""
    return ExportRequest(parse_filters(params, reader, probing=True), complete_up_to())


def settle(asked: ExportRequest) -> ExportRequest:
    """Resolve the filters, so that later merges or splits of groups do not change them."""
    return msgspec.structs.replace(asked, filters=freeze_groups(asked.filters))


def parse_stream(params: QueryDict, reader: PayloadReader, user_id: int) -> StreamRequest:
    """Parse the parameters of a stream. Raises ParameterError.

    A `resume` token continues the file for which it was issued, for the person who began it.
    """
    token = params.get("resume")
    after, limit = params.get("after"), params.get("limit")
    return StreamRequest(
        asked=_continued(token, reader, user_id) if token else ask(params, reader),
        format=parse_format(params.get("format") or "ndjson"),
        after=parse_id("after", after) if after else 0,
        limit=parse_limit(limit, maximum=MAX_STREAMED) if limit else None,
    )


def parse_format(name: str) -> FileFormat:
    """Return the format with this name. Raises ParameterError."""
    if name not in FORMATS:
        raise ParameterError("format", f"must be one of {', '.join(FORMATS)}")
    return FORMATS[name]


def sign_request(asked: ExportRequest, user_id: int) -> str:
    """Return the request as a signed token, which clients cannot forge and other people cannot use."""
    return signing.dumps(msgspec.to_builtins(asked), salt=_salt(user_id), compress=True)


def refuse_too_many(streamed: StreamRequest) -> None:
    """Raise StateConflict if a stream would read too many rows. A file is sent whole or not started.

    A limit bounds the rows that are read, unless the filter searches bytes. Then any number of rows may
    come before the last match.
    """
    probed = streamed.asked.filters.probed
    if streamed.limit is not None and not probed:
        return
    instead = INSTEAD if probed else f"{INSTEAD} {IN_PARTS}"
    try:
        with bounded():
            many = _count_up_to_limit(streamed) > MAX_STREAMED
    except QueryTimedOut:
        raise StateConflict(f"Counting the matching records took too long. {instead}") from None
    if many:
        what = "must be searched" if probed else "match"
        raise StateConflict(f"More than {MAX_STREAMED} records {what}, the limit for one stream. {instead}")


def _count_up_to_limit(streamed: StreamRequest) -> int:
    """Return how many records the stream would read. The count stops at the first one too many."""
    asked = streamed.asked
    if asked.filters.counted and not streamed.after:
        return sum(cells(asked.filters).values())
    rows = DeadLetter.objects.filter(pk__gt=streamed.after, pk__lte=asked.watermark)
    return apply(asked.filters.unprobed(), rows).order_by()[: MAX_STREAMED + 1].count()


def _salt(user_id: int) -> str:
    # The filters were checked against the teams and masking rules of this person only.
    return f"{SALT}:{user_id}"


def _continued(token: str, reader: PayloadReader, user_id: int) -> ExportRequest:
    """Return the request of a token, narrowed to what its reader may see by now."""
    asked = _verify_token(token, user_id)
    return msgspec.structs.replace(asked, filters=narrowed(asked.filters, reader))


def _verify_token(token: str, user_id: int) -> ExportRequest:
    try:
        return msgspec.convert(signing.loads(token, salt=_salt(user_id)), ExportRequest)
    except (signing.BadSignature, msgspec.ValidationError):
        raise ParameterError("resume", "is not a resume token that this server gave to you") from None
