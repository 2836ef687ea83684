"""The client kafka-connect-api: `python kafka_connect_api_client.py URL FOLDER`."""

from __future__ import annotations

import sys

from kafka_connect_api.kafka_connect_api import Api, Cluster, Connector
from steps import Steps, has_state, sink

url, folder = sys.argv[1:]
cluster, steps, config = Cluster(Api(url=url)), Steps(), sink(folder)
connector = Connector(cluster, "sink")
steps.call("cluster", cluster.get)
steps.call("empty", lambda: list(cluster.connectors))
steps.call("exists-before", connector.exists)
steps.call("create", lambda: setattr(connector, "config", config))
steps.until(lambda: has_state(connector.status, "RUNNING"))
steps.call("exists", connector.exists)
steps.call("list", lambda: list(cluster.connectors))
steps.call("class", lambda: connector.connector_class)
steps.call("config", lambda: connector.config)
steps.call("state", lambda: connector.state)
steps.call("tasks", lambda: [(task.id, task.config, task.state, task.is_running()) for task in connector.tasks])
steps.call("restart", connector.restart)
steps.until(lambda: has_state(connector.status, "RUNNING"))
steps.call("restart-tasks", connector.restart_all_tasks)
steps.until(lambda: has_state(connector.status, "RUNNING"))
steps.call("pause", connector.pause)
steps.until(lambda: has_state(connector.status, "PAUSED"))
steps.call("paused", lambda: connector.state)
steps.call("resume", connector.resume)
steps.until(lambda: has_state(connector.status, "RUNNING"))
steps.call("level", lambda: cluster.api.put("/admin/loggers/new.logger", json={"level": "DEBUG"}))
steps.call("level-seen", lambda: cluster.loggers["new.logger"])
steps.call("set-level", lambda: cluster.set_logger_log_level("new.logger", "WARN"))
steps.call("delete", connector.delete)
steps.until(lambda: not cluster.connectors)
steps.call("exists-after", connector.exists)
steps.write()
