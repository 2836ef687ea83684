"""Roles are groups that carry Django permissions: those of an installation, and those that an administrator makes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.permissions import AllowAny
from rest_framework.test import APIClient
from rest_framework.views import APIView

from dlqadmin.accounts.views import IsSession
from dlqadmin.audit import roles
from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.permissions import (
    APP,
    APPROVE,
    OPERATE,
    PERMISSIONS,
    READ_PAYLOADS,
    SCOPES,
    VIEW,
    AccessPermission,
    IsAdministrator,
    IsViewerOrAdministrator,
    RequiredPermissions,
    has_permission,
    role_of,
)
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.records.masking_views import IsMaskingAdministrator
from dlqadmin.people.authority import IsTeamAdmin
from tests.dlqadmin.conftest import alone, person, signed_in, token_of  # noqa: F401  # alone is used by every test
from tests.dlqadmin.deadletters.letters import ALL, NST, index, letter

pytestmark = pytest.mark.django_db

API = "/api/v1"
NEEDS_READER = "This shows the content of records. It needs the right payload reader."


def row_of(permission: AccessPermission) -> Permission:
    return Permission.objects.get(content_type__app_label=APP, codename=permission.codename)


def member(*permissions: AccessPermission, name: str = "custom") -> User:
    """Return a member of a new group with these permissions."""
    group = Group.objects.create(name=f"group of {name}")
    group.permissions.set([row_of(permission) for permission in permissions])
    user = person(name, None)
    user.groups.add(group)
    return user


def session(client: APIClient) -> dict[str, Any]:
    found = client.get(f"{API}/session").json()
    return {name: found[name] for name in ("role", "approver", "payload_reader", "rights")}


def refusal(client: APIClient, method: str, path: str, body: object = None) -> str | None:
    """Return why a request is refused, or None if its sender has the permission."""
    answer = getattr(client, method)(f"{API}/{path}", body)
    return answer.json()["detail"] if answer.status_code == 403 else None


def views(patterns: list[URLPattern | URLResolver]) -> Iterator[type[APIView]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern.url_patterns)
        elif found := getattr(pattern.callback, "cls", None):
            yield found


def test_every_view_takes_its_permissions_from_the_table() -> None:
    others: dict[str, type] = {}
    found = set(views(get_resolver().url_patterns))
    for view in found:
        assert view.get_permissions is APIView.get_permissions, view
        asked: list[Any] = list(view.permission_classes)
        assert asked, view
        if not all(issubclass(one, RequiredPermissions) for one in asked):
            (others[view.__name__],) = asked
    assert len(found) > 50
    assert others == {
        **dict.fromkeys(("AliveView", "ReadyView"), AllowAny),
        "SessionView": AllowAny,
        "SignInOptionsView": AllowAny,
        "TwoFactorView": IsSession,
        "TwoFactorConfirmView": IsSession,
        "TwoFactorOffView": IsSession,
        "PasswordView": IsSession,
        "OfferView": AllowAny,
        "AcceptView": AllowAny,
        "TeamListView": IsViewerOrAdministrator,
        **dict.fromkeys(
            ("TeamView", "PersonView", "PasswordLinkView", "SignInGroupsView", "SignInGroupView"), IsAdministrator
        ),
        **dict.fromkeys(("PersonRolesView", "SignInGroupRolesView", "TeamPeopleView"), IsTeamAdmin),
        **dict.fromkeys(("InvitationsView", "InvitationView"), IsTeamAdmin),
        "TokenList": IsSession,
        "TokenRecord": IsSession,
        "TopicRuleView": IsAdministrator,
        "MappingView": IsViewerOrAdministrator,
        "MaskingRuleListing": IsMaskingAdministrator,
        "MaskingRulePreview": IsMaskingAdministrator,
        "OneMaskingRule": IsMaskingAdministrator,
        "RegistryView": IsAdministrator,
        "ChannelsView": IsViewerOrAdministrator,
        **dict.fromkeys(("ChannelView", "ChannelTestView", "ChannelSecretView"), IsAdministrator),
        "RereadsView": IsAdministrator,
        **dict.fromkeys(("OwnershipRulesView", "IssueTrackersView"), IsViewerOrAdministrator),
        **dict.fromkeys(("OwnershipPreviewView", "OwnershipApplyView", "IssueTrackerView"), IsAdministrator),
        "YamlView": IsAdministrator,
        "ConfiguredClusterView": IsAdministrator,
        **dict.fromkeys(("ErasureList", "ErasurePreviews", "ErasureReceiptFile", "ErasureRecord"), IsAdministrator),
    }


@pytest.mark.sql
def test_an_installation_starts_with_the_groups_and_their_permissions() -> None:
    held = {group.name: set(group.permissions.values_list("codename", flat=True)) for group in Group.objects.all()}
    assert held == {name: {one.codename for one in permissions} for name, permissions in SCOPES.items()}
    labels = Permission.objects.filter(content_type__model="dashboardaccess").values_list("codename", "name")
    assert dict(labels) == {permission.codename: permission.label for permission in PERMISSIONS}


@pytest.mark.sql
def test_a_custom_group_of_readers_reads_content_and_does_nothing_else() -> None:
    index([letter(0, key=b"k-1")])
    pk = DeadLetter.objects.get().pk
    reader = member(VIEW, READ_PAYLOADS)
    for client in (signed_in(reader), APIClient(headers={"Authorization": f"Bearer {token_of(reader)}"})):
        assert session(client) == {
            "role": "viewer",
            "approver": False,
            "payload_reader": True,
            "rights": ["viewer", "payload reader"],
        }
        (row,) = client.get(f"{API}/dead-letters", ALL).json()["results"]
        assert (row["key_text"], row["withheld"]) == ("k-1", False)
        assert client.get(f"{API}/dead-letters/{pk}/bytes", {"part": "value"}).status_code == 200
        needs_operator: tuple[tuple[str, str, object], ...] = (
            ("post", "selections", {"ids": [pk]}),
            ("put", f"dead-letters/{pk}/fix", {}),
            ("get", "dead-letters/export?format=ndjson", None),
            ("post", "exports", {}),
            ("post", "clusters/local/test", None),
        )
        for method, path, body in needs_operator:
            assert refusal(client, method, path, body) == "This needs the role operator."
        assert refusal(client, "post", "replays/1/approve", {}) == "This needs the role approver."
    assert signed_in(reader).post(f"{API}/tokens", {"name": "x", "scopes": ["operator"]}).status_code == 400


def test_a_group_made_in_the_admin_is_a_role() -> None:
    index([letter(0, message=NST)])
    root = User.objects.create_superuser("root")
    chosen = [str(row_of(permission).pk) for permission in (VIEW, OPERATE, READ_PAYLOADS)]
    form = signed_in(root)
    page = form.get("/admin/auth/group/add/").content.decode()
    assert all(permission.label in page for permission in PERMISSIONS)
    answer = form.post("/admin/auth/group/add/", {"name": "exporter", "permissions": chosen}, format="multipart")
    assert answer.status_code == 302
    exporter = person("eve", None)
    exporter.groups.add(Group.objects.get(name="exporter"))
    client = signed_in(exporter)
    assert client.get(f"{API}/dead-letters/export", {"format": "ndjson", **ALL}).status_code == 200
    assert session(client)["rights"] == ["viewer", "operator", "payload reader"]
    assert refusal(client, "post", "replays/1/approve", {}) == "This needs the role approver."
    changed = AuditEntry.objects.get(object_type="role", action="changed")
    assert (changed.actor, len(changed.detail["permissions"]["after"])) == ("root", 3)


@pytest.mark.parametrize(
    ("held", "role", "missing"),
    [
        ((), None, {}),
        ((OPERATE,), None, {"post selections": VIEW}),
        ((READ_PAYLOADS,), None, {"get dead-letters/1/bytes": VIEW}),
        ((APPROVE,), None, {"post replays/1/approve": OPERATE}),
        ((VIEW, APPROVE), "viewer", {"post replays/1/approve": OPERATE}),
        ((OPERATE, APPROVE, READ_PAYLOADS), None, {"post replays/1/approve": VIEW, "get dead-letters/1/bytes": VIEW}),
    ],
)
def test_a_permission_is_of_no_use_without_those_it_needs(
    held: tuple[AccessPermission, ...], role: str | None, missing: dict[str, AccessPermission]
) -> None:
    client = signed_in(member(*held))
    assert session(client) == {
        "role": role,
        "approver": False,
        "payload_reader": False,
        "rights": [one.scope for one in PERMISSIONS if one in held],
    }
    for request, needed in missing.items():
        method, path = request.split()
        assert refusal(client, method, path) == needed.missing


def test_a_token_has_what_both_its_scopes_and_the_group_allow() -> None:
    owner = member(VIEW, APPROVE)
    assert session(APIClient(headers={"Authorization": f"Bearer {token_of(owner, 'approver')}"}))["rights"] == [
        "viewer",
        "approver",
    ]
    root = User.objects.create_superuser("root")
    reading = APIClient(headers={"Authorization": f"Bearer {token_of(root, 'payload reader')}"})
    assert session(reading) == {"role": None, "approver": False, "payload_reader": False, "rights": ["payload reader"]}
    assert refusal(reading, "get", "dead-letters/1/bytes") == VIEW.missing


def test_a_permission_of_the_user_alone_counts_too() -> None:
    user = member(VIEW)
    client = signed_in(user)
    assert refusal(client, "get", "dead-letters/1/bytes") == NEEDS_READER
    user.user_permissions.add(row_of(READ_PAYLOADS))
    assert session(client)["payload_reader"] is True


def test_the_next_request_of_a_session_has_what_the_group_has_now() -> None:
    user = member(VIEW, OPERATE)
    group, client = user.groups.get(), signed_in(user)
    token = APIClient(headers={"Authorization": f"Bearer {token_of(user)}"})
    assert [refusal(one, "post", "selections", {"ids": [1]}) for one in (client, token)] == [None, None]
    group.permissions.remove(row_of(OPERATE))
    assert [refusal(one, "post", "selections", {"ids": [1]}) for one in (client, token)] == [OPERATE.missing] * 2
    group.permissions.clear()
    assert [refusal(one, "get", "audit") for one in (client, token)] == [VIEW.missing] * 2
    group.permissions.add(row_of(VIEW))
    user.groups.clear()
    assert [refusal(one, "get", "audit") for one in (client, token)] == [VIEW.missing] * 2


def test_nobody_who_is_not_an_active_user_has_a_permission() -> None:
    user = person("paul", "approver", payload_reader=True)
    root = User.objects.create_superuser("root")
    assert all(has_permission(one, *PERMISSIONS) for one in (user, root))
    for one in (user, root):
        User.objects.filter(pk=one.pk).update(is_active=False)
    gone = [User.objects.get(pk=one.pk) for one in (user, root)]
    for stranger in (*gone, AnonymousUser(), None):
        assert not any(has_permission(stranger, permission) for permission in PERMISSIONS)
        assert role_of(stranger) is None


@pytest.mark.sql
def test_a_request_reads_all_permissions_of_its_user_with_one_query() -> None:
    user = person("olga", "operator")
    user.user_permissions.add(row_of(APPROVE))
    for client in (signed_in(user), APIClient(headers={"Authorization": f"Bearer {token_of(user)}"})):
        with CaptureQueriesContext(connection) as queries:
            assert session(client)["rights"] == ["viewer", "operator", "approver", "payload reader"]
        asked = [query["sql"] for query in queries if "auth_permission" in query["sql"]]
        assert len(asked) == 1
    assert user.get_all_permissions() == user.get_user_permissions() | user.get_group_permissions()


@pytest.mark.sql
def test_an_upgrade_gives_known_groups_their_permissions_and_keeps_members() -> None:
    Permission.objects.filter(content_type__model="dashboardaccess").delete()
    Group.objects.filter(name="approver").delete()
    people = {name: person(name, name, payload_reader=False) for name in ("viewer", "operator", "payload reader")}
    own = Group.objects.create(name="night shift")
    people["operator"].groups.add(own)
    migration: Any = import_module("dlqadmin.audit.migrations.0005_permissions")
    migration.give_permissions(apps, SimpleNamespace(connection=connection))
    assert {name: session(signed_in(user))["rights"] for name, user in people.items()} == {
        "viewer": ["viewer"],
        "operator": ["viewer", "operator"],
        "payload reader": ["payload reader"],
    }
    assert set(people["operator"].groups.values_list("name", flat=True)) == {"operator", "night shift"}
    assert not own.permissions.exists()
    assert Group.objects.get(name="approver").permissions.count() == 3


@pytest.mark.sql
def test_a_later_upgrade_changes_no_group_and_brings_missing_ones_back() -> None:
    Group.objects.get(name="operator").permissions.remove(row_of(OPERATE))
    Group.objects.get(name="approver").delete()
    AuditEntry.objects.all().delete()
    roles.create_missing()
    held = {group.name: group.permissions.count() for group in Group.objects.all()}
    assert held == {"viewer": 1, "operator": 1, "approver": 3, "payload reader": 1}
    assert not AuditEntry.objects.exists()  # nobody created it
