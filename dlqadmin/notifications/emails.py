"""Send messages by e-mail, over the mail server of the settings."""

from __future__ import annotations

import smtplib
from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email

from dlqadmin.notifications.models import Channel, ChannelDelivery
from dlqadmin.notifications.results import SendAccepted, SendFailed, SendRefused, SendResult
from dlqadmin.notifications.sealed_text import unseal

MAX_ADDRESSES = 20
NO_SERVER = "No mail server is configured. Set EMAIL_HOST."


def addresses_of(target: str) -> list[str]:
    """Return the addresses of a target, which commas separate."""
    return [one for part in target.split(",") if (one := part.strip(" "))]


def target_problem(target: str) -> str:
    """Return why a text is no list of addresses, or ""."""
    found = addresses_of(target)
    if not 1 <= len(found) <= MAX_ADDRESSES:
        return f"must be 1 to {MAX_ADDRESSES} e-mail addresses, separated by commas"
    for address in found:
        try:
            validate_email(address)  # refuses line breaks too, which would add headers
        except ValidationError:
            return "must be e-mail addresses, separated by commas"
    return "" if settings.EMAIL_HOST else NO_SERVER


def describe(target: str) -> str:
    """Return the kind, the number of addresses and their domains."""
    found = addresses_of(target)
    domains = list(dict.fromkeys(one.rpartition("@")[2].lower() for one in found))
    shown = ", ".join(domains[:3]) + ("…" if len(domains) > 3 else "")
    return f"E-mail, {len(found)} addresses at {shown}" if len(found) > 1 else f"E-mail, an address at {shown}"


def send(channel: Channel, delivery: ChannelDelivery, now: datetime) -> SendResult:
    """Send the message once. Raises UnreadableText."""
    if not settings.EMAIL_HOST:
        return SendFailed(NO_SERVER)
    message = EmailMessage(
        subject=delivery.subject,
        body=f"{delivery.body}\n\n{delivery.link}\n" if delivery.link else f"{delivery.body}\n",
        to=addresses_of(unseal(channel.target)),
        headers={
            "Dlqadmin-Delivery": delivery.public_id,
            # The same id in all tries lets mail programs show a repeat once.
            "Message-ID": f"<{delivery.public_id}@dlqadmin>",
            "Auto-Submitted": "auto-generated",  # RFC 3834: nobody answers it by machine
        },
    )
    return _post(message)


def send_to(address: str, subject: str, body: str) -> SendResult:
    """Send a message to one person once."""
    if not settings.EMAIL_HOST:
        return SendFailed(NO_SERVER)
    return _post(EmailMessage(subject=subject, body=body, to=[address], headers={"Auto-Submitted": "auto-generated"}))


def _post(message: EmailMessage) -> SendResult:
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused as error:
        return _of_code(max((code for code, _ in error.recipients.values()), default=550), "refused the addresses")
    except smtplib.SMTPAuthenticationError as error:
        return SendFailed(f"The mail server refused EMAIL_HOST_USER: SMTP {error.smtp_code}.")
    except smtplib.SMTPResponseException as error:
        return _of_code(error.smtp_code, "refused the message")
    except smtplib.SMTPException as error:
        return SendFailed(f"The mail server failed ({type(error).__name__}).")
    except OSError as error:
        return SendFailed(f"The mail server {settings.EMAIL_HOST} can't be reached ({type(error).__name__}).")
    return SendAccepted("The mail server accepted it.")


def _of_code(code: int, what: str) -> SendResult:
    """Return the result of a reply code. 4xx is temporary (RFC 5321, 4.2.1)."""
    text = f"The mail server {what}: SMTP {code}."
    return SendRefused(text) if code >= 500 else SendFailed(text)
