"""Rules, channels and evaluators for tests of alerts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from dlqadmin.alerts.evaluation import RuleEvaluator
from dlqadmin.alerts.models import AlertFiring, AlertRule, RuleTell
from dlqadmin.notifications.models import Channel, ChannelDelivery
from tests.dlqadmin.deadletters.letters import NOW

SECOND = timedelta(seconds=1)


def channel(name: str = "ops") -> Channel:
    return Channel.objects.get_or_create(name=name, defaults={"kind": "webhook", "description": "a webhook"})[0]


def rule(
    *conditions: dict[str, Any], tells: tuple[tuple[str, bool], ...] = (("ops", False),), **more: Any
) -> AlertRule:
    """A rule that was made before everything else."""
    fixed = {"name": "r", "since": NOW - timedelta(days=8), "created_at": NOW, "updated_at": NOW}
    made = AlertRule.objects.create(conditions=list(conditions or ({"kind": "new_group"},)), **{**fixed, **more})
    for name, held in tells:
        RuleTell.objects.create(rule=made, channel=channel(name), held=held)
    return made


def tick(at: datetime = NOW, evaluator: RuleEvaluator | None = None) -> int:
    """Evaluate once, as a worker that has just started unless one is given; return the number of messages."""
    return (evaluator or RuleEvaluator()).run(at).sent


def subjects() -> list[str]:
    """The subject lines of all queued messages, in order."""
    return list(ChannelDelivery.objects.order_by("pk").values_list("subject", flat=True))


def events() -> list[str]:
    return list(ChannelDelivery.objects.order_by("pk").values_list("event", flat=True))


def firing() -> AlertFiring:
    return AlertFiring.objects.latest("pk")
