"""All configurations."""

from tests.conformance.case import Case
from tests.conformance.cases import casting, converters, envelopes, fields, files, json, policy, routing

CASES: tuple[Case, ...] = tuple(
    case for room in (converters, json, envelopes, casting, fields, routing, policy, files) for case in room.CASES
)
