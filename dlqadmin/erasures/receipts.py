"""Receipts: JSON files that prove what was erased, with their SHA-256."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.conf import settings

from dlqadmin.erasures.documents import NOTES, ErasureReceipt, erasure_document
from dlqadmin.erasures.kafka_remains import BrokerQueries, remains
from dlqadmin.erasures.models import Erasure


class SignedReceipt(NamedTuple):
    """The bytes of the file, and the SHA-256 of the receipt in it."""

    content: bytes
    sha256: str


def receipt(erasure: Erasure, now: datetime, broker: BrokerQueries) -> SignedReceipt:
    """Return the receipt of a finished erasure, with what Kafka has now."""
    document = ErasureReceipt(
        erasure=erasure_document(erasure),
        cluster=settings.CLUSTER,
        records_digest=erasure.digest,
        kafka=remains(erasure, now, broker),
        notes=list(NOTES),
    )
    body = msgspec.json.encode(document)
    digest = hashlib.sha256(body).hexdigest()
    return SignedReceipt(b'{"receipt":' + body + b',"sha256":"' + digest.encode() + b'"}\n', digest)
