"""Exceptions as text, rendered where raised, because tracebacks do not survive pickling.

The outermost exception comes first. Each cause follows as `Caused by: class: message`. The frames of each exception
follow, innermost first, as `  at module/path.py:function:line`. Paths are module paths, never paths of a machine.

A message may hold the content of a record. The engine's own messages keep it apart (`errors.Message`). The messages of
other exceptions are withheld. Both are shown only to users who may see records.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from json import JSONDecodeError
from traceback import TracebackException
from types import CodeType, TracebackType
from typing import Any, NamedTuple

from msgspec import Struct

from engine.errors import EngineError, Message
from engine.record.withheld import without_content

MAX_FRAMES = 50
MAX_CAUSES = 20
MAX_MESSAGE = 8_000  # characters
_PLACES, _CLASSES = 4_096, 256  # cache sizes: the errors of a task have few distinct texts
_FRAMES = "_frames_as_text"  # attribute that keeps the rendered frames of a cause
_SAYS_MORE = (NameError, AttributeError)  # newer Pythons add suggestions to the message
# The engine's own exceptions are recognised by class and innermost frame, because a plugin may raise these classes too.
# JSON parsers report a position, not content. A group's message does not hold its members' messages.
_KNOWN = (EngineError, JSONDecodeError, BaseExceptionGroup)
_OWN = "  at engine/"


class ExceptionContent(NamedTuple):
    """The texts of an exception for users who may see the record. They are built on demand.

    `heads` describe the lines that say more in these texts: index, the text before the message, and the message.
    """

    lines: list[str]
    heads: list[tuple[int, str, str]]
    first: str
    last: str

    @property
    def text(self) -> str:
        """Return the trace."""
        lines = self.lines.copy()
        for place, before, message in self.heads:
            lines[place] = f"{before}: {_full_message(message)}"
        return "\n".join(lines)

    @property
    def message(self) -> str:
        """Return the message of the raised exception."""
        return _full_message(self.first)

    @property
    def root_message(self) -> str:
        """Return the message of the last exception in the cause chain."""
        return _full_message(self.last)


class ExceptionDescription(NamedTuple):
    """The description of an exception. If `content` is None, anybody may see the texts."""

    text: str
    exception_class: str
    message: str
    root_class: str
    root_message: str
    content: ExceptionContent | None = None

    def changed(self, change: Callable[[str], str]) -> ExceptionDescription:
        """Return the description with every text changed, such as by a function that hides secrets."""
        known = self.content
        if known is not None:
            heads = [(place, before, change(_full_message(message))) for place, before, message in known.heads]
            lines = [change(line) for line in known.lines]
            known = ExceptionContent(
                lines, heads, change(_full_message(known.first)), change(_full_message(known.last))
            )
        text, message, root_message = map(change, (self.text, self.message, self.root_message))
        return ExceptionDescription(text, self.exception_class, message, self.root_class, root_message, known)


class ContentPolicy(NamedTuple):
    """The permission of logs and traces to show content of records and foreign messages."""

    content: bool = False
    foreign: bool = False
    hide: Callable[[str], str] = str  # removes values that config providers supplied

    def trace(self, error: BaseException) -> str:
        """Return the trace of an exception and its causes."""
        description = describe(error, foreign=self.foreign)
        return self.hide(
            description.content.text if self.content and description.content is not None else description.text
        )

    def sentence(self, error: BaseException) -> str:
        """Return the class and message of an exception."""
        description = describe(error, foreign=self.foreign)
        message = (
            description.content.message if self.content and description.content is not None else description.message
        )
        name = description.exception_class.rpartition(".")[2]
        return self.hide(f"{name}: {message}" if message else name)


DISCREET = ContentPolicy()


class _ClassFacts(NamedTuple):
    """The cached facts about an exception class."""

    name: str  # `module.Class`, or `Class` for Python's own
    says_its_args: bool  # its message is its arguments, so no foreign code that might raise has to run
    is_known: bool  # if the engine raises it, its message holds no content


def describe(exception: BaseException, *, foreign: bool = False) -> ExceptionDescription:
    """Return an exception's trace with causes, and the first and last class and message.

    `foreign`: everybody may see the messages of exceptions that are not the engine's own.
    """
    frames = _frames(exception)
    name, message, whole = root, root_message, root_whole = _head(exception, frames, foreign)
    lines = [f"{name}: {message}" if message else name, *frames]
    heads = [] if whole is message else [(0, name, whole)]
    error, seen = _before(exception), {id(exception)}
    while error is not None and id(error) not in seen and len(seen) < MAX_CAUSES:
        seen.add(id(error))
        frames = error.__dict__[_FRAMES] = _frames(error)
        root, root_message, root_whole = _head(error, frames, foreign)
        if root_whole is not root_message:
            heads.append((len(lines), f"Caused by: {root}", root_whole))
        lines += f"Caused by: {root}: {root_message}" if root_message else f"Caused by: {root}", *frames
        error = _before(error)
    content = ExceptionContent(lines, heads, whole, root_whole) if heads else None
    return ExceptionDescription("\n".join(lines), name, message, root, root_message, content)


def forget_frames(exception: BaseException) -> None:
    """Drop the frames of an exception and of its causes.

    Frames keep everything on the stack alive, in reference cycles that only the garbage collector would find. The
    rendered frames of a cause stay with it, because other code may keep the cause and raise other exceptions from it.
    """
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


def _head(error: BaseException, frames: list[str], foreign: bool) -> tuple[str, str, str]:
    """Return the class name, the message without content, and the message with content.

    Both messages are the same object if there is no content. An exception whose message raises does no harm.
    """
    of: Any = type(error)
    name, says_its_args, is_known = _kept_kind(of) if type(of) is type else _kind_of(of)
    args = error.args if says_its_args else ()
    given = args[0] if len(args) == 1 else None
    if type(given) is Message:
        safe = _cut(str(given))
        return name, safe, given if given.values else safe
    message = str(error) if type(given) is str else str(TracebackException(of, error, None, compact=True, limit=0))
    whole = _cut(message)
    if foreign or not message or (is_known and frames and frames[0].startswith(_OWN)):
        return name, whole, whole
    return name, _cut(without_content(error, message)), whole


def _full_message(message: str) -> str:
    return _cut(message.content) if type(message) is Message else message


def _cut(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}… ({len(message)} characters)"


def _kind_of(of: type[BaseException]) -> _ClassFacts:
    name = of.__qualname__ if of.__module__ in ("builtins", None) else f"{of.__module__}.{of.__qualname__}"
    says = of.__str__ in (BaseException.__str__, KeyError.__str__) and of.args is BaseException.args
    return _ClassFacts(name, says and not issubclass(of, _SAYS_MORE), issubclass(of, _KNOWN))


_kept_kind = lru_cache(_CLASSES)(_kind_of)  # not used for classes with their own metaclass, which may not be hashable


def _before(error: BaseException) -> BaseException | None:
    """Return its cause, else the exception that was being handled when it was raised."""
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _frames(error: BaseException) -> list[str]:
    """Return its frames, innermost first, or the stored ones if they were dropped."""
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


class _CodePosition(Struct, frozen=True, gc=False):
    """A code position that raised, and its text. It keeps the code alive so that its id stays unique."""

    text: str
    module: Any
    code: CodeType


# By the code's id and instruction offset, because the line number is slow to compute.
_places: dict[tuple[int, int], _CodePosition] = {}


def _placed(traceback: TracebackType) -> _CodePosition:
    if len(_places) >= _PLACES:
        _places.clear()
    code, module = traceback.tb_frame.f_code, traceback.tb_frame.f_globals.get("__name__")
    path = _path(code.co_filename, module if isinstance(module, str) else "")
    place = _CodePosition(f"  at {path}:{code.co_name}:{traceback.tb_lineno}", module, code)
    _places[id(code), traceback.tb_lasti] = place
    return place


def _path(file: str, module: str) -> str:
    file = file.replace("\\", "/").rpartition("/")[2]
    if module in {"", "__main__"}:
        return file
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if file == "__init__.py" else f"{path}.py"
