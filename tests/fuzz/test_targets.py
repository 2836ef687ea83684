from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.steps.registry import CONVERTERS as KNOWN
from tests.fuzz.targets import CONVERTERS, REGISTRY_CONVERTERS, SEEDS, Target, targets


def test_every_converter_is_a_target() -> None:
    names = {name for name, _ in CONVERTERS} | {kind.__name__ for kind, _, _ in REGISTRY_CONVERTERS}
    assert {name.rpartition(".")[2] for name in KNOWN} == names


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("seed", SEEDS)
def test_no_target_falls_over_a_seed(target: Target, seed: bytes) -> None:
    target(seed)


@given(st.binary(max_size=64), st.sampled_from(targets()))
def test_no_target_falls_over_any_bytes(data: bytes, target: Target) -> None:
    target(data)
