"""An exception as text and facts, rendered where it was raised: tracebacks do not survive pickling.

The outermost exception comes first, each cause after it as `Caused by: class: message`; the frames of each,
innermost first, as `  at module/path.py:function:line`. Paths are those of modules, never of a machine.
"""

from __future__ import annotations

from traceback import TracebackException
from types import FrameType, TracebackType
from typing import NamedTuple

MAX_FRAMES = 50
MAX_CAUSES = 20
MAX_MESSAGE = 8_000  # characters


class Description(NamedTuple):
    """What there is to say about an exception."""

    text: str
    exception_class: str
    message: str
    root_class: str
    root_message: str


def describe(exception: BaseException) -> Description:
    """The trace of an exception and its causes, with the class and message of the first and the last."""
    chain = _chain(exception)
    heads = [(class_name(error), message_of(error)) for error in chain]
    lines: list[str] = []
    for number, (error, (name, message)) in enumerate(zip(chain, heads, strict=True)):
        lines.append(("Caused by: " if number else "") + (f"{name}: {message}" if message else name))
        lines += _frames(error.__traceback__)
    return Description("\n".join(lines), *heads[0], *heads[-1])


def class_name(error: BaseException) -> str:
    """`module.Class`, or `Class` for Python's own."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ in {"builtins", None} else f"{kind.__module__}.{kind.__qualname__}"


def message_of(error: BaseException) -> str:
    """The message; an exception that can't say one does no harm."""
    text = str(TracebackException(type(error), error, None, compact=True, limit=0))
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}… ({len(text)} characters)"


def _chain(exception: BaseException) -> list[BaseException]:
    chain, seen = [exception], {id(exception)}
    while len(chain) < MAX_CAUSES:
        error = chain[-1]
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is None or id(cause) in seen:
            break
        chain.append(cause)
        seen.add(id(cause))
    return chain


def _frames(traceback: TracebackType | None) -> list[str]:
    lines = []
    while traceback is not None:
        frame = traceback.tb_frame
        lines.append(f"  at {_path(frame)}:{frame.f_code.co_name}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    lines.reverse()
    if len(lines) > MAX_FRAMES:
        left_out = len(lines) - MAX_FRAMES
        lines[MAX_FRAMES - 10 : -10] = [f"  … {left_out} frames"]
    return lines


def _path(frame: FrameType) -> str:
    file = frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    module = frame.f_globals.get("__name__")
    if not isinstance(module, str) or module == "__main__":
        return file
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if file == "__init__.py" else f"{path}.py"
