"""DeltaSink: appends records to Delta Lake tables, each record once."""
