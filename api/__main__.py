"""Serve the API."""

import uvicorn

from api.http.head_limits import BoundedHeads
from api.settings import api_settings
from models.process_start import or_exit, require_settings
from models.telemetry.logging import configure_logging


def main() -> None:
    """Listen until told to stop; requests under way are finished first."""
    configure_logging()
    with or_exit():
        require_settings()
        settings = api_settings()
    uvicorn.run(
        "api.app:make_app",
        factory=True,
        http=BoundedHeads,
        host=settings.api_host,
        port=settings.api_port,
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=10,
    )


if __name__ == "__main__":
    main()
