"""A real SMTP server on loopback that keeps its messages."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller

HOST = "127.0.0.1"


class MailServer:
    """Keeps what it is sent. `reply` answers the end of a message; `to_address` answers each address."""

    def __init__(self) -> None:
        self.mails: list[tuple[list[str], Message]] = []
        self.reply, self.to_address = "250 OK", "250 OK"
        self.port = 0

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802 (aiosmtpd's names)
        if self.to_address.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.to_address

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802, aiosmtpd's names
        if self.reply.startswith("250"):
            self.mails.append((envelope.rcpt_tos, message_from_bytes(envelope.content, policy=default)))
        return self.reply


def text_of(mail: Message) -> str:
    """Return the text of a message of one part."""
    data = mail.get_payload(decode=True)
    assert isinstance(data, bytes)
    return data.decode()


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Yield a server on a free port that ends with the block."""
    handler = MailServer()
    with socket.create_server((HOST, 0)) as free:
        handler.port = free.getsockname()[1]
    controller = Controller(handler, hostname=HOST, port=handler.port)
    controller.start()
    try:
        yield handler
    finally:
        controller.stop()
