"""Write the engine's pages of docs/reference from its tables: `python -m engine.assembly.reference`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.assembly import acl_table
from engine.assembly.connector_classes import CLASSES, LAZY, built_in
from engine.config import (
    connect_options,
    connector,
    errors_policy,
    exactly_once_source,
    plugin_versions,
    stream,
    topic_creation,
    worker,
)
from engine.config.exception_handlers import HandlerRole
from engine.config.options import REQUIRED, Option
from engine.config.steps import TABLES
from engine.connectors.mirror import options as mirror
from engine.steps import handlers, registry
from engine.worker_messages import ConnectorKind

PAGE = Path("docs/reference/options.md")
ACLS_PAGE = Path("docs/reference/acls.md")
CONNECT_PAGE = Path("docs/reference/kafka-connect-options.md")
CONNECT_HEAD = """\
# Kafka Connect's options

Generated from the tables by `python -m engine.assembly.reference`; do not edit.

Every option of Kafka Connect 4.1 is accepted. This page says which ones work, and why the others have no effect. An
option without effect is a warning: at the start of the worker, or in the validation of the connector.
[Options](options.md) has all options of the engine.
"""
_CONNECT_FAMILIES = {
    "transforms.<name>.type, .predicate, .negate, .plugin.version": "As in Kafka Connect, with its 16 transforms.",
    "predicates.<name>.type, .plugin.version": "As in Kafka Connect, with its three predicates.",
    "topic.creation.<group>.include, .exclude, .replication.factor, .partitions, .<option>": "As in Kafka Connect.",
    "consumer.override.*, producer.override.*, admin.override.*": "Client options that the worker's policy allows.",
}
ACLS_HEAD = """\
# Rights on Kafka

Generated from the table by `python -m engine.assembly.reference`; do not edit.

`python -m engine acls worker.properties connector.properties` prints the `kafka-acls` commands of a worker and its
connectors ([how to](../how-to/grant-acls.md)). A right with an entry under *without it* is optional. Brokers before
3.0 also want IdempotentWrite on the cluster for each producer.
"""


def render() -> str:
    """Return the page."""
    sections: list[tuple[str, Sequence[Option]]] = [
        ("Connector", connector.OPTIONS),
        ("Sink", connector.SINK_OPTIONS),
        ("Failures of records", errors_policy.OPTIONS),
        *(
            (name, built_in()[name].options or ())
            for name in (
                "FileStreamSink",
                "SqlSink",
                "KafkaSink",
                "HttpSink",
                "ElasticsearchSink",
                "ObjectStoreSink",
                "DeltaSink",
                "FileStreamSource",
                "SqlSource",
            )
        ),
        ("stream", stream.OPTIONS),
        ("mirror", mirror.OPTIONS),
        ("Exactly-once sources", exactly_once_source.OPTIONS),
        ("Topics that a source creates", topic_creation.OPTIONS),
        ("Topics that a source creates: each group", topic_creation.GROUP),
        ("Worker", worker.OPTIONS),
        *TABLES.items(),
    ]
    parts = ["# Options", "Generated from the tables by `python -m engine.assembly.reference`; do not edit."]
    parts += [f"## {title}\n\n{_table(options)}" for title, options in sections]
    return "\n\n".join(parts) + "\n"


def render_connect() -> str:
    """Return the page of Kafka Connect's options."""
    shared = {option.name: option for kind in ConnectorKind for option in connector.options_of_kind(kind)}
    named = [(name, option) for name, option in shared.items() if option.form.group is not None]
    rows = [f"| `{name}` | {_state(option)} | {option.doc} |" for name, option in named]
    rows += [f"| `{name}` | implemented | {text} |" for name, text in _CONNECT_FAMILIES.items()]
    docs = {option.name: option.doc for option in worker.OPTIONS}
    implemented = {name: docs.get(name, "") for name in connect_options.IMPLEMENTED}
    workers = {name: ("implemented", doc) for name, doc in implemented.items()}
    workers |= {name: ("accepted, with a warning", text) for name, text in connect_options.WITHOUT_EFFECT.items()}
    workers |= {"sasl.*, ssl.*": ("implemented", "The other options of these families are those of the clients.")}
    workers |= dict.fromkeys(("consumer.*", "producer.*", "admin.*"), ("implemented", "Client options."))
    head = "| option | here | remarks |\n| --- | --- | --- |\n"
    lines = "\n".join(f"| `{name}` | {state} | {text} |" for name, (state, text) in sorted(workers.items()))
    return f"{CONNECT_HEAD}\n## Connectors\n\n{head}" + "\n".join(rows) + f"\n\n## Workers\n\n{head}{lines}\n"


def _state(option: Option) -> str:
    """Return whether an option of connectors works, or only one of its values does."""
    is_limited = option is connector.RELOAD_ACTION or option in plugin_versions.OPTIONS
    return "accepted, other values with a warning" if is_limited else "implemented"


def render_acls() -> str:
    """Return the page of rights."""
    return f"{ACLS_HEAD}\n{acl_table.render()}\n"


def _table(options: Sequence[Option]) -> str:
    if not options:
        return "No options."
    rows = ["| option | type | default | valid values | description |", "| --- | --- | --- | --- | --- |"]
    return "\n".join(rows + [_row(option) for option in options])


def _row(option: Option) -> str:
    aliases = f" Also accepted: {', '.join(f'`{name}`' for name in option.aliases)}." if option.aliases else ""
    return f"| `{option.name}` | {option.type} | {_default(option)} | {_valid(option)} | {option.doc}{aliases} |"


def _valid(option: Option) -> str:
    if option.type != "class" or option.valid_values:
        return option.valid_values
    return _CLASSES.get(option.name, _CLASSES["converter"] if option.name.endswith("converter") else "")


def _class_names(names: Iterable[str]) -> str:
    """Return the built-in names without their packages, and the other ways to name a class."""
    short = (f"`{name}`" for name in dict.fromkeys(names) if "." not in name)
    return f"{', '.join(short)}, an entry point or a dotted path"


_CLASSES = {
    "connector.class": _class_names([*CLASSES, *LAZY]),
    "converter": _class_names(registry.CONVERTERS),
    **{
        option: _class_names(handlers.BUILT_IN[role])
        for role in HandlerRole
        for option in (role.option, role.old_option)
    },
}


def _default(option: Option) -> str:
    match option.default:
        case None | () | "":
            return "unset"
        case bool():
            return f"`{str(option.default).lower()}`"
        case tuple():
            return f"`{','.join(option.default)}`"
        case dict():
            return ""
    return "required" if option.default is REQUIRED else f"`{option.default}`"


if __name__ == "__main__":
    PAGE.write_text(render())
    ACLS_PAGE.write_text(render_acls())
    CONNECT_PAGE.write_text(render_connect())
