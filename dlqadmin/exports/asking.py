"""What a request for a file asks for: which dead letters, up to which, and from where it goes on."""

from __future__ import annotations

import msgspec
from django.core import signing
from django.http import QueryDict

from dlqadmin.deadletters.bounding import TimedOut, bounded
from dlqadmin.deadletters.counters import cells
from dlqadmin.deadletters.filters import Filters, apply, parse_filters, settled
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.watermark import complete_up_to
from dlqadmin.exports.formats import FORMATS, Format
from dlqadmin.rest.pagination import MAX_ID, parse_limit
from dlqadmin.rest.problems import Conflict, ParameterError

MAX_STREAMED = 1_000_000
SALT = "dlqadmin.exports"
INSTEAD = "Let a worker write the file (POST /api/v1/exports), or narrow the time."
IN_PARTS = "Or read it in parts with `limit`."


class Asked(msgspec.Struct, frozen=True):
    """Which dead letters: those that match, up to the watermark; the same, whatever is indexed later."""

    filters: Filters
    watermark: int


class Streamed(msgspec.Struct, frozen=True):
    """A file that is streamed: what of, in which format, behind which id, and how many rows at most."""

    asked: Asked
    format: Format
    after: int
    limit: int | None


def ask(params: QueryDict) -> Asked:
    """What a list's address shows, frozen. Raises ParameterError."""
    return Asked(parse_filters(params, probing=True), complete_up_to())


def settle(asked: Asked) -> Asked:
    """The same for ever: no merge or split of groups changes it any more."""
    return msgspec.structs.replace(asked, filters=settled(asked.filters))


def parse_stream(params: QueryDict) -> Streamed:
    """What an address of a stream asks for; one with `resume` goes on with the file of which that was told.

    Raises ParameterError.
    """
    token = params.get("resume")
    after, limit = params.get("after"), params.get("limit")
    return Streamed(
        asked=_thawed(token) if token else ask(params),
        format=parse_format(params.get("format") or "ndjson"),
        after=_id("after", after) if after else 0,
        limit=parse_limit(limit, maximum=MAX_STREAMED) if limit else None,
    )


def parse_format(name: str) -> Format:
    """The format of this name. Raises ParameterError."""
    if name not in FORMATS:
        raise ParameterError("format", f"must be one of {', '.join(FORMATS)}")
    return FORMATS[name]


def frozen(asked: Asked) -> str:
    """What was asked for as one word, which nobody but us can make."""
    return signing.dumps(msgspec.to_builtins(asked), salt=SALT, compress=True)


def refuse_too_many(streamed: Streamed) -> None:
    """Raises Conflict where more would be read than may be; a file is whole, or it is not begun.

    A limit bounds what is read, unless bytes are looked into: any number of them may come before the last that passes.
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
    """How many records the stream would read; not counted beyond the first that is too many."""
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
