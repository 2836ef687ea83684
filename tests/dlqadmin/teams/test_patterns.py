"""Patterns of names."""

from __future__ import annotations

import pytest

from dlqadmin.teams.patterns import is_pattern, owns


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("*bc", "abcbc", True),
        ("a*bc*bc", "abc", False),
        ("**", "x", True),
        ("a", "ab", False),
    ],
)
def test_a_star_stands_for_any_text(pattern: str, name: str, matches: bool) -> None:
    assert owns([pattern], "local", name) is matches


def test_many_stars_cost_no_exponential_time() -> None:
    assert not owns(["*a" * 100 + "b"], "local", "a" * 249)


def test_patterns_are_names_with_stars_and_at_most_one_slash() -> None:
    assert [text for text in ("a.*", "eu/a_b-*", "*/*", "a/b/c", "a b", "", "/a", "a/") if is_pattern(text)] == [
        "a.*",
        "eu/a_b-*",
        "*/*",
    ]
