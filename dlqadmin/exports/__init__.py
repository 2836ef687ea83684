"""Exports of dead letters to files: streamed immediately, or written by a worker."""
