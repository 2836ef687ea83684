"""Secrets stay secret: which options are, and a copy of a configuration without them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

MASK = "********"

_SECRET = re.compile(
    r"passw|passphrase|pwd|secret|token|credential|jaas|api.?key|access.?key|private.?key|account.?key"
    r"|user\.?info|authorization|headers?$|key\.pem$",
    re.IGNORECASE,
)
_ENDS_IN_KEY = re.compile(r"[._-]key$", re.IGNORECASE)
_USER_INFO = re.compile(r"(?<=://)([^/@\s:]*):([^/\s]+)@")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_PARAMETER = re.compile(r"([?&;](?:password|passwd|pwd|secret|token|sslpassword)=)[^&;\s]+", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Does the name of an option promise a secret?"""
    return bool(_SECRET.search(name) or _ENDS_IN_KEY.search(name))


def mask(config: Mapping[str, str], secrets: Collection[str] = ()) -> dict[str, str]:
    """A copy to be shown: options in `secrets`, and those named like one, are masked; so are private keys, whatever
    the option is called, and passwords in URLs.
    """
    return {
        name: MASK if name in secrets or is_secret(name) or _PRIVATE_KEY.search(str(value)) else mask_url(str(value))
        for name, value in config.items()
    }


def mask_url(value: str) -> str:
    """The value with the password of every URL in it masked."""
    return _PARAMETER.sub(rf"\1{MASK}", _USER_INFO.sub(rf"\1:{MASK}@", value)) if "://" in value else value
