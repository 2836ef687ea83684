"""What reads bytes of anybody's: each target takes any bytes, and raises only when something is wrong with us."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.config.worker import StepConfig
from engine.errors import ConversionError
from engine.record.error_context_json import decode, encode
from engine.steps.registry import build_converter

Target = Callable[[bytes], None]
EXAMPLE_4 = Path(__file__).parents[1] / "engine" / "record" / "kip298" / "example4.json"

CONVERTERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("JsonConverter", {"schemas.enable": "false"}),
    ("JsonConverter", {"schemas.enable": "true"}),
    ("StringConverter", {}),
    ("StringConverter", {"converter.encoding": "UTF-16"}),
    ("SimpleHeaderConverter", {}),
    ("ByteArrayConverter", {}),
    ("BooleanConverter", {}),
    ("ShortConverter", {}),
    ("IntegerConverter", {}),
    ("LongConverter", {}),
    ("FloatConverter", {}),
    ("DoubleConverter", {}),
)
SEEDS: tuple[bytes, ...] = (
    EXAMPLE_4.read_bytes(),
    b'{"schema":{"type":"struct","fields":[{"field":"a","type":"int32","optional":true}]},"payload":{"a":1}}',
    b'{"schema":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}},"payload":"MTI="}',
    b'{"schema":{"type":"map","keys":{"type":"string"},"values":{"type":"double"}},"payload":{"a":1e400}}',
    b'{"schema":{"type":"array","items":{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp"}},"payload":[1]}',
    b'[1,-0.0,1e5,"\\ud800",null,true,{"a":{"a":[]}}]',
    b'{"a":123456789012345678901234567890}',
    b'"2026-11-21T17:00:00.000Z"',
    b'{k:"v", "a": [1, 2.5, 1000-01-01], b: }',
    b"\xef\xbb\xbf[NaN]",
    "grüße, \u2028 \U0001f600".encode("utf-16"),
    b"\x00\x00\x00\x00\x00\x00\x00\x2a",
)


def targets() -> tuple[Target, ...]:
    """The reader of error contexts, then every converter."""
    return (read_context, *(_converter(name, options) for name, options in CONVERTERS))


def read_context(data: bytes) -> None:
    """Whatever is read can be told apart from what is not, and written again."""
    found = decode(data)
    assert found.context is not None or found.problems
    if found.context is not None:
        encode(found.context, include_configs=True, include_messages=True, max_bytes=4096)


def _converter(name: str, options: dict[str, str]) -> Target:
    converter = build_converter(StepConfig("value.converter", name, options), is_key=False)

    def convert(data: bytes) -> None:
        try:
            schema, value = converter.to_connect("t", data)
            converter.from_connect("t", schema, value)
        except ConversionError:
            return

    return convert
