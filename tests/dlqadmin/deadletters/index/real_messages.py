"""Real messages of drivers, brokers, parsers and services, as they stand in logs, documentation and issues.

`data` are texts that differ between records with the same cause; `field` are texts that tell causes apart. Each
pair is (text of the message, its replacement). `outer` are the exceptions around the root cause, outermost first.
"""

from __future__ import annotations

from typing import NamedTuple

Pairs = tuple[tuple[str, str], ...]


class RealMessage(NamedTuple):
    exception: str
    text: str
    title: str
    data: Pairs = ()
    field: Pairs = ()
    outer: tuple[tuple[str, str], ...] = ()


SPRING = (
    "org.springframework.kafka.listener.ListenerExecutionFailedException",
    "Listener method 'public void com.shop.Orders.on(com.shop.Order)' threw exception",
)
DESERIALIZATION = (
    "org.springframework.kafka.support.serializer.DeserializationException",
    "failed to deserialize",
)
SERIALIZATION = (
    "org.apache.kafka.common.errors.SerializationException",
    "Can't deserialize data [[123, 34, 113]] from topic [orders]",
)
CONNECT = ("org.apache.kafka.connect.errors.ConnectException", "Tolerance exceeded in error handler")
STREAMS = (
    "org.apache.kafka.streams.errors.StreamsException",
    "Deserialization exception handler is set to fail upon a deserialization error. If you would rather have the "
    "streaming pipeline continue after a deserialization error, please set the deserialization.exception.handler "
    "appropriately.",
)
INVALID_FORMAT = (
    "com.fasterxml.jackson.databind.exc.InvalidFormatException",
    'Cannot deserialize value of type `int` from String "abc": not a valid `int` value\n'
    ' at [Source: (byte[])"{"id": 7, "lines": [{"qty": "abc"}]}"; line: 1, column: 31] '
    '(through reference chain: com.shop.Order["lines"]->java.util.ArrayList[0]->com.shop.Line["qty"])',
)
URLLIB3 = (
    "HTTPSConnectionPool(host='api.example.com', port=443): Max retries exceeded with url: /orders/17 (Caused by "
    "NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f3c1c0b5d90>: Failed to establish a new "
    "connection: [Errno 111] Connection refused'))"
)

MESSAGES = (
    # The JDK
    RealMessage("java.lang.NumberFormatException", 'For input string: "n/a"', "NumberFormatException: not a number", (("n/a", 'a "b" c'),)),
    RealMessage("java.lang.NumberFormatException", 'For input string: "12x" under radix 16', "NumberFormatException: not a number", (("12x", "zz"),)),
    RealMessage(
        "java.time.format.DateTimeParseException",
        "Text '2026-13-01' could not be parsed: Invalid value for MonthOfYear (valid values 1 - 12): 13",
        "DateTimeParseException: not a time",
        (("2026-13-01", "2026-14-02"), (": 13", ": 14")),
    ),
    RealMessage(
        "java.lang.IllegalArgumentException",
        "No enum constant com.shop.Status.PAYED",
        "IllegalArgumentException: not a value of Status",
    ),
    RealMessage(
        "java.lang.NullPointerException",
        'Cannot invoke "com.shop.Customer.getName()" because the return value of "com.shop.Order.getCustomer()" is null',
        "NullPointerException: Order.getCustomer() is null",
        (),
        (("getCustomer", "getAddress"),),
    ),
    RealMessage(
        "java.lang.NullPointerException",
        'Cannot invoke "java.lang.Number.doubleValue()" because the return value of "java.util.Map.get(Object)" is null',
        "NullPointerException: Number.doubleValue() called on null from Map.get(Object)",
        (),
        (("doubleValue", "intValue"),),
    ),
    RealMessage(
        "java.lang.NullPointerException",
        'Cannot invoke "String.length()" because "<local4>" is null',
        "NullPointerException: String.length() called on null",
        (),
        (("length", "trim"),),
    ),
    RealMessage(
        "java.lang.NullPointerException",
        'Cannot invoke "com.shop.Address.getCity()" because "<local4>.address" is null',
        "NullPointerException: address is null",
        (),
        ((".address", ".billing"),),
    ),
    RealMessage(
        "java.lang.NullPointerException",
        'Cannot invoke "com.shop.Rates.find(String, java.util.Locale)" because "this.rates" is null',
        "NullPointerException: this.rates is null",
        (),
        (("this.rates", "this.fees"),),
    ),
    RealMessage(
        "java.lang.NullPointerException",
        'Cannot read field "city" because "<parameter1>" is null',
        "NullPointerException: field city of null",
        (),
        (("city", "street"),),
    ),
    RealMessage(
        "java.lang.NullPointerException",
        'Cannot read the array length because "com.shop.Order.LINES" is null',
        "NullPointerException: Order.LINES is null",
    ),
    RealMessage("java.lang.NullPointerException", 'Cannot invoke "Object.hashCode()"', "NullPointerException: Object.hashCode() called on null"),
    RealMessage(
        "java.lang.ClassCastException",
        "class java.lang.String cannot be cast to class java.lang.Integer (java.lang.String and java.lang.Integer are "
        "in module java.base of loader 'bootstrap')",
        "ClassCastException: String is not a Integer",
        (),
        (("Integer", "Long"),),
    ),
    RealMessage("java.lang.ArrayIndexOutOfBoundsException", "Index 7 out of bounds for length 7", "ArrayIndexOutOfBoundsException: an index is out of bounds", (("7", "12"),)),
    # Jackson, bare and under Spring, Kafka Streams and Kafka's own deserializers
    RealMessage(
        INVALID_FORMAT[0],
        INVALID_FORMAT[1],
        "InvalidFormatException: lines.qty is not a value of type int",
        (("abc", "n/a"), ("[0]", "[3]"), ("column: 31", "column: 55")),
        (('Line["qty"]', 'Line["price"]'),),
    ),
    RealMessage(
        "com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException",
        'Unrecognized field "discount" (class com.shop.Order), not marked as ignorable (3 known properties: "id", "qty", '
        '"total"])\n at [Source: (String)"{"discount": 3}"; line: 1, column: 15] (through reference chain: com.shop.Order["discount"])',
        "UnrecognizedPropertyException: unknown field discount",
        (('{"discount": 3}', '{"id": 1}'), ("column: 15", "column: 99")),
        (('"discount"', '"rebate"'),),
    ),
    RealMessage(
        "com.fasterxml.jackson.databind.exc.MismatchedInputException",
        "Missing required creator property 'qty' (index 1)\n at [Source: (String)\"{}\"; line: 1, column: 2] (through reference "
        'chain: com.shop.Order["qty"])',
        "MismatchedInputException: qty is missing",
        (("{}", '{"id":1}'),),
        (("qty", "total"),),
    ),
    RealMessage(
        "com.fasterxml.jackson.databind.exc.MismatchedInputException",
        'No content to map due to end-of-input\n at [Source: (String)""; line: 1, column: 0]',
        "MismatchedInputException: the value is empty",
        (('(String)""', '(String)" "'),),
    ),
    RealMessage(
        "com.fasterxml.jackson.core.JsonParseException",
        "Unrecognized token 'hello': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')\n"
        " at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, column: 6]",
        "JsonParseException: invalid JSON",
        (("hello", "bye"), ("column: 6", "column: 4")),
    ),
    RealMessage(
        "java.lang.NumberFormatException",
        'For input string: "abc"',
        "NumberFormatException: lines.qty is not a value of type int",
        (("abc", "n/a"),),
        (('Line["qty"]', 'Line["price"]'),),
        (SPRING, INVALID_FORMAT),
    ),
    RealMessage(
        INVALID_FORMAT[0],
        INVALID_FORMAT[1],
        "InvalidFormatException: lines.qty is not a value of type int",
        (("abc", "n/a"),),
        (('Line["qty"]', 'Line["price"]'),),
        (SPRING, DESERIALIZATION, SERIALIZATION),
    ),
    RealMessage(
        INVALID_FORMAT[0],
        INVALID_FORMAT[1],
        "InvalidFormatException: lines.qty is not a value of type int",
        (("abc", "n/a"),),
        (('Line["qty"]', 'Line["price"]'),),
        (STREAMS,),
    ),
    RealMessage(*DESERIALIZATION, "DeserializationException: the value can't be read"),
    RealMessage(
        *SPRING, "ListenerExecutionFailedException: Listener method … threw exception", (("com.shop.Orders.on", "com.shop.Orders.off"),)
    ),
    RealMessage(
        "org.apache.kafka.common.errors.SerializationException",
        "Unknown magic byte!",
        "SerializationException: the value is not in the registry's format",
    ),
    RealMessage(*STREAMS, "StreamsException: a record can't be read"),
    # Kafka Connect
    RealMessage(
        "org.apache.kafka.connect.errors.DataException",
        'Invalid value: null used for required field: "mag", schema type: FLOAT64',
        "DataException: mag is null",
        (),
        (('"mag"', '"gap"'),),
        (CONNECT,),
    ),
    RealMessage(
        "org.apache.kafka.connect.errors.DataException",
        "mag2 is not a valid field name",
        "DataException: field mag2 is not in the schema",
        (),
        (("mag2", "mag3"),),
    ),
    RealMessage(
        "org.apache.kafka.connect.errors.DataException",
        'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. If you '
        "are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration.",
        "DataException: the value has no schema and payload",
    ),
    RealMessage(*CONNECT, "ConnectException: more errors than errors.tolerance allows"),
    RealMessage(
        "engine.errors.DataError",
        "field properties.mag: 'n/a' can't be cast to float64",
        "DataError: properties.mag is not of type float64",
        (("n/a", "-"),),
        (("properties.mag", "properties.gap"),),
    ),
    # Hibernate and JDBC
    RealMessage(
        "org.hibernate.PropertyValueException",
        "not-null property references a null or transient value: com.shop.Order.customer",
        "PropertyValueException: Order.customer is null",
        (),
        (("customer", "address"),),
    ),
    RealMessage(
        "org.springframework.dao.DataIntegrityViolationException",
        "could not execute statement; SQL [n/a]; constraint [orders_pkey]",
        "DataIntegrityViolationException: constraint orders_pkey is violated",
        (),
        (("orders_pkey", "orders_ref"),),
    ),
    RealMessage(
        "java.sql.BatchUpdateException",
        'Batch entry 0 INSERT INTO "orders" ("id","qty") VALUES ((\'7\'),(\'it\'\'s\')) was aborted: ERROR: duplicate key value '
        'violates unique constraint "orders_pkey"\n  Detail: Key (id)=(7) already exists.  Call getNextException to see other errors '
        "in the batch.",
        "BatchUpdateException: orders_pkey is not unique",
        (("Batch entry 0", "Batch entry 12"), ("it''s", 'a")b'), ("(id)=(7)", "(id)=(a). b) c)")),
        (("orders_pkey", "orders_ref"),),
    ),
    # PostgreSQL
    RealMessage(
        "org.postgresql.util.PSQLException",
        'ERROR: null value in column "gap" of relation "quakes" violates not-null constraint\n'
        "  Detail: Failing row contains (ci1, 1.6, null, 4 km W of Cobb).",
        "PSQLException: quakes.gap is null",
        (("4 km W of Cobb", "a (b). c), \"d'"),),
        (('"gap"', '"nst"'),),
    ),
    RealMessage(
        "psycopg.errors.UniqueViolation",
        'duplicate key value violates unique constraint "quakes_pkey"\nDETAIL:  Key (id, net)=(ci1, nc) already exists.',
        "UniqueViolation: quakes_pkey is not unique",
        (("ci1, nc", "a) b, (c"),),
        (("quakes_pkey", "quakes_code_key"),),
    ),
    RealMessage(
        "psycopg.errors.ForeignKeyViolation",
        'insert or update on table "orders" violates foreign key constraint "orders_customer_fkey"\n'
        'DETAIL:  Key (customer)=(42) is not present in table "customers".',
        "ForeignKeyViolation: no row for foreign key orders_customer_fkey",
        (("42", "x)y"),),
        (("orders_customer_fkey", "orders_shop_fkey"),),
    ),
    RealMessage(
        "psycopg.errors.CheckViolation",
        'new row for relation "orders" violates check constraint "orders_qty_check"\nDETAIL:  Failing row contains (7, -1).',
        "CheckViolation: check orders_qty_check failed",
        (("7, -1", "8, -2). ("),),
        (("orders_qty_check", "orders_total_check"),),
    ),
    RealMessage(
        "psycopg.errors.InvalidTextRepresentation",
        'invalid input syntax for type integer: "n/a"',
        "InvalidTextRepresentation: not a value of type integer",
        (("n/a", 'a "b'),),
        (("type integer", "type uuid"),),
    ),
    RealMessage(
        "psycopg.errors.StringDataRightTruncation",
        "value too long for type character varying(20)",
        "StringDataRightTruncation: a text is too long for character varying",
    ),
    RealMessage("psycopg.errors.NumericValueOutOfRange", "integer out of range", "NumericValueOutOfRange: integer out of range"),
    RealMessage(
        "psycopg.errors.UndefinedColumn",
        'column "mag2" of relation "quakes" does not exist\nLINE 1: INSERT INTO quakes (id, mag2) VALUES ($1, $2)',
        "UndefinedColumn: quakes.mag2 does not exist",
        (),
        (("mag2", "mag3"),),
    ),
    RealMessage(
        "org.postgresql.util.PSQLException",
        "ERROR: deadlock detected\n  Detail: Process 41 waits for ShareLock on transaction 977; blocked by process 42.",
        "PSQLException: deadlock",
        (("41", "17"), ("977", "1002")),
    ),
    RealMessage(
        "*pq.Error",
        'pq: null value in column "qty" of relation "orders" violates not-null constraint',
        "orders.qty is null",
        (),
        (('"qty"', '"total"'),),
    ),
    RealMessage(
        "*pgconn.PgError",
        'ERROR: duplicate key value violates unique constraint "orders_pkey" (SQLSTATE 23505)',
        "PgError: orders_pkey is not unique",
        (),
        (("orders_pkey", "orders_ref"),),
    ),
    # SQLAlchemy prints the statement and its parameters
    RealMessage(
        "sqlalchemy.exc.IntegrityError",
        '(psycopg.errors.NotNullViolation) null value in column "gap" of relation "quakes" violates not-null constraint\n'
        "DETAIL:  Failing row contains (ci1, null).\n[SQL: INSERT INTO quakes (id, gap) VALUES (%(id)s, %(gap)s)]\n"
        "[parameters: {'id': 'ci1', 'gap': None}]\n(Background on this error at: https://sqlalche.me/e/20/gkpj)",
        "IntegrityError: quakes.gap is null",
        (("ci1", "it's"),),
        (('"gap"', '"nst"'),),
    ),
    RealMessage("sqlalchemy.exc.IntegrityError", "NOT NULL constraint failed: earthquakes.gap", "IntegrityError: earthquakes.gap is null", (), ((".gap", ".nst"),)),
    RealMessage("sqlite3.IntegrityError", "UNIQUE constraint failed: a.id, a.net", "IntegrityError: a.id, a.net is not unique", (), (("a.net", "a.code"),)),
    # H2: 23502, 23513
    RealMessage(
        "org.h2.jdbc.JdbcSQLIntegrityConstraintViolationException",
        'NULL not allowed for column "QTY"; SQL statement:\ninsert into orders (id) values (?) [23502-232]',
        "JdbcSQLIntegrityConstraintViolationException: QTY is null",
        (),
        (('"QTY"', '"TOTAL"'),),
    ),
    RealMessage(
        "org.h2.jdbc.JdbcSQLIntegrityConstraintViolationException",
        'Check constraint violation: "DEPTH_IS_POSITIVE: "; SQL statement:\nMERGE INTO earthquakes VALUES (?, ?, ?) [23513-232]',
        "JdbcSQLIntegrityConstraintViolationException: check DEPTH_IS_POSITIVE failed",
        (),
        (("DEPTH_IS_POSITIVE", "GAP_IS_POSITIVE"),),
    ),
    RealMessage(
        "org.h2.jdbc.JdbcSQLIntegrityConstraintViolationException",
        'Check constraint violation: "ORDERS_QTY: (QTY > 0)"; SQL statement:\nINSERT INTO orders VALUES (?) -- (1) [23513-200]',
        "JdbcSQLIntegrityConstraintViolationException: check ORDERS_QTY failed",
        (),
        (("ORDERS_QTY", "ORDERS_SUM"),),
    ),
    # MySQL: 1048, 1062, 1264, 1366, 1406, 1452
    RealMessage("pymysql.err.IntegrityError", "(1048, \"Column 'qty' cannot be null\")", "IntegrityError: qty is null", (), (("qty", "total"),)),
    RealMessage(
        "pymysql.err.IntegrityError",
        "(1062, \"Duplicate entry 'ref-7' for key 'orders.ref'\")",
        "IntegrityError: orders.ref is not unique",
        (("ref-7", "it's"),),
        (("orders.ref", "orders.PRIMARY"),),
    ),
    RealMessage(
        "java.sql.SQLIntegrityConstraintViolationException",
        "Duplicate entry '7' for key 'orders.PRIMARY'",
        "SQLIntegrityConstraintViolationException: orders.PRIMARY is not unique",
        (("'7'", "'a' for b'"),),
        (("orders.PRIMARY", "orders.ref"),),
    ),
    RealMessage(
        "*mysql.MySQLError",
        "Error 1062 (23000): Duplicate entry '7' for key 'orders.PRIMARY'",
        "MySQLError: orders.PRIMARY is not unique",
        (("'7'", "'8'"),),
        (("orders.PRIMARY", "orders.ref"),),
    ),
    RealMessage(
        "pymysql.err.DataError",
        "(1264, \"Out of range value for column 'qty' at row 1\")",
        "DataError: qty is out of range",
        (("row 1", "row 9"),),
        (("qty", "total"),),
    ),
    RealMessage(
        "java.sql.SQLException",
        "Incorrect integer value: 'abc' for column 'qty' at row 1",
        "SQLException: qty is not of type integer",
        (("abc", "it's"), ("row 1", "row 4")),
        (("qty", "total"),),
    ),
    RealMessage(
        "com.mysql.cj.jdbc.exceptions.MysqlDataTruncation",
        "Data truncation: Data too long for column 'name' at row 1",
        "MysqlDataTruncation: name is too long",
        (("row 1", "row 4"),),
        (("'name'", "'city'"),),
    ),
    RealMessage(
        "java.sql.SQLIntegrityConstraintViolationException",
        "Cannot add or update a child row: a foreign key constraint fails (`shop`.`orders`, CONSTRAINT `fk_customer` FOREIGN KEY "
        "(`customer_id`) REFERENCES `customers` (`id`) ON DELETE CASCADE)",
        "SQLIntegrityConstraintViolationException: no row for foreign key fk_customer",
        (),
        (("fk_customer", "fk_shop"),),
    ),
    RealMessage("pymysql.err.OperationalError", "(1205, 'Lock wait timeout exceeded; try restarting transaction')", "OperationalError: lock timed out"),
    # SQL Server: 515, 2627, 2601, 547, 8152, 2628, 245
    RealMessage(
        "com.microsoft.sqlserver.jdbc.SQLServerException",
        "Cannot insert the value NULL into column 'qty', table 'shop.dbo.orders'; column does not allow nulls. INSERT fails.",
        "SQLServerException: orders.qty is null",
        (),
        (("'qty'", "'total'"),),
    ),
    RealMessage(
        "com.microsoft.sqlserver.jdbc.SQLServerException",
        "Violation of PRIMARY KEY constraint 'PK_orders'. Cannot insert duplicate key in object 'dbo.orders'. The duplicate key value "
        "is (7, abc).",
        "SQLServerException: PK_orders is not unique",
        (("7, abc", "8, d) e). f"),),
        (("PK_orders", "UQ_orders"),),
    ),
    RealMessage(
        "com.microsoft.sqlserver.jdbc.SQLServerException",
        'The INSERT statement conflicted with the FOREIGN KEY constraint "FK_customer". The conflict occurred in database "shop", '
        "table \"dbo.customers\", column 'id'.",
        "SQLServerException: no row for foreign key FK_customer",
        (),
        (("FK_customer", "FK_shop"),),
    ),
    RealMessage(
        "com.microsoft.sqlserver.jdbc.SQLServerException",
        "String or binary data would be truncated in table 'Shop.dbo.Customers', column 'name'. Truncated value: "
        "'Alexandra Constantinople'.",
        "SQLServerException: Customers.name is too long",
        (("Alexandra Constantinople", "Miles O'Brien, of 'DS9'"),),
        (("'name'", "'city'"),),
    ),
    RealMessage(
        "com.microsoft.sqlserver.jdbc.SQLServerException",
        "String or binary data would be truncated.",
        "SQLServerException: a text is too long for its column",
    ),
    RealMessage(
        "com.microsoft.sqlserver.jdbc.SQLServerException",
        "Conversion failed when converting the nvarchar value 'n/a' to data type int.",
        "SQLServerException: not a value of type int",
        (("n/a", "it's"),),
    ),
    # Oracle
    RealMessage(
        "java.sql.SQLIntegrityConstraintViolationException",
        'ORA-01400: cannot insert NULL into ("SHOP"."ORDERS"."QTY")',
        "SQLIntegrityConstraintViolationException: ORDERS.QTY is null",
        (),
        (("QTY", "TOTAL"),),
    ),
    RealMessage(
        "java.sql.SQLIntegrityConstraintViolationException",
        "ORA-00001: unique constraint (SHOP.ORDERS_PK) violated",
        "SQLIntegrityConstraintViolationException: SHOP.ORDERS_PK is not unique",
        (),
        (("ORDERS_PK", "ORDERS_REF"),),
    ),
    RealMessage(
        "oracledb.exceptions.IntegrityError",
        "ORA-02291: integrity constraint (SHOP.FK_CUSTOMER) violated - parent key not found",
        "IntegrityError: no row for foreign key SHOP.FK_CUSTOMER",
        (),
        (("FK_CUSTOMER", "FK_SHOP"),),
    ),
    RealMessage(
        "oracledb.exceptions.DatabaseError",
        'ORA-12899: value too large for column "SHOP"."ORDERS"."NAME" (actual: 24, maximum: 20)',
        "DatabaseError: ORDERS.NAME is too long",
        (("actual: 24", "actual: 31"),),
        (('"NAME"', '"CITY"'),),
    ),
    RealMessage("java.sql.SQLSyntaxErrorException", "ORA-01722: invalid number", "SQLSyntaxErrorException: not a number", (), (("ORA-01722: invalid number", "ORA-00936: missing expression"),)),
    # Python
    RealMessage("json.decoder.JSONDecodeError", "Expecting value: line 1 column 1 (char 0)", "JSONDecodeError: invalid JSON", (("column 1 (char 0)", "column 31 (char 30)"),)),
    RealMessage("json.decoder.JSONDecodeError", "Extra data: line 2 column 1 (char 18)", "JSONDecodeError: text after the JSON value", (("char 18", "char 99"),)),
    RealMessage("orjson.JSONDecodeError", "unexpected character: line 1 column 51 (char 50)", "JSONDecodeError: unexpected character", (("51 (char 50)", "7 (char 6)"),)),
    RealMessage("builtins.ValueError", "could not convert string to float: 'n/a'", "ValueError: not a number", (("n/a", "it's"),)),
    RealMessage("builtins.ValueError", "invalid literal for int() with base 10: '1.5'", "ValueError: not a whole number", (("1.5", "it's 'x'"),)),
    RealMessage("builtins.KeyError", "'qty'", "KeyError: qty is missing", (), (("qty", "total"),)),
    RealMessage("builtins.AttributeError", "'NoneType' object has no attribute 'strip'", "AttributeError: strip is missing on the object", (), (("strip", "split"),)),
    RealMessage("builtins.UnicodeDecodeError", "'utf-8' codec can't decode byte 0xff in position 12: invalid start byte", "UnicodeDecodeError: not utf-8 text", (("position 12", "position 9"),)),
    RealMessage(
        "pydantic_core._pydantic_core.ValidationError",
        "1 validation error for Order\nlines.0.qty\n  Input should be a valid integer, unable to parse string as an integer "
        "[type=int_parsing, input_value='abc', input_type=str]\n    For further information visit "
        "https://errors.pydantic.dev/2.7/v/int_parsing",
        "ValidationError: lines.qty: Input should be a valid integer",
        (("abc", "it's [x]"), (".0.", ".3.")),
        (("qty", "price"),),
    ),
    RealMessage(
        "pydantic.error_wrappers.ValidationError",
        "1 validation error for Order\nlines -> 0 -> qty\n  value is not a valid integer (type=type_error.integer)",
        "ValidationError: lines.qty: value is not a valid integer",
        (("-> 0 ->", "-> 4 ->"),),
        (("qty", "price"),),
    ),
    # Go
    RealMessage(
        "*json.UnmarshalTypeError",
        "json: cannot unmarshal string into Go struct field Order.qty of type int",
        "UnmarshalTypeError: Order.qty is not of type int",
        (),
        (("Order.qty", "Order.total"),),
    ),
    RealMessage("*strconv.NumError", 'strconv.ParseInt: parsing "n/a": invalid syntax', "NumError: not a value of type Int", (("n/a", "12x"),)),
    RealMessage("*json.SyntaxError", "invalid character 'h' looking for beginning of value", "SyntaxError: invalid JSON", (("'h'", "'n'"),)),
    RealMessage("error", "context deadline exceeded", "timed out"),
    # Node
    RealMessage("SyntaxError", "Unexpected token n in JSON at position 8", "SyntaxError: invalid JSON", (("token n", "token }"), ("position 8", "position 31"))),
    RealMessage("SyntaxError", "Unexpected token 'h', \"hello\" is not valid JSON", "SyntaxError: invalid JSON", (("'h', \"hello\"", "'b', \"bye \"you\"\""),)),
    RealMessage("TypeError", "Cannot read properties of undefined (reading 'qty')", "TypeError: qty is read from undefined", (), (("qty", "total"),)),
    RealMessage("TypeError", "Cannot read property 'qty' of undefined", "TypeError: qty is read from undefined", (), (("qty", "total"),)),
    RealMessage(
        "ZodError",
        '[\n  {\n    "code": "invalid_type",\n    "expected": "number",\n    "received": "string",\n    "path": [\n      "lines",\n'
        '      0,\n      "qty"\n    ],\n    "message": "Expected number, received string"\n  }\n]',
        "ZodError: lines.qty: Expected number, received string",
        (("      0,", "      7,"),),
        (('"qty"', '"price"'),),
    ),
    RealMessage("ValidationError", "data/lines/0/qty must be integer", "ValidationError: lines.qty must be integer", (("/0/", "/5/"),), (("qty", "price"),)),
    RealMessage("ValidationError", "data must have required property 'qty'", "ValidationError: qty is missing", (), (("qty", "price"),)),
    # Elasticsearch
    RealMessage(
        "org.elasticsearch.index.mapper.MapperParsingException",
        "failed to parse field [qty] of type [long] in document with id 'q9QPE3EBdLbtH3LEt7yz'. Preview of field's value: 'n/a'",
        "MapperParsingException: qty is not of type long",
        (("q9QPE3EBdLbtH3LEt7yz", "abc"), ("n/a", "-")),
        (("[qty]", "[total]"),),
    ),
    RealMessage(
        "elasticsearch.exceptions.ConflictError",
        "[0a3f9c96-9481-4ee8-833c-292755849eae]: version conflict, required seqNo [420287], primary term [5]. current document has "
        "seqNo [420290] and primary term [5]",
        "ConflictError: version conflict",
        (("0a3f9c96-9481-4ee8-833c-292755849eae", "order 7"), ("420287", "9")),
    ),
    RealMessage(
        "org.elasticsearch.index.mapper.StrictDynamicMappingException",
        "mapping set to strict, dynamic introduction of [discount] within [_doc] is not allowed",
        "StrictDynamicMappingException: discount is not in the mapping",
        (),
        (("discount", "rebate"),),
    ),
    # S3
    RealMessage(
        "com.amazonaws.services.s3.model.AmazonS3Exception",
        "Please reduce your request rate. (Service: Amazon S3; Status Code: 503; Error Code: SlowDown; Request ID: 03D8D00FA3AD0455; "
        "S3 Extended Request ID: zRby//pp1PO7Y2mYDdEeTACIDIVxbp3Uk2a4=; Proxy: null)",
        "AmazonS3Exception: too many requests",
        (("03D8D00FA3AD0455", "19793A04A304065C"), ("zRby//pp1PO7Y2mYDdEeTACIDIVxbp3Uk2a4=", "Q+x/7=")),
    ),
    RealMessage(
        "com.amazonaws.services.s3.model.AmazonS3Exception",
        "Access Denied (Service: Amazon S3; Status Code: 403; Error Code: AccessDenied; Request ID: 03D8D00FA3AD0455; S3 Extended "
        "Request ID: zRby=; Proxy: null)",
        "AmazonS3Exception: access denied",
        (("03D8D00FA3AD0455", "19793A04A304065C"),),
        (("Access Denied", "Forbidden"),),
    ),
    RealMessage(
        "botocore.errorfactory.NoSuchBucket",
        "An error occurred (NoSuchBucket) when calling the PutObject operation: The specified bucket does not exist",
        "NoSuchBucket: the bucket does not exist",
    ),
    # HTTP and connections
    RealMessage(
        "org.springframework.web.client.HttpClientErrorException$NotFound",
        '404 Not Found: "{"error":"order 17"}"',
        "HttpClientErrorException$NotFound: HTTP 404",
        (("order 17", "order 99"),),
    ),
    RealMessage("requests.exceptions.HTTPError", "503 Server Error: Service Unavailable for url: https://api.example.com/orders/17", "HTTPError: HTTP 503", (("/17", "/99"),)),
    RealMessage("AxiosError", "Request failed with status code 429", "AxiosError: HTTP 429", (), (("429", "404"),)),
    RealMessage("java.net.ConnectException", "Connection refused", "ConnectException: connection refused"),
    RealMessage(
        "requests.exceptions.ConnectionError",
        URLLIB3,
        "ConnectionError: connection refused",
        (("/orders/17", "/orders/99"), ("0x7f3c1c0b5d90", "0x7f3c1c0b5aaa")),
        (("[Errno 111] Connection refused", "[Errno -2] Name or service not known"),),
    ),
    RealMessage("java.net.SocketTimeoutException", "Read timed out", "SocketTimeoutException: timed out"),
    RealMessage("org.apache.kafka.common.errors.TimeoutException", "Timeout expired after 60000 milliseconds while awaiting InitProducerId", "TimeoutException: timed out", (("60000", "30000"),)),
    RealMessage(
        "javax.net.ssl.SSLHandshakeException",
        "PKIX path building failed: sun.security.provider.certpath.SunCertPathBuilderException: unable to find valid certification path "
        "to requested target",
        "SSLHandshakeException: the TLS certificate is not trusted",
    ),
    RealMessage("Error", "connect ECONNREFUSED 10.0.0.12:443", "connection refused", (("10.0.0.12", "10.0.0.13"),)),
)  # fmt: skip
