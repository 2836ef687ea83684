"""Dead letters as files: streamed at once, or written by a worker."""
