from __future__ import annotations

import json

import pytest

from tests.chaos.verify import Verdict
from tests.chaos.watched_replay import Claim, claimed, judge_outcomes

TRUE = [(0, "passed"), (1, "failed_again"), (2, "passed")]


def judged(*claims: Claim) -> Verdict:
    return judge_outcomes(range(3), {1}, claims)


def test_what_is_true_is_clean() -> None:
    assert judged(*TRUE).is_clean


@pytest.mark.parametrize("state", ["failed_again", "unknown", "sent"])
def test_one_without_a_dead_letter_must_have_passed(state: str) -> None:
    assert judged((0, state), *TRUE[1:]) == Verdict(lost=((0, "passed"),), foreign=((0, state),))


@pytest.mark.parametrize("state", ["passed", "unknown", "sent"])
def test_one_with_a_dead_letter_must_have_failed_again(state: str) -> None:
    found = judged(TRUE[0], (1, state), TRUE[2])
    assert found == Verdict(lost=((1, "failed_again"),), foreign=((1, state),))


def test_what_was_said_wrongly_before_is_found_though_the_truth_is_said_now() -> None:
    assert judged(*TRUE, (1, "passed")) == Verdict(foreign=((1, "passed"),))


def test_an_item_without_a_word_is_lost() -> None:
    assert judged(*TRUE[:2]) == Verdict(lost=((2, "passed"),))


def test_of_what_was_said_before_outcomes_count_and_reasons_that_can_not_have_been_true() -> None:
    reasons = ("no_group", "index_stopped", "offset_moved_by_hand")
    before = [*({"state": "unknown", "reason": reason} for reason in reasons), {"state": "passed", "reason": ""}]
    said = [(4, "failed_again"), (4, "no_group"), (4, "offset_moved_by_hand"), (4, "passed")]
    assert claimed(4, "failed_again", json.dumps(before)) == said
