"""Formats that need no schema: recognised, bounded, and shown as JSON or as a table."""

from __future__ import annotations

import base64
import binascii
import csv
import io
import math
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from xml.parsers import expat

import cbor2
import msgpack
import msgspec
import zstandard

from engine.schemas import json_fields, json_text
from engine.schemas.fields import DecodedField, FieldRows, member_path
from engine.schemas.problems import InvalidValue, Undecodable

MAX_PLAIN_BYTES = 8 * 1024 * 1024  # decompressed
MAX_VALUES = 100_000
MAX_DEPTH = 64
_GZIP, _ZSTD, _JAVA = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xac\xed\x00\x05"
_DELIMITERS = ",;\t|"


class PlainValue(msgspec.Struct, frozen=True):
    """A value that was decoded without a schema. `json` is None if the format is shown as a table only."""

    format: str
    json: str | None
    notes: tuple[str, ...] = ()


Reader = Callable[[bytes, FieldRows], PlainValue]


def read_json(data: bytes, rows: FieldRows) -> PlainValue:
    """Return JSON text as it is."""
    text = _text(data)
    if text.lstrip()[:1] not in ("{", "["):
        raise Undecodable("the first character is neither { nor [")
    try:
        value = json_text.parse(text)
    except InvalidValue as error:
        raise Undecodable(error.problems[0].message) from None
    json_fields.add_rows(rows, value)
    return PlainValue("JSON", text)


def read_java(data: bytes, rows: FieldRows) -> PlainValue:
    """Name a serialised Java object. Reading it would run its code, so nobody does."""
    if not data.startswith(_JAVA):
        raise Undecodable("the first bytes are not 0xaced 0005")
    rest = data[len(_JAVA) :]
    name = ""
    position = rest.find(b"\x72")  # TC_CLASSDESC, behind TC_OBJECT or TC_ARRAY
    if rest[:1] in (b"\x73", b"\x75") and position == 1 and len(rest) >= 4:
        length = int.from_bytes(rest[2:4], "big")
        name = rest[4 : 4 + length].decode("utf-8", "replace")
    what = f"the class {name}" if name else "a class that is not named"
    note = f"A serialised Java object of {what}. It is never deserialised, because that would run its code."
    rows.fill(
        rows.reserve(), DecodedField("", "object", 0, name or "Java object", f"{len(data):,} bytes", 0, len(data))
    )
    return PlainValue("Java serialisation", None, (note,))


def read_gzip(data: bytes, rows: FieldRows) -> PlainValue:
    """Decompress gzip and decode what is in it."""
    if not data.startswith(_GZIP):
        raise Undecodable("the first bytes are not 0x1f8b")
    worker = zlib.decompressobj(31)
    try:
        plain = worker.decompress(data, MAX_PLAIN_BYTES + 1)
    except zlib.error as error:
        raise Undecodable(f"the gzip stream is damaged: {error}") from None
    return _inner("gzip", plain, rows, is_whole=worker.eof)


def read_zstd(data: bytes, rows: FieldRows) -> PlainValue:
    """Decompress zstd and decode what is in it."""
    if not data.startswith(_ZSTD):
        raise Undecodable("the first bytes are not 0x28b52ffd")
    try:
        worker = zstandard.ZstdDecompressor(max_window_size=MAX_PLAIN_BYTES)
        with worker.stream_reader(io.BytesIO(data)) as stream:
            plain = stream.read(MAX_PLAIN_BYTES + 1)
            is_whole = len(plain) <= MAX_PLAIN_BYTES
    except zstandard.ZstdError as error:
        raise Undecodable(f"the zstd stream is damaged: {error}") from None
    return _inner("zstd", plain, rows, is_whole=is_whole)


def read_base64(data: bytes, rows: FieldRows) -> PlainValue:
    """Decode base64 that holds JSON, plain or compressed. Other base64 stays text: short words are base64 too."""
    stripped = data.strip().strip(b'"')
    if len(stripped) < 8 or len(stripped) % 4:
        raise Undecodable("the length is not that of base64")
    try:
        plain = base64.b64decode(stripped, validate=True)
    except (binascii.Error, ValueError):
        raise Undecodable("a character is not of base64's alphabet") from None
    for magic, reader in ((_GZIP, read_gzip), (_ZSTD, read_zstd)):
        if plain.startswith(magic):
            inner = reader(plain, rows)
            return PlainValue(f"{inner.format} in base64", inner.json)
    try:
        return PlainValue("JSON in base64", read_json(plain, rows).json)
    except Undecodable as error:
        raise Undecodable(f"the content is not JSON: {error}") from None


def read_xml(data: bytes, rows: FieldRows) -> PlainValue:
    """List the elements and attributes of XML. A document type is refused: it can define entities that grow."""
    text = _text(data)
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        raise Undecodable("the first character is not <")
    reader = _XmlReader(rows)
    reader.read(data)
    return PlainValue("XML", None)


def read_csv(data: bytes, rows: FieldRows) -> PlainValue:
    """List the columns of text with the same delimiters in each line."""
    text = _text(data).strip("\r\n")
    if text.lstrip("\ufeff \t\r\n").startswith(("{", "[", "<")):
        raise Undecodable("the first character is that of JSON or XML")  # damaged JSON has commas, too
    lines = text.splitlines()
    if not text or (not text.isprintable() and not all(line.replace("\t", " ").isprintable() for line in lines)):
        raise Undecodable("the bytes are not printable text")
    for delimiter in _DELIMITERS:
        try:
            table = list(csv.reader(lines[:MAX_VALUES], delimiter=delimiter))
        except csv.Error:
            continue
        widths = {len(row) for row in table}
        if len(widths) == 1 and widths.pop() >= (2 if len(table) > 1 else 3):
            break
    else:
        raise Undecodable("the lines have no common number of columns")
    for number, line in enumerate(table, 1):
        for column, cell in enumerate(line, 1):
            name = f"column {column}" if len(table) == 1 else f"line {number}, column {column}"
            rows.fill(rows.reserve(), DecodedField(name, name, 0, "text", json_text.dump(cell), None, None))
            if rows.is_cut:
                break
    return PlainValue("CSV", None)


def read_messagepack(data: bytes, rows: FieldRows) -> PlainValue:
    """Decode a MessagePack map or array. Single numbers are not tried: any byte is one."""
    try:
        value = msgpack.unpackb(data, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError, MemoryError) as error:
        raise Undecodable(_reason(error)) from None
    return _container("MessagePack", value, rows)


def read_cbor(data: bytes, rows: FieldRows) -> PlainValue:
    """Decode a CBOR map or array."""
    stream = io.BytesIO(data)
    try:
        value = cbor2.CBORDecoder(stream).decode()
    except (cbor2.CBORDecodeError, ValueError, TypeError, RecursionError, MemoryError, OverflowError) as error:
        raise Undecodable(_reason(error)) from None
    if stream.tell() < len(data):
        raise Undecodable(f"{len(data) - stream.tell()} bytes are left after the first value", stream.tell())
    return _container("CBOR", value, rows)


READERS: tuple[tuple[str, Reader], ...] = (
    ("JSON", read_json),
    ("Java serialisation", read_java),
    ("gzip", read_gzip),
    ("zstd", read_zstd),
    ("base64", read_base64),
    ("XML", read_xml),
    ("CSV", read_csv),
    ("MessagePack", read_messagepack),
    ("CBOR", read_cbor),
)


def _inner(layer: str, plain: bytes, rows: FieldRows, *, is_whole: bool) -> PlainValue:
    """Return the JSON or the text that was compressed."""
    if len(plain) > MAX_PLAIN_BYTES:
        raise Undecodable(f"the content is larger than {MAX_PLAIN_BYTES // 1024**2} MB")
    if not is_whole:
        raise Undecodable("the stream ends too early")
    try:
        return PlainValue(f"JSON in {layer}", read_json(plain, rows).json)
    except Undecodable:
        pass
    try:
        text = plain.decode()
    except UnicodeDecodeError:
        raise Undecodable("the content is neither JSON nor text") from None
    rows.fill(rows.reserve(), DecodedField("", "text", 0, "text", json_text.dump(text[:2000]), None, None))
    return PlainValue(f"text in {layer}", None)


def _container(format_: str, value: Any, rows: FieldRows) -> PlainValue:
    if not isinstance(value, dict | list):
        raise Undecodable("the value is neither a map nor an array")
    plain = _Plain().value(value, 0)
    json_fields.add_rows(rows, plain)
    return PlainValue(format_, json_text.dump(plain))


class _Plain:
    """Converts values to JSON, within a limit: a shared value may occur any number of times."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def value(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise Undecodable(f"there are more than {MAX_VALUES:,} values, or more than {MAX_DEPTH} levels")
        if isinstance(value, dict | cbor2.frozendict):
            return {self._key(key): self.value(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(item, depth + 1) for item in value]
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        if isinstance(value, cbor2.CBORTag):  # its own text has no limit
            return {"tag": value.tag, "value": self.value(value.value, depth + 1)}
        if isinstance(value, Fraction):
            return f"{self.value(value.numerator, depth)}/{self.value(value.denominator, depth)}"
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        if isinstance(value, int) and abs(value) >= json_text.TOO_LONG:
            raise Undecodable(f"a number has more than {json_text.MAX_DIGITS:,} digits")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return str(value)[:1000]

    def _key(self, key: Any) -> str:
        return key if isinstance(key, str) else str(self.value(key, MAX_DEPTH))[:1000]


class _XmlReader:
    def __init__(self, rows: FieldRows) -> None:
        self._rows = rows
        self._path: list[str] = []
        self._open: list[tuple[int | None, str]] = []
        self._text: list[list[str]] = []

    def read(self, data: bytes) -> None:
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.CharacterDataHandler = self._characters
        parser.EndElementHandler = self._end
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            raise Undecodable(f"the text is not XML: {error}") from None
        except (LookupError, ValueError) as error:  # expat asks Python for encodings that it does not know
            raise Undecodable(f"the encoding that the XML names can't be read: {error}") from None

    def _refuse(self, *_: Any) -> None:
        raise Undecodable("the document type is not read")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        depth = len(self._path)
        if depth > MAX_DEPTH:
            raise Undecodable(f"elements are nested more than {MAX_DEPTH} levels deep")
        self._path.append(name)
        path = ".".join(self._path)
        self._open.append((self._rows.reserve(), path))
        self._text.append([])
        for key, value in attributes.items():
            row = DecodedField(
                member_path(path, f"@{key}"), f"@{key}", depth + 1, "attribute", json_text.dump(value), None, None
            )
            self._rows.fill(self._rows.reserve(), row)

    def _characters(self, text: str) -> None:
        if self._text:
            self._text[-1].append(text)

    def _end(self, name: str) -> None:
        row, path = self._open.pop()
        text = "".join(self._text.pop()).strip()
        self._path.pop()
        shown = json_text.dump(text[:2000]) if text else ""
        self._rows.fill(row, DecodedField(path, name, len(self._path), "element", shown, None, None))


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Undecodable(f"the bytes are not UTF-8: {error.reason}", error.start) from None


def _reason(error: BaseException) -> str:
    text = str(error).strip() or "the nesting is too deep"
    return text.splitlines()[0][:200].rstrip(".")
