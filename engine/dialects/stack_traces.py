"""Parse stack traces of the engine, Java and Python into a cause chain, root cause last."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

JAVA_FRAME = re.compile(r"^(?P<method>[\w$.<>/@-]+)\((?P<file>[^():]*)(?::(?P<line>\d{1,9}))?\)(?: ~?\[.*\])?$")
OUR_FRAME = re.compile(r"^(?P<file>\S+):(?P<function>[\w.<>]+):(?P<line>\d{1,9})$")
PYTHON_FRAME = re.compile(r'^File "(?P<file>[^"]+)", line (?P<line>\d{1,9})(?:, in (?P<function>.+))?$')
HEAD = re.compile(r"^(?P<class>[A-Za-z_][\w$]*(?:\.[\w$<>]+)*)(?:: ?(?P<message>.*))?$")
FRAMEWORKS = re.compile(
    r"^(java|javax|jdk|sun|com\.sun|kotlin|scala|org\.apache\.kafka|org\.springframework|com\.fasterxml|io\.confluent)\."
    r"|(^|/)(site-packages|dist-packages|lib/python[\d.]*|python3\.\d+|<frozen)"
    r"|^(sqlalchemy|orjson|json|confluent_kafka|pyspark|msgspec|asyncio|concurrent|threading|importlib)[/.]|^<"
)
# Jackson indents the line of its messages that prints the source.
HEADS = re.compile(r"^(?![ \t](?!at \[Source: )).*$", re.MULTILINE)
SOURCE = "at [Source: "
MAX_FRAMES = 500
REMEMBERED_LINE, REMEMBERED_TRACE = 300, 16_000  # characters


class StackFrame(msgspec.Struct, frozen=True):
    """A line of code. `application` is false for the standard library and well-known frameworks."""

    file: str
    line: int | None
    function: str
    application: bool


class ChainedException(msgspec.Struct, frozen=True):
    """One exception of a cause chain. Frames keep the order of the text."""

    class_name: str
    message: str
    frames: tuple[StackFrame, ...]


def split(trace: str) -> tuple[str, str]:
    """Split a trace into its unindented lines and the rest, with empty lines in their place.

    The unindented lines (heads) contain the exception messages, which differ in each trace. The rest is the
    same in many traces.
    """
    end = trace.find("\n")
    if end < 0 or trace[0] in " \t" or len(trace) > REMEMBERED_TRACE:
        return _split(trace)
    more, rest = _remembered_split(trace[end:])  # the lines after the first one are the same in many traces
    return trace[:end] + more, rest


def join(heads: str | None, rest: str) -> str:
    """Rebuild the trace that `split` split. Without heads, `rest` is already the whole trace."""
    if heads is None:
        return rest
    lines = iter(heads.split("\n"))
    return "\n".join(line or next(lines) for line in rest.split("\n"))


def _split(trace: str) -> tuple[str, str]:
    return "\n".join(HEADS.findall(trace)), HEADS.sub("", trace)


_remembered_split = lru_cache(512)(_split)


def parse(trace: str) -> tuple[ChainedException, ...]:
    """Return the cause chain, outermost exception first. Never raises.

    The chain is empty if the text contains no exception.
    """
    links = _parse_python(trace) if trace.lstrip().startswith("Traceback (") else _parse_java(trace)
    return tuple(link for link in links if link.class_name or link.frames)


def outer_exceptions(heads: str) -> tuple[tuple[str, str], ...]:
    """Return class and message of each exception around the root cause, outermost first, from heads of `split`."""
    if "\nCaused by: " not in heads and not heads.startswith("Traceback ("):
        return ()
    return tuple((link.class_name, link.message) for link in parse(heads)[:-1])


def first_frame(chain: tuple[ChainedException, ...]) -> StackFrame | None:
    """Return the application frame nearest to the root cause, else the root cause's first frame."""
    for link in reversed(chain):
        for frame in link.frames:
            if frame.application:
                return frame
    return next((frame for link in reversed(chain) for frame in link.frames), None)


def cached_first_frame(trace: str) -> StackFrame | None:
    """Return the `first_frame` of a trace, cached by the lines after the first one.

    The first line contains the message, which differs between failures, so it is not part of the cache key.
    """
    head, _, rest = trace.partition("\n")
    is_plain = len(head.splitlines()) == 1 and head.strip() and not head.lstrip().startswith(("at ", "Traceback ("))
    if is_plain and len(rest) <= REMEMBERED_TRACE:
        return _remembered_of_frames(rest)
    return first_frame(parse(trace))


def _parse_first_frame(lines: str) -> StackFrame | None:
    return first_frame(tuple(_parse_java(lines)))


_remembered_of_frames = lru_cache(1024)(_parse_first_frame)


def _parse_java(trace: str) -> list[ChainedException]:
    links: list[ChainedException] = []
    head: list[str] = []
    frames: list[StackFrame] = []
    suppressed = False  # its lines are indented; the next cause of the chain is not
    for line in trace.splitlines():
        stripped = line.strip()
        if line[:1].isspace() and (suppressed or stripped.startswith("Suppressed:")):
            suppressed = True
            continue
        suppressed = False
        if stripped.startswith("at ") and line[:1].isspace() and not stripped.startswith(SOURCE):
            frame = _frame(stripped[3:])
            if frame is not None and len(frames) < MAX_FRAMES:
                frames.append(frame)
        elif stripped.startswith("Caused by:"):
            links.append(_link(head, frames))
            head, frames = [stripped.removeprefix("Caused by:").strip()], []
        elif not frames and stripped:
            head.append(stripped)
    links.append(_link(head, frames))
    return links


def _parse_python(trace: str) -> list[ChainedException]:
    """Parse a Python trace, which prints the root cause first and the raising frame last.

    Both are reversed, so that frames start at the raise and the root cause comes last.
    """
    links: list[ChainedException] = []
    head: list[str] = []
    frames: list[StackFrame] = []
    for line in trace.splitlines():
        if line.startswith(("Traceback (", "The above exception", "During handling")):
            if head or frames:
                links.append(_link(head, frames[::-1]))
                head, frames = [], []
        elif match := PYTHON_FRAME.match(line.strip()):
            if len(frames) < MAX_FRAMES:
                frames.append(_build(match["file"], match["line"], match["function"] or ""))
        elif line.strip() and not line[0].isspace():
            head.append(line.strip())
    links.append(_link(head, frames[::-1]))
    return links[::-1]


def _link(head: list[str], frames: list[StackFrame]) -> ChainedException:
    match = HEAD.match(head[0]) if head else None
    if match is None:
        return ChainedException("", "\n".join(head), tuple(frames))
    message = "\n".join([match["message"] or "", *head[1:]]).strip()
    return ChainedException(match["class"], message, tuple(frames))


def _frame(text: str) -> StackFrame | None:
    """Parse one frame, cached: the traces of one program repeat the same lines."""
    return _remembered_frame(text) if len(text) <= REMEMBERED_LINE else _read_frame(text)


def _read_frame(text: str) -> StackFrame | None:
    if match := OUR_FRAME.match(text):
        return _build(match["file"], match["line"], match["function"])
    if match := JAVA_FRAME.match(text):
        owner, _, method = match["method"].rpartition(".")
        return StackFrame(
            match["file"] or owner,
            int(match["line"]) if match["line"] else None,
            f"{owner}.{method}".lstrip("."),
            FRAMEWORKS.search(owner.rpartition("/")[2] + ".") is None,
        )
    return None


_remembered_frame = lru_cache(8192)(_read_frame)


def _build(file: str, line: str, function: str) -> StackFrame:
    return StackFrame(file, int(line), function, FRAMEWORKS.search(file) is None)
