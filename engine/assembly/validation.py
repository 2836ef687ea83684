"""Validation of a configuration: the connector's plan, or all problems at once. Needs no broker."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from engine.assembly.connector_classes import find_class
from engine.config import exactly_once_source, topic_creation
from engine.config.connector import TASKS_MAX_ENFORCE, ConnectorConfig, all_options, read_connector
from engine.config.errors_policy import DLQ_PRODUCER
from engine.config.masking import MASK, PROVIDED, is_secret, mask_value
from engine.config.options import Problem, strip_values, unknown_option_problems
from engine.config.permissions import Permissions
from engine.config.providers import ResolvedProperties, has_reference
from engine.config.rooted_files import path_problem
from engine.config.stream import StreamConfig, read_stream
from engine.config.worker import WorkerConfig
from engine.connectors.mirror.connector_plan import client_families
from engine.connectors.mirror.options import read_mirror
from engine.errors import ConfigError
from engine.kafka.client_options import client_problems, file_problems
from engine.record.stage import Stage, StageType
from engine.steps.connector_stages import sink_stages, source_stages, stream_stages
from engine.steps.handlers import handler_problems
from engine.steps.processors import processor_problems
from engine.steps.registry import step_problems, step_warnings
from engine.steps.secrets import given_secrets
from engine.tasks.connector_class import ConnectorClass
from engine.tasks.plan import ConnectorPlan
from engine.tasks.put_concurrency import concurrency_problems
from engine.tasks.source_support import ignored_options, support_problems
from engine.tasks.targets import target_problems
from engine.tasks.transaction_options import transaction_problems
from engine.worker_messages import ConnectorKind, Delivery

REGISTRY_STORES = ".schema.registry.ssl."  # within names of converters' options
REGISTRY_URLS = (".schema.registry.url", ".bearer.auth.issuer.endpoint.url")
# Suffixes of options of steps and nodes that define the structure.
STRUCTURE = (".type", ".predicate", ".negate", ".parents", ".topic")
log = logging.getLogger(__name__)


def validate(props: Mapping[str, str], worker: WorkerConfig, *, masked: bool = False) -> ConnectorPlan:
    """Return the connector's plan. Raises ConfigError with every problem at once.

    References to config providers stay unresolved, in the worker's converters too, so the plan may be shown. With
    `masked`, a mask or a reference may stand for an unknown value, and its problems are ignored. Files and client
    options are then not used, so their permissions are not checked.
    """
    return _plan(strip_values(props), worker.as_written(), masked=masked, thorough=not masked)


def check_worker(worker: WorkerConfig) -> None:
    """Raise ConfigError with every problem of the worker's own client options and files."""
    families = (("", worker.client), ("consumer.", worker.consumer), ("producer.", worker.producer))
    problems = [
        problem
        for family, options in (*families, ("admin.", worker.admin))
        for problem in (*client_problems(family, options), *file_problems(family, options))
    ]
    if problems:
        raise ConfigError(tuple(worker.found.without_values(_mask_problem(problem)) for problem in problems))


def check_task_count(plan: ConnectorPlan) -> None:
    """Raise ConfigError if the class makes more tasks than it may (KIP-1004)."""
    config, count = plan.config, len(plan.task_configs)
    if config.tasks_max_enforce and count > config.tasks_max:
        text = f"is exceeded: the class makes {count} tasks; raise it, or set {TASKS_MAX_ENFORCE.name}=false"
        raise ConfigError((("tasks.max", str(config.tasks_max), text),))


def plan_of_task(props: Mapping[str, str], worker: WorkerConfig) -> tuple[ConnectorPlan, ResolvedProperties]:
    """Return the plan with values from config providers, and these values.

    Tasks and clients of the driver use it. The plan's options hold the values; its stages, which are shown, hold the
    references. Raises ConfigError without any looked-up value.
    """
    props = strip_values(props)
    # Validated as written first, so that problems quote references and not values.
    written = _plan(props, worker.as_written())
    resolved, problems = worker.providers.look_up(props, of_connector=True)
    if problems:
        raise ConfigError(tuple(map(_mask_problem, problems)))
    if not resolved.values and not worker.found.values:
        return written, resolved
    resolved = replace(resolved, values={**worker.found.values, **resolved.values})
    with hide_in_problems(resolved):
        plan = _plan(strip_values(resolved.properties), worker, looked_up=True)
    return replace(plan, stages=written.stages, warnings=written.warnings), resolved


@contextmanager
def hide_in_problems(found: ResolvedProperties) -> Iterator[None]:
    """Remove values of config providers from the problems raised in the block."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(tuple(found.without_values(problem) for problem in error.problems)) from None


def _plan(
    props: Mapping[str, str],
    worker: WorkerConfig,
    *,
    masked: bool = False,
    looked_up: bool = False,
    thorough: bool = False,
) -> ConnectorPlan:
    """Return the plan. With `looked_up`, a text that looks like a reference is a looked-up value.

    With `thorough`, handlers are made and files of clients are read, as a task does when it opens.
    """
    known, problems = find_class(props.get("connector.class", ""), worker.permissions.classes)
    kind = ConnectorKind.SINK if known is None else known.kind
    config, found = read_connector(props, worker, None if known is None else known.options, kind)
    if known is not None:
        config, more = known.prepare(config)
        found += more
    handler_faults, handler_warnings = handler_problems(config, kind) if thorough else ([], [])
    problems = [*found, *problems, *step_problems(config), *handler_faults, *_client_problems(config)]
    stream = None
    if kind is ConnectorKind.STREAM:
        stream, faults = read_stream(config)
        problems += [*faults, *_stream_problems(config, stream)]
    problems += target_problems(known, config, stream, worker)
    problems += [] if known is None else support_problems(kind, known.factory, config, worker)
    problems += [] if known is None else _console_problems(known, config, worker)
    problems += [] if known is None else concurrency_problems(known, config)
    if masked:
        given = ((problem, problem[1] or "") for problem in problems)
        problems = [problem for problem, value in given if MASK not in value and not PROVIDED.search(value)]
    else:
        if not looked_up:
            problems = _without_references(problems, known, {**worker.properties, **props})
            problems += worker.providers.problems(props)
        refused = _permission_problems(known, config, worker, looked_up=looked_up)
        # Only if all files are permitted: a connector must not find out which other files there are.
        problems += refused or (_file_problems(known, config) if thorough else [])
    if problems or known is None:
        raise ConfigError(tuple(_mask_problem(problem) for problem in problems))
    delivery = known.delivery(config, worker)
    warnings = (*config.warnings, *handler_warnings, *step_warnings(config))
    if delivery is Delivery.EXACTLY_ONCE:
        problems, more_warnings = transaction_problems(kind, config, worker, _producers(known, config))
        if problems:
            raise ConfigError(tuple(problems))
        warnings += (*ignored_options(config, worker), *more_warnings)
    if stream is not None:
        config = replace(config, header_converter=stream.header_converter)
        warnings += stream.warnings
    return _with_stages(ConnectorPlan(config, (), known, warnings, delivery, stream))


def _with_stages(plan: ConnectorPlan) -> ConnectorPlan:
    """Add the stages to a plan without stages, because they need its list of secrets."""
    config, known = plan.config, plan.known
    if plan.stream is not None:
        return replace(plan, stages=_without_headers(stream_stages(config, plan.stream), config))
    if known.stages is not None:
        return replace(plan, stages=known.stages(config, plan.secrets))
    if known.kind is ConnectorKind.SOURCE:
        return replace(plan, stages=source_stages(config, plan.secrets))
    return replace(plan, stages=_without_headers(sink_stages(config, plan.secrets), config))


def secrets_of(props: Mapping[str, str], worker: WorkerConfig | None = None) -> tuple[str, ...]:
    """Return the names of options that must not be shown, even if the properties are invalid.

    `worker` limits the classes that may be loaded. If the class can't be found, all of its options count as secret.
    """
    props = strip_values(props)
    try:
        known, _ = find_class(props.get("connector.class", ""), worker.permissions.classes if worker else ())
        if known is not None:
            return given_secrets(props, known.options or (), known.kind, worker)
    except Exception as error:  # noqa: BLE001, code of other packages
        log.warning(
            "Can't load the class of connector %s to find its secret options, so unknown options are hidden: %s",
            props.get("name"),
            error,
        )
    return tuple(option for option, _, _ in unknown_option_problems(all_options(), props))


def _mask_problem(problem: Problem) -> Problem:
    """Return the problem without a secret that a user wrote into a wrong option."""
    option, value, message = problem
    safe = value and (MASK if is_secret(option) else mask_value(value))
    return problem if not value or safe == value else (option, safe, message.replace(value, str(safe)))


def _without_references(
    problems: Sequence[Problem], known: ConnectorClass | None, given: Mapping[str, str]
) -> list[Problem]:
    """Drop problems caused by references, whose values only the task will know.

    If the driver itself needs the value to plan tasks, the reference is a problem.
    """
    remaining = []
    for option, value, message in problems:
        if not has_reference(option, given.get(option, "")):
            remaining.append((option, value, message))
        elif _is_needed_by_driver(option, known):
            text = f"{message}; write the value itself, because only tasks can read values from config providers"
            remaining.append((option, value, text))
    return remaining


def _is_needed_by_driver(option: str, known: ConnectorClass | None) -> bool:
    rows = (*all_options(), *topic_creation.OPTIONS, *exactly_once_source.OPTIONS, *((known and known.options) or ()))
    for row in rows:
        if option in row.spellings:
            return not (row.secret or row.type == "password")
    return option.endswith(STRUCTURE)


def _permission_problems(
    known: ConnectorClass | None, config: ConnectorConfig, worker: WorkerConfig, *, looked_up: bool
) -> list[Problem]:
    """Return files and client options that the worker does not allow its connectors."""
    permissions, problems = worker.permissions, []
    for option, path in known.files(config.own) if known is not None and known.files is not None else ():
        text = None if not looked_up and has_reference(option, path) else path_problem(path, permissions.file_root)
        if text is not None:
            problems.append((option, None if _is_secret_row(known, option) else path, text))
    problems += _store_problems(config, permissions, looked_up=looked_up)
    problems += _url_problems(known, config, permissions, looked_up=looked_up)
    for family, options in _overrides(config):
        problems += permissions.override_problems(family, options)
    problems += permissions.letter_problems(DLQ_PRODUCER, config.errors.dlq_producer)
    reported = {option for option, _, _ in problems}
    for family, options in _clients(known, config):
        found = permissions.file_problems(
            family, {name: value for name, value in options.items() if looked_up or not has_reference(name, value)}
        )
        problems += [problem for problem in found if problem[0] not in reported]
    return problems


def _store_problems(config: ConnectorConfig, permissions: Permissions, *, looked_up: bool) -> list[Problem]:
    """Return key and trust stores of converters' registries that the connector names, and may not open."""
    given = {name: path for name, path in config.properties.items() if REGISTRY_STORES in name}
    return permissions.file_problems(
        "", {name: path for name, path in given.items() if looked_up or not has_reference(name, path)}
    )


def _console_problems(known: ConnectorClass, config: ConnectorConfig, worker: WorkerConfig) -> list[Problem]:
    """Refuse a source of standard input on a worker of a cluster, which has none."""
    reads_input = known.uses_console and known.kind is ConnectorKind.SOURCE and not config.own["file"]
    if not reads_input or worker.run_directory is not None:
        return []
    return [("file", None, "is required; only `python -m engine standalone` reads standard input without it")]


def _url_problems(
    known: ConnectorClass | None, config: ConnectorConfig, permissions: Permissions, *, looked_up: bool
) -> list[Problem]:
    """Return URLs of the class's own options and of converters' registries whose hosts the worker does not allow."""
    urls = [*(known.urls(config.own) if known is not None and known.urls is not None else ())]
    for name, text in config.properties.items():
        if name.endswith(REGISTRY_URLS):
            urls += [(name, url.strip()) for url in text.split(",")]
    texts = [
        (option, permissions.url_problem(url)) for option, url in urls if looked_up or not has_reference(option, url)
    ]
    return [(option, None, text) for option, text in texts if text is not None]


def _file_problems(known: ConnectorClass | None, config: ConnectorConfig) -> list[Problem]:
    """Return problems of the files of the connector's clients. Files beside a reference are left to the task."""
    return [
        problem
        for family, options in _clients(known, config)
        if not any(has_reference(name, value) for name, value in options.items())
        for problem in file_problems(family, options)
    ]


def _overrides(config: ConnectorConfig) -> list[tuple[str, Mapping[str, str]]]:
    return [
        ("consumer.override.", config.consumer),
        ("producer.override.", config.producer),
        ("admin.override.", config.admin),
    ]


def _clients(known: ConnectorClass | None, config: ConnectorConfig) -> list[tuple[str, Mapping[str, str]]]:
    """Return all client options that the connector sets, by the prefix of their names."""
    is_mirror = known is not None and known.opener == "mirror"
    mirrors = client_families(read_mirror(config.properties)[0]) if is_mirror else []
    return [*_overrides(config), (DLQ_PRODUCER, config.errors.dlq_producer), *mirrors]


def _producers(known: ConnectorClass, config: ConnectorConfig) -> list[tuple[str, Mapping[str, str]]]:
    """Return options of a mirror's producer beside the overrides, the strongest first."""
    names = ("target.producer.", "producer.", "target.cluster.")
    families = dict(client_families(read_mirror(config.properties)[0])) if known.opener == "mirror" else {}
    return [(name, families[name]) for name in names if name in families]


def _is_secret_row(known: ConnectorClass | None, option: str) -> bool:
    """Return whether the class's table calls its option secret."""
    rows = () if known is None else known.options or ()
    return any(row.secret and option in row.spellings for row in rows)


def _stream_problems(config: ConnectorConfig, stream: StreamConfig) -> list[Problem]:
    """Return problems of processors, and of output converters other than the input ones."""
    writing = replace(config, key_converter=stream.key_converter, value_converter=stream.value_converter)
    reported = {row[1:] for row in step_problems(config)}
    return [*processor_problems(stream.processors), *(row for row in step_problems(writing) if row[1:] not in reported)]


def _client_problems(config: ConnectorConfig) -> list[Problem]:
    families = (*_overrides(config), (DLQ_PRODUCER, config.errors.dlq_producer))
    return [problem for family, options in families for problem in client_problems(family, options)]


def _without_headers(stages: Sequence[Stage], config: ConnectorConfig) -> tuple[Stage, ...]:
    """Return the stages that run; headers in bytes need no converter."""
    if not config.header_converter.class_name.endswith("ByteArrayConverter"):
        return tuple(stages)
    return tuple(stage for stage in stages if stage.type is not StageType.HEADER_CONVERTER or stage.name)
