"""Nobody gives more than they may: roles, teams, invitations and tokens of a team."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.accounts.models import ApiToken, LastSeen
from dlqadmin.audit.models import AuditEntry
from dlqadmin.people import invitations
from dlqadmin.people.models import Invitation
from dlqadmin.people.views import NOT_ONE_PERSON
from dlqadmin.teams.models import Team, TeamRole
from tests.dlqadmin.conftest import (
    PASSWORD,
    alone,  # noqa: F401  # every test uses `alone`
    member,
    person,
    signed_in,
    team,
    token_of,
)

pytestmark = pytest.mark.django_db
API = "/api/v1"


@pytest.fixture
def own() -> Team:
    return team("stations", ["stations.*"], ["stations-*"])


@pytest.fixture
def other() -> Team:
    return team("maps", ["maps.*"])


@pytest.fixture
def lead(own: Team) -> User:
    """An admin of one team."""
    return member("lead", {own: ["admin"]})


@pytest.fixture
def root() -> User:
    user = person("root", None)
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    return User.objects.get(pk=user.pk)


def give(actor: User, to: User, where: Team | None, roles: list[str], opened: list[str] | None = None) -> int:
    body = {"team": where.pk if where else None, "roles": roles, "opened": opened or []}
    return signed_in(actor).put(f"{API}/people/{to.pk}/roles", body, format="json").status_code


def add(actor: User, where: Team, name: str, *roles: str) -> Any:
    body = {"name": name, "roles": roles or ("viewer",)}
    return signed_in(actor).post(f"{API}/teams/{where.pk}/people", body, format="json")


def invite(actor: User, where: Team | None, *roles: str, **more: Any) -> Any:
    body = {"name": "sam@example.com", "team": where.pk if where else None, "roles": roles or ("viewer",), **more}
    return signed_in(actor).post(f"{API}/invitations", body, format="json")


def secret_of(answer: Any) -> str:
    assert answer.status_code == 201, answer.content
    link: str = answer.json()["link"]
    return link.rpartition("/")[2]


def accept(secret: str, username: str = "sam", password: str = PASSWORD, client: APIClient | None = None) -> Any:
    body = {"token": secret, "username": username, "password": password}
    return (client or APIClient()).post(f"{API}/invitations/accept", body, format="json")


def roles_in(where: Team, user: User) -> set[str]:
    return set(TeamRole.objects.filter(team=where, user=user).values_list("role", flat=True))


def test_an_admin_of_a_team_gives_roles_in_it(lead: User, own: Team) -> None:
    sam = person("sam", None)
    assert add(lead, own, "sam", "operator", "viewer", "payload reader").status_code == 201
    assert roles_in(own, sam) == {"operator", "payload reader"}
    assert give(lead, sam, own, ["payload reader"], ["operator", "payload reader"]) == 200
    assert roles_in(own, sam) == {"payload reader", "viewer"}
    rights = signed_in(User.objects.get(pk=sam.pk)).get(f"{API}/session").json()
    assert (rights["rights"], rights["global_rights"]) == (["viewer", "payload reader"], [])
    assert [(row["name"], row["roles"]) for row in rights["teams"]] == [("stations", ["viewer", "payload reader"])]


def test_an_admin_of_a_team_reaches_nobody_else_by_id(lead: User, own: Team, other: Team, root: User) -> None:
    sam = member("sam", {other: ["viewer"]})
    group = Group.objects.create(name="night shift")
    group.user_set.add(sam)
    body = {"team": own.pk, "roles": ["viewer"], "opened": []}
    client = signed_in(lead)
    resources = (f"people/{sam.pk}", f"people/{root.pk}", "people/4711", f"sign-in-groups/{group.pk}")
    answers = [client.put(f"{API}/{resource}/roles", body, format="json") for resource in resources]
    assert {(answer.status_code, answer.json()["detail"]) for answer in answers} == {
        (404, "There is no person or group with this id.")
    }
    assert roles_in(own, sam) == set()
    TeamRole.objects.create(team=own, group=group, role="viewer")  # now its people are seen in the team
    assert give(lead, sam, own, ["operator"]) == 200
    url = f"{API}/sign-in-groups/{group.pk}/roles"
    assert client.put(url, {**body, "roles": ["operator"], "opened": ["viewer"]}, format="json").status_code == 200


def test_an_admin_of_a_team_adds_a_person_by_exact_name_or_address(lead: User, own: Team) -> None:
    sam = person("sam", None)
    User.objects.filter(pk=sam.pk).update(email="Sam@example.com")
    for guess in ("sa", "SAM", "sam@", "example.com", "%", "*", "nobody"):
        refused = add(lead, own, guess)
        assert (refused.status_code, refused.json()["detail"]) == (404, NOT_ONE_PERSON), guess
    added = add(lead, own, "sam@example.com", "operator")
    assert (added.status_code, added.json()["name"], added.json()["roles"]) == (201, "sam", ["operator"])
    assert "sam@example.com" not in added.content.decode().lower()
    assert roles_in(own, sam) == {"operator"}
    assert add(lead, own, "sam", "admin").status_code == 409
    assert roles_in(own, sam) == {"operator"}


def test_a_name_that_may_mean_two_people_adds_nobody(lead: User, own: Team) -> None:
    sam, imposter = person("sam", None), person("sam@example.com", None)
    User.objects.filter(pk=sam.pk).update(email="sam@example.com")
    assert add(lead, own, "sam@example.com").status_code == 404
    User.objects.filter(pk=imposter.pk).update(is_active=False)
    assert add(lead, own, "sam@example.com").json()["name"] == "sam"
    assert roles_in(own, imposter) == set()


def test_nobody_is_added_beyond_the_teams_of_an_admin(lead: User, own: Team, other: Team, root: User) -> None:
    person("sam", None)
    assert add(lead, other, "sam").status_code == 404
    assert add(lead, own, "root").status_code == 403
    TeamRole.objects.create(team=other, user=lead, role="operator")
    assert add(User.objects.get(pk=lead.pk), other, "sam").status_code == 404
    assert add(member("ada", {own: ["approver"]}), own, "sam").status_code == 403
    assert add(root, other, "sam").status_code == 201


def test_an_admin_of_a_team_gives_nothing_beyond_it(lead: User, own: Team, other: Team, root: User) -> None:
    sam = member("sam", {own: ["viewer"]})
    assert give(lead, sam, None, ["viewer"]) == 403
    assert give(lead, lead, None, ["admin"]) == 403
    assert give(lead, sam, other, ["viewer"]) == 404
    TeamRole.objects.create(team=own, user=root, role="viewer")
    assert give(lead, root, own, [], ["viewer"]) == 403
    TeamRole.objects.create(team=other, user=lead, role="operator")
    assert give(lead, sam, other, ["viewer"]) == 404
    assert roles_in(other, sam) == set()
    assert not User.objects.get(pk=lead.pk).is_superuser


def test_an_admin_of_a_team_changes_no_patterns_groups_or_accounts(lead: User, own: Team, other: Team) -> None:
    client, sam = signed_in(lead), person("sam", None)
    group = Group.objects.create(name="on call")
    body = {"name": own.name, "topics": ["*"], "connectors": ["*"]}
    asked = [
        client.put(f"{API}/teams/{own.pk}", body, format="json"),
        client.post(f"{API}/teams", {**body, "name": "mine"}, format="json"),
        client.delete(f"{API}/teams/{own.pk}"),
        client.patch(f"{API}/people/{sam.pk}", {"active": False}, format="json"),
        client.post(f"{API}/people/{sam.pk}/password-link"),
        client.post(f"{API}/sign-in-groups", {"name": "x", "members": ["lead"]}, format="json"),
        client.put(f"{API}/sign-in-groups/{group.pk}", {"name": "x", "members": ["lead"]}, format="json"),
        client.put(
            f"{API}/sign-in-groups/{group.pk}/roles",
            {"team": None, "roles": ["viewer"], "opened": []},
            format="json",
        ),
    ]
    assert [answer.status_code for answer in asked] == [403] * len(asked)
    assert Team.objects.get(pk=own.pk).topics == ["stations.*"]


@pytest.mark.parametrize("role", ["viewer", "payload reader", "operator", "approver"])
def test_other_roles_of_a_team_give_nothing(own: Team, role: str) -> None:
    ada, sam = member("ada", {own: [role]}), person("sam", None)
    assert give(ada, sam, own, ["viewer"]) == 403
    assert give(ada, ada, own, ["admin"]) == 403
    assert invite(ada, own).status_code == 403


def test_an_api_token_gives_nothing(lead: User, own: Team, root: User) -> None:
    sam = person("sam", None)
    for owner in (lead, root):
        client = APIClient(headers={"Authorization": f"Bearer {token_of(owner, 'viewer')}"})
        body = {"team": own.pk, "roles": ["admin"], "opened": []}
        assert client.put(f"{API}/people/{sam.pk}/roles", body, format="json").status_code == 403
        assert client.post(f"{API}/invitations", {}, format="json").status_code == 403


def test_roles_that_changed_meanwhile_are_a_conflict(root: User, own: Team) -> None:
    sam = member("sam", {own: ["operator"]})
    assert give(root, sam, own, ["approver"], ["viewer"]) == 409
    assert roles_in(own, sam) == {"operator"}


def test_the_last_administrator_stays(root: User) -> None:
    client = signed_in(root)
    assert give(root, root, None, [], ["admin"]) == 409
    assert client.patch(f"{API}/people/{root.pk}", {"active": False}, format="json").status_code == 409
    gone = person("gone", None)
    User.objects.filter(pk=gone.pk).update(is_superuser=True, is_active=False)
    assert give(root, root, None, [], ["admin"]) == 409
    User.objects.filter(pk=gone.pk).update(is_active=True)
    assert give(root, root, None, ["viewer"], ["admin"]) == 200
    root.refresh_from_db()
    assert (root.is_superuser, [group.name for group in root.groups.all()]) == (False, ["viewer"])


def test_the_last_admin_of_a_team_stays_unless_an_administrator_decides(lead: User, own: Team, root: User) -> None:
    assert give(lead, lead, own, [], ["admin"]) == 409
    TeamRole.objects.create(team=own, user=person("second", None), role="admin")
    assert give(lead, lead, own, [], ["admin"]) == 204
    second = User.objects.get(username="second")
    assert give(root, second, own, [], ["admin"]) == 204


def test_roles_for_all_teams_are_groups_and_permissions(root: User) -> None:
    sam = person("sam", None)
    Group.objects.filter(name="approver").delete()
    assert give(root, sam, None, ["approver", "payload reader"]) == 200
    assert {group.name for group in sam.groups.all()} == {"approver", "payload reader"}
    assert give(root, sam, None, ["viewer"], ["approver", "payload reader"]) == 200
    assert {group.name for group in sam.groups.all()} == {"viewer"}
    group = Group.objects.create(name="on call")
    body = {"team": None, "roles": ["operator"], "opened": []}
    url = f"{API}/sign-in-groups/{group.pk}/roles"
    assert signed_in(root).put(url, body, format="json").status_code == 200
    assert {row.codename for row in group.permissions.all()} == {"view_deadletters", "operate"}
    refused = {"team": None, "roles": ["admin"], "opened": ["operator"]}
    assert signed_in(root).put(url, refused, format="json").status_code == 400


def test_a_lost_role_is_lost_with_the_next_request(root: User, own: Team) -> None:
    sam = member("sam", {own: ["viewer"]})
    client = signed_in(sam)
    assert client.get(f"{API}/groups").status_code == 200
    assert give(root, sam, own, [], ["viewer"]) == 204
    assert client.get(f"{API}/groups").status_code == 403


def test_a_deactivated_person_is_out_at_once_and_can_come_back(root: User) -> None:
    sam = person("sam", "viewer")
    client, admin = signed_in(sam), signed_in(root)
    assert admin.patch(f"{API}/people/{sam.pk}", {"active": False}, format="json").status_code == 204
    assert client.get(f"{API}/groups").status_code in (401, 403)
    assert admin.patch(f"{API}/people/{sam.pk}", {"active": True}, format="json").status_code == 204
    assert client.get(f"{API}/groups").status_code in (401, 403)
    assert signed_in(User.objects.get(pk=sam.pk)).get(f"{API}/groups").status_code == 200


def test_an_invited_person_gets_an_account_a_session_and_the_roles(lead: User, own: Team) -> None:
    secret = secret_of(invite(lead, own, "operator"))
    assert secret not in str(list(Invitation.objects.values()))
    client = APIClient()
    offer = client.post(f"{API}/invitations/offer", {"token": secret}, format="json").json()
    assert (offer["team"], offer["roles"], offer["inviter"]) == ("stations", ["operator"], "lead")
    assert accept(secret, client=client).status_code == 204
    session = client.get(f"{API}/session").json()
    assert (session["username"], session["rights"]) == ("sam", ["viewer", "operator"])
    shown = signed_in(lead).get(f"{API}/people?team={own.pk}").json()["results"]
    assert {row["name"]: row["invited_by"] for row in shown} == {"lead": None, "sam": "lead"}


def test_an_invitation_works_once(lead: User, own: Team) -> None:
    secret = secret_of(invite(lead, own))
    assert accept(secret).status_code == 204
    assert refusals([secret]) == {invitations.INVALID}
    assert not User.objects.filter(username="second").exists()


class FasterRequest:
    """A password validator during which another request uses the link. It runs before the link is used."""

    def validate(self, password: str, user: object = None) -> None:
        Invitation.objects.filter(end="").update(end="accepted")


def test_of_two_accepts_at_once_one_creates_an_account(lead: User, own: Team, settings: Settings) -> None:
    secret = secret_of(invite(lead, own))
    settings.AUTH_PASSWORD_VALIDATORS = [{"NAME": f"{__name__}.FasterRequest"}]
    assert accept(secret, "second").json()["detail"] == invitations.INVALID
    assert not User.objects.filter(username="second").exists()


def test_expired_revoked_and_unknown_links_are_refused_alike(lead: User, own: Team) -> None:
    expired, revoked = secret_of(invite(lead, own)), secret_of(invite(lead, own))
    first, second = Invitation.objects.order_by("pk")
    Invitation.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert signed_in(lead).delete(f"{API}/invitations/{second.pk}").json()["state"] == "revoked"
    assert refusals([expired, revoked, "unknown"]) == {invitations.INVALID}


@pytest.mark.parametrize("loss", ["role", "account", "deleted"])
def test_an_inviter_who_lost_the_right_invalidates_the_link(lead: User, own: Team, loss: str) -> None:
    secret = secret_of(invite(lead, own, "admin"))
    if loss == "role":
        TeamRole.objects.filter(user=lead).update(role="approver")
    elif loss == "account":
        User.objects.filter(pk=lead.pk).update(is_active=False)
    else:
        lead.delete()
    assert refusals([secret]) == {invitations.INVALID}


def refusals(secrets: list[str]) -> set[str]:
    """Return what the two views say about these links."""
    answers = [accept(secret, "second") for secret in secrets]
    answers += [APIClient().post(f"{API}/invitations/offer", {"token": one}, format="json") for one in secrets]
    assert {answer.status_code for answer in answers} == {404}
    return {answer.json()["detail"] for answer in answers}


def test_an_invitation_into_another_team_or_all_teams_is_refused(lead: User, own: Team, other: Team) -> None:
    assert invite(lead, None).status_code == 403
    assert invite(lead, other).status_code == 404
    assert invite(lead, own, days=15).status_code == 400
    assert Invitation.objects.count() == 0


def test_admins_see_and_revoke_the_invitations_of_their_teams_alone(lead: User, other: Team, root: User) -> None:
    assert invite(root, other).status_code == 201
    client = signed_in(lead)
    assert client.get(f"{API}/invitations").json() == {"results": []}
    assert client.delete(f"{API}/invitations/{Invitation.objects.get().pk}").status_code == 404


def test_names_are_tried_only_with_a_link_and_within_the_limits(lead: User, own: Team, settings: Settings) -> None:
    settings.SIGN_IN_RATE = (3, 3600)
    secret = secret_of(invite(lead, own))
    assert accept("guess", "lead").json()["detail"] == accept("guess", "nobody").json()["detail"]
    assert [accept(secret, "LEAD").status_code for _ in range(4)] == [400, 400, 400, 429]
    assert accept(secret, "sam").status_code == 429


def test_a_weak_password_leaves_the_link_usable(lead: User, own: Team) -> None:
    secret = secret_of(invite(lead, own))
    assert accept(secret, password="short").status_code == 400
    assert accept(secret).status_code == 204


def test_a_password_link_sets_the_password_of_its_account_alone(root: User) -> None:
    sam = person("sam", "viewer")
    before = signed_in(sam)
    first = secret_of(signed_in(root).post(f"{API}/people/{sam.pk}/password-link"))
    secret = secret_of(signed_in(root).post(f"{API}/people/{sam.pk}/password-link"))
    assert accept(first).status_code == 404  # the newer link ended it
    assert before.get(f"{API}/groups").status_code == 200
    client = APIClient()
    assert accept(secret, "root", "another long battery", client).status_code == 204
    assert client.get(f"{API}/session").json()["username"] == "sam"
    assert User.objects.get(pk=sam.pk).check_password("another long battery")
    assert User.objects.get(pk=root.pk).check_password(PASSWORD)
    assert before.get(f"{API}/groups").status_code in (401, 403)


def test_people_see_the_people_of_their_teams_without_details(own: Team, other: Team, root: User) -> None:
    member("sam", {other: ["viewer"]})
    ada = member("ada", {own: ["viewer"]})
    client = signed_in(ada)
    shown = client.get(f"{API}/people").json()["results"]
    assert [(row["name"], row["last_seen"], row["roles"]) for row in shown] == [("ada", None, [])]
    assert [row["name"] for row in client.get(f"{API}/teams").json()["results"]] == ["stations"]
    assert client.get(f"{API}/people?team={other.pk}").status_code == 404
    everybody = signed_in(root).get(f"{API}/people").json()["results"]
    assert [row["name"] for row in everybody if row["kind"] == "user"] == ["ada", "root", "sam"]


def test_activity_is_noted_at_most_once_a_minute(viewer_seen: User) -> None:
    client = signed_in(viewer_seen)
    session = client.session
    session["active_at"] -= 120
    session.save()
    client.get(f"{API}/session", headers={"X-User-Active": "1"})
    first = LastSeen.objects.get(user=viewer_seen).at
    client.get(f"{API}/session", headers={"X-User-Active": "1"})
    assert LastSeen.objects.get(user=viewer_seen).at == first


@pytest.fixture
def viewer_seen() -> User:
    return person("vera", "viewer")


def test_a_team_changes_only_from_what_its_administrator_saw(root: User, own: Team) -> None:
    client = signed_in(root)
    [before] = client.get(f"{API}/teams").json()["results"]
    body = {"name": "stations", "topics": ["stations.*", "eu/pg.*"], "connectors": [], "version": before["version"]}
    assert client.put(f"{API}/teams/{own.pk}", body, format="json").status_code == 200
    assert client.put(f"{API}/teams/{own.pk}", body, format="json").status_code == 409
    own.refresh_from_db()
    assert (own.topics, own.connectors) == (["stations.*", "eu/pg.*"], [])


@pytest.mark.parametrize("pattern", ["a/b/c", "a b", "", "/x", "x/", "ü*", "a\nb", "x" * 400])
def test_patterns_have_the_characters_of_topic_names(root: User, pattern: str) -> None:
    body = {"name": "new", "topics": [pattern], "connectors": []}
    assert signed_in(root).post(f"{API}/teams", body, format="json").status_code == 400


def test_changes_of_teams_and_roles_are_audited_whoever_makes_them(own: Team, root: User) -> None:
    sam = person("sam", None)
    own.topics = ["stations.*", "pg.*"]
    own.save()
    row = TeamRole.objects.create(team=own, user=sam, role="viewer")
    row.delete()
    give(root, sam, own, ["operator"])
    entries = AuditEntry.objects.filter(object_type="team", action="changed").order_by("pk")
    assert [entry.detail for entry in entries] == [
        {"topics": {"before": ["stations.*"], "after": ["stations.*", "pg.*"]}},
        {"roles of sam": {"before": [], "after": ["viewer"]}},
        {"roles of sam": {"before": ["viewer"], "after": []}},
        {"roles of sam": {"before": [], "after": ["operator"]}},
    ]
    assert [entry.actor for entry in entries][-1] == "root"


def test_a_token_of_a_team_reaches_that_team_alone(own: Team, other: Team) -> None:
    sam = member("sam", {own: ["operator"], other: ["viewer"]})
    client = signed_in(sam)

    def create(where: int, scope: str) -> Any:
        return client.post(f"{API}/tokens", {"name": "x", "scopes": [scope], "team": where}, format="json")

    assert create(other.pk, "operator").status_code == 400
    foreign = team("foreign")
    refused = [create(one, "viewer").json()["detail"] for one in (foreign.pk, foreign.pk + 1000)]
    assert len(set(refused)) == 1
    made = create(own.pk, "operator").json()
    assert made["team"] == "stations"
    bearer = APIClient(headers={"Authorization": f"Bearer {made['secret']}"})
    assert [row["name"] for row in bearer.get(f"{API}/teams").json()["results"]] == ["stations"]
    own.delete()
    assert not ApiToken.objects.exists()
    assert bearer.get(f"{API}/teams").status_code in (401, 403)


def test_a_token_of_a_team_limits_a_global_operator(own: Team, other: Team) -> None:
    ada = person("ada", "operator")
    body = {"name": "x", "scopes": ["operator"], "team": own.pk}
    secret = signed_in(ada).post(f"{API}/tokens", body, format="json").json()["secret"]
    session = APIClient(headers={"Authorization": f"Bearer {secret}"}).get(f"{API}/session").json()
    assert (session["rights"], session["global_rights"]) == (["viewer", "operator"], [])


def test_only_administrators_see_the_tokens_of_others(root: User, lead: User) -> None:
    token_of(person("ada", "viewer"), "viewer")
    shown = signed_in(root).get(f"{API}/tokens?everybody=true").json()["results"]
    assert [row["owner"] for row in shown] == ["ada"]
    assert signed_in(lead).get(f"{API}/tokens?everybody=true").status_code == 403
    assert signed_in(root).delete(f"{API}/tokens/{shown[0]['id']}").json()["state"] == "revoked"


def test_without_local_sign_in_nobody_is_invited_to_an_account_that_cannot_sign_in(
    root: User, settings: Settings
) -> None:
    secret = secret_of(invite(root, None))
    settings.LOCAL_SIGN_IN = False
    refused = invite(root, None)
    assert (refused.status_code, refused.json()["detail"]) == (409, invitations.SIGN_IN_OFF)
    body = {"token": secret, "username": "sam", "password": "another-long-password-9"}
    late = APIClient().post(f"{API}/invitations/accept", body)
    assert (late.status_code, late.json()["detail"]) == (409, invitations.SIGN_IN_OFF)
    assert not User.objects.filter(username="sam").exists()
    settings.LOCAL_SIGN_IN = True
    assert APIClient().post(f"{API}/invitations/accept", body).status_code == 204


@pytest.mark.parametrize(("own", "begin"), [("https://dlq.example", "https://dlq.example"), ("", "http://testserver")])
def test_the_link_of_an_invitation_begins_with_the_address_of_the_dashboard(
    root: User, settings: Settings, own: str, begin: str
) -> None:
    settings.DLQADMIN_URL = own
    assert invite(root, None).json()["link"].startswith(f"{begin}/invitation/")
