"""FileStreamSink and FileStreamSource."""
