"""The facts that a plan is built from, with derived figures. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec

from dlqadmin.replays.models import Selection
from dlqadmin.replays.outcomes.target_readers import Reader
from dlqadmin.replays.plans.connector_changes import ConnectorChange
from dlqadmin.replays.plans.item_writer import Cell
from dlqadmin.replays.plans.newer_records import Behind
from dlqadmin.replays.plans.null_checks import NullSearch
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.plans.tally import PlanTally
from dlqadmin.replays.plans.targets import TargetGroup, Targets, TargetTopic
from dlqadmin.replays.plans.value_checks import Looked

CONFIRM_ABOVE = 1_000  # records, above which a person must type a confirmation


class Facts(msgspec.Struct, frozen=True):
    """The facts that a plan is built from.

    - `approval`: why a second person must agree.
    - `elsewhere`: number of records that do not go to their origin.
    - `change`: the latest change of a reader after the unedited records failed.
    """

    selection: Selection
    drifted: bool
    options: Options
    targets: Targets
    behind: Behind
    cells: Sequence[Cell]
    tally: PlanTally
    values: Looked
    nulls: NullSearch
    took_ms: int
    now: datetime
    approval: Sequence[str] = ()
    elsewhere: int = 0
    change: ConnectorChange | None = None

    @property
    def total(self) -> int:
        """The number of records in the selection."""
        return sum(n for *_, n in self.cells)

    @property
    def to_send(self) -> int:
        """The number of records to send."""
        return self.left_out("")

    @property
    def edited(self) -> int:
        """The number of records that are sent with a person's edits."""
        return sum(n for _, _, _, edited, reason, n in self.cells if edited and not reason)

    @property
    def reasons(self) -> Counter[str]:
        """The number of records left out, by reason."""
        found = Counter[str]()
        for *_, reason, n in self.cells:
            if reason:
                found[reason] += n
        return found

    def left_out(self, *reasons: str) -> int:
        """Return how many records are left out for these reasons."""
        return sum(n for *_, reason, n in self.cells if reason in reasons)

    def partitions(self, topic: str) -> Counter[int | None]:
        """Return how many records are sent to each partition of the topic. None: chosen by key."""
        found = Counter[int | None]()
        for name, partition, _, _, reason, n in self.cells:
            if name == topic and not reason:
                found[partition] += n
        return found

    def sent_to(self, topic: str) -> int:
        """Return how many records are sent to the topic."""
        return self.partitions(topic).total()

    def meant_for(self, topic: str) -> int:
        """Return how many records have this target topic, sent or left out."""
        return sum(n for name, *_, n in self.cells if name == topic)

    @property
    def watched(self) -> list[tuple[str, str, int]]:
        """Rows of topic, the connector whose outcome counts, and the number of records."""
        found = Counter[tuple[str, str]]()
        for topic, _, connector, _, reason, n in self.cells:
            if not reason:
                found[topic, connector] += n
        return [(topic, connector, found[topic, connector]) for topic, connector in sorted(found)]

    def watched_of(self, target: TargetTopic) -> list[Reader]:
        """Return the connectors whose outcome counts in this topic."""
        names = {connector for topic, connector, _ in self.watched if topic == target.topic}
        return [reader for reader in target.readers if reader.name in names]

    def others_of(self, target: TargetTopic) -> list[str]:
        """Return the other connectors that read the topic."""
        names = {connector for topic, connector, _ in self.watched if topic == target.topic}
        return [reader.name for reader in target.readers if reader.name not in names]

    def is_watched(self, target: TargetTopic, group: TargetGroup) -> bool:
        """Return whether outcomes in the group are watched.

        They are in all connectors that read the topic, and in named groups. Without either, they are in every group
        that has committed offsets.
        """
        if group.name in self.options.watch or group.name in {one.group for one in target.readers}:
            return True
        return not self.options.watch and not target.readers and group.lag is not None

    def foreign(self, target: TargetTopic) -> list[TargetGroup]:
        """Return the groups on the topic that are not connectors of the engine."""
        own = {reader.group for reader in target.readers}
        return [group for group in target.groups if group.name not in own]

    @property
    def unreadable(self) -> int:
        """The number of replays that the database does not know, and whose records can't be identified."""
        return sum(not one.is_recoverable for one in self.targets.lost)

    @property
    def confirm(self) -> str:
        """The text that a person must type before the replay is run. Empty if none is needed.

        It is the name of the only target, or else the number of records.
        """
        is_usual = self.options.home and self.to_send <= CONFIRM_ABOVE and not self.unreadable
        if not self.to_send or is_usual:
            return ""
        topics = {topic for topic, *_, reason, _ in self.cells if not reason}
        return next(iter(topics)) if len(topics) == 1 else str(self.to_send)
