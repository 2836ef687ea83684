"""An exception as text and facts, rendered where it was raised: tracebacks do not survive pickling.

The outermost exception comes first, each cause after it as `Caused by: class: message`; the frames of each,
innermost first, as `  at module/path.py:function:line`. Paths are those of modules, never of a machine.
"""

from __future__ import annotations

from functools import lru_cache
from traceback import TracebackException
from typing import Any, NamedTuple

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
    lines: list[str] = []
    heads: list[tuple[str, str]] = []
    for error in _chain(exception):
        kind = _kind(type(error))
        name, message = kind.name, _message(error, kind)
        head = f"{name}: {message}" if message else name
        lines.append(f"Caused by: {head}" if heads else head)
        frames = _frames(error)
        if heads:
            error.__dict__[_FRAMES] = frames
        lines += frames
        heads.append((name, message))
    return Description("\n".join(lines), *heads[0], *heads[-1])


def forget_frames(exception: BaseException) -> None:
    """Let go of the frames of an exception, and of those before it: they hold what was on the stack, in circles that
    only the garbage collector would find. What there is to say of those of a cause stays with it: somebody may keep it,
    and raise other exceptions from it."""
    left: list[BaseException | None] = [exception]
    while left:
        error = left.pop()
        if error is not None and error.__traceback__ is not None:
            if error is not exception and _FRAMES not in error.__dict__:
                error.__dict__[_FRAMES] = _frames(error)
            error.__traceback__ = None
            left += (error.__cause__, error.__context__)


def _message(error: BaseException, kind: _Kind) -> str:
    """The message; an exception that can't say one does no harm."""
    if kind.says_its_args and len(error.args) == 1 and type(error.args[0]) is str:
        text = str(error)
    else:
        text = str(TracebackException(type(error), error, None, compact=True, limit=0))
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}… ({len(text)} characters)"


def _kind(of: Any) -> _Kind:
    """A class that a class of its own has made is looked at each time: it may have no hash."""
    return _kept_kind(of) if type(of) is type else _kind_of(of)


def _kind_of(of: type[BaseException]) -> _Kind:
    name = of.__qualname__ if of.__module__ in ("builtins", None) else f"{of.__module__}.{of.__qualname__}"
    says = of.__str__ in (BaseException.__str__, KeyError.__str__) and of.args is BaseException.args
    return _Kind(name, says and not issubclass(of, _SAYS_MORE))


_kept_kind = lru_cache(_CLASSES)(_kind_of)


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


def _frames(error: BaseException) -> list[str]:
    """Innermost first; those that were forgotten where there are no others."""
    traceback = error.__traceback__
    if traceback is None:
        forgotten: list[str] = error.__dict__.get(_FRAMES, [])
        return forgotten
    lines = []
    while traceback is not None:
        frame = traceback.tb_frame
        code, module = frame.f_code, frame.f_globals.get("__name__")
        if not isinstance(module, str):
            module = ""
        lines.append(_frame(code.co_filename, module, code.co_name, traceback.tb_lineno))
        traceback = traceback.tb_next
    lines.reverse()
    if len(lines) > MAX_FRAMES:
        left_out = len(lines) - MAX_FRAMES
        lines[MAX_FRAMES - 10 : -10] = [f"  … {left_out} frames"]
    return lines


@lru_cache(_PLACES)
def _frame(file: str, module: str, function: str, line: int) -> str:
    return f"  at {_path(file, module)}:{function}:{line}"


def _path(file: str, module: str) -> str:
    file = file.replace("\\", "/").rpartition("/")[2]
    if module in {"", "__main__"}:
        return file
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if file == "__init__.py" else f"{path}.py"
