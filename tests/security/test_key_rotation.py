"""`rotate_keys` encrypts all stored secrets with the present keys, so that former keys can be removed."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from dlqadmin.accounts import two_factor
from dlqadmin.accounts.models import TotpDevice
from dlqadmin.audit.models import AuditEntry
from dlqadmin.notifications.models import Channel
from dlqadmin.notifications.sealed_text import seal, unseal
from tests.dlqadmin.conftest import person

pytestmark = pytest.mark.django_db
SECRETS = ("https://chat.example/hunter2", "whsec_present", "whsec_former")


@pytest.fixture
def totp(settings: Settings) -> str:
    """Store one channel and one authenticator app under the old keys; return the app's secret."""
    target, signing, former = map(seal, SECRETS)
    Channel.objects.create(name="pager", kind="webhook", target=target, signing_secret=signing, former_secret=former)
    Channel.objects.create(name="mail", kind="email", target=seal("a@example.com"))
    secret = two_factor.begin(person("ada", "viewer")).text
    settings.ALERT_OLD_KEYS, settings.ALERT_KEY = [settings.ALERT_KEY], "k" * 40
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another key of fifty characters, " * 2
    return secret


def rotated() -> str:
    out = StringIO()
    call_command("rotate_keys", stdout=out)
    return out.getvalue()


def stored() -> list[object]:
    return [*Channel.objects.order_by("pk").values_list(), *TotpDevice.objects.values_list()]


def test_former_keys_are_not_needed_after_a_rotation(totp: str, settings: Settings) -> None:
    told = rotated()
    assert told == "channels: 2 encrypted again, 0 unchanged.\ntwo-factor secrets: 1 encrypted again, 0 unchanged.\n"
    settings.ALERT_OLD_KEYS = settings.SECRET_KEY_FALLBACKS = []
    pager = Channel.objects.get(name="pager")
    assert tuple(map(unseal, (pager.target, pager.signing_secret, pager.former_secret))) == SECRETS
    mail = Channel.objects.get(name="mail")
    assert (unseal(mail.target), mail.signing_secret, mail.former_secret) == ("a@example.com", "", "")
    assert two_factor._unseal(TotpDevice.objects.get().sealed_secret) == totp
    entries = str(list(AuditEntry.objects.values()))
    assert AuditEntry.objects.filter(action="rotated keys").count() == 2
    assert not [secret for secret in (*SECRETS, totp) if secret in told + entries]


def test_a_second_rotation_changes_nothing(totp: str) -> None:
    rotated()
    before = stored()
    assert rotated() == (
        "channels: 0 encrypted again, 2 unchanged.\ntwo-factor secrets: 0 encrypted again, 1 unchanged.\n"
    )
    assert stored() == before
    assert AuditEntry.objects.filter(action="rotated keys").count() == 2


def test_a_row_that_no_key_reads_is_named_and_stays(totp: str, settings: Settings) -> None:
    lost, device = Channel.objects.get(name="pager"), TotpDevice.objects.get()
    Channel.objects.filter(pk=lost.pk).update(signing_secret="gAAAA")
    TotpDevice.objects.update(sealed_secret="gAAAA")
    with pytest.raises(CommandError, match=rf"channels {lost.pk} and two-factor secrets {device.pk} \(ids\)") as raised:
        rotated()
    assert not [secret for secret in SECRETS if secret in str(raised.value)]
    assert Channel.objects.get(pk=lost.pk).target == lost.target
    settings.ALERT_OLD_KEYS = []
    assert unseal(Channel.objects.get(name="mail").target) == "a@example.com"
