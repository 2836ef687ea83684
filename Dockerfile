# Two images of one source: `web` (dashboard, worker, beat, indexer; no Java, no Spark) and `engine` (with both).

FROM node:20.20.2-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0 AS frontend
WORKDIR /src
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend ./
RUN npm run build

FROM python:3.11.16-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7 AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN useradd --system --uid 10001 --create-home dlqadmin
WORKDIR /app

FROM base AS web
# bubblewrap confines rehearsals and jq.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
# The dashboard needs neither Spark nor the fallback Redis server.
COPY locks/web.txt ./
RUN pip install --require-hashes -r web.txt
COPY manage.py ./
COPY engine engine
COPY dlqadmin dlqadmin
COPY --from=frontend /src/dist frontend/dist
RUN install -d -m 700 -o dlqadmin /var/lib/dlqadmin/exports
USER dlqadmin
EXPOSE 8000
CMD ["uvicorn", "dlqadmin.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--no-proxy-headers", "--timeout-graceful-shutdown", "3", "--workers", "2"]

FROM base AS engine
RUN apt-get update \
    && apt-get install -y --no-install-recommends default-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*
COPY locks/engine.txt ./
RUN pip install --require-hashes -r engine.txt
COPY engine engine
ENV PYTHONPATH=/app PYSPARK_PYTHON=/usr/local/bin/python
RUN python -m engine.spark.archive
USER dlqadmin
EXPOSE 8083
CMD ["python", "-m", "engine", "run"]
