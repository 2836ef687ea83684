"""Encryption of the texts that only a sender may see: targets of channels and secrets of signatures.

Fernet encrypts with ALERT_KEY. Texts that were encrypted with a key of ALERT_OLD_KEYS can still be read.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

PURPOSE = b"dlqadmin.notifications."


class UnreadableText(Exception):
    """No key of the settings decrypts a stored text."""

    def __init__(self) -> None:
        super().__init__(
            "The stored target can't be decrypted. Set ALERT_OLD_KEYS to the former key, or enter the target again."
        )


def seal(text: str) -> str:
    """Return the text, encrypted."""
    return _keys().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    """Return the text. Raises UnreadableText."""
    try:
        return _keys().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise UnreadableText from None


def reseal(sealed: str) -> str:
    """Return the text encrypted with ALERT_KEY; unchanged if it is already. Raises UnreadableText."""
    try:
        _fernet(settings.ALERT_KEY).decrypt(sealed.encode())
    except InvalidToken:
        return seal(unseal(sealed))
    return sealed


def keyed_digest(text: str) -> str:
    """Return an HMAC of a text. A copy of the database does not allow guesses of the text."""
    return hmac.new(settings.ALERT_KEY.encode(), PURPOSE + b"digest:" + text.encode(), hashlib.sha256).hexdigest()


def _keys() -> MultiFernet:
    return MultiFernet([_fernet(key) for key in (settings.ALERT_KEY, *settings.ALERT_OLD_KEYS)])


def _fernet(key: str) -> Fernet:
    # The setting may have any length; Fernet's keys have 32 bytes.
    derived = hmac.new(key.encode(), PURPOSE + b"fernet", hashlib.sha256).digest()
    return Fernet(base64.urlsafe_b64encode(derived))
