# Two images of one source: `web` (dashboard, worker, beat, indexer; no Java, no Spark) and `engine` (with both).
# Behind a mirror, name its images: docker build --build-arg PYTHON_IMAGE=mirror.example.com/python:3.11.16-slim …

ARG NODE_IMAGE=docker.io/library/node:20.20.2-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0
ARG PYTHON_IMAGE=docker.io/library/python:3.11.16-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7

FROM ${NODE_IMAGE} AS frontend
WORKDIR /src
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend ./
RUN npm run build

FROM ${PYTHON_IMAGE} AS base
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PATH=/opt/dlqadmin/bin:$PATH
RUN useradd --system --uid 10001 --create-home dlqadmin
WORKDIR /app

# Packages are installed in stages of their own, so that no tool of a build is in an image.
FROM base AS packages
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN apt-get update && apt-get install -y --no-install-recommends binutils && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv --without-pip /opt/dlqadmin

FROM packages AS web-packages
# The dashboard needs neither Spark nor the fallback Redis server.
COPY locks/web.txt deploy/image/trim.sh ./
RUN pip --python /opt/dlqadmin install --no-compile --require-hashes -r web.txt && ./trim.sh /opt/dlqadmin
RUN python -m compileall -q -j 0 /opt/dlqadmin

FROM base AS web
# bubblewrap confines rehearsals and jq.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
COPY --from=web-packages /opt/dlqadmin /opt/dlqadmin
COPY manage.py ./
COPY engine engine
COPY dlqadmin dlqadmin
COPY --from=frontend /src/dist frontend/dist
RUN python -m compileall -q -j 0 . && install -d -m 700 -o dlqadmin /var/lib/dlqadmin/exports
USER dlqadmin
EXPOSE 8000
CMD ["uvicorn", "dlqadmin.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--no-proxy-headers", "--timeout-graceful-shutdown", "3", "--workers", "2"]

FROM packages AS engine-packages
COPY locks/engine.txt deploy/image/trim.sh ./
RUN pip --python /opt/dlqadmin install --no-compile --require-hashes -r engine.txt && ./trim.sh /opt/dlqadmin
RUN python -m compileall -q -j 0 /opt/dlqadmin

# A Java runtime of the modules that Spark and Hadoop use, without compiler and debugger: half of default-jre-headless.
FROM packages AS java
RUN apt-get update && apt-get install -y --no-install-recommends default-jdk-headless && rm -rf /var/lib/apt/lists/*
RUN jlink --strip-debug --no-header-files --no-man-pages --generate-cds-archive --output /opt/java --add-modules \
    java.se,jdk.charsets,jdk.crypto.ec,jdk.httpserver,jdk.incubator.vector,jdk.jcmd,jdk.jfr,jdk.management,jdk.management.agent,jdk.naming.dns,jdk.net,jdk.nio.mapmode,jdk.security.auth,jdk.security.jgss,jdk.unsupported,jdk.zipfs

FROM base AS engine
RUN apt-get update && apt-get install -y --no-install-recommends procps && rm -rf /var/lib/apt/lists/*
COPY --from=java /opt/java /opt/java
COPY --from=engine-packages /opt/dlqadmin /opt/dlqadmin
COPY engine engine
ENV JAVA_HOME=/opt/java PATH=/opt/java/bin:$PATH PYTHONPATH=/app PYSPARK_PYTHON=/opt/dlqadmin/bin/python
RUN python -m compileall -q -j 0 engine && python -m engine.spark.archive
USER dlqadmin
EXPOSE 8083
CMD ["python", "-m", "engine", "run"]
