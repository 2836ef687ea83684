"""Export requests: the filters, the watermark and the start of a file."""

from __future__ import annotations

import msgspec
from django.core import signing
from django.http import QueryDict

from dlqadmin.deadletters.index.watermark import complete_up_to
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import Reader
from dlqadmin.deadletters.search.counters import cells
from dlqadmin.deadletters.search.filters import Filters, apply, parse_filters, settled
from dlqadmin.deadletters.search.time_limits import TimedOut, bounded
from dlqadmin.exports.formats import FORMATS, Format
from dlqadmin.rest.pagination import MAX_ID, parse_limit
from dlqadmin.rest.problems import Conflict, ParameterError

MAX_STREAMED = 1_000_000
SALT = "dlqadmin.exports"
INSTEAD = "Let a worker write the file (POST /api/v1/exports), or narrow the time."
IN_PARTS = "Or read it in parts with `limit`."


class Asked(msgspec.Struct, frozen=True):
    """The requested dead letters: all matches up to the watermark.

    Records that are indexed later do not change the result.
    """

    filters: Filters
    watermark: int


class Streamed(msgspec.Struct, frozen=True):
    """A request for a streamed file.

    `after` is the id before the first row, `limit` the maximum number of rows.
    """

    asked: Asked
    format: Format
    after: int
    limit: int | None


def ask(params: QueryDict, reader: Reader) -> Asked:
    """Freeze the dead letters that a list's query string selects. Raises ParameterError."""
    return Asked(parse_filters(params, reader, probing=True), complete_up_to())


def settle(asked: Asked) -> Asked:
    """Resolve the filters, so that later merges or splits of groups do not change them."""
    return msgspec.structs.replace(asked, filters=settled(asked.filters))


def parse_stream(params: QueryDict, reader: Reader) -> Streamed:
    """Parse the parameters of a stream. Raises ParameterError.

    A `resume` token continues the file for which it was issued.
    """
    token = params.get("resume")
    after, limit = params.get("after"), params.get("limit")
    return Streamed(
        asked=_thawed(token) if token else ask(params, reader),
        format=parse_format(params.get("format") or "ndjson"),
        after=_id("after", after) if after else 0,
        limit=parse_limit(limit, maximum=MAX_STREAMED) if limit else None,
    )


def parse_format(name: str) -> Format:
    """Return the format with this name. Raises ParameterError."""
    if name not in FORMATS:
        raise ParameterError("format", f"must be one of {', '.join(FORMATS)}")
    return FORMATS[name]


def frozen(asked: Asked) -> str:
    """Return the request as a signed token, which clients cannot forge."""
    return signing.dumps(msgspec.to_builtins(asked), salt=SALT, compress=True)


def refuse_too_many(streamed: Streamed) -> None:
    """Raise Conflict if a stream would read too many rows. A file is sent whole or not started.

    A limit bounds the rows that are read, unless the filter searches bytes. Then any number of rows may
    come before the last match.
    """
    probed = streamed.asked.filters.probed
    if streamed.limit is not None and not probed:
        return
    instead = INSTEAD if probed else f"{INSTEAD} {IN_PARTS}"
    try:
        with bounded():
            many = _matching(streamed) > MAX_STREAMED
    except TimedOut:
        raise Conflict(f"It can't be counted in time how many records match. {instead}") from None
    if many:
        what = "must be looked into" if probed else "match"
        raise Conflict(f"More than {MAX_STREAMED} records {what}, the most for one stream. {instead}")


def _matching(streamed: Streamed) -> int:
    """Return how many records the stream would read. The count stops at the first one too many."""
    asked = streamed.asked
    if asked.filters.counted and not streamed.after:
        return sum(cells(asked.filters).values())
    rows = DeadLetter.objects.filter(pk__gt=streamed.after, pk__lte=asked.watermark)
    return apply(asked.filters.unprobed(), rows).order_by()[: MAX_STREAMED + 1].count()


def _thawed(token: str) -> Asked:
    try:
        return msgspec.convert(signing.loads(token, salt=SALT), Asked)
    except (signing.BadSignature, msgspec.ValidationError):
        raise ParameterError("resume", "is not what an export of this server told") from None


def _id(parameter: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= MAX_ID):
        raise ParameterError(parameter, "must be the id of a record")
    return int(text)
