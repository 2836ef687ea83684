"""Reads and writes values that have a schema: Avro, Protobuf and JSON Schema, and the formats that need none.

The dashboard and the engine's converters share it. It knows neither Django nor Kafka. `registry.py` is its only module
that opens connections.
"""
