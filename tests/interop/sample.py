"""The records that every writer consumes: real earthquakes, some of which fail, each for a known cause."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from demo.damage import DATA
from tests.support.topics import Headers

JSON, NULL, CONSTRAINT = "json", "null", "constraint"
CAUSES = (JSON, NULL, CONSTRAINT)
KEY, SHAPE, PRODUCTION = "key", "shape", "production"  # causes that only one framework knows


class Sample(NamedTuple):
    """One record: why it fails, or "" if it does not, and the value that would not fail."""

    cause: str
    key: bytes
    value: bytes
    fixed: bytes
    timestamp: int  # of the earthquake, in 2018

    @property
    def fixed_key(self) -> bytes:
        """The key that would not fail."""
        return self.key.removeprefix(b"?")

    @property
    def headers(self) -> Headers:
        """Headers as producers write them: text, binary, and a name that stands twice."""
        digest = hashlib.sha256(self.value).digest()
        trace = f"00-{digest[:16].hex()}-{digest[:8].hex()}-01".encode()
        return (("source", b"usgs"), ("traceparent", trace), ("sha256", digest), ("tag", b"first"), ("tag", b"second"))


# By line of the data. Gaps are null in 303 of the 1707 features, and depths negative in 43; truncation is ours.
LINES = {
    "": (0, 1),
    JSON: (2, 4),
    NULL: (3, 5),
    CONSTRAINT: (40, 46),
    KEY: (10, 11),
    SHAPE: (12, 13),
    PRODUCTION: (20, 23),  # explosions
}


def samples(causes: Iterable[str] = CAUSES) -> list[Sample]:
    """Return two records that do not fail, then two of each cause, as they are written to the origin topic."""
    lines = DATA.read_bytes().splitlines()
    return [_sample(cause, lines[number], number) for cause in ("", *causes) for number in LINES[cause]]


def _sample(cause: str, line: bytes, number: int) -> Sample:
    feature = json.loads(line)
    key = feature["id"].encode()
    fixed = dict(feature, properties={"gap": 90, **_known(feature["properties"]), "type": "earthquake"})
    longitude, latitude, depth = feature["geometry"]["coordinates"]
    fixed["geometry"] = {"type": "Point", "coordinates": [longitude, latitude, max(0.0, depth)]}
    value = {
        JSON: line[: 250 + number],  # inside a string
        SHAPE: b"[" + line + b"]",
    }.get(cause, line)
    if cause == KEY:
        key = b"?" + key
    return Sample(cause, key, value, json.dumps(fixed).encode(), feature["properties"]["time"])


def _known(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if value is not None}
