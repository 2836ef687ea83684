"""E-mail over a real SMTP server."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import Settings

from dlqadmin.notifications import emails
from dlqadmin.notifications.deliveries import subject_line
from dlqadmin.notifications.messages import ChannelMessage
from dlqadmin.notifications.results import SendAccepted, SendFailed, SendRefused
from dlqadmin.rest.problems import ParameterError
from tests.dlqadmin.notifications.sending import made, queued, work
from tests.support.mail_server import MailServer, text_of

pytestmark = pytest.mark.django_db


def test_all_addresses_get_one_plain_text_mail(mail_server: MailServer) -> None:
    delivery = work(queued(made("ada@example.com, bob@example.org", "email")))
    [(addresses, mail)] = mail_server.mails
    assert addresses == ["ada@example.com", "bob@example.org"]
    assert (mail["Subject"], mail["From"], mail["To"]) == (
        "Orders fail", "dlqadmin@example.com", "ada@example.com, bob@example.org",
    )  # fmt: skip
    assert mail.get_content_type() == "text/plain"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert (mail["Dlqadmin-Delivery"], mail["Message-ID"]) == (delivery.public_id, f"<{delivery.public_id}@dlqadmin>")
    assert text_of(mail).split() == (
        ["12", "dead", "letters", "in", "5", "minutes", "https://dlq.example.com/groups/7"]
    )  # fmt: skip
    assert (delivery.state, delivery.result) == ("delivered", "The mail server accepted it.")


@pytest.mark.parametrize("line_break", ["\r\n", "\n", "\r", "\u2028", "\x0b", "\x85"])
def test_a_subject_adds_no_header(mail_server: MailServer, line_break: str) -> None:
    message = ChannelMessage("e", f"Fails{line_break}Bcc: eve@example.com{line_break}{line_break}<b>", "body")
    assert subject_line(message.subject) == "Fails Bcc: eve@example.com <b>"
    assert work(queued(made("ada@example.com", "email"), message=message)).state == "delivered"
    [(addresses, mail)] = mail_server.mails
    assert (addresses, mail["Bcc"], mail["Subject"]) == (
        ["ada@example.com"], None, "Fails Bcc: eve@example.com <b>",
    )  # fmt: skip


@pytest.mark.parametrize(
    "target", ["ada@example.com\nBcc: eve@example.com", "ada", "", " , ", "Ada <ada@example.com>", "a@b.de," * 21]
)
def test_a_target_that_is_no_list_of_addresses_is_refused(mail_server: MailServer, target: str) -> None:
    assert emails.target_problem(target).startswith("must be")


@pytest.mark.parametrize(
    ("reply", "to_address", "result"),
    [
        ("451 busy", "250 OK", SendFailed("The mail server refused the message: SMTP 451.")),
        ("554 spam hunter2", "250 OK", SendRefused("The mail server refused the message: SMTP 554.")),
        ("250 OK", "550 nobody", SendRefused("The mail server refused the addresses: SMTP 550.")),
        ("250 OK", "450 full", SendFailed("The mail server refused the addresses: SMTP 450.")),
        ("250 OK", "250 OK", SendAccepted("The mail server accepted it.")),
    ],
)
def test_a_reply_code_decides_whether_another_try_helps(
    mail_server: MailServer, reply: str, to_address: str, result: object
) -> None:
    mail_server.reply, mail_server.to_address = reply, to_address
    channel = made("ada@example.com", "email")
    assert emails.send(channel, queued(channel), timezone.now()) == result


def test_a_mail_server_that_is_away_fails_for_now(mail_server: MailServer, settings: Settings) -> None:
    channel = made("ada@example.com", "email")
    settings.EMAIL_PORT = 1
    result = emails.send(channel, queued(channel), timezone.now())
    assert result == SendFailed("The mail server 127.0.0.1 can't be reached (ConnectionRefusedError).")


def test_without_a_mail_server_no_channel_is_made(settings: Settings) -> None:
    settings.EMAIL_HOST = ""
    with pytest.raises(ParameterError, match="Set EMAIL_HOST"):
        made("ada@example.com", "email")


def test_the_description_shows_no_address(mail_server: MailServer) -> None:
    assert emails.describe("ada@example.com") == "E-mail, an address at example.com"
    assert emails.describe("ada@example.com,bob@example.com") == "E-mail, 2 addresses at example.com"
