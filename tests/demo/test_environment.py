"""Where the demonstration's processes find each other."""

from pathlib import Path

import pytest

from demo import run
from demo.environment import demo_environment, engine_token
from dlqadmin.host.env_files import parse
from dlqadmin.host.network import port_of
from engine.config.rooted_files import root_problem


def test_the_shell_wins_over_the_defaults() -> None:
    assert demo_environment({"WEB_PORT": "9000"})["WEB_PORT"] == "9000"


def test_the_database_moves_with_the_local_directory() -> None:
    assert demo_environment({"LOCAL_DIR": "/tmp/a"})["DATABASE_URL"] == "sqlite:////tmp/a/dlqadmin.sqlite3"


def test_the_engine_accepts_a_relative_local_directory() -> None:
    env = demo_environment({"LOCAL_DIR": "data"})
    assert root_problem(env["CONNECT_FILE_CONNECTORS_ROOT"]) is None


def test_a_named_database_stays() -> None:
    given = {"LOCAL_DIR": "/tmp/a", "DATABASE_URL": "postgresql://h/d"}
    assert demo_environment(given)["DATABASE_URL"] == "postgresql://h/d"


def test_the_engine_gets_the_same_addresses() -> None:
    env = demo_environment({"KAFKA_BOOTSTRAP_SERVERS": "h:1", "ENGINE_URL": "http://h:2"})
    assert (env["CONNECT_BOOTSTRAP_SERVERS"], env["CONNECT_LISTENERS"]) == ("h:1", "http://h:2")


def test_the_engine_and_the_dashboard_have_one_private_token(tmp_path: Path) -> None:
    env = demo_environment({"LOCAL_DIR": str(tmp_path / "new")})
    assert env["CONNECT_REST_AUTH_TOKEN_FILE"] == env["ENGINE_TOKEN_FILE"] == str(tmp_path / "new" / "engine-token")
    token = engine_token(env)
    assert Path(env["ENGINE_TOKEN_FILE"]).stat().st_mode & 0o077 == 0
    assert len(token) >= 32
    assert engine_token(env) == token


def test_quotes_and_comments_are_not_part_of_a_value() -> None:
    assert parse("# A=1\nB='.*dlq$'\nC=2\n\n") == {"B": ".*dlq$", "C": "2"}


@pytest.mark.parametrize("address", ["h:81", "redis://h:81/0", "http://h:81"])
def test_a_port_is_found_in_every_kind_of_address(address: str) -> None:
    assert port_of(address) == 81


def test_connector_files_move_with_the_local_directory(tmp_path: Path) -> None:
    written = run.write_connectors(tmp_path)
    files = f"{tmp_path}/connector-files"
    assert f"connection.url=sqlite:///{files}/demo.sqlite3" in (written / "usgs-to-sql.properties").read_text()
    assert f"file={files}/connect-test.txt" in (written / "local-file-sink.properties").read_text()
