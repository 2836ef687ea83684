"""Send sealed audit entries to a Kafka topic or a syslog server.

The copy is out of reach of everyone who can only write to the database. Entries are sent in the order of the
chain, each at least once. The watermark moves after the receiver accepted them, so a crash can cause repeats.
Actions never wait for it.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC

from django.conf import settings
from django.utils import timezone

from dlqadmin.audit.entry_lines import encode_entry
from dlqadmin.audit.models import AuditEntry, AuditShipment
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.plain_producer import publish

BATCH = 500
TIMEOUT_S = 10.0
PRIORITY = 13 * 8 + 5  # facility "log audit", severity "notice"
MAX_TROUBLE = 500
Send = Callable[[Sequence[AuditEntry]], None]
log = logging.getLogger(__name__)


class InvalidShippingTarget(Exception):
    """AUDIT_SHIP_TO is not a valid target. The message lists valid forms."""


def ship() -> int:
    """Send entries sealed since the last call; return their number.

    A failure is logged and stored for `health`.
    """
    target = settings.AUDIT_SHIP_TO
    if not target:
        return 0
    shipment, _ = AuditShipment.objects.get_or_create(target=target)
    mine = AuditShipment.objects.filter(pk=shipment.pk)
    sent, seq = 0, shipment.seq
    try:
        send = sender(target)
        while rows := [*AuditEntry._base_manager.filter(seq__gt=seq).order_by("seq")[:BATCH]]:
            send(rows)
            last = rows[-1].seq or seq
            # The filter on seq matters if two workers send at once: the slower one must not move the
            # watermark back.
            mine.filter(seq__lt=last).update(seq=last, at=timezone.now())
            sent, seq = sent + len(rows), last
    except (InvalidShippingTarget, BrokerUnavailable, OSError) as error:
        log.warning("audit entries after %s could not be sent to %s: %s", seq, target, error)
        mine.update(trouble=(str(error) or type(error).__name__)[:MAX_TROUBLE])
    else:
        mine.exclude(trouble="").update(trouble="")
    return sent


def sender(target: str) -> Send:
    """Return the function that sends to the configured target. Raises InvalidShippingTarget."""
    kind, _, where = target.partition(":")
    if kind == "kafka" and where:
        return lambda rows: publish(where, ((settings.CLUSTER.encode(), encode_entry(row).rstrip()) for row in rows))
    if kind == "syslog" and where.startswith("/"):
        return lambda rows: _send_to_socket(where, rows)
    host, _, port = where.rpartition(":")
    if kind == "syslog" and host and port.isdecimal() and 0 < int(port) < 65_536:
        return lambda rows: _send_to_server(host.strip("[]"), int(port), rows)
    raise InvalidShippingTarget(
        f"AUDIT_SHIP_TO={target!r} is not a target. Write kafka:<topic>, syslog:<host>:<port> or syslog:/dev/log"
    )


def shipping_lag() -> tuple[int, str]:
    """Return how many sealed entries were not sent yet, and the error of the last try."""
    shipment = AuditShipment.objects.filter(target=settings.AUDIT_SHIP_TO).first()
    sent = shipment.seq if shipment else 0
    return AuditEntry._base_manager.filter(seq__gt=sent).count(), shipment.trouble if shipment else ""


def _send_to_server(host: str, port: int, rows: Sequence[AuditEntry]) -> None:
    """Send by TCP (RFC 6587, octet counting; RFC 5424)."""
    with socket.create_connection((host, port), TIMEOUT_S) as connection:
        for row in rows:
            at = row.at.astimezone(UTC).isoformat(timespec="microseconds")
            head = f"<{PRIORITY}>1 {at} {socket.gethostname()} dlqadmin - audit - "
            message = head.encode() + encode_entry(row).rstrip()
            connection.sendall(b"%d %s" % (len(message), message))
        # The protocol has no acknowledgement. But a server that did not read everything answers our close
        # with a reset.
        connection.shutdown(socket.SHUT_WR)
        with suppress(TimeoutError):
            connection.recv(1)


def _send_to_socket(path: str, rows: Sequence[AuditEntry]) -> None:
    """Send to the machine's own syslog, one datagram per entry."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.connect(path)
        for row in rows:
            connection.send(f"<{PRIORITY}>dlqadmin-audit: ".encode() + encode_entry(row).rstrip())
