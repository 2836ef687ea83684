"""Checks of a plan, shown to a person before the replay is run.

Each check covers one topic and explains its result in a sentence. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dlqadmin.replays.outcomes.target_readers import Reader
from dlqadmin.replays.plans.check_results import OK, STOP, WARN, Check, check, in_bytes
from dlqadmin.replays.plans.facts import Facts
from dlqadmin.replays.plans.item_choice import MAX_ATTEMPTS
from dlqadmin.replays.plans.record_checks import headers, json_values, of_sources, order, times, tombstones
from dlqadmin.replays.plans.tally import Mark
from dlqadmin.replays.plans.targets import Group, Target
from dlqadmin.rest.text import counted

SHOWN = 5  # groups that are named
DISPOSED = ("discarded", "parked", "handled")


def _something(facts: Facts) -> Iterator[Check]:
    if not facts.to_send:
        yield check(STOP, "Nothing to send", f"{counted(facts.total, 'record')} left out.")


def _kafka(facts: Facts) -> Iterator[Check]:
    if facts.targets.kafka:
        who = f"{facts.targets.cluster} does not answer" if facts.targets.cluster else "Kafka does not answer"
        yield check(STOP, who, f"{facts.targets.kafka}. Check again when it does.")


def _frozen(facts: Facts) -> Iterator[Check]:
    chosen = facts.selection
    if facts.drifted:
        text = f"{chosen} names other records than when it was frozen. Freeze it again."
        yield check(STOP, "Selection drifted", text)
        return
    digest = f"{chosen.digest[:4]}…{chosen.digest[-4:]}"
    text = f"{chosen}: {counted(chosen.count, 'dead letter')}, watermark {chosen.watermark}, digest {digest}."
    yield check(OK, "Selection frozen", f"{text} New arrivals stay out.")


def _elsewhere(facts: Facts) -> Iterator[Check]:
    if name := facts.targets.cluster:
        text = f"Records go to {name}. Nobody is watched there: unknown(no_group) for all of them."
        yield check(WARN, "Another cluster", text)


def _targets(facts: Facts) -> Iterator[Check]:
    if facts.targets.kafka:
        return
    for target in facts.targets.by_name.values():
        left_out = counted(facts.meant_for(target.topic), "record")
        title = f"Target {target.topic}"
        if target.forbidden:
            yield check(WARN, title, f"It {target.forbidden}: replays don't write there; {left_out} left out.")
        elif target.made:
            sent = counted(facts.sent_to(target.topic), "record")
            yield check(OK, title, f"It is made when the replay is run, for {sent}, and nobody else reads it.")
        elif target.partitions is None:
            yield check(WARN, title, f"There is no such topic; {left_out} left out.")
        elif facts.sent_to(target.topic):
            yield check(OK, title, f"{_spread(facts, target)} {_sizes(facts, target)}")


def _spread(facts: Facts, target: Target) -> str:
    count = counted(target.partitions or 0, "partition")
    numbered = facts.partitions(target.topic)
    by_key = numbered.pop(None, 0)
    if not numbered:
        return f"Exists, {count}; {counted(by_key, 'record')} by key."
    first, *others = sorted(number for number in numbered if number is not None)
    parts = [f"{counted(numbered[first], 'record')} to partition {first}"]
    parts += [f"{numbered[number]} to {number}" for number in others]
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}" if others else parts[0]
    rest = f"; {by_key} by key" if by_key else ""
    return f"Exists, {count}; {listed}, as at origin{rest}."


def _sizes(facts: Facts, target: Target) -> str:
    limit = "an unknown limit" if target.limit_bytes is None else in_bytes(target.limit_bytes)
    return f"Largest {in_bytes(facts.tally.largest.get(target.topic, 0))} of {limit}."


def _not_sent(facts: Facts) -> Iterator[Check]:
    bare = facts.left_out("expired", "unknown_bytes", "not_allowed")
    lost = f" {counted(bare, 'record')} without bytes." if bare else ""
    if held := facts.left_out("already_sent"):
        named = facts.tally.held.most_common(3)
        by = "; ".join(f"{count} {evidence}" for evidence, count in named)
        others = held - sum(count for _, count in named)
        more = f"; {others} by other replays" if others else ""
        yield check(WARN, "Sent before", f"{held} of {counted(facts.total, 'record')} left out: {by}{more}.{lost}")
    elif again := facts.tally.count(Mark.AGAIN):
        text = f"{again} of {counted(facts.total, 'record')} went out before, and will again."
        yield check(WARN, "Sent before", f"{text}{lost}")
    else:
        yield check(OK, "Not sent before", f"{counted(facts.to_send, 'record')} to send, none in the ledger.{lost}")
    if often := facts.left_out("too_many_attempts"):
        text = f"{counted(often, 'record')} left out: sent {MAX_ATTEMPTS} times or more, failed each time."
        yield check(WARN, "Too many attempts", text)


def _disposed(facts: Facts) -> Iterator[Check]:
    found = [(kind, facts.left_out(kind)) for kind in DISPOSED]
    if text := ", ".join(f"{count} {kind}" for kind, count in found if count):
        yield check(WARN, "Decided otherwise", f"{text}: left out.")


def _provable(facts: Facts) -> Iterator[Check]:
    if facts.targets.kafka or facts.targets.cluster:
        return
    old = f" The engine does not answer; {facts.targets.engine}." if facts.targets.engine else ""
    for topic, connector, count in facts.watched:
        target = facts.targets.by_name[topic]
        reader = next((one for one in target.readers if one.name == connector), None)
        if reader is None:
            yield _observed(facts, target, count, old)
        elif stopped := target.stopped(reader):
            text = f"{stopped}: unknown(group_empty) until it runs.{old}"
            yield check(WARN, "Outcome can't be proven", text)
        elif reader.unseen:
            text = f"{connector}: {reader.unseen}: unknown(no_dead_letter_path).{old}"
            yield check(WARN, "Outcome can't be proven", text)
        else:
            lag = "lag unknown" if reader.lag is None else f"lag {reader.lag}"
            text = f"{connector}: {reader.state.lower()}, {lag}; {_index(reader, facts.targets.behind)}."
            level = WARN if old or reader.state != "RUNNING" else OK
            yield check(level, "Outcome can be proven", text + old)


def _observed(facts: Facts, target: Target, count: int, old: str) -> Check:
    """Return whether foreign groups can tell the outcome of a topic without a connector."""
    if names := [group.name for group in target.groups if facts.is_watched(target, group)]:
        text = f"No connector of the engine reads {target.topic}; what {', '.join(names[:SHOWN])} commits is watched."
        return check(WARN, "Outcome is observed", text + old)
    text = f"No connector of the engine reads {target.topic}: unknown(no_group) for {counted(count, 'record')}."
    return check(WARN, "Outcome will be unknown", text + old)


def _index(reader: Reader, behind: Mapping[str, int]) -> str:
    if not reader.followed:
        return "it writes no dead letters, and reports what it skips"
    count = behind.get(reader.followed, 0)
    left = f"{counted(count, 'record')} from indexed" if count else "indexed to the end"
    return f"its dead letter topic {reader.followed} is {left}"


def _also_read(facts: Facts) -> Iterator[Check]:
    for target in facts.targets.by_name.values():
        count = facts.sent_to(target.topic)
        if not count:
            continue
        for name in facts.others_of(target):
            text = f"{name} will see {counted(count, 'record')} again. Its outcome is not watched."
            yield check(WARN, "Another connector reads this topic", text)
        for group in facts.foreign(target):
            yield _foreign(facts, target, group, count)
    if unknown := facts.targets.undescribed:
        listed = "; ".join(f"{name} ({why})" for name, why in sorted(unknown.items())[:SHOWN])
        more = f"; and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
        text = f"Whether they read the targets is unknown: {listed}{more}."
        yield check(WARN, f"{counted(len(unknown), 'consumer group')} not described", text)
    if facts.targets.groups:
        yield check(WARN, "Consumer groups are not known", f"{facts.targets.groups}. Others may read the targets.")


def _foreign(facts: Facts, target: Target, group: Group, count: int) -> Check:
    members = counted(group.members, "member")
    lag = "nothing committed" if group.lag is None else f"lag {group.lag}"
    watched = "watched" if facts.is_watched(target, group) else "not watched"
    who = f"{group.name} ({group.state}, {members}, {lag})"
    text = f"{who} sees {counted(count, 'record')} again. Its outcome is {watched}."
    return check(WARN, "Another group reads this topic", text)


def _oversize(facts: Facts) -> Iterator[Check]:
    if count := facts.left_out("oversize"):
        yield check(WARN, "Too large", f"{counted(count, 'record')} left out: larger than max.message.bytes.")


def _lineages(facts: Facts) -> Iterator[Check]:
    if count := facts.left_out("same_lineage"):
        text = f"{counted(count, 'dead letter')} left out: of each record the newest is sent, or the newest edited one."
        yield check(WARN, "Several dead letters of one record", text)


def _approval(facts: Facts) -> Iterator[Check]:
    if facts.approval:
        who = "An approver who did not plan, edit or ask for it must agree before it is run"
        yield check(WARN, "Approval needed", f"{who}: {'; '.join(facts.approval)}.")


CHECKS = (
    _something, _kafka, _frozen, _elsewhere, _targets, _not_sent, _disposed, order, json_values, _provable, _also_read,
    _oversize, _lineages, of_sources, tombstones, headers, times, _approval,
)  # fmt: skip
