"""Predicates, filters, chains, and what ends a task."""

from __future__ import annotations

from tests.conformance.case import AWAY, MARKER, PREDICATES, STRING, Case, Given, chain, transform, values

INPUTS = {
    "good": Given(b'{"a":"1"}'), "tombstone": Given(None), "null": Given(b"null"),
    "headed": Given(b'{"a":"2"}', headers=(("h", b"1"),)), "null_header": Given(b'{"a":"3"}', headers=(("h", None),)),
    "word": Given(b'{"a":"x"}', headers=(("h", b"1"),)), "cut": Given(b"{", headers=(("h", b"1"),)),
}  # fmt: skip
STOPPING = values(first=b'{"a":"1"}', second=b'{"a":"2"}', bad=b'{"a":"x"}', never=b'{"a":"4"}')
CAST = transform("Cast$Value", spec="a:int8")
KEYS = {"first": Given(b"1", b"12"), "bad": Given(b"1", b"x"), "last": Given(b"1", b"1")}
TWO = values(first=b'{"a":"1"}', second=b'{"a":"2"}')
RETRY_FOR_EVER = {"errors.retry.timeout": "-1"}
STOPPED = {"errors.tolerance": "none", "errors.deadletterqueue.topic.name": ""}
PUT_AWAY = {"recorder.away.ms": "2000", "recorder.marker": MARKER}


def predicate(type_name: str, /, *, negate: str | None = None, **options: str) -> dict[str, str]:
    """The properties of one predicate, and its use by the transform `t`."""
    named = {f"predicates.p.{name}": value for name, value in options.items()}
    used = {} if negate is None else {"transforms.t.negate": negate}
    return {
        "predicates": "p",
        "predicates.p.type": PREDICATES + type_name,
        "transforms.t.predicate": "p",
        **named,
        **used,
    }


def _under(name: str, type_name: str, /, **options: str) -> list[Case]:
    """A filter and a cast under the predicate, and under its opposite."""
    return [
        Case(f"{kind}-{name}{mark}", INPUTS, {**props, **predicate(type_name, negate=negate, **options)})
        for kind, props in (("filter", transform("Filter")), ("cast-if", CAST))
        for mark, negate in (("", None), ("-negated", "true"))
    ]


def _away(ms: int) -> dict[str, str]:
    """A transform that fails with a retriable exception for so long."""
    return {
        "transforms": "t",
        "transforms.t.type": AWAY,
        "transforms.t.marker": MARKER,
        "transforms.t.away.ms": str(ms),
    }


CASES = (
    *_under("tombstone", "RecordIsTombstone"),
    *_under("header", "HasHeaderKey", name="h"),
    *_under("topic", "TopicNameMatches", pattern="in\\.filter-.*"),
    Case("filter-all", INPUTS, transform("Filter")),
    Case("filter-not-negated", INPUTS, {**transform("Filter"), **predicate("RecordIsTombstone", negate="false")}),
    Case("predicate-wrong-pattern", INPUTS, {**transform("Filter"), **predicate("TopicNameMatches", pattern="(")}),
    Case("predicate-without-name", INPUTS, {**transform("Filter"), **predicate("HasHeaderKey")}),
    Case("predicate-empty-name", INPUTS, {**transform("Filter"), **predicate("HasHeaderKey", name="")}),
    Case("predicate-not-defined", INPUTS, {**transform("Filter"), "transforms.t.predicate": "nobody"}),
    Case("predicate-unknown", INPUTS, {**transform("Filter"), **predicate("NoSuchPredicate")}),
    Case("transform-unknown", INPUTS, transform("NoSuchTransform")),
    Case("transform-unknown-option", INPUTS, {**CAST, "transforms.t.speck": "a:int8"}),
    Case("transform-without-type", INPUTS, {"transforms": "t"}),
    Case("converter-unknown", INPUTS, {"value.converter": "no.such.Converter"}),
    Case(
        "chain",
        INPUTS,
        chain(
            "HoistField$Value",
            "Flatten$Value",
            "ReplaceField$Value",
            "RegexRouter",
            "InsertField$Value",
            t0__field="in",
            t1__delimiter="-",
            t2__renames="in-a:a",
            t3__regex="in\\.",
            t3__replacement="out.",
            t4__topic__field="topic",
        ),
    ),
    Case("chain-fails-late", INPUTS, chain("ReplaceField$Value", "Cast$Value", t0__renames="a:b", t1__spec="b:int8")),
    Case("chain-fails-early", INPUTS, chain("Cast$Value", "ExtractField$Value", t0__spec="a:int8", t1__field="a")),
    Case("chain-of-casts", INPUTS, chain("Cast$Value", "Cast$Value", t0__spec="a:float32", t1__spec="a:float64")),
    Case(
        "chain-float32-float64",
        values(tenth=b'{"a":"0.1"}', half=b'{"a":0.5}', word=b'{"a":"x"}'),
        chain("Cast$Value", "Cast$Value", t0__spec="a:float32", t1__spec="a:float64"),
    ),
    Case("stops-at-transform", STOPPING, {**CAST, "errors.tolerance": "none"}),
    Case("stops-at-value", values(first=b"1", bad=b"{", never=b"3"), {"errors.tolerance": "none"}),
    Case(
        "stops-at-key",
        {"first": Given(b"1", b"12"), "bad": Given(b"1", b"x"), "never": Given(b"1", b"1")},
        {"errors.tolerance": "none", **transform("Cast$Key", spec="int8")},
    ),
    Case(
        "stops-without-dead-letters",
        STOPPING,
        {**CAST, "errors.tolerance": "none", "errors.deadletterqueue.topic.name": ""},
    ),
    Case("skips-without-dead-letters", STOPPING, {**CAST, "errors.deadletterqueue.topic.name": ""}),
    Case(
        "letters-without-context",
        STOPPING,
        {**CAST, "value.converter": STRING, "errors.deadletterqueue.context.headers.enable": "true"},
    ),
    Case("retry-bad-field", STOPPING, {**CAST, "errors.retry.timeout": "4000"}),
    Case("retry-bad-field-often", STOPPING, {**CAST, **RETRY_FOR_EVER, "errors.retry.delay.max.ms": "100"}),
    Case("retry-bad-value-for-ever", values(first=b"1", cut=b"{", other=b"[", last=b"4"), RETRY_FOR_EVER),
    Case("retry-bad-key-for-ever", KEYS, {**RETRY_FOR_EVER, **transform("Cast$Key", spec="int8")}),
    Case("stops-at-transform-with-retries", STOPPING, {**CAST, **RETRY_FOR_EVER, "errors.tolerance": "none"}),
    Case("retry-transform-briefly", TWO, {**_away(2_000), "errors.retry.timeout": "120000"}),
    Case("retry-transform-given-up", TWO, {**_away(600_000), "errors.retry.timeout": "1500", **STOPPED}),
    Case("retry-transform-not-at-all", TWO, {**_away(600_000), **STOPPED}),
    Case("retry-put-briefly", TWO, {**PUT_AWAY, "errors.retry.timeout": "120000"}),
    Case("retry-put-not-at-all", TWO, PUT_AWAY),
)
