"""SqlSink and SqlSource."""
