"""The rights that claims give."""

from __future__ import annotations

from typing import Any

import pytest

from dlqadmin.accounts.identities import account_name, claimed_groups, given_rights
from dlqadmin.accounts.providers import IdentityProvider, InvalidProvider, parse

MAPPED = {"ops": ["operator", "payload reader"], "all": "viewer"}
ENTRY = {"issuer": "https://sso.test", "client_id": "dlqadmin", "groups": MAPPED, "administrators": ["root"]}


def provider(**more: Any) -> IdentityProvider:
    return parse("corp", {**ENTRY, **more})


@pytest.mark.parametrize(
    ("claim", "groups", "is_administrator"),
    [
        (["ops"], {"operator", "payload reader"}, False),
        (["all", "ops", "other"], {"viewer", "operator", "payload reader"}, False),
        ("all", {"viewer"}, False),  # one text
        (["root"], set(), True),
        ([], set(), False),
        (None, set(), False),
        ({"ops": True}, set(), False),
        ([["ops"], 1, None], set(), False),
        (["OPS", "operator"], set(), False),  # neither another case nor the name of a group
    ],
)
def test_values_of_the_claim_give_the_groups_that_the_setting_names(
    claim: Any, groups: set[str], is_administrator: bool
) -> None:
    given = given_rights(provider(), {"sub": "1", "groups": claim})
    assert (set(given.groups), given.is_administrator) == (groups, is_administrator)


def test_a_claim_without_groups_gives_none() -> None:
    assert claimed_groups(provider(), {"sub": "1"}) == frozenset()


def test_a_groups_claim_may_be_a_path_but_a_claim_of_the_whole_name_wins() -> None:
    nested = {"realm_access": {"roles": ["ops"]}}
    found = provider(groups_claim="realm_access.roles")
    assert claimed_groups(found, nested) == {"ops"}
    assert claimed_groups(found, {**nested, "realm_access.roles": ["all"]}) == {"all"}
    assert claimed_groups(found, {"realm_access": "roles"}) == frozenset()


@pytest.mark.parametrize("name", [None, "", 7, "ada <script>", "a" * 151])
def test_an_invalid_user_name_is_replaced_by_one_of_the_subject(name: Any) -> None:
    assert account_name(provider(), {"sub": "1", "preferred_username": name}) == "corp-6b86b273ff34"


def test_a_user_name_that_looks_like_another_one_is_the_other_one() -> None:
    assert account_name(provider(), {"sub": "1", "preferred_username": "\uff41da"}) == "ada"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"issuer": "http://sso.test"}, "corp.issuer must begin with https://"),
        ({"issuer": ""}, "corp needs issuer"),
        ({"secrets": "x"}, "corp has no option 'secrets'"),
        ({"secret": "x", "secret_file": "/y"}, "corp has secret and secret_file; keep one"),
        ({"groups": {"ops": 7}}, "corp.groups must be a string or a list of strings"),
        ({"scopes": ["email"]}, "corp.scopes must contain openid"),
        ({"name": "other"}, "corp has no option 'name'"),
    ],
)
def test_an_invalid_entry_is_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidProvider) as found:
        provider(**change)
    assert str(found.value) == problem


def test_a_provider_does_not_show_its_secret() -> None:
    assert "hush" not in repr(provider(secret="hush"))
