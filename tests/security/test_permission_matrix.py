"""Every operation of the API, tried by everybody who may knock: nobody gets in whom the table below does not name.

The operations come from the OpenAPI schema, so that a new one is tried at once. An operation that the table does not
name is open to the roles of its kind: a read to viewers and above, a write to operators and above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.accounts.models import ApiToken
from tests.dlqadmin.conftest import alone, person, signed_in, token_of  # noqa: F401 (every test uses `alone`)
from tests.security.operations import operations as described_operations

pytestmark = pytest.mark.django_db

STRANGERS = frozenset(("anonymous", "expired token", "no role", "payload reader alone"))
READERS = frozenset(("viewer", "viewer and payload reader", "viewer's part of an operator's token"))
WRITERS = frozenset(("operator", "operator and payload reader", "approver", "admin"))
APPROVERS = frozenset(("approver", "admin"))
PAYLOAD_READERS = frozenset(("viewer and payload reader", "operator and payload reader", "approver", "admin"))
EVERYBODY = STRANGERS | READERS | WRITERS
SESSIONS = EVERYBODY - {"anonymous", "expired token", "viewer's part of an operator's token"}

EXCEPTIONS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("alive_retrieve", "ready_retrieve"), EVERYBODY),
    "session_retrieve": EVERYBODY - {"expired token"},
    "sign_in_options": EVERYBODY - {"expired token"},
    "session_create": EVERYBODY - {"expired token"},
    "session_destroy": EVERYBODY - {"expired token"},
    # What people do about their own account is not for tokens.
    **dict.fromkeys(
        (
            *("account_password", "tokens_list", "tokens_create", "tokens_destroy"),
            *("two_factor_retrieve", "two_factor_begin", "two_factor_confirm", "two_factor_off"),
        ),
        SESSIONS,
    ),
    # People without an account accept an invitation.
    **dict.fromkeys(("invitations_offer", "invitations_accept"), EVERYBODY - {"expired token"}),
    "queries_cancel": READERS | WRITERS,  # of one's own query
    "mentions_seen": READERS | WRITERS,  # of one's own mentions
    **dict.fromkeys(("replays_approve", "replays_reject"), APPROVERS),
    **dict.fromkeys(
        (
            *("index_topics_change", "mappings_save", "mappings_retire", "mappings_read_yaml", "rereads_start"),
            *("registries_change", "registries_remove", "clusters_change", "clusters_remove"),
            *("erasures_list", "erasures_create", "erasures_preview", "erasures_retrieve", "erasures_receipt"),
            *("channels_create", "channels_replace", "channels_destroy", "channels_test", "channels_rotate_secret"),
            *("masking_rules_list", "masking_rules_create", "masking_rules_replace", "masking_rules_delete"),
            "masking_rules_preview",
            *("teams_create", "teams_change", "teams_delete", "teams_people_add"),
            *("people_change", "people_roles_change"),
            *("people_password_link", "sign_in_groups_create", "sign_in_groups_change", "sign_in_groups_delete"),
            # Also for people who are admins of a team: see test_people.py.
            *("sign_in_groups_roles_change", "invitations_list", "invitations_create", "invitations_revoke"),
            *("ownership_rules_replace", "ownership_rules_preview", "ownership_rules_apply"),
            *("issue_trackers_create", "issue_trackers_replace", "issue_trackers_delete"),
        ),
        frozenset(("admin",)),
    ),
    **dict.fromkeys(
        (
            *("dead_letters_bytes", "fix_templates_list", "fixes_retrieve", "fixes_suggestions"),
            *("selections_fields", "selections_programs", "topics_record_bytes", "dialects_try"),
            *("dead_letters_decoded", "fixes_decoded"),
        ),
        PAYLOAD_READERS,
    ),
    **dict.fromkeys(
        (
            *("audit_export", "bulk_fixes_create", "bulk_fixes_export", "bulk_fixes_import", "bulk_fixes_preview"),
            *("connector_plugins_validate", "connectors_create", "connectors_config_replace"),
            *("dead_letters_reveal", "dead_letters_export", "exports_create", "exports_file", "exports_manifest"),
            *(
                "fix_templates_create",
                "fix_templates_delete",
                "fixes_encode",
                "fixes_save",
                "fixes_discard",
                "rehearsals_create",
                "rehearsals_retrieve",
            ),
        ),
        WRITERS & PAYLOAD_READERS,
    ),
}


@pytest.fixture
def clients() -> Mapping[str, APIClient]:
    """A client of each, by what it is."""
    operator = person("ada", "operator", payload_reader=False)
    admin = person("root", None)
    admin.is_superuser = admin.is_staff = True
    admin.save()
    expired = APIClient(headers={"Authorization": f"Bearer {token_of(operator, 'viewer', 'operator')}"})
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    return {
        "anonymous": APIClient(),
        "expired token": expired,
        "no role": signed_in(person("nobody", None)),
        "payload reader alone": signed_in(person("reader", None, payload_reader=True)),
        "viewer": signed_in(person("vera", "viewer")),
        "viewer and payload reader": signed_in(person("victor", "viewer", payload_reader=True)),
        "viewer's part of an operator's token": APIClient(
            headers={"Authorization": f"Bearer {token_of(operator, 'viewer')}"}
        ),
        "operator": signed_in(operator),
        "operator and payload reader": signed_in(person("olga", "operator", payload_reader=True)),
        "approver": signed_in(person("paul", "approver", payload_reader=True)),
        "admin": signed_in(admin),
    }


def operations() -> Iterator[tuple[str, str, str]]:
    """Yield the name, method and address of each operation; ids are of nothing that is there."""
    for name, method, path, _ in described_operations():
        yield name, method, re.sub(r"\{(\w+)\}", lambda found: "orders.dlq" if found[1] == "topic" else "1", path)


def allowed(name: str, method: str) -> frozenset[str]:
    return EXCEPTIONS.get(name, READERS | WRITERS if method == "GET" else WRITERS)


@pytest.mark.slow
def test_nobody_gets_in_whom_the_table_does_not_name(clients: Mapping[str, APIClient]) -> None:
    wrong = []
    for name, method, address in sorted(operations(), key=lambda row: row[0] == "session_destroy"):
        for who, client in clients.items():
            with transaction.atomic():
                status = client.generic(method, address, "{}", "application/json").status_code
                transaction.set_rollback(True)
            if (status not in (401, 403)) != (who in allowed(name, method)):
                wrong.append((name, method, who, status))
    assert wrong == []


def test_the_table_names_operations_that_there_are() -> None:
    assert set(EXCEPTIONS) - {name for name, _, _ in operations()} == set()


@pytest.mark.slow
def test_on_a_read_only_cluster_nobody_writes(clients: Mapping[str, APIClient], settings: Settings) -> None:
    settings.READ_ONLY = True
    own = {
        "account_password",
        *("clusters_change", "clusters_remove", "clusters_test"),
        # They write nothing to Kafka.
        *("index_topics_change", "dialects_try", "mappings_save", "mappings_retire", "mappings_read_yaml"),
        *("registries_change", "registries_remove", "registries_test"),
        *("channels_create", "channels_replace", "channels_destroy", "channels_test", "channels_rotate_secret"),
        *("erasures_create", "erasures_preview"),
        "deliveries_retry",
        *("alert_rules_create", "alert_rules_replace", "alert_rules_destroy", "alert_rules_mute", "alert_rules_unmute"),
        *("alert_rules_mute_all", "alert_rules_test", "alerts_preview", "alerts_acknowledge", "alerts_snooze"),
        *("ownership_rules_replace", "ownership_rules_preview", "ownership_rules_apply"),
        *("issue_trackers_create", "issue_trackers_replace", "issue_trackers_delete", "mentions_seen"),
        "rereads_start",
        *("masking_rules_create", "masking_rules_replace", "masking_rules_delete", "masking_rules_preview"),
        "dead_letters_reveal",
        *("teams_create", "teams_change", "teams_delete", "teams_people_add"),
        *("people_change", "people_roles_change"),
        *("people_password_link", "sign_in_groups_create", "sign_in_groups_change", "sign_in_groups_delete"),
        *("sign_in_groups_roles_change", "invitations_offer", "invitations_accept"),
        *("invitations_create", "invitations_revoke"),
        "queries_cancel",
        "session_create",
        "session_destroy",
        "tokens_create",
        "tokens_destroy",
        *("two_factor_begin", "two_factor_confirm", "two_factor_off"),
    }
    writes = [row for row in operations() if row[1] != "GET" and row[0] not in own]
    answers = {name: clients["admin"].generic(method, at, "{}", "application/json") for name, method, at in writes}
    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 403} == {}
