"""Rows of Confluent's JDBC sink and source, and the conversion of a JDBC URL."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlencode

from engine.assembly.java.rows import JavaConnector, TranslatedOption, open_point

URL, USER, PASSWORD = "connection.url", "connection.user", "connection.password"
POSTGRES, SQLITE = "jdbc:postgresql:", "jdbc:sqlite:"
# Parameters of a JDBC URL that mean the same to libpq.
SHARED_PARAMETERS = ("sslmode",)
DDL = "the engine does not change tables; create the table and its columns yourself"
ENGINE_RETRIES = "connections are opened again as errors.retry.* say"


def _database(own: dict[str, str]) -> list[TranslatedOption]:
    """Remove the connection's options from `own`, and return the connection in SQLAlchemy's format."""
    url = own.pop(URL, "").strip()
    user, password = own.pop(USER, ""), own.pop(PASSWORD, "")
    if url.startswith(SQLITE):
        path = url.removeprefix(SQLITE)
        text = "the file must be below the worker's file.connectors.root"
        return [TranslatedOption(URL, f"sqlite:///{path}", text)]
    if not url.startswith(POSTGRES):
        # Not quoted, because a JDBC URL may hold a password.
        scheme = ":".join(url.split(":")[:2])
        text = f"{URL} has no equivalent: {scheme} is not supported, only PostgreSQL and SQLite are"
        return [open_point(text)]
    return _postgres(url.removeprefix(POSTGRES), user, password)


def _postgres(rest: str, user: str, password: str) -> list[TranslatedOption]:
    place, _, query = rest.partition("?")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    user, password = user or parameters.pop("user", ""), password or parameters.pop("password", "")
    schema = parameters.pop("currentSchema", "")
    kept = {name: value for name, value in parameters.items() if name in SHARED_PARAMETERS}
    if schema:
        kept["options"] = f"-csearch_path={schema}"
    # `jdbc:postgresql:name` is a database on this machine.
    host, _, database = place.removeprefix("//").partition("/") if place.startswith("//") else ("localhost", "", place)
    if "," in host:
        return [open_point(f"{URL} has no equivalent: it names several hosts; write one of them")]
    secret = f":{_quoted(password)}" if password else ""
    identity = f"{_quoted(user)}{secret}@" if user else ""
    ending = f"?{urlencode(kept)}" if kept else ""
    value = f"postgresql://{identity}{host}/{database}{ending}"
    rows = [TranslatedOption(URL, value, "the user and the password are part of the URL here")]
    left = [name for name in parameters if name not in SHARED_PARAMETERS]
    return rows + [open_point(f"the parameter {name} of {URL} has no equivalent") for name in left]


def _quoted(text: str) -> str:
    """Return a part of a URL. A reference to a config provider stays as it is."""
    return text if text.startswith("${") else quote(text, safe="")


JDBC_SINK = JavaConnector(
    "io.confluent.connect.jdbc.JdbcSinkConnector",
    "SqlSink",
    renamed={
        "table.name.format": "table.name",
        "max.retries": "errors.retry.limit",
        "retry.backoff.ms": "errors.retry.delay.max.ms",
    },
    dropped={
        "batch.size": "a put writes the records of a poll in one transaction",
        "connection.attempts": ENGINE_RETRIES,
        "connection.backoff.ms": ENGINE_RETRIES,
        "dialect.name": "the URL names the database",
        "quote.sql.identifiers": "names are always quoted where they need it",
        "timestamp.precision.mode": "a Timestamp of Kafka Connect has milliseconds",
        "table.types": "the sink writes to what table.name names",
        "trim.sensitive.log": "logs never have values of records, unless errors.log.include.messages is set",
        "mssql.use.merge.holdlock": "SQL Server is not supported",
    },
    fixed={
        "insert.mode": (("insert", "upsert"), "rows are inserted or upserted"),
        "pk.mode": (("none", "record_key", "record_value"), "a primary key comes from the record's key or value"),
        "delete.enabled": (("false",), "null values delete no rows"),
        "auto.create": (("false",), DDL),
        "auto.evolve": (("false",), DDL),
        "db.timezone": (("UTC",), "times without a zone are in UTC"),
        "date.timezone": (("UTC", "DB_TIMEZONE"), "dates are in UTC"),
        "date.calendar.system": (("PROLEPTIC_GREGORIAN", "LEGACY"), "dates are proleptic Gregorian"),
        "timestamp.fields.list": (("",), "use the transform TimestampConverter"),
        "replace.null.with.default": (("false",), "a null field is written as NULL"),
        "string.output.value.column.name": (("record_value",), "a value must be a map; use the transform HoistField"),
    },
    defaults={"table.name.format": "${topic}", "max.retries": "10"},
    convert=_database,
)  # fmt: skip
JDBC_SOURCE = JavaConnector(
    "io.confluent.connect.jdbc.JdbcSourceConnector",
    "SqlSource",
    renamed={"query.retry.attempts": "errors.retry.limit"},
    dropped={
        "connection.attempts": ENGINE_RETRIES,
        "connection.backoff.ms": ENGINE_RETRIES,
        "dialect.name": "the URL names the database",
        "quote.sql.identifiers": "names are always quoted where they need it",
        "validate.non.null": "the growing column must always be NOT NULL and unique, or rows would be missed",
        "table.poll.interval.ms": "table.whitelist names all tables, so none has to be discovered",
        "table.monitoring.startup.polling.limit.ms": "tables are looked up when a task begins",
        "max.buffer.size": "batch.max.rows limits the rows in memory",
        "poll.linger.ms": "a poll waits for nothing",
        "transaction.isolation.mode": "rows wait for open transactions instead",
    },
    fixed={
        "mode": (("incrementing",), "new rows are found by a growing number only; changed rows are not read again"),
        "table.blacklist": (("",), "table.whitelist must name the tables"),
        "table.include.list": (("",), "table.whitelist must name the tables, without patterns"),
        "table.exclude.list": (("",), "table.whitelist must name the tables, without patterns"),
        "table.types": (("TABLE",), "only tables are read"),
        "schema.pattern": (("",), "write schema.table in table.whitelist"),
        "catalog.pattern": (("",), "the URL names the database"),
        "query": (("",), "only whole tables are read"),
        "query.masked": (("",), "only whole tables are read"),
        "query.suffix": (("",), "only whole tables are read"),
        "numeric.mapping": (("none",), "NUMERIC(p, s) is a Decimal; use the transform Cast"),
        "numeric.precision.mapping": (("false",), "NUMERIC(p, s) is a Decimal; use the transform Cast"),
        "db.timezone": (("UTC",), "timestamps without a zone are read as UTC"),
        "date.calendar.system": (("PROLEPTIC_GREGORIAN", "LEGACY"), "dates are proleptic Gregorian"),
        "timestamp.granularity": (("connect_logical",), "timestamps are Connect's logical type"),
        "timestamp.column.name": (("",), "only whole numbers find new rows; a column of times is for the delay alone"),
        "timestamp.initial": (("",), "only whole numbers find new rows"),
        "timestamp.delay.interval.ms": (("0",), "rows wait for open transactions, so they need no delay"),
        "timestamp.columns.mapping": (("",), "only whole numbers find new rows"),
        "incrementing.column.mapping": (("",), "use one connector for each name of the column"),
    },
    defaults={"query.retry.attempts": "-1"},
    convert=_database,
)  # fmt: skip
