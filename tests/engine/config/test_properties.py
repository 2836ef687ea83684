from __future__ import annotations

import pytest

from engine.config.properties import parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name=a", {"name": "a"}),
        ("name = a b ", {"name": "a b"}),
        ("name: a", {"name": "a"}),
        ("name a", {"name": "a"}),
        ("name", {"name": ""}),
        ("name=", {"name": ""}),
        ("# c\n! d\n\n  x=1", {"x": "1"}),
        ("topics=a,\\\n   b,\\\n   c\nnext=1", {"topics": "a,b,c", "next": "1"}),
        ("path=C:\\\\dir", {"path": "C:\\dir"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a\\ b=c", {"a b": "c"}),
        ("delimiter=\\u002e", {"delimiter": "."}),
        ("url=postgresql://u:p@h:1/d?x=y", {"url": "postgresql://u:p@h:1/d?x=y"}),
        ("transforms.f.type=org.apache.kafka.connect.transforms.Flatten$Value",
         {"transforms.f.type": "org.apache.kafka.connect.transforms.Flatten$Value"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=#1", {"a": "#1"}),
        ("a=1\\", {"a": "1"}),
        ("= x", {"": "x"}),
    ],
)  # fmt: skip
def test_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected
