"""Processors of a stream: what users write, and what they are given (KIP-1033)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from engine.config.options import Problem
from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.ports import Clock
from engine.record.record import Headers, RawRecord, Record
from engine.steps import plugins
from engine.steps.loading import NotLoaded, ask, make
from engine.steps.options import given_problems
from engine.steps.punctuation import Callback, PunctuationType, Schedule, Schedules

NO_TIME = -1
_CHECKING = "can't say what is wrong with its options"
Forwards = list[tuple[str, Record]]  # a child's name, and what goes on to it


class Processor(Protocol):
    """A node of a topology. Only `process` is required; `configure(configs)` is called first, where there is one."""

    def init(self, context: ProcessorContext) -> None: ...
    def process(self, record: Record) -> None:
        """Work on a record; what it makes of it goes on by `context.forward`. What it raises, its handler decides."""
        ...

    def close(self) -> None: ...


class Moment:
    """What a task is at: the record it processes, None under a punctuation; and its stream time (ms)."""

    __slots__ = ("origin", "stream_time")

    def __init__(self) -> None:
        self.origin: RawRecord | None = None
        self.stream_time = NO_TIME


class ProcessorContext:
    """A node's view of its task.

    What is forwarded goes on when the call that forwards it has returned: a call that raises has forwarded and
    scheduled nothing, so a retry doubles nothing.
    """

    def __init__(
        self, node: str, task_id: str, children: Sequence[str], moment: Moment, schedules: Schedules, clock: Clock
    ) -> None:
        self.node = node
        self.task_id = task_id
        self.children = tuple(children)
        self._moment = moment
        self._schedules = schedules
        self._clock = clock
        self._forwards: Forwards | None = None
        self._made: list[Schedule] = []

    @property
    def topic(self) -> str | None:
        """The topic of the record that is processed; None under a punctuation."""
        origin = self._moment.origin
        return None if origin is None else origin.topic

    @property
    def partition(self) -> int:
        """Its partition, or −1."""
        origin = self._moment.origin
        return -1 if origin is None else origin.partition

    @property
    def offset(self) -> int:
        """Its offset, or −1."""
        origin = self._moment.origin
        return -1 if origin is None else origin.offset

    @property
    def headers(self) -> Headers:
        """Its headers, as they were consumed."""
        origin = self._moment.origin
        return () if origin is None else origin.headers

    @property
    def stream_time_ms(self) -> int:
        """The largest timestamp that this task has seen, or −1."""
        return self._moment.stream_time

    @property
    def system_time_ms(self) -> int:
        """The clock's time."""
        return self._clock.now_ms()

    def forward(self, record: Record, child: str | None = None) -> None:
        """Pass a record on to every child, or to the one of that name."""
        if self._forwards is None:
            raise RuntimeError("forward is for process and punctuations")
        if not isinstance(record, Record):
            raise TypeError(f"forward takes a Record, not a {type(record).__name__}")
        if child is not None and child not in self.children:
            raise ValueError(f"{child} is no child of {self.node}; these are: {', '.join(self.children) or 'none'}")
        self._forwards += [(name, record) for name in ((child,) if child is not None else self.children)]

    def schedule(self, interval_ms: int, kind: PunctuationType | str, callback: Callback) -> Schedule:
        """Call `callback(timestamp)` every `interval_ms` of stream time or of the clock's; `cancel()` ends it."""
        if not isinstance(interval_ms, int) or interval_ms < 1:
            raise ValueError(f"an interval is at least one millisecond, not {interval_ms!r}")
        kind = PunctuationType(kind)
        made = self._schedules.add(self.node, interval_ms, kind, callback, self._clock.now_ms())
        self._made.append(made)
        return made

    def run(self, work: Callable[[Any], object], given: Any) -> Forwards:
        """What the node forwards while it works."""
        forwards: Forwards = []
        made: list[Schedule] = []
        self._forwards, self._made = forwards, made
        done = False
        try:
            work(given)
            done = True
        finally:
            self._forwards = None
            if not done:
                for schedule in made:
                    schedule.cancel()
        return forwards


def build_processor(step: StepConfig) -> Any:
    """The configured processor. Raises ConfigError."""
    try:
        processor = make(plugins.PROCESSORS, {}, step.class_name)
    except NotLoaded as error:
        raise ConfigError(((f"{step.prefix}type", step.class_name, str(error)),)) from error
    if hasattr(processor, "configure"):
        configure = processor.configure
        ask(lambda: configure(step.options), f"{step.prefix}type", step.class_name, "can't be configured")
    return processor


def processor_problems(steps: Sequence[StepConfig]) -> list[Problem]:
    """All problems of processors, but for their places in the topology."""
    problems: list[Problem] = []
    for step in steps:
        if step.class_name:
            try:
                problems += ask(partial(_problems, step), f"{step.prefix}type", step.class_name, _CHECKING)
            except ConfigError as error:
                problems += error.problems
    return problems


def _problems(step: StepConfig) -> list[Problem]:
    option = f"{step.prefix}type"
    try:
        made = make(plugins.PROCESSORS, {}, step.class_name)
    except NotLoaded as error:
        return [(option, step.class_name, str(error))]
    if not callable(getattr(made, "process", None)):
        return [(option, step.class_name, "is no class with a process method")]
    return given_problems(made, step.options, step.prefix)
