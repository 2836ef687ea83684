from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.verify import Verdict, compare, judge, judge_unordered, together

LANE = st.lists(st.integers(), unique=True, min_size=2)


@given(LANE)
def test_what_is_as_it_should_be_is_clean(items: list[int]) -> None:
    assert compare(items, items).is_clean
    assert judge({0: items}, {0: items}).is_clean


@given(LANE, st.data())
def test_a_lost_item_is_found(items: list[int], data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(items))
    assert compare(items, [item for item in items if item != gone]) == Verdict(lost=(gone,))


@given(LANE, st.data())
def test_a_doubled_item_is_found_wherever_its_double_is(items: list[int], data: st.DataObject) -> None:
    twice = data.draw(st.sampled_from(items))
    found = list(items)
    found.insert(data.draw(st.integers(items.index(twice) + 1, len(items))), twice)
    assert compare(items, found) == Verdict(doubled=(twice,))


@given(LANE, st.data())
def test_a_swapped_pair_is_found(items: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(items) - 2))
    found = [*items[:at], items[at + 1], items[at], *items[at + 2 :]]
    assert compare(items, found) == Verdict(swapped=(items[at],))
    assert judge_unordered(items, found).is_clean


@given(LANE, st.integers())
def test_an_item_of_nobody_is_found(items: list[int], other: int) -> None:
    items = [item for item in items if item != other]
    assert compare(items, [*items, other]) == Verdict(foreign=(other,))


def test_an_item_in_the_wrong_lane_is_lost_in_one_and_foreign_in_the_other() -> None:
    verdict = judge({"a": [1], "b": [2]}, {"a": [1, 2]})
    assert verdict == Verdict(lost=(("b", 2),), foreign=(("a", 2),))


def test_every_trouble_of_several_verdicts_is_kept_and_told() -> None:
    verdict = together([Verdict(lost=(1,)), Verdict(), Verdict(lost=(2,), doubled=(3,))])
    assert verdict == Verdict(lost=(1, 2), doubled=(3,))
    assert str(verdict) == "lost: 2 (1, 2); doubled: 1 (3)"
    assert str(together([])) == "each once, in order"


def test_a_reference_that_is_wrong_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        compare([1, 1], [1])
