"""Options of the Spark sessions of these tests, in pytest and in programs that tests start."""

from __future__ import annotations

from demo.jars import spark_kafka_jars


def session_options() -> dict[str, str]:
    """Return the options. Whoever collects these tests must not fetch the jars, so this is no constant."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        # Little is computed, so it is not worth compiling.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.memory": "2g",  # a record of 50 MB is copied several times on its way to Python
        "spark.jars": spark_kafka_jars(),
    }
