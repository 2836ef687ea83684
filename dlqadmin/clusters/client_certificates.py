"""Client certificates, read from a client's options without the private key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509

CHAIN, CHAIN_FILE = "ssl.certificate.pem", "ssl.certificate.location"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client's certificate. `subject` is in RFC 4514 form, as authorisers use it."""

    subject: str
    issuer: str
    expires: datetime


def client_certificate(options: Mapping[str, object]) -> Certificate | None:
    """Return the client's own certificate; None if there is none or it cannot be read."""
    text = options.get(CHAIN)
    try:
        data = str(text).encode() if text else Path(str(options[CHAIN_FILE])).read_bytes()
        found = x509.load_pem_x509_certificates(data)[0]
    except (KeyError, OSError, ValueError, IndexError):
        return None
    return Certificate(found.subject.rfc4514_string(), found.issuer.rfc4514_string(), found.not_valid_after_utc)
