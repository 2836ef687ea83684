"""Sessions, API tokens and passwords: everything that authenticates a request."""
