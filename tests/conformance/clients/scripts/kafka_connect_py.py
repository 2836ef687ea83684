"""The client kafka-connect-py: `python kafka_connect_py.py URL FOLDER`."""

from __future__ import annotations

import sys

from kafka_connect import KafkaConnect
from steps import Steps, has_state, sink

url, folder = sys.argv[1:]
client, steps, config = KafkaConnect(url), Steps(), sink(folder)
plugin = config["connector.class"]
steps.call("cluster", client.get_cluster_info)
steps.call("empty", client.list_connectors)
steps.call("missing", lambda: client.get_connector("missing"))
steps.call("invalid", lambda: client.create_connector({"name": "sink", "config": {**config, "tasks.max": "0"}}))
steps.call("create", lambda: client.create_connector({"name": "sink", "config": config}))
steps.until(lambda: has_state(client.get_connector_status("sink"), "RUNNING"))
steps.until(lambda: client.list_connector_topics("sink")["sink"]["topics"] == ["orders"])
steps.call("list", client.list_connectors)
steps.call("expanded", lambda: client.list_connectors(expand="status"))
steps.call("failed", lambda: client.list_connectors(state="FAILED"))
steps.call("info", lambda: client.get_connector("sink"))
steps.call("config", lambda: client.get_connector_config("sink"))
steps.call("status", lambda: client.get_connector_status("sink"))
steps.call("tasks", lambda: client.list_connector_tasks("sink"))
steps.call("task", lambda: client.get_connector_task_status("sink", 0))
steps.call("topics", lambda: client.list_connector_topics("sink"))
steps.call("restart", lambda: client.restart_connector("sink", include_tasks=True))
steps.until(lambda: has_state(client.get_connector_status("sink"), "RUNNING"))
steps.call("restart-task", lambda: client.restart_connector_task("sink", 0))
steps.until(lambda: has_state(client.get_connector_status("sink"), "RUNNING"))
steps.call("update", lambda: client.update_connector("sink", {**config, "errors.tolerance": "all"}))
steps.until(lambda: has_state(client.get_connector_status("sink"), "RUNNING"))
steps.call("pause", lambda: client.pause_connector("sink"))
steps.until(lambda: has_state(client.get_connector_status("sink"), "PAUSED"))
steps.call("resume", lambda: client.resume_connector("sink"))
steps.until(lambda: has_state(client.get_connector_status("sink"), "RUNNING"))
steps.call("stop", lambda: client.stop_connector("sink"))
steps.until(lambda: has_state(client.get_connector_status("sink"), "STOPPED", 0))
steps.call("stopped", lambda: client.get_connector_status("sink"))
steps.call("reset-topics", lambda: client.reset_connector_topics("sink"))
steps.call("plugins", client.list_connector_plugins)
steps.call("validate", lambda: client.validate_connector_config(plugin, config))
steps.call("delete", lambda: client.delete_connector("sink"))
steps.until(lambda: client.list_connectors() == [])
steps.write()
