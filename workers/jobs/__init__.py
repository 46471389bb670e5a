"""The jobs as plain functions; Celery is elsewhere."""
