"""Operators' requests to create, change and restart connectors. Runs on the herder's thread."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.masking import unmask
from engine.config.options import strip_values
from engine.config.topic import TargetState
from engine.errors import RequestConflict, RetriableError
from engine.herder.config_topic import Connectors, refuse_masks
from engine.herder.fencing_rounds import needed_round
from engine.herder.snapshot import HerderSnapshot
from engine.herder.validation_cache import ValidationCache


class ConfigRequests:
    """The requests. Each writes to the config topic and returns when the write is done."""

    def __init__(self, connectors: Connectors, validation: ValidationCache) -> None:
        self._connectors = connectors
        self._validation = validation

    def put(
        self,
        view: HerderSnapshot,
        name: str,
        properties: dict[str, str],
        create: bool = False,
        target: TargetState | None = None,
    ) -> bool:
        """Create or change a connector. Return True when it is new; then it begins in the target state."""
        exists = self._connectors.exists(name)
        before = self._connectors.get(name).properties if exists else None
        new_properties = strip_values(unmask(properties, before or {}, view.facts_of(name).secrets))
        refuse_masks(new_properties, self._validation.secrets(new_properties))
        self._validation.admit(name, new_properties)
        if create and exists:  # after the validation, as in Kafka Connect
            raise RequestConflict(f"Connector {name} already exists")
        self._connectors.put(name, new_properties, target)
        return not exists

    def patch(self, view: HerderSnapshot, name: str, changes: Mapping[str, str | None]) -> None:
        """Change some options of a connector; None removes an option (KIP-477)."""
        merged = {**(self._connectors.get(name).properties or {}), **changes, "name": name}
        self.put(view, name, {option: value for option, value in merged.items() if value is not None})

    def restart(self, view: HerderSnapshot, name: str, tasks: bool, only_failed: bool) -> None:
        """Restart a connector and, optionally, its tasks."""
        self._read_config(name)
        self._validation.forget(name)
        chosen = [task for task in view.tasks(name) if task.failed or not only_failed]
        if tasks and chosen:
            self._connectors.restart(name, [task.config.task for task in chosen])

    def restart_task(self, name: str, task: int) -> None:
        """Restart one task."""
        self._read_config(name)
        self._connectors.restart(name, [task])

    def _read_config(self, name: str) -> None:
        """Read the config topic to its end first (KIP-618, manual restart of fenced-out tasks).

        With an outdated generation, a restart could bring back a task whose work has moved to another task.
        """
        try:
            self._connectors.read_to_end()
        except RetriableError as error:
            raise TimeoutError(
                f"connector {name} was not restarted, because its configuration can't be read: {error}"
            ) from error
        if needed_round(name, self._connectors.get(name)) is not None:
            raise RequestConflict(
                f"Connector {name} has new tasks, and its old tasks are still being fenced; try again soon"
            )
