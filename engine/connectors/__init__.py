"""The built-in connectors, one package each."""
