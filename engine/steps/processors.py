"""Processors of a stream: the interface that users implement, and their context (KIP-1033)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from engine.config.options import Problem
from engine.config.worker import StepConfig
from engine.errors import VALUE, ConfigError, Message
from engine.ports import Clock
from engine.record.record import Headers, RawRecord, Record
from engine.steps import plugins
from engine.steps.class_loading import ClassNotLoaded, ask, make
from engine.steps.options import given_problems
from engine.steps.schedules import Callback, PunctuationType, Schedule, Schedules

NO_TIME = -1
_CHECKING = "can't validate its options"
Forwards = list[tuple[str, Record]]  # child names, and records to forward to them


class Processor(Protocol):
    """A node of a topology. Only `process` is required. `configure(configs)` is called first, if it exists."""

    def init(self, context: ProcessorContext) -> None: ...
    def process(self, record: Record) -> None:
        """Process a record. Output goes to `context.forward`. The handler decides about exceptions."""
        ...

    def close(self) -> None: ...


class ProcessingState:
    """A task's current record, None under a punctuation, and its stream time (ms)."""

    __slots__ = ("origin", "stream_time")

    def __init__(self) -> None:
        self.origin: RawRecord | None = None
        self.stream_time = NO_TIME


class ProcessorContext:
    """A node's view of its task.

    Forwarded records are passed on when the forwarding call has returned. A call that raises has forwarded and
    scheduled nothing, so a retry duplicates nothing.
    """

    def __init__(
        self,
        node: str,
        task_id: str,
        children: Sequence[str],
        moment: ProcessingState,
        schedules: Schedules,
        clock: Clock,
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
        """Return the current record's topic; None under a punctuation."""
        origin = self._moment.origin
        return None if origin is None else origin.topic

    @property
    def partition(self) -> int:
        """Return the current record's partition, or −1."""
        origin = self._moment.origin
        return -1 if origin is None else origin.partition

    @property
    def offset(self) -> int:
        """Return the current record's offset, or −1."""
        origin = self._moment.origin
        return -1 if origin is None else origin.offset

    @property
    def headers(self) -> Headers:
        """Return the current record's headers, as they were consumed."""
        origin = self._moment.origin
        return () if origin is None else origin.headers

    @property
    def stream_time_ms(self) -> int:
        """Return the largest timestamp that this task has seen, or −1."""
        return self._moment.stream_time

    @property
    def system_time_ms(self) -> int:
        """Return the clock's time."""
        return self._clock.now_ms()

    def forward(self, record: Record, child: str | None = None) -> None:
        """Pass a record to every child, or to the named child."""
        if self._forwards is None:
            raise RuntimeError(Message("forward can be called only from process and from punctuation callbacks"))
        if not isinstance(record, Record):
            raise TypeError(Message(f"forward needs a Record, not a {type(record).__name__}"))
        if child is not None and child not in self.children:
            children = ", ".join(self.children) or "none"
            raise ValueError(Message(f"{VALUE} is not a child of {self.node}; its children: {children}", str(child)))
        self._forwards += [(name, record) for name in ((child,) if child is not None else self.children)]

    def schedule(self, interval_ms: int, kind: PunctuationType | str, callback: Callback) -> Schedule:
        """Call `callback(timestamp)` every `interval_ms` of stream or clock time until `cancel()`."""
        if not isinstance(interval_ms, int) or interval_ms < 1:
            raise ValueError(Message(f"the interval must be at least 1 ms, not {VALUE}", repr(interval_ms)))
        kind = PunctuationType(kind)
        scheduled = self._schedules.add(self.node, interval_ms, kind, callback, self._clock.now_ms())
        self._made.append(scheduled)
        return scheduled

    def run(self, work: Callable[[Any], object], given: Any) -> Forwards:
        """Return the records that the node forwards while it works."""
        forwards: Forwards = []
        made: list[Schedule] = []
        self._forwards, self._made = forwards, made
        has_run = False
        try:
            work(given)
            has_run = True
        finally:
            self._forwards = None
            if not has_run:
                for schedule in made:
                    schedule.cancel()
        return forwards


def build_processor(step: StepConfig) -> Any:
    """Return the configured processor. Raises ConfigError."""
    try:
        processor = make(plugins.PROCESSORS, {}, step.class_name, allow=step.allow)
    except ClassNotLoaded as error:
        raise ConfigError(((f"{step.prefix}type", step.class_name, str(error)),)) from error
    if hasattr(processor, "configure"):
        configure = processor.configure
        ask(lambda: configure(step.options), f"{step.prefix}type", step.class_name, "can't be configured", step.prefix)
    return processor


def processor_problems(steps: Sequence[StepConfig]) -> list[Problem]:
    """Return all problems of processors, except their positions in the topology."""
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
        processor = make(plugins.PROCESSORS, {}, step.class_name, allow=step.allow)
    except ClassNotLoaded as error:
        return [(option, step.class_name, str(error))]
    if not callable(getattr(processor, "process", None)):
        return [(option, step.class_name, "must be a class with a process method")]
    return given_problems(processor, step.options, step.prefix)
