"""Decide which changed options could send a connector's stored secrets to another address."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

CLASS = "connector.class"
_ADDRESS = re.compile(
    r"ur[il]s?(?-i:(?![a-z]))|host|server|node|endpoint|address|broker|bootstrap|proxy|jdbc|contact.?point"
    r"|connection.?string|name.?list|(?:^|[._-])ports?$",
    re.IGNORECASE,
)
# Nobody knows all options of Java's connectors, so every option counts as an address unless it is known to be none.
_FRAMEWORK = re.compile(
    r"name|tasks\.max|topics(?:\.regex)?|transforms|predicates|(?:errors|transforms|predicates)\..+"
)
_DATA = re.compile(
    r"(?:^|[._-])(?:collections?|columns?|fields?|format|mode|prefix|query|tables?|topics?)(?:$|[._-])",
    re.IGNORECASE,
)
_NO_ADDRESS = re.compile(r"true|false|-?\d{1,7}", re.IGNORECASE)  # a larger number can be an IPv4 address


def moving_options(sent: Mapping[str, str], stored: Mapping[str, str], *, is_java: bool) -> Iterator[str]:
    """Yield the options that differ from the stored ones and may hold an address, or give the secrets to another class.

    `is_java` tells that Java's Kafka Connect runs the connector.
    """
    for name, value in sent.items():
        if value != stored.get(name) and (name == CLASS or _may_be_address(name, value, is_java=is_java)):
            yield name


def _may_be_address(name: str, value: str, *, is_java: bool) -> bool:
    if _ADDRESS.search(name):
        return True
    return is_java and not (_FRAMEWORK.fullmatch(name) or _DATA.search(name) or _NO_ADDRESS.fullmatch(value))
