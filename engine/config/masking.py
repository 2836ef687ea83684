"""Masking: which options are secret, and copies of configurations without secrets."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from engine.config.steps import TABLES

MASK = "********"
# A value from a config provider, as in `${file:/secrets:password}`. Inner braces are excluded to keep the search
# linear.
PROVIDED = re.compile(r"\$\{[^}{:]+:[^}{]*\}")

_SECRET = re.compile(
    r"passw|passphrase|pwd|secret|token|credential|jaas|api.?key|access.?key|private.?key|account.?key"
    r"|user\.?info|authorization|headers?$|key\.pem$",
    re.IGNORECASE,
)
_ENDS_IN_KEY = re.compile(r"[._-]key$", re.IGNORECASE)
_STEP_TYPE = re.compile(r"(?:transforms|predicates)\..+\.type")
_PACKAGES = ("org.apache.kafka.connect.", "io.confluent.connect.")
_PLAIN = {
    name: frozenset(spelling for option in table if not option.secret for spelling in option.spellings)
    for names, table in TABLES.items()
    for name in names.split(", ")
}
# Each pattern matches only the beginning of a secret, and code finds its end. A pattern that also matched the end would
# scan the rest of the text again for every beginning.
_USER = re.compile(r"(?<=://)[^/?#@:\s]*:")
_TOKEN = re.compile(r"(?<=://)[^/?#@:\s]+@")  # instead of user and password
_ORACLE_USER = re.compile(r"(?<=jdbc:oracle:)\w+:")
_ORACLE_END = re.compile(r"[/@\s]")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_NAME = re.compile(
    r"(?<![\w.-])(?:[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|api.?key|access.?key|account.?key"
    r"|private.?key)|pass|sig|signature|auth|authorization)\s*=\s*",
    re.IGNORECASE,
)
_BARE = re.compile(r"[^&;\s]+")
_BARE_IN_LIST = re.compile(r"[^&;]+")  # blanks do not separate parameters if these characters do


def is_secret(name: str) -> bool:
    """Return whether the name of an option suggests a secret."""
    return bool(_SECRET.search(name) or _ENDS_IN_KEY.search(name))


def mask(config: Mapping[str, str], secrets: Collection[str] = (), plain: Collection[str] = ()) -> dict[str, str]:
    """Return a copy for display, with secrets masked.

    Masked are options in `secrets`, options with secret-like names, and in any option private keys and passwords in
    URLs. Options in `plain` and options of built-in steps are known not to be secret, whatever their names.
    """
    known = {*plain, *_plain_of_steps(config)}
    return {
        name: MASK if name in secrets or (name not in known and is_secret(name)) else mask_value(str(value))
        for name, value in config.items()
    }


def mask_value(value: str) -> str:
    """Return a value without recognisable secrets, whatever its option is called."""
    return MASK if _PRIVATE_KEY.search(value) else mask_url(value)


def unmask(config: Mapping[str, str], stored: Mapping[str, str], secrets: Collection[str] = ()) -> dict[str, str]:
    """Return what a client sent, with the stored value in place of each value that was shown masked."""
    shown = mask(stored, secrets)
    return {name: stored[name] if name in stored and value == shown[name] else value for name, value in config.items()}


def masked_options(config: Mapping[str, str], secrets: Collection[str] = ()) -> list[str]:
    """Return the options whose value is, or contains, the mask of a secret.

    A mask in an option that holds no secret is plain text.
    """
    opened = {name: str(value).replace(MASK, "hidden") for name, value in config.items()}
    hidden = [name for name, value in mask(opened, secrets).items() if value != opened[name]]
    marked = [name for name in hidden if MASK in config[name]]
    return [name for name in marked if config[name] == MASK or mask_url(opened[name]) != opened[name]]


def plain_options(class_name: str) -> frozenset[str]:
    """Return the options of a built-in step that its table does not call secret.

    Nothing is known about other steps.
    """
    package, _, short = class_name.rpartition(".")
    return _PLAIN.get(short, frozenset()) if not package or package.startswith(_PACKAGES) else frozenset()


def _plain_of_steps(config: Mapping[str, str]) -> set[str]:
    steps = ((name.removesuffix("type"), value) for name, value in config.items() if _STEP_TYPE.fullmatch(name))
    return {prefix + option for prefix, class_name in steps for option in plain_options(str(class_name))}


def mask_url(value: str) -> str:
    """Mask passwords and tokens in URLs and connection strings. It may mask too much.

    The time grows linearly with the length, for any text.
    """
    return _mask_parameters(_mask_oracle_user(_mask_token(_mask_password(value))))


def _mask_password(value: str) -> str:
    """Mask from the first `//user:` to the very last @, because a password may hold anything."""
    match, last = _USER.search(value), value.rfind("@")
    return value if match is None or match.end() >= last else f"{value[: match.end()]}{MASK}{value[last:]}"


def _mask_token(value: str) -> str:
    found = _TOKEN.search(value)
    return value if found is None else f"{value[: found.start()]}{MASK}{value[value.rfind('@') :]}"


def _mask_oracle_user(value: str) -> str:
    """Mask the password of `jdbc:oracle:thin:user/password@…`."""
    at, last = 0, value.rfind("@")
    while found := _ORACLE_USER.search(value, at):
        end = _ORACLE_END.search(value, found.end())
        if end is None or end.end() >= last:
            break
        if end[0] == "/":
            return f"{value[: end.end()]}{MASK}{value[last:]}"
        at = end.end()  # skip the beginnings inside this match
    return value


def _mask_parameters(value: str) -> str:
    """Mask the values of `password=…` and similar parameters."""
    bare = _BARE_IN_LIST if ";" in value or "&" in value else _BARE
    last_brace, shown_parts, at = value.rfind("}"), [], 0
    while match := _NAME.search(value, at):
        start = match.end()
        end = _end_of_value(value, start, bare, last_brace)
        if end == start and bare is _BARE_IN_LIST and value[start - 1].isspace():
            start -= 1  # a blank may be the password
        shown_parts += [value[at:start], MASK if end > start else ""]
        at = end
    return "".join(shown_parts) + value[at:]


def _end_of_value(value: str, start: int, bare: re.Pattern[str], last_brace: int) -> int:
    if value[start : start + 1] == "{" and start < last_brace:  # ODBC quotes
        return value.index("}", start) + 1
    match = _QUOTED.match(value, start) or bare.match(value, start)
    return start if match is None else match.end()
