"""Background jobs: rows that Celery workers claim, work on and finish."""
