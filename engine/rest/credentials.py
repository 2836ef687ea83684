"""Bearer tokens and passwords, checked against files that are read again when they change."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from engine.config.options import Problem
from engine.config.properties import parse_properties
from engine.config.rest import bearer_token

log = logging.getLogger("engine")

SCRYPT = "{scrypt}"
SCRYPT_N, SCRYPT_R, SCRYPT_P = 16_384, 8, 1  # 16 MB and about 50 ms for each guess
SCRYPT_MAX_BYTES = 64 * 1024 * 1024
_SALT_BYTES = 16
T = TypeVar("T")


class Credentials:
    """The tokens and users that may use the REST API.

    A file that can no longer be read admits nobody: its last content does not count.
    """

    def __init__(
        self, token: str | None = None, token_file: Path | None = None, users_file: Path | None = None
    ) -> None:
        self._given = (_digest(token),) if token else ()
        self._tokens: WatchedFile[tuple[bytes, ...]] = WatchedFile(token_file, _token_digests, ())
        self._users: WatchedFile[Mapping[str, str]] = WatchedFile(users_file, parse_users, {})
        self.takes_tokens = bool(token or token_file)
        self.takes_passwords = users_file is not None
        self._verified: dict[str, bytes] = {}
        self._key = secrets.token_bytes(32)

    def problems(self) -> list[Problem]:
        """Return the option, the path and the reason of each file that can't be used."""
        found = [
            ("rest.auth.token.file", str(self._tokens.path), self._tokens.problem()),
            ("rest.basic.auth.credentials.file", str(self._users.path), self._users.problem()),
        ]
        return [(name, path, reason) for name, path, reason in found if reason is not None]

    def accepts_token(self, token: str) -> bool:
        """Return whether the token is valid. All tokens are compared, so the time reveals nothing."""
        digest = _digest(token)
        matches = [hmac.compare_digest(digest, known) for known in (*self._given, *self._tokens.value())]
        return any(matches)

    def accepts_password(self, user: str, password: str) -> bool:
        """Return whether the user has this password. Takes about 50 ms if passwords are hashed."""
        users = self._users.value()
        stored = users.get(user)
        if stored is None:  # takes as long as a wrong password of a known user
            matches_password(password, _decoy(users))
            return False
        seen = hmac.digest(self._key, f"{stored}\0{password}".encode(), "sha256")
        if hmac.compare_digest(self._verified.get(user, b""), seen):
            return True
        if not matches_password(password, stored):
            return False
        self._verified[user] = seen
        return True


class WatchedFile(Generic[T]):
    """The parsed content of a file. The file is read again when it has changed."""

    def __init__(self, path: Path | None, parse: Callable[[str], T], empty: T) -> None:
        self.path, self._parse, self._empty = path, parse, empty
        self._lock = threading.Lock()
        self._stamp: object = None
        self._value = empty

    def value(self) -> T:
        """Return the content, or the empty value if the file can't be read or parsed."""
        if self.path is None:
            return self._empty
        with self._lock:
            stamp = self._file_stamp()
            if stamp != self._stamp:
                self._stamp, self._value = stamp, self._empty
                try:
                    self._value = self._read()
                except (OSError, ValueError) as error:
                    log.error("REST API: Rejecting the credentials of %s: %s", self.path, _reason(error))  # noqa: TRY400, the file's lines are secret, and a traceback may show them
            return self._value

    def problem(self) -> str | None:
        """Return why the file can't be used. None if it can, or if there is no file."""
        try:
            self._read()
        except (OSError, ValueError) as error:
            return _reason(error)
        return None

    def _read(self) -> T:
        return self._empty if self.path is None else self._parse(self.path.read_text(encoding="utf-8"))

    def _file_stamp(self) -> object:
        assert self.path is not None
        try:
            status = self.path.stat()
        except OSError as error:
            return error.errno
        # The inode too: a file replaced by renaming may keep time and size.
        return status.st_mtime_ns, status.st_size, status.st_ino


def parse_tokens(text: str) -> Sequence[str]:
    """Return the tokens, one per line. Blank lines and lines that begin with # are ignored.

    Raises ValueError.
    """
    lines = [line.strip() for line in text.splitlines()]
    tokens = [line for line in lines if line and not line.startswith("#")]
    if not tokens:
        raise ValueError("contains no token; create one with: openssl rand -hex 32")
    for token in tokens:
        if problem := bearer_token(token):
            raise ValueError(problem)
    return tokens


def parse_users(text: str) -> Mapping[str, str]:
    """Return passwords, plain or hashed, by user. Raises ValueError."""
    users = parse_properties(text)
    if not users:
        raise ValueError("contains no user; write lines of user=password")
    for user, stored in users.items():
        if not stored or ":" in user:
            raise ValueError(f"the user {user!r} must have a password and a name without a colon")
        if stored.startswith(SCRYPT):
            matches_password("", stored)  # raises for a malformed hash, which no password can match
    return users


def hash_password(password: str) -> str:
    """Return the hash of a password for the credentials file: `{scrypt}N$r$p$salt$key`."""
    salt = secrets.token_bytes(_SALT_BYTES)
    key = _scrypt(password, salt, SCRYPT_N, SCRYPT_R, SCRYPT_P)
    salt_text, key_text = (base64.urlsafe_b64encode(part).decode() for part in (salt, key))
    return f"{SCRYPT}{SCRYPT_N}${SCRYPT_R}${SCRYPT_P}${salt_text}${key_text}"


def matches_password(password: str, stored: str) -> bool:
    """Return whether the password is the stored one, plain or hashed.

    Raises ValueError for a malformed hash.
    """
    if not stored.startswith(SCRYPT):
        return hmac.compare_digest(_digest(password), _digest(stored))
    try:
        n, r, p, salt, key = stored.removeprefix(SCRYPT).split("$")
        expected = base64.urlsafe_b64decode(key)
        actual = _scrypt(password, base64.urlsafe_b64decode(salt), int(n), int(r), int(p))
    except (ValueError, OverflowError, MemoryError) as error:
        raise ValueError(
            "contains an invalid password hash; create a new one with: python -m engine hash-password"
        ) from error
    return hmac.compare_digest(actual, expected)


def basic_credentials(value: str) -> tuple[str, str] | None:
    """Return user and password of HTTP basic credentials (RFC 7617); None if they are malformed."""
    try:
        user, colon, password = base64.b64decode(value, validate=True).decode().partition(":")
    except ValueError:
        return None
    return (user, password) if colon and user else None


def _reason(error: OSError | ValueError) -> str:
    """Return why a credentials file can't be used, without any of its content."""
    if isinstance(error, OSError):
        return f"can't be read: {error.strerror}"
    return "is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _token_digests(text: str) -> tuple[bytes, ...]:
    return tuple(map(_digest, parse_tokens(text)))


def _digest(text: str) -> bytes:
    """Return a digest: its fixed length keeps comparisons from revealing a secret's length."""
    return hashlib.sha256(text.encode()).digest()


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=SCRYPT_MAX_BYTES, dklen=32)


def _decoy(users: Mapping[str, str]) -> str:
    """Return a stored password that takes as long to check as those of real users."""
    return next((stored for stored in users.values() if stored.startswith(SCRYPT)), "")
