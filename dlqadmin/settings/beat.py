"""The schedule of Celery beat. Intervals are in seconds."""

from typing import Any

SCHEDULE: dict[str, dict[str, Any]] = {
    "collect-metrics": {
        "task": "dlqadmin.metrics.tasks.collect_metrics",
        "schedule": 2.0,
        "options": {"expires": 2.0},  # drop overdue messages, so that a late worker does not run a backlog of them
    },
    "sweep-replays": {
        "task": "dlqadmin.replays.sending.tasks.sweep_replays",
        "schedule": 3.0,
        "options": {"expires": 3.0},
    },
    "add-recognised-topics": {
        "task": "dlqadmin.deadletters.tasks.add_recognised_topics",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "sweep-disposals": {
        "task": "dlqadmin.replays.disposals.tasks.sweep_disposals",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "sweep-erasures": {
        "task": "dlqadmin.erasures.tasks.sweep_erasures",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "sweep-plans": {
        "task": "dlqadmin.replays.plans.tasks.sweep_plans",
        "schedule": 10.0,
        "options": {"expires": 10.0},
    },
    "recover-replays": {
        "task": "dlqadmin.replays.plans.tasks.recover_replays",
        "schedule": 30.0,
        "options": {"expires": 30.0},
    },
    "sweep-bulk-fixes": {
        "task": "dlqadmin.replays.fixes.tasks.sweep_bulk_fixes",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "watch-replays": {
        "task": "dlqadmin.replays.outcomes.tasks.watch_replays",
        "schedule": 1.0,
        "options": {"expires": 1.0},
    },
    "write-exports": {
        "task": "dlqadmin.exports.tasks.write_exports",
        "schedule": 3.0,
        "options": {"expires": 3.0},
    },
    "prune-exports": {
        "task": "dlqadmin.exports.tasks.prune_exports",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "prune-dead-letters": {
        "task": "dlqadmin.deadletters.tasks.prune_dead_letters",
        "schedule": 600.0,
        "options": {"expires": 600.0},
    },
    "reread-topics": {
        "task": "dlqadmin.deadletters.tasks.reread_topics",
        "schedule": 3.0,
        "options": {"expires": 3.0},
    },
    "decode-values": {
        "task": "dlqadmin.deadletters.tasks.decode_values",
        "schedule": 3.0,
        "options": {"expires": 3.0},
    },
    "compact-work": {
        "task": "dlqadmin.deadletters.tasks.compact_work",
        "schedule": 30.0,
        "options": {"expires": 30.0},
    },
    "gather-statistics": {
        "task": "dlqadmin.deadletters.tasks.gather_statistics",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "end-mutes": {
        "task": "dlqadmin.deadletters.tasks.end_mutes",
        "schedule": 30.0,
        "options": {"expires": 30.0},
    },
    "prune-reports": {
        "task": "dlqadmin.replays.outcomes.tasks.prune_reports",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "prune-sessions": {
        "task": "dlqadmin.accounts.tasks.prune_sessions",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "seal-audit": {
        "task": "dlqadmin.audit.tasks.seal_audit",
        "schedule": 2.0,
        "options": {"expires": 2.0},
    },
    "ship-audit": {
        "task": "dlqadmin.audit.tasks.ship_audit",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "note-beat": {
        "task": "dlqadmin.overview.tasks.note_beat",
        "schedule": 10.0,
        "options": {"expires": 10.0},
    },
    "prune-overview": {
        "task": "dlqadmin.overview.tasks.prune_overview",
        "schedule": 600.0,
        "options": {"expires": 600.0},
    },
    "evaluate-alerts": {
        "task": "dlqadmin.alerts.tasks.evaluate_alerts",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "prune-alerts": {
        "task": "dlqadmin.alerts.tasks.prune_alerts",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "sweep-notifications": {
        "task": "dlqadmin.notifications.tasks.sweep_notifications",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "prune-notifications": {
        "task": "dlqadmin.notifications.tasks.prune_notifications",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "roll-up-minutes": {
        "task": "dlqadmin.metrics.tasks.roll_up_minutes",
        "schedule": 300.0,
        "options": {"expires": 300.0},
    },
    "prune-metrics": {
        "task": "dlqadmin.metrics.tasks.prune_metrics",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
}
