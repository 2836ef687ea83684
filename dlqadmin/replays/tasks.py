"""All Celery tasks of replays. Celery looks for an app's tasks in this module."""

from dlqadmin.replays.disposals.tasks import dispose, sweep_disposals
from dlqadmin.replays.fixes.tasks import run_bulk_fix, sweep_bulk_fixes
from dlqadmin.replays.outcomes.tasks import prune_reports, watch_replays
from dlqadmin.replays.plans.tasks import plan_replay, recover_replays, sweep_plans
from dlqadmin.replays.rehearsals.tasks import rehearse
from dlqadmin.replays.sending.tasks import send_replay, sweep_replays

__all__ = [
    "dispose", "plan_replay", "prune_reports", "recover_replays", "rehearse", "run_bulk_fix", "send_replay",
    "sweep_bulk_fixes", "sweep_disposals", "sweep_plans", "sweep_replays", "watch_replays",
]  # fmt: skip
