"""Convert Java key and trust stores (PKCS #12, JKS, PEM) to PEM texts for librdkafka. Content tells the format."""

from __future__ import annotations

import base64
import hashlib
import ssl
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from engine.config.masking import MASK
from engine.errors import ConfigError

JKS_MAGIC, PEM_MARK, DER_SEQUENCE = b"\xfe\xed\xfe\xed", b"-----BEGIN ", b"\x30"
JAVA_STORES = ("ssl.truststore.", "ssl.keystore.")
OURS = {"ssl.truststore.": ("ssl.ca.",), "ssl.keystore.": ("ssl.certificate.", "ssl.key.location", "ssl.key.pem")}
INLINE = "write texts into ssl.keystore.key, ssl.keystore.certificate.chain and ssl.truststore.certificates"
_DIGEST_BYTES = 20  # SHA-1, which the JKS format uses


class KeyStore(NamedTuple):
    """The contents of a store: an unencrypted private key with its certificate chain, and trusted certificates."""

    key: str = ""
    chain: str = ""
    trusted: str = ""


def with_pem(options: Mapping[str, str]) -> dict[str, str]:
    """Replace Java stores by the options `ssl.ca.pem`, `ssl.certificate.pem` and `ssl.key.pem`.

    Raises ConfigError with the name of the option whose store can't be read.
    """
    replaced = {name: value for name, value in options.items() if not name.startswith(JAVA_STORES)}
    replaced |= _inline(options)
    if location := options.get("ssl.truststore.location"):
        store = _read("ssl.truststore.location", location, options.get("ssl.truststore.password"), None)
        replaced["ssl.ca.pem"] = store.trusted + store.chain
    if location := options.get("ssl.keystore.location"):
        password = options.get("ssl.keystore.password")
        # keytool protects a key with the store's password unless the key gets one of its own.
        store = _read("ssl.keystore.location", location, password, options.get("ssl.key.password") or password)
        if not store.key:
            raise _unreadable("ssl.keystore.location", location, "holds no private key")
        replaced |= {"ssl.key.pem": store.key, "ssl.certificate.pem": store.chain}
        replaced.pop("ssl.key.password", None)
    return replaced


def override(below: Mapping[str, str], above: Mapping[str, str]) -> dict[str, str]:
    """Merge two layers. Trust or key options in `above` replace all trust or key options in `below`."""
    merged = dict(below)
    for java, ours in OURS.items():
        names = (java, *ours)
        if any(name.startswith(names) for name in above):
            merged = {name: value for name, value in merged.items() if not name.startswith(names)}
    return {**merged, **above}


def _inline(options: Mapping[str, str]) -> dict[str, str]:
    """Return PEM texts that the options themselves contain."""
    names = {
        "ssl.truststore.certificates": "ssl.ca.pem",
        "ssl.keystore.certificate.chain": "ssl.certificate.pem",
        "ssl.keystore.key": "ssl.key.pem",
    }
    return {names[name]: value for name, value in options.items() if name in names}


def _read(option: str, location: str, password: str | None, key_password: str | None) -> KeyStore:
    if PEM_MARK.decode() in location:
        raise _unreadable(option, MASK, f"must be the path of a file, not a PEM text; {INLINE}")
    try:
        data = Path(location).read_bytes()
        if data.startswith(JKS_MAGIC):
            return _read_jks(data, password, key_password)
        if data.lstrip().startswith(PEM_MARK):
            return _read_pem(data, key_password)
        if data.startswith(DER_SEQUENCE):
            return _read_pkcs12(data, password)
    except OSError as error:
        raise _unreadable(option, location, f"can't be read: {error.strerror}") from error
    except (ValueError, IndexError, TypeError) as error:
        raise _unreadable(option, location, f"can't be read, or its password is wrong: {error}") from error
    raise _unreadable(option, location, "is not a PKCS #12, JKS or PEM store; convert it with keytool -importkeystore")


def _unreadable(option: str, location: str, why: str) -> ConfigError:
    return ConfigError(((option, location, why),))


def _read_pkcs12(data: bytes, password: str | None) -> KeyStore:
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    store = load_pkcs12(data, None if password is None else password.encode())
    own_certificates = () if store.cert is None else (store.cert,)
    certificates = (
        one.certificate.public_bytes(Encoding.PEM).decode() for one in (*own_certificates, *store.additional_certs)
    )
    text = "".join(dict.fromkeys(certificates))
    return KeyStore(trusted=text) if store.key is None else KeyStore(_key_text(store.key), text)


def _read_pem(data: bytes, key_password: str | None) -> KeyStore:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    blocks = [PEM_MARK + block for block in data.replace(b"\r\n", b"\n").split(PEM_MARK)[1:]]
    certificates = b"".join(block for block in blocks if block.startswith(PEM_MARK + b"CERTIFICATE")).decode()
    keys = [block for block in blocks if b"PRIVATE KEY" in block.partition(b"\n")[0]]
    if not keys:
        return KeyStore(trusted=certificates)
    # The library refuses a password for a key that is not encrypted.
    is_encrypted = b"ENCRYPTED" in keys[0]
    key = load_pem_private_key(keys[0], key_password.encode() if key_password and is_encrypted else None)
    return KeyStore(_key_text(key), certificates)


def _key_text(key: object) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    encoded: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())  # type: ignore[attr-defined] # any private key
    return encoded.decode()


class _ByteCursor:
    """A cursor over a JKS store: big-endian numbers, and bytes after their length."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise ValueError("the file is truncated")
        self.at += size
        return self.data[self.at - size : self.at]

    def block(self, size_of_length: int) -> bytes:
        return self.take(self.number(size_of_length))


def _read_jks(data: bytes, password: str | None, key_password: str | None) -> KeyStore:
    """Read versions 1 and 2 of the format of `java.security.KeyStore` "JKS"."""
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    # The constant is part of the format: the JDK salts the store's digest with it.
    if password and _digest(_utf16(password) + b"Mighty Aphrodite" + body) != digest:
        raise ValueError("its digest does not match")
    cursor = _ByteCursor(body)
    cursor.take(len(JKS_MAGIC))
    version = cursor.number(4)
    key, chain, trusted = "", "", ""
    for _ in range(cursor.number(4)):
        tag = cursor.number(4)
        cursor.block(2)  # the alias
        cursor.take(8)  # creation time
        if tag == 1:
            protected = cursor.block(4)
            certificates = "".join(_certificate(cursor, version) for _ in range(cursor.number(4)))
            if not key:
                key, chain = _jks_key(protected, key_password or ""), certificates
        elif tag == 2:
            trusted += _certificate(cursor, version)
        else:
            raise ValueError(f"entry type {tag} is not supported")
    return KeyStore(key, chain, trusted)


def _certificate(cursor: _ByteCursor, version: int) -> str:
    if version == 2:
        cursor.block(2)  # certificate type, X.509
    return ssl.DER_cert_to_PEM_cert(cursor.block(4))


def _jks_key(protected: bytes, password: str) -> str:
    """Decrypt the key of an EncryptedPrivateKeyInfo.

    Its content is a salt, the PKCS #8 text xored with a chain of digests, and a checksum.
    """
    content = _octets(protected)
    salt, text, check = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    secret, stream, digest = _utf16(password), b"", salt
    while len(stream) < len(text):
        digest = _digest(secret + digest)
        stream += digest
    plain = bytes(one ^ other for one, other in zip(text, stream, strict=False))
    if _digest(secret + plain) != check:
        raise ValueError("the key has another password; set ssl.key.password")
    lines = textwrap.wrap(base64.b64encode(plain).decode(), 64)
    return "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----", ""])


def _octets(der: bytes) -> bytes:
    """Return the OCTET STRING of `SEQUENCE { algorithm, OCTET STRING }`."""
    cursor = _ByteCursor(der)
    _der_length(cursor)
    cursor.take(_der_length(cursor))
    return cursor.take(_der_length(cursor))


def _der_length(cursor: _ByteCursor) -> int:
    cursor.take(1)  # the tag
    first = cursor.number(1)
    return first if first < 0x80 else cursor.number(first & 0x7F)


def _digest(data: bytes) -> bytes:
    # SHA-1 is part of the format.
    return hashlib.sha1(data, usedforsecurity=False).digest()


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")
