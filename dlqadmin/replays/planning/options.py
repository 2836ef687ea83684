"""How a selection is to be replayed."""

from __future__ import annotations

from typing import Any

import msgspec

from dlqadmin.replays.models import OrderGuard, Replay

CANARY = (1, 10, 100)
CANARY_ABOVE = 100  # records


class Options(msgspec.Struct, frozen=True):
    """How a selection is replayed; the names are those of the columns of Replay.

    No target: each record to its own origin. `rate` 0: no limit. `steps` None: a canary where there are many records.
    """

    target_topic: str = ""
    use_fixes: bool = True
    resend: bool = False
    rate: int = 100
    target_cluster: str = ""
    shadow: bool = False
    keep_timestamps: bool = False
    order: str = OrderGuard.SKIP.value
    steps: tuple[int, ...] | None = None
    breaker_percent: int | None = 10
    max_lag: int | None = None
    chunk_records: int = 2000
    watch: tuple[str, ...] = ()

    @property
    def home(self) -> bool:
        """Does each record go back to where it came from?"""
        return not (self.target_topic or self.target_cluster or self.shadow)

    @property
    def promised(self) -> tuple[Any, ...]:
        """What a plan's digest stands for, beside the records."""
        return (
            self.resend, self.target_cluster, self.shadow, self.keep_timestamps, self.order, self.steps,
            self.breaker_percent, self.max_lag, self.watch,
        )  # fmt: skip


def options_of(replay: Replay) -> Options:
    """How it was planned."""
    found = {name: getattr(replay, name) for name in Options.__struct_fields__}
    return Options(**{**found, "steps": tuple(replay.steps), "watch": tuple(replay.watch)})


def keep(replay: Replay, options: Options) -> None:
    """Put the options into the replay's columns; the row is not written."""
    for name, value in msgspec.structs.asdict(options).items():
        setattr(replay, name, list(value or ()) if name in ("steps", "watch") else value)


def settled(options: Options, records: int) -> Options:
    """The options with the canary that so many records call for, where nobody chose one."""
    if options.steps is not None:
        return options
    return msgspec.structs.replace(options, steps=CANARY if records > CANARY_ABOVE else ())
