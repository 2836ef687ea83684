"""The topics that connectors use, on the status topic as Kafka Connect keeps them (KIP-558)."""

from __future__ import annotations

from functools import partial

from engine.herder.herder import Herder
from engine.worker_messages import LeaseEnd
from tests.engine.herder.running import PROPERTIES, ZERO, running
from tests.engine.herder.world import World, ask, turn

KEY = "status-topic-t:connector-c"


def topics(herder: Herder) -> list[str]:
    return sorted(herder.view().state.topics.get("c", {}))


def test_a_topic_is_used_once_records_of_it_were_read(world: World, herder: Herder) -> None:
    world.ends[ZERO] = 0
    ask(herder, partial(herder.put, "c", PROPERTIES))
    turn(herder)
    assert topics(herder) == []
    world.ends[ZERO] = 5
    turn(herder)
    world.end()
    turn(herder)
    assert topics(herder) == ["t"]
    assert {name: world.statuses()[KEY]["topic"][name] for name in ("name", "connector", "task")} == {
        "name": "t",
        "connector": "c",
        "task": 0,
    }


def test_a_source_tells_which_topics_it_has_written_to(world: World, herder: Herder) -> None:
    running(world, herder)
    world.end(topics=("out",))
    turn(herder)
    assert topics(herder) == ["out", "t"]


def test_the_topics_survive_a_change_of_leader_and_end_with_a_reset_or_the_connector(
    world: World, herder: Herder
) -> None:
    running(world, herder)
    world.end()
    turn(herder)
    herder.stop()
    herder.run()
    successor = world.started()
    assert topics(successor) == ["t"]
    ask(successor, partial(successor.reset_topics, "c"))
    assert (topics(successor), KEY in world.statuses()) == ([], False)
    world.ends[ZERO] = 9
    turn(successor)
    world.end(LeaseEnd.CAUGHT_UP)
    turn(successor)
    assert topics(successor) == ["t"]
    ask(successor, partial(successor.delete, "c"))
    assert (topics(successor), KEY in world.statuses()) == ([], False)
