"""connect-chain: six transforms and two predicates, against Kafka Connect.

Each value is an envelope of schema and payload; the payload holds the real event's properties. Both
sides run these transforms:

* ReplaceField (exclude and rename)
* Cast of four fields
* InsertField (topic and offset)
* TimestampConverter
* MaskField unless HasHeaderKey holds: always, because no record has that header
* RegexRouter if TopicNameMatches holds: always
"""

from __future__ import annotations

import json

from benchmarks.results import BenchmarkResult
from benchmarks.rounds import records
from benchmarks.sinks import against_connect, events

TYPES = {
    "mag": "double", "place": "string", "time": "int64", "updated": "int64", "tz": "int32", "url": "string",
    "detail": "string", "felt": "int32", "cdi": "double", "mmi": "double", "alert": "string", "status": "string",
    "tsunami": "int32", "sig": "int32", "net": "string", "code": "string", "ids": "string", "sources": "string",
    "types": "string", "nst": "int32", "dmin": "double", "rms": "double", "gap": "double", "magType": "string",
    "type": "string", "title": "string",
}  # fmt: skip
FIELDS = [{"field": name, "type": kind, "optional": True} for name, kind in TYPES.items()]
SCHEMA = {"type": "struct", "name": "usgs.Event", "optional": False, "fields": FIELDS}
CHAIN = """\
value.converter.schemas.enable=true
transforms=fields,cast,origin,time,mask,route
transforms.fields.type=org.apache.kafka.connect.transforms.ReplaceField$Value
transforms.fields.exclude=detail,ids,types
transforms.fields.renames=mag:magnitude,magType:magnitude_type
transforms.cast.type=org.apache.kafka.connect.transforms.Cast$Value
transforms.cast.spec=magnitude:float32,tsunami:boolean,sig:int64,nst:string
transforms.origin.type=org.apache.kafka.connect.transforms.InsertField$Value
transforms.origin.topic.field=origin
transforms.origin.offset.field=position
transforms.time.type=org.apache.kafka.connect.transforms.TimestampConverter$Value
transforms.time.field=time
transforms.time.target.type=Timestamp
transforms.mask.type=org.apache.kafka.connect.transforms.MaskField$Value
transforms.mask.fields=url,code
transforms.mask.predicate=signed
transforms.mask.negate=true
transforms.route.type=org.apache.kafka.connect.transforms.RegexRouter
transforms.route.regex=bench\\\\.(.*)
transforms.route.replacement=seen.$1
transforms.route.predicate=bench
predicates=signed,bench
predicates.signed.type=org.apache.kafka.connect.transforms.predicates.HasHeaderKey
predicates.signed.name=signature
predicates.bench.type=org.apache.kafka.connect.transforms.predicates.TopicNameMatches
predicates.bench.pattern=bench\\\\..*
"""


def run() -> BenchmarkResult:
    """Compare both sides, print and write the result."""
    values = [wrap_in_envelope(event) for event in events()]
    return against_connect("connect-chain", values, records(1_000_000), CHAIN, goal=1.5)


def wrap_in_envelope(event: bytes) -> bytes:
    """Return the event's properties as JsonConverter writes them with schemas.enable: about 2 kB."""
    return json.dumps({"schema": SCHEMA, "payload": json.loads(event)["properties"]}, separators=(",", ":")).encode()
