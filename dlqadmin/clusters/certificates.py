"""Whose certificate a client shows, and until when: read from its options, never with its key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509

CHAIN, CHAIN_FILE = "ssl.certificate.pem", "ssl.certificate.location"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client's certificate; `subject` is in RFC 4514's form, in which an authoriser knows it too."""

    subject: str
    issuer: str
    expires: datetime


def client_certificate(options: Mapping[str, object]) -> Certificate | None:
    """The first certificate of the client's chain; None without one, or where it can't be read."""
    text = options.get(CHAIN)
    try:
        data = str(text).encode() if text else Path(str(options[CHAIN_FILE])).read_bytes()
        found = x509.load_pem_x509_certificates(data)[0]
    except (KeyError, OSError, ValueError, IndexError):
        return None
    return Certificate(found.subject.rfc4514_string(), found.issuer.rfc4514_string(), found.not_valid_after_utc)
