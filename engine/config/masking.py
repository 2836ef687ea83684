"""Secrets stay secret: which options are, and a copy of a configuration without them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from engine.config.steps import TABLES

MASK = "********"
PROVIDED = re.compile(r"\$\{[^}:]+:[^}]*\}")  # a value that a config provider puts in, as `${file:/secrets:password}`

_SECRET = re.compile(
    r"passw|passphrase|pwd|secret|token|credential|jaas|api.?key|access.?key|private.?key|account.?key"
    r"|user\.?info|authorization|headers?$|key\.pem$",
    re.IGNORECASE,
)
_ENDS_IN_KEY = re.compile(r"[._-]key$", re.IGNORECASE)
_STEP_TYPE = re.compile(r"(?:transforms|predicates)\..+\.type")
_PACKAGE = "org.apache.kafka.connect."
_PLAIN = {
    name: frozenset(spelling for option in table if not option.secret for spelling in option.spellings)
    for names, table in TABLES.items()
    for name in names.split(", ")
}
_USER_INFO = (  # all up to the last @: a password may hold anything
    re.compile(r"(?<=://)([^/?#@:\s]*:).+@", re.DOTALL),
    re.compile(r"(?<=://)()[^/?#@:\s]+@(?:.*@)?", re.DOTALL),  # a token in place of user and password
    re.compile(r"(?<=jdbc:oracle:)(\w+:[^/@\s]*/).+@", re.DOTALL),
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\{[^}]*\}"""
_NAMED = (
    r"((?<![\w.-])(?:[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|api.?key|access.?key|account.?key"
    r"|private.?key)|pass|sig|signature|auth|authorization)\s*=\s*)"
)
_PARAMETER = re.compile(rf"{_NAMED}(?:{_QUOTED}|[^&;\s]+)", re.IGNORECASE)
_PARAMETER_OF_A_LIST = re.compile(rf"{_NAMED}(?:{_QUOTED}|[^&;]+)", re.IGNORECASE)  # what separates is no blank


def is_secret(name: str) -> bool:
    """Does the name of an option promise a secret?"""
    return bool(_SECRET.search(name) or _ENDS_IN_KEY.search(name))


def mask(config: Mapping[str, str], secrets: Collection[str] = (), plain: Collection[str] = ()) -> dict[str, str]:
    """A copy to be shown: options in `secrets`, and those named like one, are masked; so are private keys, whatever
    the option is called, and passwords in URLs.

    Options in `plain`, and those of steps that are built in, are known not to be secret, however they are named.
    """
    known = {*plain, *_plain_of_steps(config)}
    return {
        name: MASK if name in secrets or (name not in known and is_secret(name)) else shown(str(value))
        for name, value in config.items()
    }


def shown(value: str) -> str:
    """A value without the secrets that it can be seen to hold, whatever its option is called."""
    return MASK if _PRIVATE_KEY.search(value) else mask_url(value)


def masked(config: Mapping[str, str], secrets: Collection[str] = ()) -> list[str]:
    """Options whose value is the mask of a secret, or holds one; a mask where no secret belongs is a text."""
    opened = {name: str(value).replace(MASK, "hidden") for name, value in config.items()}
    hidden = [name for name, value in mask(opened, secrets).items() if value != opened[name]]
    marked = [name for name in hidden if MASK in config[name]]
    return [name for name in marked if config[name] == MASK or mask_url(opened[name]) != opened[name]]


def plain_options(class_name: str) -> frozenset[str]:
    """Options of a step that is built in, but for those that its table calls secret; of others nothing is known."""
    package, _, short = class_name.rpartition(".")
    return _PLAIN.get(short, frozenset()) if not package or package.startswith(_PACKAGE) else frozenset()


def _plain_of_steps(config: Mapping[str, str]) -> set[str]:
    steps = ((name.removesuffix("type"), value) for name, value in config.items() if _STEP_TYPE.fullmatch(name))
    return {prefix + option for prefix, class_name in steps for option in plain_options(str(class_name))}


def mask_url(value: str) -> str:
    """The value with the passwords and tokens of URLs and connection strings in it masked, rather too much of it."""
    for pattern in _USER_INFO:
        value = pattern.sub(rf"\1{MASK}@", value)
    parameters = _PARAMETER_OF_A_LIST if ";" in value or "&" in value else _PARAMETER
    return parameters.sub(rf"\1{MASK}", value)
