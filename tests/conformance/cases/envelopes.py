"""JsonConverter with schemas: envelopes of every type, and of every wrong shape."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ENVELOPES, Case, envelope, struct, values

LOGICAL = "org.apache.kafka.connect.data."
DECIMAL = {"type": "bytes", "name": f"{LOGICAL}Decimal", "version": 1, "parameters": {"scale": "2"}}
DATE = {"type": "int32", "name": f"{LOGICAL}Date", "version": 1}
TIME = {"type": "int32", "name": f"{LOGICAL}Time", "version": 1}
TIMESTAMP = {"type": "int64", "name": f"{LOGICAL}Timestamp", "version": 1}
WRONG: dict[str, Any] = {
    "text": "seven", "digits": "7", "true": True, "float": 1.9, "big": 10**12, "huge": 2**70, "list": [1],
    "object": {"a": 1}, "null": None, "negative": -300,
}  # fmt: skip


def _primitive(kind: str, **good: Any) -> Case:
    rows = {**good, **{f"wrong_{label}": value for label, value in WRONG.items()}}
    bodies = {label: envelope({"type": kind, "optional": False}, value) for label, value in rows.items()}
    optional = {"optional_null": envelope({"type": kind, "optional": True}, None)}
    return Case(f"envelope-{kind}", values(**bodies, **optional), ENVELOPES)


CASES = (
    _primitive("boolean", yes=True, no=False),
    _primitive("int8", small=7, most=127, over=128),
    _primitive("int16", small=7, most=32767, over=32768),
    _primitive("int32", small=7, most=2**31 - 1, over=2**31),
    _primitive("int64", small=7, most=2**63 - 1, over=2**63),
    _primitive("float", small=7, most=1.5, over=1e300, tenth=0.1),
    _primitive("double", small=7, most=1.5, tenth=0.1, e10=1e10),
    _primitive("string", text="a", empty=""),
    _primitive("bytes", base64="AAE=", unpadded="AAE", not_base64="?!", empty="", spaces="AA E="),
    Case(
        "envelope-struct",
        values(
            good=struct({"id": "int32", "name": "string?"}, {"id": 7, "name": None}),
            missing_optional=struct({"id": "int32", "name": "string?"}, {"id": 7}),
            missing=struct({"id": "int32"}, {}),
            extra=struct({"id": "int32"}, {"id": 1, "more": 2}),
            not_object=struct({"id": "int32"}, [1]),
            nested=struct({"in": {"type": "struct", "fields": [{"field": "x", "type": "int8"}]}}, {"in": {"x": 1}}),
            empty=struct({}, {}),
            null=struct({"id": "int32"}, None),
            optional_null=struct({"id": "int32"}, None, optional=True),
            named=struct({"id": "int32"}, {"id": 1}, name="com.example.Id", version=3, doc="an id"),
            twice=envelope({"type": "struct", "fields": [{"field": "a", "type": "int8"}] * 2}, {"a": 1}),
        ),
        ENVELOPES,
    ),
    Case(
        "envelope-array",
        values(
            good=envelope({"type": "array", "items": {"type": "int32"}}, [1, 2]),
            empty=envelope({"type": "array", "items": {"type": "int32"}}, []),
            null_item=envelope({"type": "array", "items": {"type": "int32", "optional": True}}, [1, None]),
            null_required=envelope({"type": "array", "items": {"type": "int32"}}, [1, None]),
            object=envelope({"type": "array", "items": {"type": "int32"}}, {"a": 1}),
            no_items=envelope({"type": "array"}, [1]),
            nested=envelope({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, [["a"], []]),
        ),
        ENVELOPES,
    ),
    Case(
        "envelope-map",
        values(
            text=envelope({"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}}, {"a": 1}),
            pairs=envelope(
                {"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}}, [[1, "a"], [2, "b"]]
            ),
            object_for_pairs=envelope(
                {"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}}, {"1": "a"}
            ),
            pairs_for_text=envelope(
                {"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}}, [["a", 1]]
            ),
            triple=envelope({"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}}, [[1, "a", "b"]]),
            list_keys=envelope(
                {"type": "map", "keys": {"type": "array", "items": {"type": "int8"}}, "values": {"type": "int8"}},
                [[[1], 2]],
            ),
            no_keys=envelope({"type": "map", "values": {"type": "string"}}, {}),
            no_values=envelope({"type": "map", "keys": {"type": "string"}}, {}),
            null_value=envelope(
                {"type": "map", "keys": {"type": "string"}, "values": {"type": "string", "optional": True}}, {"a": None}
            ),
            optional_keys=envelope(
                {"type": "map", "keys": {"type": "string", "optional": True}, "values": {"type": "int8"}}, {"a": 1}
            ),
        ),
        ENVELOPES,
    ),
    Case(
        "envelope-logical",
        values(
            decimal=envelope(DECIMAL, "AMg="),
            decimal_number=envelope(DECIMAL, 1.5),
            decimal_integer=envelope(DECIMAL, 2),
            decimal_text=envelope(DECIMAL, "1.50"),
            decimal_no_scale=envelope({**DECIMAL, "parameters": None}, "AMg="),
            date=envelope(DATE, 18321),
            date_negative=envelope(DATE, -1),
            date_text=envelope(DATE, "2020-02-29"),
            date_float=envelope(DATE, 1.5),
            time=envelope(TIME, 45296789),
            time_over=envelope(TIME, 86_400_000),
            time_negative=envelope(TIME, -1),
            timestamp=envelope(TIMESTAMP, 1582979696789),
            timestamp_far=envelope(TIMESTAMP, 253402300800000),
            timestamp_text=envelope(TIMESTAMP, "x"),
            date_null=envelope({**DATE, "optional": True}, None),
            unknown_name=envelope({"type": "int32", "name": "com.example.Age"}, 7),
        ),
        ENVELOPES,
    ),
    Case(
        "envelope-defaults",
        values(
            default=struct({"n": {"type": "int32", "optional": True, "default": 5}}, {"n": None}),
            missing=struct({"n": {"type": "int32", "default": 5}}, {}),
            wrong_default=struct({"n": {"type": "int32", "default": "x"}}, {"n": 1}),
            date=struct({"d": {**DATE, "default": 10}}, {"d": None}),
            nested=struct(
                {
                    "s": {
                        "type": "struct",
                        "optional": True,
                        "default": {"x": 1},
                        "fields": [{"field": "x", "type": "int8"}],
                    }
                },
                {"s": None},
            ),
            top=envelope({"type": "string", "optional": True, "default": "d"}, None),
        ),
        ENVELOPES,
    ),
    Case(
        "envelope-defaults-kept-null",
        values(
            default=struct({"n": {"type": "int32", "optional": True, "default": 5}}, {"n": None}),
            required=struct({"n": {"type": "int32", "default": 5}}, {"n": None}),
        ),
        {**ENVELOPES, "value.converter.replace.null.with.default": "false"},
    ),
    Case(
        "envelope-shape",
        values(
            bare=b'{"id":7}',
            no_payload=b'{"schema":null}',
            null_schema=b'{"schema":null,"payload":{"a":1}}',
            null_both=b'{"schema":null,"payload":null}',
            more=b'{"schema":null,"payload":1,"x":2}',
            list=b"[1]",
            text=b'"a"',
            null=b"null",
            empty=b"",
            tombstone=None,
            cut=b'{"schema":',
            no_type=b'{"schema":{},"payload":1}',
            unknown_type=b'{"schema":{"type":"int128"},"payload":1}',
            text_schema=b'{"schema":"int32","payload":1}',
            number_type=b'{"schema":{"type":5},"payload":1}',
            upper_type=b'{"schema":{"type":"INT32"},"payload":1}',
            nameless=b'{"schema":{"type":"struct","fields":[{"type":"int8"}]},"payload":{}}',
            no_fields=b'{"schema":{"type":"struct"},"payload":{}}',
            text_optional=b'{"schema":{"type":"int8","optional":"true"},"payload":1}',
            text_version=b'{"schema":{"type":"int8","version":"1"},"payload":1}',
            number_name=b'{"schema":{"type":"int8","name":5},"payload":1}',
            parameters=b'{"schema":{"type":"int8","parameters":{"a":"b"}},"payload":1}',
            number_parameter=b'{"schema":{"type":"int8","parameters":{"a":1}},"payload":1}',
            order=b'{"payload":1,"schema":{"type":"int8"}}',
            schemaless_map=b'{"schema":null,"payload":{"b":1,"a":[1.5,null]}}',
        ),
        ENVELOPES,
    ),
    Case(
        "json-schema-cache-of-one",
        values(
            a=struct({"a": "int8"}, {"a": 1}),
            b=struct({"b": "int8"}, {"b": 1}),
            again=struct({"a": "int8"}, {"a": 2}),
            wrong=b"1",
        ),
        {**ENVELOPES, "value.converter.schemas.cache.size": "1"},
    ),
)
