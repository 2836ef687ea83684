"""Metrics of a mirror's task from its reports, over leases, lost reports and workers."""

from __future__ import annotations

from engine.herder.mirror_metrics import MirrorMetrics, fold_mirrored
from engine.record.mirrored import Durations, MirroredPartition, MirrorFigures

NAME = "A.t-0"


def report(opened: int, records: int, size: int, age: int | None = None) -> MirrorFigures:
    ages = None if age is None else Durations(1, age, age, age, age)
    return MirrorFigures("A", "B", opened, {NAME: MirroredPartition(records, size, ages, ages)})


def folded(*reports: tuple[int, MirrorFigures]) -> MirrorMetrics:
    metrics = None
    for now_ms, one in reports:
        metrics = fold_mirrored(metrics, one, now_ms)
    assert metrics is not None
    return metrics


def test_a_later_report_of_an_opening_replaces_the_earlier_one() -> None:
    found = folded((0, report(1, 3, 30)), (1_000, report(1, 5, 50)), (2_000, report(1, 5, 50))).partitions[NAME]
    assert (found.records, found.bytes) == (5, 50)


def test_the_reports_of_another_opening_are_added() -> None:
    found = folded((0, report(1, 3, 30)), (1_000, report(2, 4, 40)), (2_000, report(2, 6, 60))).partitions[NAME]
    assert (found.records, found.bytes) == (9, 90)


def test_a_lost_report_loses_no_record() -> None:
    found = folded((0, report(1, 3, 30)), (2_000, report(1, 9, 90))).partitions[NAME]
    assert (found.records, found.recent(2_000).records) == (9, 9)


def test_rates_are_over_the_last_half_to_whole_minute_and_end() -> None:
    found = folded((0, report(1, 300, 3_000)), (40_000, report(1, 340, 3_400))).partitions[NAME]
    assert found.rates(40_000) == (340 / 40, 3_400 / 40)
    assert found.rates(70_000) == (40 / 30, 400 / 30)
    assert found.rates(100_000) == (0, 0)


def test_durations_are_those_of_the_last_minute() -> None:
    found = folded((0, report(1, 1, 1, age=900)), (50_000, report(1, 2, 2, age=100))).partitions[NAME]
    assert found.recent(50_000).age == Durations(2, 1_000, 100, 100, 900)
    assert found.recent(70_000).age == Durations(1, 100, 100, 100, 100)
    assert found.recent(120_000).age is None
