"""An exception as text and facts, rendered where it was raised: tracebacks do not survive pickling.

The outermost exception comes first, each cause after it as `Caused by: class: message`; the frames of each,
innermost first, as `  at module/path.py:function:line`. Paths are those of modules, never of a machine.
"""

from __future__ import annotations

from functools import lru_cache
from traceback import TracebackException
from types import CodeType, TracebackType
from typing import Any, NamedTuple

from msgspec import Struct

MAX_FRAMES = 50
MAX_CAUSES = 20
MAX_MESSAGE = 8_000  # characters
_PLACES, _CLASSES = 4_096, 256  # whose text is kept: the errors of a task have few
_FRAMES = "_frames_as_text"  # what is left of those of a cause
_SAYS_MORE = (NameError, AttributeError)  # newer Pythons add what may have been meant


class Description(NamedTuple):
    """What there is to say about an exception."""

    text: str
    exception_class: str
    message: str
    root_class: str
    root_message: str


class _Kind(NamedTuple):
    """What there is to say about a class of exceptions."""

    name: str  # `module.Class`, or `Class` for Python's own
    says_its_args: bool  # its message is what it was made of: nobody else's code, which might raise, makes one of that


def describe(exception: BaseException) -> Description:
    """The trace of an exception and its causes, with the class and message of the first and the last."""
    name, message = root, root_message = _head(exception)
    lines = [f"{name}: {message}" if message else name, *_frames(exception)]
    error, seen = _before(exception), {id(exception)}
    while error is not None and id(error) not in seen and len(seen) < MAX_CAUSES:
        seen.add(id(error))
        root, root_message = _head(error)
        frames = error.__dict__[_FRAMES] = _frames(error)
        lines += f"Caused by: {root}: {root_message}" if root_message else f"Caused by: {root}", *frames
        error = _before(error)
    return Description("\n".join(lines), name, message, root, root_message)


def forget_frames(exception: BaseException) -> None:
    """Let go of the frames of an exception, and of those before it: they hold what was on the stack, in circles that
    only the garbage collector would find. What there is to say of those of a cause stays with it: somebody may keep it,
    and raise other exceptions from it."""
    left = [exception]
    while left:
        error = left.pop()
        if error.__traceback__ is None:
            continue
        if error is not exception and _FRAMES not in error.__dict__:
            error.__dict__[_FRAMES] = _frames(error)
        error.__traceback__ = None
        cause, context = error.__cause__, error.__context__
        if cause is not None:
            left.append(cause)
        if context is not None and context is not cause:
            left.append(context)


def _head(error: BaseException) -> tuple[str, str]:
    """The name of its class and its message; an exception that can't say one does no harm."""
    of: Any = type(error)
    name, says_its_args = _kept_kind(of) if type(of) is type else _kind_of(of)
    args = error.args if says_its_args else ()
    if len(args) == 1 and type(args[0]) is str:
        message = str(error)
    else:
        message = str(TracebackException(of, error, None, compact=True, limit=0))
    return name, message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}… ({len(message)} characters)"


def _kind_of(of: type[BaseException]) -> _Kind:
    name = of.__qualname__ if of.__module__ in ("builtins", None) else f"{of.__module__}.{of.__qualname__}"
    says = of.__str__ in (BaseException.__str__, KeyError.__str__) and of.args is BaseException.args
    return _Kind(name, says and not issubclass(of, _SAYS_MORE))


_kept_kind = lru_cache(_CLASSES)(_kind_of)  # not of what a class of its own has made: that may have no hash


def _before(error: BaseException) -> BaseException | None:
    """Its cause, or else what was under way when it was raised."""
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _frames(error: BaseException) -> list[str]:
    """Innermost first; those that were forgotten where there are no others."""
    traceback = error.__traceback__
    if traceback is None:
        forgotten: list[str] = error.__dict__.get(_FRAMES, [])
        return forgotten
    lines = []
    while traceback is not None:
        frame = traceback.tb_frame
        place = _places.get((id(frame.f_code), traceback.tb_lasti))
        if place is None or frame.f_globals.get("__name__") is not place.module:
            place = _placed(traceback)
        lines.append(place.text)
        traceback = traceback.tb_next
    lines.reverse()
    if len(lines) > MAX_FRAMES:
        left_out = len(lines) - MAX_FRAMES
        lines[MAX_FRAMES - 10 : -10] = [f"  … {left_out} frames"]
    return lines


class _Place(Struct, frozen=True, gc=False):
    """A place in code that raised, and its text. While the code is kept, its id is nobody else's."""

    text: str
    module: Any
    code: CodeType


_places: dict[tuple[int, int], _Place] = {}  # by the code's id and where in it, not on which line: that is slow to tell


def _placed(traceback: TracebackType) -> _Place:
    if len(_places) >= _PLACES:
        _places.clear()
    code, module = traceback.tb_frame.f_code, traceback.tb_frame.f_globals.get("__name__")
    path = _path(code.co_filename, module if isinstance(module, str) else "")
    place = _Place(f"  at {path}:{code.co_name}:{traceback.tb_lineno}", module, code)
    _places[id(code), traceback.tb_lasti] = place
    return place


def _path(file: str, module: str) -> str:
    file = file.replace("\\", "/").rpartition("/")[2]
    if module in {"", "__main__"}:
        return file
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if file == "__init__.py" else f"{path}.py"
