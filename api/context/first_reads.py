"""Preparation of catalogs at the start of a process, so that no request waits for a first reading."""

import time
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.catalogs.catalog_cache import catalogs
from api.http.errors import ProblemError
from context.ranking.index import index_tools
from context.ranking.rank import rank
from context.tokens import count_text
from context.tokens.text import EncodingName
from context.types import Wire
from models.catalogs.catalog import find_last_used
from models.catalogs.catalog_form import form_revision
from models.catalogs.settings import catalog_settings
from models.database import read_transaction
from models.tenants.row_security import keep_to

log = structlog.get_logger()

PREPARE_S = 15.0
"""Seconds after which no further catalog is begun: a start waits no longer for what a first read can do."""


def prepare_catalogs() -> None:
    """Load the catalogs used last, as many as the settings say; a failure stops no start.

    The caches of catalogs and tools bound what stays.
    """
    ends_at, done = time.monotonic() + PREPARE_S, 0
    warm_ranking()
    form_revision()
    try:
        with read_transaction() as db:
            last_used = find_last_used(db, most=catalog_settings().catalogs_prepared)
        for tenant_id, name in last_used:
            if time.monotonic() >= ends_at:
                break
            _prepare(tenant_id, name)
            done += 1
    except (SQLAlchemyError, ProblemError) as error:
        log.warning("catalogs_not_prepared", error=type(error).__name__)
    if done:
        log.info("catalogs_prepared", catalogs=done)


def warm_ranking() -> None:
    """Read the tables of ranking and of both encodings, once for all catalogs."""
    for encoding in (EncodingName.O200K, EncodingName.WIDE):
        count_text("warm", encoding)
    rank(index_tools([{"name": "warm"}]), "warm up")


def _prepare(tenant_id: UUID, name: str) -> None:
    """Do for a catalog what its first read would: the form, the definitions, and the sizes of all tools."""
    keep_to(tenant_id)
    _, listed = catalogs.find(tenant_id, name, is_use=False).defined(Wire.OPENAI)
    ladder = listed.ladder
    for level in range(ladder.levels):
        ladder.size(range(ladder.entries), level)
