"""The configured clusters, the progress of their index, and connection tests."""
