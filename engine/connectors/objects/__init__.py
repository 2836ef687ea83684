"""ObjectStoreSink, for S3-compatible stores and local folders."""
