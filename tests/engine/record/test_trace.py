from __future__ import annotations

import pytest

from engine.errors import ConversionError
from engine.record.trace import describe


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def caught(cause: BaseException | None, error: BaseException) -> BaseException:
    try:
        raise error from cause
    except type(error) as raised:
        return raised


def test_the_outermost_comes_first_and_causes_follow() -> None:
    found = describe(caught(caught(None, ValueError("inner")), ConversionError("outer")))
    heads = [line for line in found.text.splitlines() if not line.startswith("  at ")]
    assert heads == ["engine.errors.ConversionError: outer", "Caused by: ValueError: inner"]
    assert found[1:] == ("engine.errors.ConversionError", "outer", "ValueError", "inner")


def test_frames_name_modules_and_no_machine_path() -> None:
    frames = [line for line in describe(caught(None, ValueError("x"))).text.splitlines() if line.startswith("  at ")]
    assert frames
    assert all("test_trace.py:caught:" in line and "  at /" not in line for line in frames)


def test_an_exception_that_cannot_say_its_message_does_no_harm() -> None:
    assert "Mute" in describe(Mute()).exception_class


def test_deep_recursion_keeps_fifty_frames() -> None:
    def deep(n: int) -> None:
        if n == 0:
            raise ValueError("deep")
        deep(n - 1)

    with pytest.raises(ValueError, match="deep") as caught_error:
        deep(200)
    assert describe(caught_error.value).text.count("  at ") == 50


def test_a_circle_of_causes_ends() -> None:
    one, two = ValueError("1"), ValueError("2")
    one.__cause__, two.__cause__ = two, one
    assert describe(one).root_message == "2"
