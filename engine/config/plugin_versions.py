"""Options that choose the version of a plugin (KIP-891). The engine has one version of each class."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.options import FormField, Option, Problem

VERSION = "0.1.0"
SUFFIX = "plugin.version"
_PLUGINS = ("connector.", "key.converter.", "value.converter.", "header.converter.", "transforms.", "predicates.")


def _version(owner: str, form: FormField, default: str | None = None) -> Option:
    doc = f"The version of the class. `latest` and {VERSION} are its only version; others are ignored with a warning."
    return Option(f"{owner}.{SUFFIX}", "string", default, doc, form=form)


OPTIONS: tuple[Option, ...] = (
    _version("connector", FormField("MEDIUM", "Common", 3, "MEDIUM", "Connector version"), VERSION),
    _version("key.converter", FormField("LOW", "Common", 7, "SHORT", "Key converter version")),
    _version("value.converter", FormField("LOW", "Common", 9, "SHORT", "Value converter version")),
    _version("header.converter", FormField("LOW", "Common", 11, "SHORT", "Header converter version")),
)


def version_warnings(properties: Mapping[str, str]) -> list[Problem]:
    """Return a warning for each version that the engine does not have."""
    text = f"is ignored: the only version of this class is {VERSION}"
    return [
        (name, value, text)
        for name, value in properties.items()
        if name.startswith(_PLUGINS) and name.endswith(f".{SUFFIX}") and value not in ("latest", VERSION)
    ]
