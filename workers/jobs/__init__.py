"""The jobs as plain functions, without Celery."""
