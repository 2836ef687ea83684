"""A plan keeps the headers that its mappings leave off, whatever becomes of the mappings."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.index.active_mappings import forget_active_mappings
from dlqadmin.deadletters.models import DeadLetter, MappingVersion
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import planner
from dlqadmin.replays.plans.options import options_of
from engine.dialects.mapping import FactSource, MappedFact, Mapping
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import LATER, plan, sends

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
WHY, TENANT = ("why", b"KeyError"), ("tenant", b"eu")


@pytest.fixture(autouse=True)
def mapped() -> Iterator[None]:
    """One dead letter that a mapping read, and one that no mapping did."""
    index([letter(number, headers=(WHY, TENANT)) for number in range(2)])
    DeadLetter.objects.filter(offset=0).update(dialect="ours")
    save("why")
    yield
    forget_active_mappings()


def save(*headers: str) -> None:
    """Save the next version of the mapping, which reads these headers as facts of the failure."""
    read = MappedFact(tuple(FactSource(header=name) for name in headers))
    document = msgspec.to_builtins(Mapping("ours", ("*.dlq",), {"exception": read}))
    version = MappingVersion.objects.filter(name="ours").count() + 1
    MappingVersion.objects.update(is_active=False)
    MappingVersion.objects.create(
        cluster="local", name="ours", version=version, document=document, actor="a", reason="r"
    )
    forget_active_mappings()


def headers_of(replay: Replay) -> list[tuple[tuple[str, bytes | None], ...]]:
    return [message.headers for message in sends(Replay.objects.get(pk=replay.pk))]


def test_a_later_version_of_a_mapping_changes_no_message_of_a_plan(operator: User) -> None:
    replay = plan(operator)
    assert headers_of(replay) == [(TENANT,), (WHY, TENANT)]
    save("why", "tenant")
    assert headers_of(replay) == [(TENANT,), (WHY, TENANT)]
    assert headers_of(plan(operator)) == [(), (WHY, TENANT)]


def test_the_digest_of_a_plan_covers_the_headers_of_its_mappings(operator: User) -> None:
    replay = plan(operator)
    digests = [replay.plan["digest"]]
    for names in (["why"], ["why", "tenant"]):
        save(*names)
        planner.check_again(replay, options_of(replay), operator, LATER, FakeCluster())
        digests.append(replay.plan["digest"])
    assert digests[0] == digests[1] != digests[2]


def test_a_plan_of_an_earlier_version_sends_as_before(operator: User) -> None:
    replay = plan(operator)
    Replay.objects.update(mapped_headers=None)
    save("why", "tenant")
    assert headers_of(replay) == [(), (WHY, TENANT)]
