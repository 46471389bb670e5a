"""Preparation of catalogs at the start of a process, so that no request waits for a first reading."""

import time
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from api.context.cache import ladders
from api.context.tail import count_request_tools
from api.context.tools import offer_tools
from api.http.errors import ProblemError
from context.catalog.tools import ToolLadder
from context.types import Wire
from models.catalogs.catalog import find_newest
from models.catalogs.settings import catalog_settings
from models.database import read_transaction
from models.tenants.call_role import keep_to

log = structlog.get_logger()

PREPARE_S = 15.0
"""Seconds after which no further catalog is begun: a start waits no longer for what a first read can do."""


def prepare_catalogs() -> None:
    """Read, index and count the catalogs put last, as many as the settings say; a failure stops no start.

    The caches of catalogs and tools bound what stays.
    """
    ends_at, done = time.monotonic() + PREPARE_S, 0
    try:
        with read_transaction() as db:
            newest = find_newest(db, most=catalog_settings().catalogs_prepared)
        for tenant_id, name in newest:
            if time.monotonic() >= ends_at:
                break
            _prepare(tenant_id, name)
            done += 1
    except (SQLAlchemyError, ProblemError) as error:
        log.warning("catalogs_not_prepared", error=type(error).__name__)
    if done:
        log.info("catalogs_prepared", catalogs=done)


def _prepare(tenant_id: UUID, name: str) -> None:
    """Do for a catalog what its first read would: the index, and the size of each tool at each length."""
    keep_to(tenant_id)
    offered = offer_tools(tenant_id, None, name, Wire.OPENAI, "")
    if not offered.tools or offered.index is None:
        return
    offered.index()
    ladder = ladders.find(offered.key, ToolLadder, lambda: ToolLadder(offered.tools or ()))
    for level in range(ladder.levels):
        ladder.size(range(ladder.entries), level)
    count_request_tools(list(offered.tools))
