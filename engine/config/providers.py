"""Config providers (KIP-297): `${provider:[path:]key}` stands for a value of a file or a variable.

The classes are Kafka's FileConfigProvider, DirectoryConfigProvider and EnvVarConfigProvider (KIP-421, KIP-887). There
are two differences to Kafka. An unresolved reference is an error. Connectors may use a provider only if its
`allowed.paths` or `allowlist.pattern` says what they may read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.config.java_regex import compile_java
from engine.config.options import Option, Problem
from engine.config.properties import parse_properties
from engine.config.rooted_files import is_below, open_below

PREFIX = "config.providers"
# Kafka's pattern with two changes. A provider's name begins with a letter, so `${1:x}` is no reference. A reference
# holds no brace, so a search takes linear time.
REFERENCE = re.compile(r"\$\{([A-Za-z_][^}{:\s]*):(?:([^}{:]*):)?([^}{]*)\}")
SHORTEST = 4  # characters; hiding shorter values would garble the text, and they are no secrets
MAX_BYTES = 1 << 20  # of a file that a provider reads

FILE, DIRECTORY, ENVIRONMENT = "FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider"
CLASSES = {
    spelling: name
    for name in (FILE, DIRECTORY, ENVIRONMENT)
    for spelling in (name, f"org.apache.kafka.common.config.provider.{name}")
}
BY_NAME = {"file": FILE, "dir": DIRECTORY, "directory": DIRECTORY, "env": ENVIRONMENT}
LIMITS = {FILE: "allowed.paths", DIRECTORY: "allowed.paths", ENVIRONMENT: "allowlist.pattern"}
_WORD = re.compile(r"\w{4,}")

OPTIONS: tuple[Option, ...] = (
    Option(
        PREFIX,
        "list",
        (),
        "Names of config providers. In options of the worker and of connectors, `${name:path:key}` is "
        "replaced by the value that the provider finds there. The task looks the value up when it starts. "
        "The value is never stored or shown.",
    ),
    Option(
        f"{PREFIX}.*",
        "map",
        {},
        f"`{PREFIX}.<name>.class`: FileConfigProvider, DirectoryConfigProvider or EnvVarConfigProvider. "
        "Default for the names `file`, `directory` and `env`: the provider of that kind. "
        f"`{PREFIX}.<name>.param.allowed.paths` (files, directories) and "
        f"`{PREFIX}.<name>.param.allowlist.pattern` (variables) limit the values that may be read. Without "
        "them, connectors can't read any.",
    ),
)


class UnresolvedReference(Exception):
    """A reference that can't be resolved. The message says why, and holds no value."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider. `limit` is its `allowed.paths` or `allowlist.pattern`, or None."""

    name: str
    kind: str
    limit: str | None

    @property
    def limit_option(self) -> str:
        return f"{PREFIX}.{self.name}.param.{LIMITS[self.kind]}"

    def check(self, path: str, key: str) -> None:
        """Raise UnresolvedReference if the path or the key may not be read."""
        if not key or bool(path) is (self.kind == ENVIRONMENT):
            form = "key" if self.kind == ENVIRONMENT else "path:key"
            raise UnresolvedReference(f"has an invalid reference to a config provider; write ${{{self.name}:{form}}}")
        if self.kind == DIRECTORY and (os.sep in key or key in {".", ".."}):
            raise UnresolvedReference(f"refers to {key}, which is not a file name")
        if self.limit is not None and not self._allows(path, key):
            raise UnresolvedReference(f"refers to a value that the worker's {self.limit_option} does not allow")

    def get(self, path: str, key: str) -> str:
        """Return the value. Raises UnresolvedReference."""
        self.check(path, key)
        if self.kind == ENVIRONMENT:
            if key not in os.environ:
                raise UnresolvedReference(f"refers to the environment variable {key}, which is not set")
            return os.environ[key]
        if self.kind == DIRECTORY:
            return _read(os.path.join(path, key), self._root(path, key))  # noqa: PTH118, a path stays as it is written
        properties = parse_properties(_read(path, self._root(path, key)))
        if key not in properties:
            raise UnresolvedReference(f"refers to the key {key}, which is not in the file {path}")
        return properties[key]

    def _allows(self, path: str, key: str) -> bool:
        if self.kind == ENVIRONMENT:
            return compile_java(self.limit or "").fullmatch(key) is not None
        return self._root(path, key) is not None

    def _root(self, path: str, key: str) -> str | None:
        """Return the allowed directory that contains the file, or None."""
        if self.limit is None:
            return os.sep
        wanted = os.path.join(path, key) if self.kind == DIRECTORY else path  # noqa: PTH118, as above
        for one in (part.strip() for part in self.limit.split(",")):
            if one and is_below(wanted, one):
                return one
            if one and os.path.realpath(wanted.replace("\0", "")) == os.path.realpath(one):
                return os.path.dirname(os.path.realpath(one))  # noqa: PTH120, as above
        return None


@dataclass(frozen=True, slots=True)
class ResolvedProperties:
    """Properties with their references replaced. `values` holds each value by its reference."""

    properties: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    written: Mapping[str, str] = field(default_factory=dict)  # options that held a reference, unresolved

    def hide(self, text: str) -> str:
        """Return the text with every looked-up value replaced by its reference."""
        for reference, value in sorted(self.values.items(), key=lambda row: len(row[1]), reverse=True):
            if len(value.strip()) >= SHORTEST:
                text = text.replace(value, reference).replace(value.strip(), reference)
        return text

    def without_values(self, problem: Problem) -> Problem:
        """Return the problem without looked-up values or parts of them."""
        option, value, message = problem
        looked_up = {word for one in self.values.values() for word in _WORD.findall(one)}
        if option in self.written:
            value = self.written[option]
        hidden = self.hide(message)
        if any(word in hidden for word in looked_up):
            hidden = "is invalid with the value from its config provider; the value is not shown"
        return option, None if value is None else self.hide(value), hidden


@dataclass(frozen=True, slots=True)
class Providers:
    """The worker's providers, by name."""

    by_name: Mapping[str, Provider] = field(default_factory=dict)

    def look_up(
        self, properties: Mapping[str, str], *, of_connector: bool = False
    ) -> tuple[ResolvedProperties, list[Problem]]:
        """Return the properties with every reference replaced, and a problem for each failure."""
        values: dict[str, str] = {}
        written: dict[str, str] = {}
        problems = self.problems(properties, of_connector=of_connector)
        invalid = {option for option, _, _ in problems}
        resolved = dict(properties)
        for option, text in properties.items():
            if option in invalid or not has_reference(option, text):
                continue
            try:
                resolved[option] = REFERENCE.sub(lambda match: self._value(match, values), str(text))
                written[option] = text
            except UnresolvedReference as error:
                problems.append((option, text, str(error)))
        return ResolvedProperties(resolved, values, written), problems

    def problems(self, properties: Mapping[str, str], *, of_connector: bool = True) -> list[Problem]:
        """Return the problems of references that show without a look-up."""
        found: list[Problem] = []
        for option, text in properties.items():
            if not has_reference(option, text):
                continue
            for match in REFERENCE.finditer(str(text)):
                try:
                    self._check(match, of_connector=of_connector)
                except UnresolvedReference as error:
                    found.append((option, text, str(error)))
                    break
        return found

    def _check(self, match: re.Match[str], *, of_connector: bool) -> None:
        name, path, key = match.groups()
        provider = self.by_name.get(name)
        if provider is None:
            raise UnresolvedReference(f"refers to the config provider {name}, which is not in the worker's {PREFIX}")
        if of_connector and provider.limit is None:
            raise UnresolvedReference(
                f"refers to the config provider {name}, which connectors can't use; set the worker's "
                f"{provider.limit_option}"
            )
        provider.check(path or "", key)

    def _value(self, match: re.Match[str], values: dict[str, str]) -> str:
        name, path, key = match.groups()
        values[match[0]] = self.by_name[name].get(path or "", key)
        return values[match[0]]


def has_reference(option: str, text: object) -> bool:
    """Return whether a value refers to a config provider. Options of the providers themselves never do."""
    return not option.startswith(PREFIX) and REFERENCE.search(str(text)) is not None


def read_providers(properties: Mapping[str, str]) -> tuple[Providers, list[Problem]]:
    """Return the providers that a worker's properties name, and all problems."""
    names = [name.strip() for name in properties.get(PREFIX, "").split(",") if name.strip()]
    problems: list[Problem] = []
    by_name: dict[str, Provider] = {}
    for name in names:
        option = f"{PREFIX}.{name}.class"
        given = properties.get(option, BY_NAME.get(name, "")).strip()
        kind = CLASSES.get(given)
        if kind is None:
            text = f"must be one of {FILE}, {DIRECTORY}, {ENVIRONMENT}" if given else "is required"
            problems.append((option, given or None, text))
            continue
        provider = Provider(name, kind, None)
        limit = properties.get(provider.limit_option)
        if kind == ENVIRONMENT and limit is not None:
            try:
                compile_java(limit)
            except ValueError as error:
                problems.append((provider.limit_option, limit, str(error)))
                continue
        by_name[name] = Provider(name, kind, limit)
    unlisted = [
        (option, properties[option], f"has no matching name in {PREFIX}; add the name to {PREFIX}")
        for option in properties
        if option.startswith(f"{PREFIX}.") and option.removeprefix(f"{PREFIX}.").partition(".")[0] not in names
    ]
    return Providers(by_name), [*problems, *unlisted]


def _read(path: str, root: str | None) -> str:
    """Return a file's text. Raises UnresolvedReference, whose message holds none of it."""
    try:
        with open(open_below(path, root or os.sep, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a valid path"
        raise UnresolvedReference(f"refers to the file {Path(path)}, which can't be read: {reason}") from None
    if len(data) > MAX_BYTES:
        raise UnresolvedReference(f"refers to the file {Path(path)}, which is larger than {MAX_BYTES >> 20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UnresolvedReference(f"refers to the file {Path(path)}, which is not UTF-8 text") from None
