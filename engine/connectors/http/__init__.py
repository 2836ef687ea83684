"""HttpSink."""
