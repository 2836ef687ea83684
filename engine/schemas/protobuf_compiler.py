"""The compiler of .proto texts: protoc, in a process of its own.

A registry returns Protobuf schemas as text. protoc reads it exactly as the writers of the schema meant it. It is
native code, so a schema that breaks it must not end the dashboard.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.confluent.type import decimal_pb2
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import FieldDescriptor, FileDescriptor

from engine.schemas.problems import SchemaTimeout, UnusableSchema


def _int32_message(file: str, name: str, fields: tuple[str, ...]) -> descriptor_pb2.FileDescriptorProto:
    """Return a file of the package google.type with one message of int32 fields."""
    made = descriptor_pb2.FileDescriptorProto(name=file, package="google.type", syntax="proto3")
    message = made.message_type.add(name=name)
    for number, field in enumerate(fields, start=1):
        message.field.add(
            name=field, number=number, type=FieldDescriptor.TYPE_INT32, label=FieldDescriptor.LABEL_OPTIONAL
        )
    return made


MAIN = "schema.proto"  # the name of the file that no other imports, with more underscores if one has this name
TIMEOUT_S = 10.0
MAX_NAME_BYTES = 255
# Files that every Confluent registry knows without a reference.
_KNOWN = {
    "confluent/meta.proto": descriptor_pb2.FileDescriptorProto.FromString(meta_pb2.DESCRIPTOR.serialized_pb),
    "confluent/type/decimal.proto": descriptor_pb2.FileDescriptorProto.FromString(decimal_pb2.DESCRIPTOR.serialized_pb),
    "google/type/date.proto": _int32_message("google/type/date.proto", "Date", ("year", "month", "day")),
    "google/type/timeofday.proto": _int32_message(
        "google/type/timeofday.proto", "TimeOfDay", ("hours", "minutes", "seconds", "nanos")
    ),
}
_PROTOC = "import sys; from grpc_tools import protoc; sys.exit(protoc.entrypoint())"


def compile_proto(text: str, imports: Mapping[str, str]) -> FileDescriptor:
    """Return the descriptor of a .proto text, in a pool of its own. `imports` are texts by import path.

    Raises UnusableSchema with protoc's first message, or SchemaTimeout.
    """
    main = _main_name(imports)
    contents = {name: _utf8(name, content) for name, content in {**imports, main: text}.items()}
    _check_names(imports)
    with tempfile.TemporaryDirectory(prefix="proto-") as folder:
        sources = Path(folder, "sources")  # apart from our own files, whose names an import may have
        for name, content in contents.items():
            target = sources / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        found = _run_protoc(sources, main, Path(folder))
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in found.file:
            pool.Add(file)
        return pool.FindFileByName(main)
    except (TypeError, KeyError) as error:
        raise UnusableSchema(f"the Protobuf schema is invalid: {error}") from None


def field_parameters(field: FieldDescriptor) -> dict[str, str]:
    """Return the parameters of the option `confluent.field_meta` of a field."""
    options, meta = field.GetOptions(), meta_pb2.DESCRIPTOR.extensions_by_name["field_meta"]
    return dict(options.Extensions[meta].params) if options.HasExtension(meta) else {}


def _main_name(imports: Mapping[str, str]) -> str:
    """Return a name that is neither that of an import nor that of its folder."""
    taken = {name.partition("/")[0] for name in imports}
    main = MAIN
    while main in taken:
        main = f"_{main}"
    return main


def _utf8(name: str, text: str) -> bytes:
    try:
        name.encode()
        return text.encode()
    except UnicodeEncodeError:
        raise UnusableSchema(f"the file {name!r:.100} has an unpaired surrogate, which UTF-8 can't encode") from None


def _check_names(imports: Mapping[str, str]) -> None:
    """Raise UnusableSchema for a name that can't be that of a file."""
    for name in imports:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or str(path) != name or "\0" in name:
            raise UnusableSchema(f"the reference {name!r:.100} is not a path below the schema")
        if len(name.encode()) > MAX_NAME_BYTES:
            raise UnusableSchema(f"the name of the reference {name!r:.100} is longer than {MAX_NAME_BYTES} bytes")
        if parent := next((str(one) for one in path.parents if str(one) in imports), None):
            raise UnusableSchema(f"the reference {parent!r} is also the folder of the reference {name!r}")


def _run_protoc(sources: Path, main: str, folder: Path) -> descriptor_pb2.FileDescriptorSet:
    known = descriptor_pb2.FileDescriptorSet()
    known.file.extend(file for name, file in _KNOWN.items() if not (sources / name).exists())
    known_file, output = folder / "known.bin", folder / "compiled.bin"
    known_file.write_bytes(known.SerializeToString())
    command = [sys.executable, "-I", "-c", _PROTOC, f"-I{sources}", "--include_imports"]
    command += [f"--descriptor_set_out={output}", f"--descriptor_set_in={known_file}", main]
    try:
        done = subprocess.run(command, capture_output=True, cwd=sources, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise SchemaTimeout(f"protoc did not end within {TIMEOUT_S:g} s") from None
    if done.returncode != 0 or not output.exists():
        said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if ".proto:" in line]
        said = [line.removeprefix(f"{sources}/") for line in said]
        raise UnusableSchema(f"the Protobuf schema does not compile: {said[0][:300] if said else 'protoc failed'}")
    return descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes())
