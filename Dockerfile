# One image for every role; docker-compose.yml names the command.
FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 LITELLM_LOCAL_MODEL_COST_MAP=True
WORKDIR /app
ENV PYTHONPATH=/app
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY afterturn ./afterturn
COPY api ./api
COPY context ./context
COPY llm ./llm
COPY migrations ./migrations
COPY models ./models
COPY workers ./workers
RUN useradd --system --uid 10001 afterturn
USER afterturn
