from __future__ import annotations

import pytest

from engine.config.masking import MASK, mask, masked_options

SECRETS = [
    "ssl.key.password", "sasl.jaas.config", "aws.secret.access.key", "api.key", "ssl.keystore.key", "auth.token",
    "gcp.credentials.json", "connection.password", "accessKey", "db_pwd",
    "errors.deadletterqueue.producer.ssl.key.pem", "errors.dlq.producer.sasl.jaas.config", "ssl.truststore.password",
]  # fmt: skip
OPEN = ["key.converter", "pk.mode", "pk.fields", "topics", "key.converter.schemas.enable", "ssl.truststore.location"]


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_masked(name: str) -> None:
    assert mask({name: "hush"}) == {name: MASK}


@pytest.mark.parametrize("name", OPEN)
def test_the_rest_is_shown(name: str) -> None:
    assert mask({name: "shown"}) == {name: "shown"}


def test_passwords_in_urls_are_masked_wherever_they_are() -> None:
    assert mask({"url": "postgresql://me:p@ss@db/x"})["url"] == f"postgresql://me:{MASK}@db/x"


def test_options_known_as_secret_are_masked() -> None:
    assert mask({"connection.url": "x"}, {"connection.url"}) == {"connection.url": MASK}


def test_credentials_of_well_known_connectors_are_masked() -> None:
    shown = mask(
        {
            "value.converter.basic.auth.user.info": "u:s3cret",
            "connection.url": "jdbc:postgresql://h/db?user=a&password=s3cret&ssl=true",
            "http.headers": "Authorization: Bearer s3cret",
        }
    )
    assert "s3cret" not in str(shown)
    assert shown["connection.url"].endswith("&ssl=true")


def test_a_private_key_is_masked_whatever_its_option_is_called() -> None:
    key = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII=\n-----END ENCRYPTED PRIVATE KEY-----"
    assert mask({"my.option": key, "ssl.ca.pem": "-----BEGIN CERTIFICATE-----"}) == {
        "my.option": MASK,
        "ssl.ca.pem": "-----BEGIN CERTIFICATE-----",
    }


def test_options_of_steps_that_are_built_in_are_shown_whatever_their_names_sound_like() -> None:
    config = {
        "transforms.a.type": "HeaderFrom$Value", "transforms.a.headers": "x,y",
        "transforms.b.type": "org.apache.kafka.connect.transforms.DropHeaders", "transforms.b.headers": "x",
        "transforms.c.type": "InsertHeader", "transforms.c.header": "h",
    }  # fmt: skip
    assert mask(config) == config


def test_the_same_names_of_other_steps_and_of_connectors_are_masked() -> None:
    config = {
        "transforms.a.type": "com.example.DropHeaders", "transforms.a.headers": "x",
        "transforms.b.type": "DropHeaders", "transforms.b.api.key": "x", "processors.p.key": "x", "http.headers": "x",
    }  # fmt: skip
    assert {name for name, value in mask(config).items() if value == MASK} == {
        "transforms.a.headers", "transforms.b.api.key", "processors.p.key", "http.headers",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("db.password", MASK, True), ("db.password", "x", False), ("a.b", MASK, False), ("c.d", MASK, True),
        ("url", f"postgresql://u:{MASK}@h/d", True), ("url", "postgresql://u:p@h/d", False),
    ],
)  # fmt: skip
def test_a_mask_is_told_from_a_value(name: str, value: str, found: bool) -> None:
    assert (masked_options({name: value}, {"c.d"}) == [name]) is found


URLS = [
    ("postgresql://u:pa/ss@host/db", f"postgresql://u:{MASK}@host/db"),
    ("postgresql://u:p ss@host/db", f"postgresql://u:{MASK}@host/db"),
    ("postgresql://u:p@s@s@host/db", f"postgresql://u:{MASK}@host/db"),
    ("postgresql://me@x.com:pass@host/db", f"postgresql://{MASK}@host/db"),
    ("redis://:pw@h", f"redis://:{MASK}@h"),
    ("http://token@h/", f"http://{MASK}@h/"),
    ("jdbc:oracle:thin:scott/tiger@//h:1521/x", f"jdbc:oracle:thin:scott/{MASK}@//h:1521/x"),
    ("jdbc:postgresql://h/db?user=x&pass=y&password=z", f"jdbc:postgresql://h/db?user=x&pass={MASK}&password={MASK}"),
    ("jdbc:sqlserver://h;user=a;password=x y;db=1", f"jdbc:sqlserver://h;user=a;password={MASK};db=1"),
    ("https://h/?api_key=abc&sig=zz", f"https://h/?api_key={MASK}&sig={MASK}"),
    ("https://h/?access_token=abc", f"https://h/?access_token={MASK}"),
    ("host=db user=u password=hunter2", f"host=db user=u password={MASK}"),
    ("host=db password='a b' user=u", f"host=db password={MASK} user=u"),
    ("Server=h;User Id=u;Pwd = a b;Database=d", f"Server=h;User Id=u;Pwd = {MASK};Database=d"),
    ("Endpoint=sb://h/;SharedAccessKey=abc=", f"Endpoint=sb://h/;SharedAccessKey={MASK}"),
]
SHOWN = ["http://h:80/path", "https://h/?mail=a@b.c", "a:9092,b:9092", "k:int,v:string", "sqlite:////tmp/x.db", "a=b"]


@pytest.mark.parametrize(("value", "seen"), URLS)
def test_no_password_of_a_url_or_a_connection_string_is_shown(value: str, seen: str) -> None:
    assert mask({"url": value})["url"] == seen
    assert mask({"url": seen})["url"] == seen


@pytest.mark.parametrize("value", SHOWN)
def test_values_without_secrets_are_shown(value: str) -> None:
    assert mask({"url": value})["url"] == value


def test_a_mask_is_one_only_where_a_secret_belongs() -> None:
    config = {"db.password": MASK, "url": f"postgresql://u:{MASK}@h", "salt": MASK, "replacement": MASK, "x": "y"}
    assert masked_options(config, {"salt"}) == ["db.password", "url", "salt"]
