from __future__ import annotations

from pathlib import PurePath
from traceback import TracebackException, extract_tb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConversionError
from engine.record.trace import describe, forget_frames


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Renamed(Exception):
    @property
    def args(self) -> Any:  # type: ignore[override] # an odd class
        raise RuntimeError("no arguments")


def caught(cause: BaseException | None, error: BaseException) -> BaseException:
    try:
        raise error from cause
    except type(error) as raised:
        return raised


def test_the_outermost_comes_first_and_causes_follow() -> None:
    found = describe(caught(caught(None, ValueError("inner")), ConversionError("outer")), foreign=True)
    heads = [line for line in found.text.splitlines() if not line.startswith("  at ")]
    assert heads == ["engine.errors.ConversionError: outer", "Caused by: ValueError: inner"]
    assert found[1:] == ("engine.errors.ConversionError", "outer", "ValueError", "inner", None)


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
    assert describe(one, foreign=True).root_message == "2"


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        ValueError(""),
        ValueError(),
        ValueError("two", 2),
        ValueError(b"bytes"),
        KeyError("name"),
        KeyError(),
        OSError(2, "gone"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"),
        SyntaxError("odd", ("file.py", 1, 2, "a b")),
        ImportError("none", name="x"),
        NameError("unknown"),
        Mute("words"),
        Renamed("words"),
        ExceptionGroup("some", [ValueError("one")]),
    ],
)
def test_the_message_is_what_python_says_of_the_exception(error: BaseException) -> None:
    told = str(TracebackException(type(error), error, None, compact=True, limit=0))
    found = describe(error)
    assert describe(error, foreign=True).message == told
    assert (found.content.message if found.content else found.message) == told


def test_the_lines_of_a_place_are_those_of_its_own_module() -> None:
    code = compile("def fail():\n    raise ValueError", "/somewhere/shared.py", "exec")
    for module in ("a.one", "b.two", "__main__", None):
        names: dict[str, Any] = {"__name__": module}
        exec(code, names)
        with pytest.raises(ValueError) as raised:  # noqa: PT011, of whatever message
            names["fail"]()
        path = "shared.py" if module in {"__main__", None} else f"{str(module).replace('.', '/')}.py"
        assert f"  at {path}:fail:2" in describe(raised.value).text.splitlines()


def where(error: BaseException) -> list[str]:
    """What Python says of the frames, innermost first."""
    rows = [f"{PurePath(row.filename).name}:{row.name}:{row.lineno}" for row in extract_tb(error.__traceback__)]
    return rows[::-1]


def told(error: BaseException) -> list[str]:
    """What we say of them, but for the packages that the files are in."""
    lines = [line for line in describe(error).text.splitlines() if line.startswith("  at ")]
    return [line.removeprefix("  at ").rpartition("/")[2] for line in lines]


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12))
def test_frames_are_those_that_python_tells_whichever_way_was_taken(way: list[str]) -> None:
    def go(left: list[str]) -> Any:
        match left:
            case ["a", *rest]:
                go(rest)
            case ["b", *rest]:
                next(go(rest) for _ in "1")
            case ["c", *rest]:
                go(rest) if len(rest) % 2 else go(list(rest))  # two places on one line
            case ["d", *rest]:
                sorted(rest, key=lambda _: go(rest))
            case _:
                raise ValueError("end")

    with pytest.raises(ValueError, match="end") as raised:
        go([*way, "end"])
    assert told(raised.value) == where(raised.value)
    assert told(raised.value) == where(raised.value)  # as it is kept


def test_code_that_comes_and_goes_is_not_taken_for_other_code() -> None:
    """Places are known by their code's id, which Python gives again to other code."""
    for number in range(5_000):  # more than are kept
        names: dict[str, Any] = {"__name__": "generated"}
        exec(f"{chr(10) * (number % 7)}def f{number}(): raise ValueError", names)
        with pytest.raises(ValueError) as raised:  # noqa: PT011, of whatever message
            names[f"f{number}"]()
        assert f"f{number}:{1 + number % 7}" in describe(raised.value).text.splitlines()[1]


def test_a_class_without_a_hash_is_described_as_any_other() -> None:
    class Unhashable(type):
        __hash__ = None  # type: ignore[assignment] # an odd class

    class Odd(Exception, metaclass=Unhashable):
        pass

    found = describe(Odd("words"), foreign=True)
    assert (found.exception_class.endswith(".Odd"), found.message) == (True, "words")


def test_forgotten_frames_are_those_of_the_whole_chain() -> None:
    error = caught(caught(None, ValueError("inner")), ConversionError("outer"))
    forget_frames(error)
    assert error.__cause__ is not None
    assert (error.__traceback__, error.__cause__.__traceback__) == (None, None)


def test_forgotten_frames_are_those_of_what_was_under_way_too() -> None:
    under_way = caught(None, ValueError("under way"))
    error = caught(caught(None, ValueError("inner")), ConversionError("outer"))
    error.__context__ = under_way
    forget_frames(error)
    assert under_way.__traceback__ is None


def test_forgetting_the_frames_of_a_circle_ends() -> None:
    one, two = caught(None, ValueError("1")), caught(None, ValueError("2"))
    one.__cause__, two.__cause__ = two, one
    forget_frames(one)
    assert (one.__traceback__, two.__traceback__) == (None, None)


@pytest.mark.parametrize("retried", [False, True])
def test_a_cause_that_somebody_keeps_is_told_with_its_frames_each_time(retried: bool) -> None:
    kept = caught(None, ValueError("inner"))
    if retried:  # nobody was told of the first attempt
        forget_frames(caught(kept, ConversionError("outer")))
    texts = []
    for _ in range(3):
        error = caught(kept, ConversionError("outer"))
        texts.append(describe(error).text)
        forget_frames(error)
    assert texts[0].count(":caught:") == 2
    assert len(set(texts)) == 1
