"""What the topics of benchmarks are filled with."""

import json

import pytest

from benchmarks.connect_chain import TYPES, wrap_in_envelope
from benchmarks.connect_damaged import cut_values
from benchmarks.sinks import events


def whole(value: bytes) -> bool:
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("every", [2, 10])
def test_damage_is_spread_evenly_and_meets_each_event_once(every: int) -> None:
    week = events()
    values = cut_values(week, every)
    assert len(values) == every * len(week)
    assert [whole(value) for value in values] == [number % every > 0 for number in range(len(values))]


def test_an_envelope_has_a_field_for_each_property_of_each_event() -> None:
    for event in events():
        envelope = json.loads(wrap_in_envelope(event))
        assert envelope["payload"] == json.loads(event)["properties"]
        assert envelope["payload"].keys() == TYPES.keys()
    assert [field["field"] for field in envelope["schema"]["fields"]] == list(TYPES)
