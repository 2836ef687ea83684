from __future__ import annotations

import pytest

from engine.config.masking import MASK, mask

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
