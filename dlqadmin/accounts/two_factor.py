"""Two-factor sign-in: time-based one-time passwords (RFC 6238), and recovery codes.

A time step is 30 seconds. The codes of one step before and after the present are accepted, because clocks differ.
A step is accepted once, so that nobody can use a code that was seen.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from dataclasses import dataclass

import pyotp
import segno
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from dlqadmin.accounts import tokens
from dlqadmin.accounts.models import RecoveryCode, TotpDevice
from dlqadmin.audit.entries import record

ISSUER = "dlqadmin"
STEP_S = 30
RECOVERY_CODES = 10
RECOVERY_BYTES = 10  # 16 characters in base32


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret for an authenticator app, as text and as the address in its QR code."""

    text: str
    address: str

    def qr_code(self) -> str:
        """Return the QR code as a data URI of an SVG image."""
        return segno.make(self.address, error="m").svg_data_uri(scale=4, border=4, dark="#000", light="#fff")


def is_enabled(user: User) -> bool:
    """Return whether the account has a confirmed authenticator app."""
    return TotpDevice.objects.filter(user=user, confirmed_at__isnull=False).exists()


def recovery_codes_left(user: User) -> int:
    """Return the number of unused recovery codes."""
    return RecoveryCode.objects.filter(device__user=user, used_at=None).count()


def begin(user: User) -> NewSecret:
    """Return a new secret, which replaces an unconfirmed one. The account must have no confirmed app."""
    text = pyotp.random_base32()
    with transaction.atomic():
        TotpDevice.objects.filter(user=user, confirmed_at=None).delete()
        TotpDevice.objects.create(user=user, sealed_secret=_seal(text))
    name = f"{user.get_username()} ({settings.CLUSTER})"
    return NewSecret(text, pyotp.TOTP(text).provisioning_uri(name=name, issuer_name=ISSUER))


def confirm(user: User, code: str, now: float) -> list[str] | None:
    """Switch two-factor sign-in on if the code is right; return the recovery codes. Return None for a wrong code."""
    with transaction.atomic():
        device = TotpDevice.objects.select_for_update().filter(user=user, confirmed_at=None).first()
        if device is None or not _accept_step(device, code, now):
            return None
        TotpDevice.objects.filter(pk=device.pk).update(confirmed_at=timezone.now())
        codes = [_new_recovery_code() for _ in range(RECOVERY_CODES)]
        rows = [RecoveryCode(device=device, digest=_digest(one)) for one in codes]
        RecoveryCode.objects.bulk_create(rows)
        record(user, "two-factor on", "user", user.get_username())
    return codes


def accept(user: User, code: str, now: float) -> bool:
    """Return whether a code of the app or a recovery code is right and unused, and mark it as used."""
    device = TotpDevice.objects.filter(user=user, confirmed_at__isnull=False).first()
    if device is None:
        return False
    if _accept_step(device, code, now):
        return True
    with transaction.atomic():
        # The guarded update lets one of several parallel requests use the code.
        unused = RecoveryCode.objects.filter(device=device, digest=_digest(code), used_at=None)
        if not unused.update(used_at=timezone.now()):
            return False
        record(user, "recovery code used", "user", user.get_username(), {"left": recovery_codes_left(user)})
    return True


def switch_off(user: User) -> None:
    """Delete the app and the recovery codes of an account, at the wish of its owner."""
    with transaction.atomic():
        if TotpDevice.objects.filter(user=user).delete()[0]:
            record(user, "two-factor off", "user", user.get_username())


def reset(user: User, actor: User | str) -> bool:
    """Delete the app and the recovery codes for an owner who lost them. Return whether there was an app."""
    with transaction.atomic():
        if not TotpDevice.objects.filter(user=user).delete()[0]:
            return False
        record(actor, "two-factor reset", "user", user.get_username())
    return True


def _accept_step(device: TotpDevice, code: str, now: float) -> bool:
    """Return whether the code is that of a time step which is later than the last accepted one."""
    secret = _unseal(device.sealed_secret)
    typed = "".join(code.split())
    if secret is None or not typed.isascii() or not typed.isdigit():
        return False
    totp, present = pyotp.TOTP(secret, interval=STEP_S), int(now // STEP_S)
    for step in (present, present - 1, present + 1):
        if hmac.compare_digest(totp.generate_otp(step), typed):
            # The guarded update lets one of several parallel requests use the code.
            return bool(TotpDevice.objects.filter(pk=device.pk, last_step__lt=step).update(last_step=step))
    return False


def _new_recovery_code() -> str:
    text = base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def _digest(code: str) -> str:
    """Return the SHA-256 of a recovery code, however it was typed. 80 random bits need no slow hash."""
    return tokens.digest_of("".join(code.lower().replace("-", "").split()))


def _seal(secret: str) -> str:
    return _box().encrypt(secret.encode()).decode()


def _unseal(sealed: str) -> str | None:
    """Return a stored secret; None if SECRET_KEY has changed without a fallback."""
    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken:
        return None


def reseal(sealed: str) -> str | None:
    """Return a stored secret encrypted with SECRET_KEY; unchanged if it is already, None if no key reads it."""
    try:
        _fernet(settings.SECRET_KEY).decrypt(sealed.encode())
    except InvalidToken:
        secret = _unseal(sealed)
        return None if secret is None else _seal(secret)
    return sealed


def _box() -> MultiFernet:
    """Return the encryption of secrets: with SECRET_KEY first, and with former keys to read."""
    return MultiFernet([_fernet(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _fernet(key: str | bytes) -> Fernet:
    digest = salted_hmac("dlqadmin.two-factor", "", secret=key, algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(digest))
