from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.dialects.stack_traces import cached_first_frame, first_frame, join, outer_exceptions, parse, split
from engine.record.trace import describe

JAVA = """org.apache.kafka.connect.errors.DataException: Converting byte[] failed:
\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:334)
\tat com.acme.Smt.apply(Smt.java:12)
\t... 14 more
Caused by: com.fasterxml.jackson.core.JsonParseException: Unexpected character ('1')
\tat app//com.fasterxml.jackson.core.JsonParser._constructError(JsonParser.java:1804)
\tat sun.reflect.Native.invoke0(Native Method)"""
PYTHON = """Traceback (most recent call last):
  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode
    obj, end = self.scan_once(s, idx)
ValueError: bad

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "jobs/load.py", line 9, in load
    raise LoadError("x") from error
jobs.LoadError: x"""


@given(st.text(alphabet="a:\t \n\r", max_size=40))
def test_a_trace_that_is_split_is_put_together_again(text: str) -> None:
    assert join(*split(text)) == text


def test_traces_that_differ_in_what_they_say_share_their_frames() -> None:
    other = JAVA.replace("'1'", "'2'").replace("byte[]", "int[]")
    assert other != JAVA
    assert split(other)[1] == split(JAVA)[1]
    assert split(PYTHON)[1] == split(PYTHON.replace("bad", "worse"))[1]


JACKSON = """w.ListenerFailed: Listener threw
\tat w.Listener.on(Listener.java:1)
Caused by: j.InvalidFormatException: not an int
 at [Source: (String)"{"qty":"x"}"; line: 1, column: 8] (through reference chain: Order["qty"])
\tat com.acme.Orders.on(Orders.java:9)
\t... 3 more
Caused by: java.lang.NumberFormatException: For input string: "x"
\t... 4 more"""


def test_the_source_that_jackson_prints_belongs_to_the_message_and_not_to_the_frames() -> None:
    heads, frames = split(JACKSON)
    assert "Source" in parse(JACKSON)[1].message
    assert frames == split(JACKSON.replace('"x"', '"other"'))[1]
    assert join(heads, frames) == JACKSON


def test_the_exceptions_around_the_root_cause_are_read_from_the_heads_alone() -> None:
    around = outer_exceptions(split(JACKSON)[0])
    assert [name for name, _ in around] == ["w.ListenerFailed", "j.InvalidFormatException"]
    assert around[1][1].endswith('(through reference chain: Order["qty"])')
    assert outer_exceptions(split(PYTHON)[0]) == (("jobs.LoadError", "x"),)
    assert outer_exceptions("E: no") == ()


def raised() -> Exception:
    try:
        try:
            int("x")
        except ValueError as error:
            raise RuntimeError("outer\nsecond line") from error
    except RuntimeError as error:
        return error
    raise AssertionError


def test_our_own_traces_are_read_back() -> None:
    error = describe(raised(), foreign=True)
    chain = parse(error.text)
    assert [(link.class_name, link.message) for link in chain] == [
        ("RuntimeError", "outer\nsecond line"),
        (error.root_class, error.root_message),
    ]
    frame = first_frame(chain)
    assert frame is not None
    assert (frame.function, frame.application) == ("raised", True)


def test_java_traces_tell_frameworks_from_the_application() -> None:
    chain = parse(JAVA)
    assert [link.class_name.rpartition(".")[2] for link in chain] == ["DataException", "JsonParseException"]
    assert [frame.application for link in chain for frame in link.frames] == [False, True, False, False]
    frame = first_frame(chain)
    assert frame is not None
    assert (frame.file, frame.line, frame.function) == ("Smt.java", 12, "com.acme.Smt.apply")


def test_python_traces_have_the_root_cause_last() -> None:
    chain = parse(PYTHON)
    assert [(link.class_name, link.message) for link in chain] == [("jobs.LoadError", "x"), ("ValueError", "bad")]
    assert [link.frames[0].application for link in chain] == [True, False]


@given(st.text(max_size=400))
def test_no_text_is_too_strange(text: str) -> None:
    parse(text)
    parse("Traceback (most recent call last):\n" + text)
    parse("a.B: c\n\tat " + text)


def test_a_line_number_too_long_for_an_integer_is_no_frame() -> None:
    (link,) = parse("ValueError: x\n  at a/b.py:f:" + "9" * 5000)
    assert link.frames == ()


LINES = st.sampled_from(
    [
        "",
        " ",
        "a.B: c",
        "  at a/b.py:f:1",
        "\tat c.D.e(D.java:3)",
        "Caused by: x.Y: z",
        "Traceback (most recent call last):",
        '  File "jobs/load.py", line 9, in load',
        "at a/b.py:f:1",
        "x\r  at q/r.py:s:2",
        "... 14 more",
    ]
)


@given(st.lists(LINES, max_size=8))
def test_the_frame_that_tells_failures_apart_is_the_first_of_the_chain(lines: list[str]) -> None:
    trace = "\n".join(lines)
    assert cached_first_frame(trace) == first_frame(parse(trace))
    assert cached_first_frame(JAVA) == first_frame(parse(JAVA))
