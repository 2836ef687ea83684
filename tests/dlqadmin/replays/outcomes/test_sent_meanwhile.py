"""Records that are sent while somebody looks: nobody has been asked yet who reads them."""

from __future__ import annotations

from typing import Any

import pytest

from dlqadmin.replays.models import ReplayItem
from dlqadmin.replays.outcomes import consumer_groups
from tests.dlqadmin.replays.world import BASE, TOPIC, Build, World

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
G = "billing"


@pytest.fixture
def sends(monkeypatch: pytest.MonkeyPatch) -> Any:
    """One more record is sent as soon as it is known who reads those before it."""
    prepare = consumer_groups.prepare

    def make(world: World, **sent: Any) -> World:
        def and_send(*args: Any) -> Any:
            said = prepare(*args)
            monkeypatch.setattr(consumer_groups, "prepare", prepare)
            world.add(1)
            ReplayItem.objects.filter(ordinal=1).update(watched="", **sent)
            return said

        monkeypatch.setattr(consumer_groups, "prepare", and_send)
        return world

    return make


@pytest.mark.parametrize("topic", [TOPIC, "usgs.volcanoes"])
@pytest.mark.parametrize("watch", [[], [G]])
def test_a_record_that_was_sent_after_readers_were_asked_for_waits_for_the_next_look(
    build: Build, sends: Any, watch: list[str], topic: str
) -> None:
    world = build(watch=watch)
    world.engine.connectors.clear()
    ReplayItem.objects.update(watched="")
    world.cluster.topics[topic], world.cluster.end_of[topic], world.cluster.begin_of[topic] = 1, BASE + 100, 0
    world.cluster.joins(G, BASE)
    world.cluster.joins(G, BASE, topic=topic)
    sends(world, target_topic=topic).watch()
    assert [world.outcome(number) for number in range(2)] == ["sent(waiting)", "sent"]
    world.watch()
    assert (world.outcome(1), world.item(1).watched) == ("sent(waiting)", f"group:{G}")
