"""The steps of a rehearsal: a task's steps, as far as their options are known here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.config.connector import ConnectorConfig
from engine.config.masking import MASK, PROVIDED
from engine.config.stream import HEADERS
from engine.config.worker import StepConfig
from engine.connectors.kafka.options import writing
from engine.connectors.kafka.task import copying_steps
from engine.errors import ConfigError
from engine.pipeline.chain import RecordTransform, Steps
from engine.record.record import Record
from engine.rehearsal.fence import ProcessFence
from engine.steps.converters.json import JsonConverter
from engine.steps.predicates import Conditional
from engine.steps.registry import build_converter, build_transform
from engine.tasks.clients import TaskOpening
from engine.tasks.plan import ConnectorPlan
from engine.tasks.sink import reading_steps
from engine.tasks.source import writing_steps
from engine.worker_messages import ConnectorKind

PLAIN = StepConfig("", HEADERS, {})


@dataclass(slots=True)
class PredicateProbe:
    """A wrapper of a transform under a predicate. `took` tells whether the last record reached the transform."""

    transform: RecordTransform
    predicate: str = ""
    took: bool = True

    def apply(self, record: Record) -> Record | None:
        """Apply the transform."""
        self.took = True
        return self.transform.apply(record)


@dataclass(frozen=True, slots=True)
class RehearsalSteps:
    """The steps before the first that can't be rehearsed. `hindrance` is the reason, or None if all can.

    `watched` holds transforms under a predicate, by stage index. `writes_to` names the connector's target if its class
    does not.
    """

    steps: Steps
    hindrance: str | None = None
    watched: Mapping[int, PredicateProbe] = field(default_factory=dict)
    writes_to: str = ""


def build_steps(opening: TaskOpening, fence: ProcessFence) -> RehearsalSteps:
    """Build the connector's steps. Raises ConfigError."""
    plan = opening.plan
    if plan.known.opener == "mirror":
        return RehearsalSteps((), "mirrors copy records from another cluster and can't be rehearsed")
    fence.tried()
    transforms, hindrance = _transforms(plan.config, fence)
    first, writes_to = len(plan.stages) - 1, ""
    if plan.known.kind is ConnectorKind.SOURCE:
        first = 1
        steps, hindrance = _source(plan.config, transforms, hindrance, fence)
    elif unknown := _unknown(_converters(plan)):
        return RehearsalSteps((), unknown)
    else:
        copies = plan.known.opener == "topics"
        make = copying_steps if copies and hindrance is None else reading_steps
        writes_to = "Kafka" if copies else ""
        try:
            steps = make(opening, transforms=transforms)
        except ConfigError:
            if tried := fence.tried():
                return RehearsalSteps((), f"configuring a converter would {tried}")
            raise
        first = next(at for at, _ in steps) + 1
    # Wrap only now, because the builder of the steps inspects the transforms' types.
    return RehearsalSteps(steps, hindrance, _watch(plan.config, transforms, first), writes_to)


def _transforms(config: ConnectorConfig, fence: ProcessFence) -> tuple[list[RecordTransform], str | None]:
    """Return the transforms before the first that can't be rehearsed, and the reason."""
    predicates = {step.name: step for step in config.predicates}
    transforms: list[RecordTransform] = []
    for step in config.transforms:
        unknown = _unknown([step, *(predicates[name] for name in (step.predicate,) if name in predicates)])
        if unknown is not None:
            return transforms, unknown
        try:
            one = build_transform(step, config.predicates)
        except ConfigError:
            tried = fence.tried()
            if not tried:
                raise
        else:
            tried = fence.tried()
        if tried:
            return transforms, f"configuring it would {tried}"
        transforms.append(one)
    return transforms, None


def _source(
    config: ConnectorConfig, transforms: Sequence[RecordTransform], hindrance: str | None, fence: ProcessFence
) -> tuple[Steps, str | None]:
    """Return a source's steps, without converters that can't be rehearsed, and the reason."""
    converters = (config.key_converter, config.value_converter, config.header_converter)
    hindrance = hindrance or _unknown(converters) or _writes_schema(config)
    if hindrance is None:
        try:
            return writing_steps(config, transforms), None
        except ConfigError:
            if not (tried := fence.tried()):
                raise
            hindrance = f"configuring a converter would {tried}"
    plain = replace(config, key_converter=PLAIN, value_converter=PLAIN, header_converter=PLAIN)
    return writing_steps(plain, transforms)[: len(transforms)], hindrance


def _writes_schema(config: ConnectorConfig) -> str | None:
    """Return the reason if a converter writes schemas, which a source's dead letter lacks."""
    for step, is_key in ((config.key_converter, True), (config.value_converter, False)):
        converter = build_converter(step, is_key=is_key)
        if isinstance(converter, JsonConverter) and converter.writes_schemas:
            return f"{step.name} writes the record's schema, which its dead letter does not contain"
    return None


def _converters(plan: ConnectorPlan) -> list[StepConfig]:
    config = plan.config
    converters = [config.key_converter, config.value_converter, config.header_converter]
    if plan.known.opener == "topics":
        own = writing(config)
        converters += [own.key_converter, own.value_converter]
    return converters


def _unknown(steps: Iterable[StepConfig]) -> str | None:
    """Return the first option whose value is unknown here, with the reason."""
    for step in steps:
        for name, value in step.options.items():
            if MASK in value:
                return f"{step.prefix}{name} is a secret, whose value is not available to rehearsals"
            if PROVIDED.search(value):
                return f"{step.prefix}{name} needs a config provider, which rehearsals can't use"
    return None


def _watch(config: ConnectorConfig, transforms: Sequence[RecordTransform], first: int) -> dict[int, PredicateProbe]:
    """Wrap each transform under a predicate in a PredicateProbe; return the wrappers by stage index."""
    found = {}
    for index, (step, one) in enumerate(zip(config.transforms, transforms, strict=False), start=first):
        if isinstance(one, Conditional):
            one.transform = found[index] = PredicateProbe(one.transform, str(step.predicate))
    return found
