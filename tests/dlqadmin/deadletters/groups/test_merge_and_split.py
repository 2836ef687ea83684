from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.groups import merge_and_split, triage
from dlqadmin.deadletters.index import group_links
from dlqadmin.deadletters.models import DeadLetter, Fingerprint, Group, Regrouping
from dlqadmin.rest.problems import ParameterError, StateConflict
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import ALL, GAP, HOUR_MS, NOW, NOW_MS, NST, index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
GROUPS = "/api/v1/groups"
RMS = "NOT NULL constraint failed: earthquakes.rms"


@pytest.fixture
def three() -> list[int]:
    """The groups of gap (5 to 3 h ago), nst (2 h ago) and rms (now)."""
    index([letter(n, at_ms=NOW_MS - (5 - n) * HOUR_MS) for n in range(3)])
    index([letter(10, message=NST, at_ms=NOW_MS - 2 * HOUR_MS), letter(20, message=RMS)])
    return [group_of(message).pk for message in (GAP, NST, RMS)]


def group_of(message: str) -> Group:
    return Fingerprint.objects.select_related("group").get(message=message).group


def spans() -> dict[int, tuple[Any, ...]]:
    rows = Group.objects.filter(merged_into=None).order_by("pk")
    return {row.pk: (row.first_seen, row.last_seen, row.status, row.title) for row in rows}


def post(client: APIClient, path: str, status: int = 200, **body: Any) -> Any:
    answer = client.post(path, body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_merged_groups_are_counted_and_spanned_as_one(as_operator: APIClient, three: list[int]) -> None:
    done = post(as_operator, f"{GROUPS}/merge", groups=three, reason="one fix")
    assert (done["targets"][0]["id"], done["fingerprints"]) == (three[0], 2)
    [row] = as_operator.get(GROUPS, ALL).json()["results"]
    assert (row["id"], row["events"], row["fingerprint_count"]) == (three[0], 5, 3)
    group = Group.objects.get(pk=three[0])
    assert (group.first_seen, group.last_seen) == (NOW - timedelta(hours=5), NOW)


def test_a_merge_is_noted_in_every_group_and_audited(as_operator: APIClient, three: list[int]) -> None:
    post(as_operator, f"{GROUPS}/merge", groups=three[:2], into=three[1], reason="one fix")
    activity = as_operator.get(f"{GROUPS}/{three[1]}").json()["activity"]
    assert (
        activity[0]["text"]
        == f"merged IntegrityError: earthquakes.gap is null (group {three[0]}) into this group: one fix"
    )
    assert {(row.action, row.object_id) for row in AuditEntry.objects.all()} == {
        ("merged", str(pk)) for pk in three[:2]
    }


def test_a_link_to_a_merged_group_leads_to_where_its_records_are(as_operator: APIClient, three: list[int]) -> None:
    gap, nst, rms = three
    post(as_operator, f"{GROUPS}/merge", groups=[gap, nst], into=nst)
    post(as_operator, f"{GROUPS}/merge", groups=[nst, rms], into=rms)
    assert as_operator.get(f"{GROUPS}/{gap}").json()["id"] == rms
    assert group_links.current_groups([gap, nst, rms]) == dict.fromkeys([gap, nst, rms], rms)


def test_a_merged_group_takes_no_more_decisions(as_operator: APIClient, three: list[int]) -> None:
    gap, nst, rms = three
    post(as_operator, f"{GROUPS}/merge", groups=[gap, nst], into=nst)
    assert "merged into" in post(as_operator, f"{GROUPS}/{gap}/resolve", 409)["detail"]
    assert post(as_operator, f"{GROUPS}/merge", 409, groups=[gap, rms])["status"] == 409
    assert group_of(GAP).pk == nst


def test_new_failures_of_a_merged_group_are_counted_in_the_other(operator: User, three: list[int]) -> None:
    gap, nst, _ = three
    merge_and_split.merge(nst, [gap], operator, "", NOW)
    index([letter(50, at_ms=NOW_MS + HOUR_MS)])
    assert Group.objects.get(pk=nst).last_seen == NOW + timedelta(hours=1)
    assert Group.objects.get(pk=gap).last_seen == NOW - timedelta(hours=3)


def test_undoing_a_merge_brings_back_what_was(as_operator: APIClient, three: list[int]) -> None:
    before = spans()
    done = post(as_operator, f"{GROUPS}/merge", groups=three)
    assert list(spans()) == [three[0]]
    assert post(as_operator, f"/api/v1/regroupings/{done['id']}/undo")["undone"] is True
    assert spans() == before
    assert post(as_operator, f"/api/v1/regroupings/{done['id']}/undo", 409)["detail"] == (
        "This merge or split is already undone."
    )


def test_a_group_that_comes_back_takes_what_was_decided_meanwhile(operator: User, three: list[int]) -> None:
    gap, nst, _ = three
    done = merge_and_split.merge(nst, [gap], operator, "", NOW)
    triage.resolve([nst], operator, "", NOW)
    merge_and_split.undo(done.pk, operator, NOW)
    assert Group.objects.get(pk=gap).status == "resolved"


def test_a_split_makes_a_group_with_the_same_owner_and_status(
    as_operator: APIClient, operator: User, three: list[int]
) -> None:
    gap, nst, _ = three
    post(as_operator, f"{GROUPS}/merge", groups=[gap, nst])
    post(as_operator, f"{GROUPS}/{gap}/assign", username="operator-1")
    chosen = Fingerprint.objects.get(message=NST)
    done = post(as_operator, f"{GROUPS}/{gap}/split", fingerprints=[chosen.pk], reason="not the same")
    new = Group.objects.get(pk=done["targets"][0]["id"])
    assert (new.title, new.status) == ("IntegrityError: earthquakes.nst is null", "open")
    assert new.owner == operator
    assert (new.first_seen, new.last_seen) == (NOW - timedelta(hours=2),) * 2
    old = Group.objects.get(pk=gap)
    assert (old.first_seen, old.last_seen) == (NOW - timedelta(hours=5), NOW - timedelta(hours=3))


def test_undoing_a_split_leads_links_to_the_new_group_back(operator: User, three: list[int]) -> None:
    gap, nst, _ = three
    merge_and_split.merge(gap, [nst], operator, "", NOW)
    before = spans()
    done = merge_and_split.split(gap, [Fingerprint.objects.get(message=NST).pk], operator, "", NOW)
    new = done.moves.get().to_group_id
    merge_and_split.undo(done.pk, operator, NOW)
    assert spans() == before
    assert group_links.current_groups([new]) == {new: gap}


def test_only_what_still_stands_is_undone(operator: User, three: list[int]) -> None:
    gap, nst, rms = three
    first = merge_and_split.merge(nst, [gap], operator, "", NOW)
    second = merge_and_split.merge(rms, [nst], operator, "", NOW)
    with pytest.raises(StateConflict, match="Undo that first"):
        merge_and_split.undo(first.pk, operator, NOW)
    merge_and_split.undo(second.pk, operator, NOW)
    merge_and_split.undo(first.pk, operator, NOW)
    assert list(spans()) == sorted(three)


def test_an_undo_never_leaves_a_group_without_any_record(operator: User, three: list[int]) -> None:
    gap, nst, _ = three
    merged = merge_and_split.merge(nst, [gap], operator, "", NOW)
    merge_and_split.split(nst, [Fingerprint.objects.get(message=NST).pk], operator, "", NOW)
    with pytest.raises(StateConflict, match="The group would be left empty"):
        merge_and_split.undo(merged.pk, operator, NOW)
    assert group_of(GAP).pk == nst
    assert Regrouping.objects.get(pk=merged.pk).undone_at is None


def test_open_and_resolved_groups_are_not_merged(operator: User, three: list[int]) -> None:
    triage.resolve(three[:1], operator, "", NOW)
    with pytest.raises(StateConflict, match="Give them the same status first"):
        merge_and_split.merge(three[1], three, operator, "", NOW)
    assert len(spans()) == 3


def test_a_group_is_not_split_off_whole_nor_from_another(operator: User, three: list[int]) -> None:
    gap, nst, _ = (Fingerprint.objects.get(group_id=pk).pk for pk in three)
    for chosen in ([gap], [nst], [gap, nst], []):
        with pytest.raises(ParameterError):
            merge_and_split.split(three[0], chosen, operator, "", NOW)
    assert Group.objects.count() == 3


def test_the_span_of_what_retention_deleted_is_known_by_the_hour(three: list[int]) -> None:
    gap = Fingerprint.objects.get(message=GAP).pk
    DeadLetter.objects.filter(fingerprint_id=gap, failed_at__lt=NOW - timedelta(hours=4)).delete()
    hour = (NOW - timedelta(hours=5)).replace(minute=0, second=0)
    assert group_links.time_span([gap]) == (hour, NOW - timedelta(hours=3))
    DeadLetter.objects.filter(fingerprint_id=gap).delete()
    assert group_links.time_span([gap]) == (hour, hour + timedelta(hours=2))


def test_a_group_shows_the_merges_and_splits_that_can_be_undone(as_operator: APIClient, three: list[int]) -> None:
    gap, nst, _ = three
    merged = post(as_operator, f"{GROUPS}/merge", groups=[gap, nst])
    [shown] = as_operator.get(f"{GROUPS}/{gap}").json()["regroupings"]
    assert (shown["id"], shown["kind"], [row["id"] for row in shown["sources"]]) == (merged["id"], "merge", [nst])
    post(as_operator, f"/api/v1/regroupings/{merged['id']}/undo")
    assert as_operator.get(f"{GROUPS}/{gap}").json()["regroupings"] == []


@pytest.mark.parametrize(
    "path", ["groups/merge", "groups/mute", "groups/resolve", "groups/assign", "regroupings/1/undo"]
)
def test_viewers_regroup_nothing(as_viewer: APIClient, path: str) -> None:
    assert as_viewer.post(f"/api/v1/{path}", {}).status_code == 403


@pytest.mark.parametrize(
    "path", [f"groups/{2**63}/split", "groups/1/split", f"regroupings/{2**63}/undo", "regroupings/1/undo"]
)
def test_what_is_not_there_is_a_404(as_operator: APIClient, path: str) -> None:
    post(as_operator, f"/api/v1/{path}", 404)


MESSAGES = ["a", "b", "c", "d"]
STEPS = st.lists(
    st.tuples(st.sampled_from(["merge", "split", "undo"]), st.integers(0, 7), st.integers(0, 7)), max_size=12
)


@pytest.mark.slow
class TestRegrouping(TestCase):
    """Arbitrary merges, splits and undos."""

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(STEPS)
    # An undo out of order: then the merge can be undone only after the older split.
    @example([("merge", 1, 2), ("merge", 0, 3), ("split", 0, 0), ("merge", 0, 1), ("undo", 1, 0)])
    def test_whatever_is_done_everything_is_in_one_group_that_spans_it_and_can_be_undone(
        self, steps: list[tuple[str, int, int]]
    ) -> None:
        actor = person("somebody", "operator")
        index([letter(n, message=MESSAGES[n % 4], at_ms=NOW_MS - n * HOUR_MS) for n in range(8)])
        before = spans()
        for act, one, other in steps:
            try:
                self.act(actor, act, one, other)
            except (StateConflict, ParameterError):
                continue
            self.check()
        while left := list(Regrouping.objects.filter(undone_at=None).order_by("-pk")):
            undone = [done for done in left if self.undo(actor, done.pk)]
            assert undone, f"none of {left} can be undone first"
            self.check()
        assert spans() == before

    def undo(self, actor: User, pk: int) -> bool:
        """Undo a regrouping; return False if another must be undone first, which may be an older one."""
        try:
            merge_and_split.undo(pk, actor, NOW)
        except StateConflict:
            return False
        return True

    def act(self, actor: User, act: str, one: int, other: int) -> None:
        groups = list(Group.objects.order_by("pk").values_list("pk", flat=True))
        if act == "merge":
            merge_and_split.merge(groups[one % len(groups)], [groups[other % len(groups)]], actor, "", NOW)
        elif act == "split":
            fingerprints = list(Fingerprint.objects.order_by("pk").values_list("pk", flat=True))
            merge_and_split.split(groups[one % len(groups)], [fingerprints[other % 4]], actor, "", NOW)
        elif done := Regrouping.objects.order_by("pk")[one:].first():
            merge_and_split.undo(done.pk, actor, NOW)

    def check(self) -> None:
        for group in Group.objects.prefetch_related("fingerprints"):
            own = [row.pk for row in group.fingerprints.all()]
            assert bool(own) == (group.merged_into_id is None)
            if own:
                assert group_links.time_span(own) == (group.first_seen, group.last_seen)
            home = group_links.current_groups([group.pk])[group.pk]
            assert Group.objects.get(pk=home).merged_into_id is None
