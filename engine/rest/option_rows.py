"""The options of a plugin or of a connector with its steps, in the order of Kafka Connect's answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from engine.assembly.connector_classes import find_class
from engine.assembly.plugin_list import connector_options, plugin_options
from engine.config.options import REQUIRED, FormField, Option, convert
from engine.config.plugin_versions import SUFFIX, VERSION
from engine.config.worker import WorkerConfig
from engine.rest.definitions import OptionRow, row_of
from engine.steps import plugins
from engine.steps.class_loading import ClassNotLoaded
from engine.steps.registry import BUILT_IN, step_options

CONVERTERS = ("key", "value", "header")
_IMPORTANCE = {"HIGH": 0, "MEDIUM": 1, "LOW": 2}
_PREDICATE = (
    Option("predicate", "string", None, "The name of a predicate that decides whether the transform is applied."),
    Option("negate", "boolean", False, "Apply the transform to the records that the predicate does not match."),
)
_FAMILIES = (
    ("transforms", "Transforms", "Transformation", plugins.TRANSFORMS),
    ("predicates", "Predicates", "Predicate", plugins.PREDICATES),
)


def plugin_rows(class_name: str, allow: Sequence[str]) -> list[OptionRow]:
    """Return the options of a plugin. Raises NotFound."""
    return [row_of(option) for option in plugin_options(class_name, allow) if not option.is_family]


def connector_rows(class_name: str, properties: Mapping[str, str], worker: WorkerConfig | None) -> list[OptionRow]:
    """Return the options of a connector class and of the steps that the properties name. Raises NotFound."""
    allow = worker.permissions.classes if worker else ()
    rows = [
        _with_worker(row_of(option, recommended=_recommended(option, properties, allow)), worker)
        for option in connector_options(class_name, allow)
        if not option.is_family
    ]
    for family, group, kind, entry_points in _FAMILIES:
        for alias in _aliases(properties.get(family, "")):
            rows += _step_rows(f"{family}.{alias}.", f"{group}: {alias}", kind, entry_points, properties, allow)
    for part in CONVERTERS:
        rows += _converter_rows(f"{part}.converter", part, properties, allow)
    return rows + list(_family_rows(connector_options(class_name, allow), {row.name for row in rows}, properties))


def _family_rows(
    options: Sequence[Option], known: Collection[str], properties: Mapping[str, str]
) -> Iterator[OptionRow]:
    """Yield the given options of families that no class describes, such as client options."""
    for family in (option for option in options if option.is_family):
        for start in family.spellings:
            prefix = start.removesuffix("*")
            for name in properties:
                if name.startswith(prefix) and name not in known:
                    yield row_of(Option(name.removeprefix(prefix), "string", None, family.doc), prefix)


def _with_worker(row: OptionRow, worker: WorkerConfig | None) -> OptionRow:
    """Return the row of a converter with the worker's converter as the default, and of a version with the only one."""
    if row.name.endswith(f".converter.{SUFFIX}"):
        version = next(iter(row.recommended), None)
        return row._replace(default=version, effective=version)
    if worker is None or not row.name.endswith(".converter"):
        return row
    steps = (worker.key_converter, worker.value_converter, worker.header_converter)
    inherited = dict(zip(CONVERTERS, steps, strict=True))[row.name.partition(".")[0]].class_name
    return row._replace(default=inherited, effective=inherited)


def _step_rows(
    prefix: str, group: str, kind: str, entry_points: str, properties: Mapping[str, str], allow: Sequence[str]
) -> Iterator[OptionRow]:
    """Yield the rows of a transform or a predicate: its class, its version, and its options."""
    alias = prefix.split(".")[1]
    form = FormField("HIGH", group, 0, "LONG", f"{kind} type for {alias}")
    yield row_of(
        Option("type", "class", REQUIRED, f"The class of {alias}.", form=form), prefix, _full_names(entry_points)
    )
    options = _options(entry_points, properties.get(f"{prefix}type"), allow)
    form = FormField("HIGH", group, 1, "LONG", f"{kind} version for {alias}")
    version = Option(SUFFIX, "string", None if options is None else VERSION, f"The version of {alias}.", form=form)
    yield row_of(version, prefix, () if options is None else (VERSION,))
    known = [*(options or ()), *(_PREDICATE if entry_points == plugins.TRANSFORMS and options is not None else ())]
    for order, option in enumerate(sorted(known, key=_rank), start=2):
        yield row_of(option, prefix)._replace(group=group, order=order)


def _converter_rows(name: str, part: str, properties: Mapping[str, str], allow: Sequence[str]) -> Iterator[OptionRow]:
    """Yield the options of a converter that the connector itself names."""
    for option in _options(plugins.CONVERTERS, properties.get(name), allow) or ():
        row = row_of(option, f"{name}.")
        yield row._replace(effective=part) if option.name == "converter.type" else row


def _recommended(option: Option, properties: Mapping[str, str], allow: Sequence[str]) -> tuple[str, ...]:
    """Return the values that a form may offer: classes of converters, and versions of known classes."""
    if option.name in {f"{part}.converter" for part in CONVERTERS}:
        return _full_names(plugins.CONVERTERS)
    if not option.name.endswith(f".{SUFFIX}"):
        return ()
    owner = option.name.removesuffix(f".{SUFFIX}")
    if owner == "connector":
        return (VERSION,) if find_class(properties.get("connector.class", ""), allow)[0] else ()
    given = properties.get(owner)
    return (VERSION,) if given is None or _options(plugins.CONVERTERS, given, allow) is not None else ()


def _options(entry_points: str, class_name: str | None, allow: Sequence[str]) -> tuple[Option, ...] | None:
    """Return the options of a step's class, or None if it can't be loaded."""
    try:
        return step_options(entry_points, class_name, allow) if class_name else None
    except ClassNotLoaded:  # a problem of the validation
        return None


def _full_names(entry_points: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in BUILT_IN[entry_points] if "." in name))


def _aliases(text: str) -> list[str]:
    return list(dict.fromkeys(convert("list", text)))


def _rank(option: Option) -> tuple[bool, int, str]:
    """Return the sort key of Kafka Connect: required options first, then by importance and name."""
    return option.default is not REQUIRED, _IMPORTANCE[option.form.importance], option.name
