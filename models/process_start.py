"""Start of a process: settings are read and checked, and the log is configured."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from pydantic import ValidationError

from models.artifacts.settings import artifact_settings
from models.base_settings import RELEASE, changed_settings, wrong_settings
from models.catalogs.settings import catalog_settings
from models.conversations.settings import compression_settings, served_window_settings
from models.database_settings import database_settings
from models.encryption.settings import text_settings
from models.preflight.settings import preflight_settings
from models.recall.settings import recall_settings
from models.shadow.settings import shadow_settings

log = structlog.get_logger()


def require_settings() -> None:
    """Read the settings below, so that a process with a wrong setting fails at its start.

    Raises:
        ValidationError: A setting is wrong; it is named, and its value is not shown.
    """
    reads = (
        database_settings,
        compression_settings,
        served_window_settings,
        recall_settings,
        artifact_settings,
        catalog_settings,
        preflight_settings,
        shadow_settings,
        text_settings,
    )
    for read in reads:
        read()


def tell_start(role: str) -> None:
    """Log the start of a process: its role, release, and settings other than the defaults, secrets masked.

    Args:
        role: The process's purpose, such as `api`.
    """
    log.info("process_started", release=RELEASE, role=role, settings=changed_settings())


@contextmanager
def or_exit() -> Iterator[None]:
    """End the process with a sentence if a setting read in the block is wrong.

    Raises:
        SystemExit: A setting is wrong; the message names the setting and does not show the value.
    """
    try:
        yield
    except ValidationError as error:
        raise SystemExit(f"a setting is wrong: {'; '.join(wrong_settings(error))}") from None
    except ValueError as error:
        raise SystemExit(f"a setting is wrong: {error}") from None
