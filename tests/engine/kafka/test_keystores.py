from __future__ import annotations

import ssl
from pathlib import Path

import confluent_kafka as ck
import pytest

from engine.errors import ConfigError
from engine.kafka.keystores import override, with_pem
from tests.support.stores import PASSWORD, Stores

OTHER = "key-5678"

pytestmark = pytest.mark.slow  # keytool starts a JVM for each command


@pytest.fixture(scope="module")
def jks(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("jks"), "JKS", OTHER)


@pytest.fixture(scope="module")
def pkcs12(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return Stores(tmp_path_factory.mktemp("pkcs12"))  # a key of a PKCS #12 store has the store's password


@pytest.fixture(params=["jks", "pkcs12"])
def stores(request: pytest.FixtureRequest) -> Stores:
    found: Stores = request.getfixturevalue(request.param)
    return found


def options(stores: Stores, **more: str) -> dict[str, str]:
    return {
        "ssl.truststore.location": str(stores.trust),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.location": str(stores.client),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": OTHER if stores.kind == "JKS" else PASSWORD,
        **more,
    }


def test_a_store_of_keytools_becomes_pem(stores: Stores) -> None:
    found = with_pem({**options(stores), "acks": "0"})
    assert found.keys() == {"acks", "ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem"}
    assert found["ssl.ca.pem"].strip() == stores.certificate.read_text().replace("\r", "").strip()
    assert found["ssl.certificate.pem"].count("BEGIN CERTIFICATE") == 2


def test_the_key_belongs_to_its_certificate(stores: Stores, tmp_path: Path) -> None:
    found = with_pem(options(stores))
    (tmp_path / "pem").write_text(found["ssl.key.pem"] + found["ssl.certificate.pem"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_cert_chain(tmp_path / "pem")
    context.load_verify_locations(cadata=found["ssl.ca.pem"])
    assert len(context.get_ca_certs()) == 1


def test_the_client_takes_what_was_read(stores: Stores) -> None:
    ck.Producer({"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SSL", **with_pem(options(stores))})


@pytest.mark.parametrize(
    ("option", "wrong"),
    [("ssl.truststore.password", "ssl.truststore.location"), ("ssl.keystore.password", "ssl.keystore.location")],
)
def test_a_wrong_password_names_the_store(stores: Stores, option: str, wrong: str) -> None:
    with pytest.raises(ConfigError) as raised:
        with_pem(options(stores, **{option: "nonsense"}))
    assert raised.value.problems[0][0] == wrong
    assert "nonsense" not in str(raised.value)


def test_a_trust_store_holds_no_key(stores: Stores) -> None:
    with pytest.raises(ConfigError, match="holds no private key"):
        with_pem(options(stores, **{"ssl.keystore.location": str(stores.trust)}))


def test_a_jks_trust_store_is_read_without_a_password(jks: Stores) -> None:
    assert "BEGIN CERTIFICATE" in with_pem({"ssl.truststore.location": str(jks.trust)})["ssl.ca.pem"]


def test_a_wrong_password_of_a_key_is_a_problem(jks: Stores) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.key\.password"):
        with_pem(options(jks, **{"ssl.key.password": "another"}))


@pytest.mark.parametrize("cut", [5, 40, 500])
def test_a_damaged_store_is_a_problem_and_no_crash(stores: Stores, tmp_path: Path, cut: int) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(stores.client.read_bytes()[:cut])
    with pytest.raises(ConfigError, match=r"ssl\.keystore\.location"):
        with_pem({"ssl.keystore.location": str(damaged), "ssl.keystore.password": PASSWORD})


def test_a_missing_or_foreign_store_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "foreign").write_bytes(b"\xce\xce\xce\xce")
    for name, text in (("absent", "No such file"), ("foreign", "keytool -importkeystore")):
        with pytest.raises(ConfigError, match=text):
            with_pem({"ssl.truststore.location": str(tmp_path / name)})


def test_pem_stores_and_pem_options_are_read_too(stores: Stores, tmp_path: Path) -> None:
    read = with_pem(options(stores))
    (tmp_path / "own.pem").write_text(read["ssl.key.pem"] + read["ssl.certificate.pem"])
    by_file = with_pem(
        {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(tmp_path / "own.pem"),
            "ssl.truststore.location": str(stores.certificate),
        }
    )
    assert by_file == read
    by_text = with_pem(
        {
            "ssl.truststore.certificates": read["ssl.ca.pem"],
            "ssl.keystore.certificate.chain": read["ssl.certificate.pem"],
            "ssl.keystore.key": read["ssl.key.pem"],
        }
    )
    assert by_text == read


def test_what_is_said_above_of_trust_replaces_all_that_is_said_below() -> None:
    below = {"ssl.truststore.location": "/a", "ssl.truststore.password": "x", "ssl.keystore.location": "/k", "a": "1"}
    assert override(below, {"ssl.ca.location": "/b"}) == {
        "ssl.keystore.location": "/k",
        "a": "1",
        "ssl.ca.location": "/b",
    }
    assert override({"ssl.ca.location": "/b"}, below) == below


def test_without_stores_options_stay_as_they_are() -> None:
    plain = {"ssl.ca.location": "/ca.pem", "ssl.key.location": "/k.pem", "ssl.key.password": "p"}
    assert with_pem(plain) == plain


def test_a_key_in_place_of_a_path_is_not_shown() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIISECRET\n-----END PRIVATE KEY-----"
    with pytest.raises(ConfigError) as caught:
        with_pem({"ssl.keystore.location": key})
    assert "SECRET" not in str(caught.value)
