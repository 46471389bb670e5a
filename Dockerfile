# Two images: `docker build --target api .` and `docker build --target worker .` (the last stage, so the default).
# - api: the API and the commands, without Celery and litellm;
# - worker: dispatcher, workers, beat, Flower and the commands.
# Both run without root and write to /tmp only, so that the root file system may be read-only.
#
# The tag names the full version. A digest is stricter: `docker buildx imagetools inspect TAG` prints the digest, and
# `--build-arg PYTHON=TAG@sha256:…` builds on the digest.
ARG PYTHON=python:3.11.14-slim-bookworm

# Packages are installed apart from the code: a change of code leaves their layer as it was. `strip` is in binutils.
FROM ${PYTHON} AS packages
RUN apt-get update && apt-get install --yes --no-install-recommends binutils && python -m venv --without-pip /venv
WORKDIR /build
COPY deploy/packages.sh ./

FROM packages AS api-packages
COPY requirements-api.lock ./
RUN sh packages.sh /venv requirements-api.lock

FROM packages AS worker-packages
COPY requirements-worker.lock ./
RUN sh packages.sh /venv requirements-worker.lock

FROM ${PYTHON} AS code
WORKDIR /app
COPY pyproject.toml LICENSE ./
COPY afterturn ./afterturn
COPY api ./api
COPY context ./context
COPY llm ./llm
COPY migrations ./migrations
COPY models ./models
COPY workers ./workers
RUN python -m compileall -q .

FROM ${PYTHON} AS base
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Afterturn" \
      org.opencontainers.image.description="The background half of an LLM chat platform" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV PATH=/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 LITELLM_LOCAL_MODEL_COST_MAP=True
RUN useradd --system --uid 10001 --no-create-home afterturn
WORKDIR /app
USER 10001:10001

FROM base AS api
COPY --from=api-packages /venv /venv
COPY --from=code /app /app
EXPOSE 8700
ENV AFTERTURN_API_HOST=0.0.0.0 AFTERTURN_API_PORT=8700
CMD ["python", "-m", "api"]

FROM base AS worker
COPY --from=worker-packages /venv /venv
COPY --from=code /app /app
# Every queue; docker-compose.yml and the Helm chart name fewer for each worker.
CMD ["python", "-m", "celery", "-A", "workers.app", "worker", "--pool", "prefork", "--concurrency", "2", \
     "--without-mingle", "--without-gossip"]
