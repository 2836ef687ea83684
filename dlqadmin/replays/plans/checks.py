"""Checks of a plan, shown to a person before the replay is run.

Each check covers one topic and explains its result in a sentence. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dlqadmin.replays.items import watched_clusters
from dlqadmin.replays.outcomes.target_readers import Reader
from dlqadmin.replays.plans.check_results import OK, STOP, WARN, CheckDocument, Level, check, in_bytes
from dlqadmin.replays.plans.item_choice import MAX_ATTEMPTS
from dlqadmin.replays.plans.plan_inputs import Facts
from dlqadmin.replays.plans.record_checks import (
    headers,
    json_values,
    null_fields,
    of_sources,
    order,
    times,
    tombstones,
    unedited,
)
from dlqadmin.replays.plans.tally import Mark
from dlqadmin.replays.plans.targets import UNCOMPRESSED, TargetGroup, TargetTopic
from dlqadmin.rest.text import counted

SHOWN = 5  # groups that are named
DISPOSED = ("discarded", "parked", "handled")


def _something(facts: Facts) -> Iterator[CheckDocument]:
    if not facts.to_send:
        yield check(STOP, "Nothing to send", f"{counted(facts.total, 'record')} left out.")


def _kafka(facts: Facts) -> Iterator[CheckDocument]:
    if facts.targets.kafka:
        who = f"{facts.targets.cluster} does not respond" if facts.targets.cluster else "Kafka does not respond"
        yield check(STOP, who, f"{facts.targets.kafka}. Check the plan again later.")


def _frozen(facts: Facts) -> Iterator[CheckDocument]:
    chosen = facts.selection
    if facts.drifted:
        text = f"{chosen} no longer matches the same records as when it was frozen. Freeze it again."
        yield check(STOP, "Selection drifted", text)
        return
    digest = f"{chosen.digest[:4]}…{chosen.digest[-4:]}"
    text = f"{chosen}: {counted(chosen.count, 'dead letter')}, watermark {chosen.watermark}, digest {digest}."
    yield check(OK, "Selection frozen", f"{text} Later dead letters are not part of it.")


def _elsewhere(facts: Facts) -> Iterator[CheckDocument]:
    if name := facts.targets.cluster:
        if watched_clusters.watches(name):
            yield check(WARN, "Another cluster", f"The records go to cluster {name}.")
            return
        text = (
            f"The records go to cluster {name}, whose consumer groups are not watched: all outcomes will be "
            "unknown(cluster_unwatched)."
        )
        yield check(WARN, "Another cluster", text)


def _targets(facts: Facts) -> Iterator[CheckDocument]:
    if facts.targets.kafka:
        return
    for target in facts.targets.by_name.values():
        left_out = counted(facts.meant_for(target.topic), "record")
        title = f"Target {target.topic}"
        if target.forbidden:
            yield check(
                WARN, title, f"{target.topic} {target.forbidden}, so replays can't write to it; {left_out} left out."
            )
        elif target.made:
            sent = counted(facts.sent_to(target.topic), "record")
            yield check(OK, title, f"The replay creates this topic for {sent}. No consumer group reads it yet.")
        elif target.partitions is None:
            yield check(WARN, title, f"The topic does not exist; {left_out} left out.")
        elif facts.sent_to(target.topic):
            yield check(OK, title, f"{_spread(facts, target)} {_sizes(facts, target)}")


def _spread(facts: Facts, target: TargetTopic) -> str:
    count = counted(target.partitions or 0, "partition")
    numbered = facts.partitions(target.topic)
    by_key = numbered.pop(None, 0)
    if not numbered:
        return f"Exists, {count}; {counted(by_key, 'record')} distributed by key."
    first, *others = sorted(number for number in numbered if number is not None)
    parts = [f"{counted(numbered[first], 'record')} to partition {first}"]
    parts += [f"{numbered[number]} to {number}" for number in others]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if others else parts[0]
    rest = f"; {by_key} distributed by key" if by_key else ""
    return f"Exists, {count}; {listed}, the same partitions as at the origin{rest}."


def _sizes(facts: Facts, target: TargetTopic) -> str:
    limit = "an unknown limit" if target.limit_bytes is None else in_bytes(target.limit_bytes)
    codec = "without compression" if target.compression == UNCOMPRESSED else f"as {target.compression} by the topic"
    return f"Largest record {in_bytes(facts.tally.largest.get(target.topic, 0))} of {limit} allowed, written {codec}."


def _not_sent(facts: Facts) -> Iterator[CheckDocument]:
    bare = facts.left_out("expired", "unknown_bytes", "not_allowed", "erased")
    lost = f" {counted(bare, 'record')} left out without their bytes." if bare else ""
    if held := facts.left_out("already_sent"):
        named = facts.tally.held.most_common(3)
        by = "; ".join(f"{count} {evidence}" for evidence, count in named)
        others = held - sum(count for _, count in named)
        more = f"; {others} by other replays" if others else ""
        yield check(WARN, "Sent before", f"{held} of {counted(facts.total, 'record')} left out: {by}{more}.{lost}")
    elif again := facts.tally.count(Mark.AGAIN):
        text = f"{again} of {counted(facts.total, 'record')} were sent before and will be sent again."
        yield check(WARN, "Sent before", f"{text}{lost}")
    else:
        yield check(
            OK,
            "Not sent before",
            f"{counted(facts.to_send, 'record')} to send, none of them sent by another replay.{lost}",
        )
    if often := facts.left_out("too_many_attempts"):
        text = f"{counted(often, 'record')} left out: sent {MAX_ATTEMPTS} times or more, and failed each time."
        yield check(WARN, "Too many attempts", text)


def _lost(facts: Facts) -> Iterator[CheckDocument]:
    """Report replays that the database does not know, as after the restore of a backup."""
    unknown = "that this database does not know wrote to these topics, as after the restore of a backup."
    if count := len(facts.targets.lost) - facts.unreadable:
        text = f"{counted(count, 'replay')} {unknown} dlqadmin adds them once the index has caught up."
        yield check(STOP, "Replays are being recovered", f"{text} Check the plan again in a minute.")
    if facts.unreadable:
        text = f"{counted(facts.unreadable, 'replay')} {unknown} Kafka no longer shows which dead letters they sent."
        yield check(WARN, "Sent by unknown replays?", f"{text} Check the target topics before you send.")


def _disposed(facts: Facts) -> Iterator[CheckDocument]:
    found = [(kind, facts.left_out(kind)) for kind in DISPOSED]
    if text := ", ".join(f"{count} {kind}" for kind, count in found if count):
        yield check(WARN, "Discarded, parked or handled elsewhere", f"{text}: left out.")


def _provable(facts: Facts) -> Iterator[CheckDocument]:
    if facts.targets.kafka or facts.targets.cluster:
        return
    old = f" The engine does not respond; {facts.targets.engine}." if facts.targets.engine else ""
    for topic, connector, count in facts.watched:
        target = facts.targets.by_name[topic]
        reader = next((one for one in target.readers if one.name == connector), None)
        if reader is None:
            yield _observed(facts, target, count, old)
        elif stopped := target.stopped(reader):
            text = f"{stopped}, so outcomes will be unknown(group_empty) until it runs.{old}"
            yield check(WARN, "Outcome can't be proven", text)
        elif reader.unseen:
            text = f"{connector}: {reader.unseen}, so outcomes will be unknown(no_dead_letter_path).{old}"
            yield check(WARN, "Outcome can't be proven", text)
        else:
            lag = "lag unknown" if reader.lag is None else f"lag {reader.lag}"
            text = f"{connector}: {reader.state.lower()}, {lag}; {_index(reader, facts.targets.behind)}."
            level: Level = WARN if old or reader.state != "RUNNING" else OK
            yield check(level, "Outcome can be proven", text + old)


def _observed(facts: Facts, target: TargetTopic, count: int, old: str) -> CheckDocument:
    """Return whether foreign groups can tell the outcome of a topic without a connector."""
    if names := [group.name for group in target.groups if facts.is_watched(target, group)]:
        text = (
            f"No connector of the engine reads {target.topic}. Outcomes are observed from the commits of "
            f"{', '.join(names[:SHOWN])}."
        )
        return check(WARN, "Outcome is observed", text + old)
    text = f"No connector of the engine reads {target.topic}, so {counted(count, 'record')} will be unknown(no_group)."
    return check(WARN, "Outcome will be unknown", text + old)


def _index(reader: Reader, behind: Mapping[str, int]) -> str:
    if not reader.followed:
        return "it writes no dead letters and reports skipped records"
    count = behind.get(reader.followed, 0)
    left = f"{counted(count, 'record')} behind in the index" if count else "fully indexed"
    return f"its dead letter topic {reader.followed} is {left}"


def _also_read(facts: Facts) -> Iterator[CheckDocument]:
    for target in facts.targets.by_name.values():
        count = facts.sent_to(target.topic)
        if not count:
            continue
        for name in facts.others_of(target):
            text = f"{name} will read {counted(count, 'record')} again. Its outcomes are watched too."
            yield check(WARN, "Another connector reads this topic", text)
        for group in facts.foreign(target):
            yield _foreign(facts, target, group, count)
    if unknown := facts.targets.undescribed:
        listed = "; ".join(f"{name} ({why})" for name, why in sorted(unknown.items())[:SHOWN])
        more = f"; and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
        text = f"Kafka can't describe these groups, so they may read the targets: {listed}{more}."
        yield check(WARN, f"{counted(len(unknown), 'consumer group')} not described", text)
    if facts.targets.groups:
        yield check(WARN, "Consumer groups are unknown", f"{facts.targets.groups}. Other groups may read the targets.")


def _foreign(facts: Facts, target: TargetTopic, group: TargetGroup, count: int) -> CheckDocument:
    members = counted(group.members, "member")
    lag = "no committed offset" if group.lag is None else f"lag {group.lag}"
    watched = "watched" if facts.is_watched(target, group) else "not watched"
    who = f"{group.name} ({group.state}, {members}, {lag})"
    text = f"{who} will read {counted(count, 'record')} again. Outcomes in it are {watched}."
    return check(WARN, "Another group reads this topic", text)


def _oversize(facts: Facts) -> Iterator[CheckDocument]:
    if count := facts.left_out("oversize"):
        yield check(WARN, "Too large", f"{counted(count, 'record')} left out: larger than max.message.bytes.")


def _masked(facts: Facts) -> Iterator[CheckDocument]:
    if count := facts.left_out("masked"):
        text = f"{counted(count, 'record')} left out: the text of a mask, such as ***, would be sent as a value."
        yield check(WARN, "Masks in drafts", text)


def _lineages(facts: Facts) -> Iterator[CheckDocument]:
    if count := facts.left_out("same_lineage"):
        text = (
            f"{counted(count, 'dead letter')} left out: of each record, only the newest edited or else the "
            "newest dead letter is sent."
        )
        yield check(WARN, "Several dead letters of one record", text)


def _approval(facts: Facts) -> Iterator[CheckDocument]:
    if facts.approval:
        who = "A person who did not plan, edit or request the replay must approve it"
        yield check(WARN, "Approval needed", f"{who}: {'; '.join(facts.approval)}.")


CHECKS = (
    _something, _kafka, _frozen, _elsewhere, _targets, _not_sent, _lost, _disposed, order, json_values, null_fields,
    unedited, _provable, _also_read, _oversize, _masked, _lineages, of_sources, tombstones, headers, times, _approval,
)  # fmt: skip
