"""A row of the table of Java connectors, and what a translation consists of."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

# It stands for a part of each record, such as `${key}`; a reference to a config provider has a colon.
PLACEHOLDER = re.compile(r"\$\{[^}{:]*\}")


@dataclass(frozen=True, slots=True)
class TranslatedOption:
    """An option of the result, with a comment. Without `name` it is only the comment of an option left out.

    `is_open`: a person has to decide what to do, because the option has no equivalent.
    """

    name: str
    value: str
    comment: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class JavaConnector:
    """A Java connector, or all classes of a package if `name` ends in a dot.

    - `equivalent`: the class here, or None. `reason` says why there is none.
    - `renamed`: the option here, by the option there.
    - `dropped`: why an option needs no counterpart, whatever its value is; `option=value` is for this value only.
    - `fixed`: the values with which an option means what the engine does, and what the engine does. A mapping has the
      value here, by the value there. With another value the option has no equivalent.
    - `defaults`: the values there of options that are not given, if the engine's own defaults would mean another thing.
    - `notes`: comments about options that are kept although they do not mean quite the same.
    - `convert`: takes options out of the configuration that can't be translated one by one, and returns their result.

    An option whose name ends in `.*` stands for all names that begin so.
    """

    name: str
    equivalent: str | None = None
    reason: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, tuple[Collection[str], str]] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    convert: Callable[[dict[str, str]], list[TranslatedOption]] = lambda _: []


def left_out(comment: str) -> TranslatedOption:
    """Return the comment of an option that needs no counterpart."""
    return TranslatedOption("", "", comment)


def open_point(comment: str) -> TranslatedOption:
    """Return the comment of an option that a person has to decide about."""
    return TranslatedOption("", "", comment, is_open=True)
