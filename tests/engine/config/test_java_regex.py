"""Every row was checked against java.util.regex."""

from __future__ import annotations

import pytest

from engine.config.java_regex import compile_java, compile_replacement

TOPICS = ("t", "ab", "aab", "A-1", "foo-bar", "foo.bar.baz", "orders-2020")


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("[a-z&&[^b]]+", {"t"}), ("[a-c[x-z]]+", {"ab", "aab"}), ("\\QA-1\\E", {"A-1"}), ("\\Qab", {"ab"}),
        ("\\p{Lower}+", {"t", "ab", "aab"}), ("a*+b", {"ab", "aab"}), ("(?>a+)ab", set()),
        ("(?<q>a)\\k<q>b", {"aab"}), ("([a-z])\\1b", {"aab"}), (".*b\\z", {"ab", "aab"}), ("ab\\Z", {"ab"}),
        ("[\\w--]+", {"t", "ab", "aab", "A-1", "foo-bar", "orders-2020"}), ("[[:alpha:]]+", set()),
        ("[\\Qa-b\\E]+", {"ab", "aab"}), ("(?i)AB", {"ab"}), ("a(?i)B", {"ab"}), ("orders-\\d{4}", {"orders-2020"}),
        ("foo.(?<!-)bar.*", {"foo.bar.baz"}), ("", set()), ("[a||b]+", {"ab", "aab"}),
    ],
)  # fmt: skip
def test_patterns_match_what_they_match_in_java(pattern: str, matches: set[str]) -> None:
    assert {topic for topic in TOPICS if compile_java(pattern).fullmatch(topic)} == matches


@pytest.mark.parametrize("pattern", ["(", "[a", "*", "a**", "(?<a>a)(?<a>b)", "\\p{Nothing}", "(?<1>a)"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a valid regular expression"):
        compile_java(pattern)


@pytest.mark.parametrize(
    ("pattern", "replacement", "found"),
    [
        ("(.*)-(.*)", "$2-$1", "bar-foo"), ("(?<a>foo)-(?<b>bar)", "${b}_${a}", "bar_foo"), (".*", "x", "x"),
        ("(f)(o)(o).*", "$12$0", "f2foo-bar"), ("foo-(x)?bar", "[$1]", "[]"), ("(foo)-bar", "\\$1", "$1"),
        ("(foo)-bar", "a\\\\b", "a\\b"), ("fo|foo-bar", "X", "Xo-bar"), ("(foo)-bar", "$1$1", "foofoo"),
    ],
)  # fmt: skip
def test_replacements_take_groups_as_java_takes_them(pattern: str, replacement: str, found: str) -> None:
    compiled = compile_java(pattern)
    assert compiled.sub(compile_replacement(replacement, compiled), "foo-bar", count=1) == found


@pytest.mark.parametrize(
    ("replacement", "problem"),
    [
        ("$2", "group 2"), ("$", "without a group"), ("${x}", "{x}"), ("${a", "{a}"), ("$a", "without a group"),
        ("x\\", "single backslash"),
    ],
)  # fmt: skip
def test_a_replacement_that_fails_on_every_match_is_refused(replacement: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        compile_replacement(replacement, compile_java("(?<a>b)"))
