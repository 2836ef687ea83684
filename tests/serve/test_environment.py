"""The options of the command line as settings of the processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlqadmin.serve.arguments import PASSWORD, parser
from dlqadmin.serve.console import LaunchFailed
from dlqadmin.serve.environment import serve_environment, settings_of

SASL = """\
# of kafka-console-consumer.sh
bootstrap.servers=kafka:9093
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username="me" password="p=q";
ssl.truststore.location=/etc/kafka/truststore.jks
"""


def environment(*words: str, **given: str) -> dict[str, str]:
    return serve_environment(parser().parse_args(["serve", *words]), {"HOME": "/nowhere", **given})


def test_the_options_become_settings(tmp_path: Path) -> None:
    env = environment(
        "--kafka", "k:9092", "--data", str(tmp_path), "--topics", "a.*,b", "--port", "81", "--read-only"
    )  # fmt: skip
    wanted = {
        "KAFKA_BOOTSTRAP_SERVERS": "k:9092",
        "LOCAL_DIR": str(tmp_path),
        "DLQ_TOPICS": "a.*,b",
        "WEB_HOST": "127.0.0.1",
        "WEB_PORT": "81",
        "DLQADMIN_READ_ONLY": "true",
        "ENGINE_URL": "",
        "DLQADMIN_URL": "http://127.0.0.1:81",
    }
    assert {name: env[name] for name in wanted} == wanted


def test_without_options_the_names_and_the_folder_are_the_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nowhere")
    env = environment("--kafka", "k:9092")
    assert env["LOCAL_DIR"] == "/nowhere/.local/share/dlqadmin"
    assert not {"DLQ_TOPICS", "DLQADMIN_READ_ONLY", "DATABASE_URL"} & env.keys()
    assert environment("--kafka", "k", XDG_DATA_HOME="/x")["LOCAL_DIR"] == "/x/dlqadmin"
    assert environment("--kafka", "k", XDG_DATA_HOME="x")["LOCAL_DIR"] == "/nowhere/.local/share/dlqadmin"


def test_an_option_wins_over_the_environment(tmp_path: Path) -> None:
    words = ("--data", str(tmp_path))
    assert environment(*words, KAFKA_BOOTSTRAP_SERVERS="a")["KAFKA_BOOTSTRAP_SERVERS"] == "a"
    assert environment(*words, "--kafka", "b", KAFKA_BOOTSTRAP_SERVERS="a")["KAFKA_BOOTSTRAP_SERVERS"] == "b"


def test_the_options_of_kafkas_own_clients_are_those_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(SASL)
    env = environment("--kafka-config", str(file))
    assert {name: value for name, value in env.items() if name.startswith("KAFKA_")} == {
        "KAFKA_BOOTSTRAP_SERVERS": "kafka:9093",
        "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
        "KAFKA_SASL_JAAS_CONFIG": (
            'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="p=q";'
        ),
        "KAFKA_SSL_TRUSTSTORE_LOCATION": "/etc/kafka/truststore.jks",
    }


def test_the_password_of_the_first_user_reaches_no_process() -> None:
    assert PASSWORD not in environment("--kafka", "k", **{PASSWORD: "hush"})
    assert PASSWORD not in settings_of(parser().parse_args(["manage"]), {PASSWORD: "hush"})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("group.id=g", "group.id is not an option of the connection's security"),
        (None, "client.properties can't be read: No such file or directory."),
    ],
)
def test_a_file_that_can_not_be_used_is_one_sentence(tmp_path: Path, text: str | None, sentence: str) -> None:
    file = tmp_path / "client.properties"
    if text is not None:
        file.write_text(text)
    with pytest.raises(LaunchFailed) as failed:
        environment("--kafka", "k", "--kafka-config", str(file))
    assert sentence in str(failed.value)


def test_without_a_cluster_the_option_is_named() -> None:
    with pytest.raises(LaunchFailed, match="Add --kafka HOST:PORT"):
        environment()


@pytest.mark.parametrize("words", [("--topics", "("), ("--port", "0"), ("--user", "a b"), ("--port", "70000")])
def test_a_wrong_argument_ends_with_two(words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(["serve", *words])
    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_another_address_has_its_name_among_the_allowed_ones() -> None:
    assert environment("--kafka", "k", "--host", "10.1.2.3")["ALLOWED_HOSTS"].endswith(",10.1.2.3")
    assert "ALLOWED_HOSTS" not in environment("--kafka", "k", "--host", "localhost")
