"""Whatever happens to a task that writes in transactions, each record is there once, in order, or not at all."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.exactly_once.worker import GROUP, INPUT, SENT_BYTES, TAKEN_BYTES, Event, World
from tests.support.examples import examples
from tests.support.fake_kafka import Fault

SIZES = (1, 1, 1, TAKEN_BYTES + 1, SENT_BYTES + 1)  # good ones, one that the broker refuses, one that the client does
FAULTS = (*[None] * 9, *Fault)


@st.composite
def worlds(draw: st.DrawFn, *, workers: int = 1, kills: bool = True) -> World:
    sizes = draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=7))
    values = [bytes([ord("a") + at]) * size for at, size in enumerate(sizes)]
    events = st.builds(
        Event,
        st.sampled_from(FAULTS),
        st.sampled_from([*[None] * 6, *range(workers)]),
        st.sampled_from([*[0] * 12, 1_000, 11_000]),
        st.sampled_from([*[False] * 19, kills]),
    )
    return World(values, draw(st.lists(events, max_size=60)), slow_markers=draw(st.booleans()))


def assert_exactly_once(world: World) -> None:
    world.finish()
    assert world.ends[-1] == "done"
    assert "FatalError" not in world.ends
    assert world.seen("out") == world.good
    assert sorted(world.seen("dlq")) == sorted(world.bad)
    assert world.kafka.offsets(GROUP) == {INPUT: len(world.values)}


@pytest.mark.slow
@examples(300, 1_000)
def test_one_worker_writes_each_record_once_through_lost_answers_kills_and_rejects(count: int) -> None:
    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(worlds(), st.booleans())
    def check(world: World, careful: bool) -> None:
        world.work(careful=careful)
        assert_exactly_once(world)

    check()


@pytest.mark.slow
@examples(300, 1_000)
def test_a_zombie_and_its_successor_write_each_record_once(count: int) -> None:
    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(worlds(workers=2), st.booleans(), st.booleans())
    def check(world: World, first: bool, second: bool) -> None:
        world.turns.run([partial(world.work, careful=first), partial(world.work, careful=second)])
        assert_exactly_once(world)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("careful", [True, False])
@pytest.mark.parametrize("fault", [Fault.BEFORE, Fault.AFTER])
def test_a_successor_may_come_at_any_step_of_a_worker_in_trouble_and_be_left_at_any_of_its_own(
    fault: Fault, careful: bool
) -> None:
    for trouble, comes, stays in product(range(12), range(18), (2, 4, 5, 6, 7, 8, 50)):
        events = [Event()] * 80
        events[comes] = Event(turn=1)
        events[comes + stays] = Event(turn=0)
        events[trouble] = events[trouble]._replace(fault=fault)
        world = World([b"a", b"b", b"c", b"d"], events)
        world.turns.run([partial(world.work, careful=careful), partial(world.work, careful=True)])
        assert_exactly_once(world)
