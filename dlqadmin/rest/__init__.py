"""Code that all API views share: problem documents, cursors, times, idempotency."""
