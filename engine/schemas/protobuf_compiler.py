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

from engine.schemas.problems import UnusableSchema


def _int32_message(file: str, name: str, fields: tuple[str, ...]) -> descriptor_pb2.FileDescriptorProto:
    """Return a file of the package google.type with one message of int32 fields."""
    made = descriptor_pb2.FileDescriptorProto(name=file, package="google.type", syntax="proto3")
    message = made.message_type.add(name=name)
    for number, field in enumerate(fields, start=1):
        message.field.add(
            name=field, number=number, type=FieldDescriptor.TYPE_INT32, label=FieldDescriptor.LABEL_OPTIONAL
        )
    return made


MAIN = "schema.proto"  # the name of the file that no other imports
TIMEOUT_S = 10.0
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

    Raises UnusableSchema with protoc's first message.
    """
    with tempfile.TemporaryDirectory(prefix="proto-") as folder:
        for name, content in {**imports, MAIN: text}.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise UnusableSchema(f"the reference {name!r} is not a path below the schema")
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
        found = _run_protoc(Path(folder))
    pool = descriptor_pool.DescriptorPool()
    try:
        for file in found.file:
            pool.Add(file)
        return pool.FindFileByName(MAIN)
    except (TypeError, KeyError) as error:
        raise UnusableSchema(f"the Protobuf schema is invalid: {error}") from None


def field_parameters(field: FieldDescriptor) -> dict[str, str]:
    """Return the parameters of the option `confluent.field_meta` of a field."""
    options, meta = field.GetOptions(), meta_pb2.DESCRIPTOR.extensions_by_name["field_meta"]
    return dict(options.Extensions[meta].params) if options.HasExtension(meta) else {}


def _run_protoc(folder: Path) -> descriptor_pb2.FileDescriptorSet:
    known = descriptor_pb2.FileDescriptorSet()
    known.file.extend(file for name, file in _KNOWN.items() if not (folder / name).exists())
    known_file, output = folder / "known.bin", folder / "compiled.bin"
    known_file.write_bytes(known.SerializeToString())
    command = [sys.executable, "-I", "-c", _PROTOC, f"-I{folder}", "--include_imports"]
    command += [f"--descriptor_set_out={output}", f"--descriptor_set_in={known_file}", MAIN]
    try:
        done = subprocess.run(command, capture_output=True, cwd=folder, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise UnusableSchema(f"protoc did not end within {TIMEOUT_S:.0f} s") from None
    if done.returncode != 0 or not output.exists():
        said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if ".proto:" in line]
        said = [line.removeprefix(f"{folder}/") for line in said]
        raise UnusableSchema(f"the Protobuf schema does not compile: {said[0][:300] if said else 'protoc failed'}")
    return descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes())
