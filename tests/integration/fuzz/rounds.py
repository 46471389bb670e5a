"""A process that fuzzes: its own servers, and one round after another."""

import gc
import logging
import os
from multiprocessing.util import Finalize

import structlog

from afterturn.stack.roles import SERVERS
from afterturn.stack.stack import Stack
from models import database as session
from models.database_settings import database_settings
from models.scope import Scope
from models.tenants.tenant import SCOPES, create_key, ensure_tenant
from tests.integration.fuzz.run import Found, fuzz_round, open_door


def begin() -> None:
    """Give this process servers of its own; calls that wait for work wait briefly: nobody works meanwhile."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    stack = Stack(roles=SERVERS)
    stack.__enter__()
    Finalize(None, stack.close, exitpriority=1)
    os.environ["AFTERTURN_DATABASE_URL"] = stack.at.database_url
    os.environ["AFTERTURN_BROKER_URL"] = stack.at.broker_url
    os.environ["AFTERTURN_MAX_WAIT_MS"] = "50"
    database_settings.cache_clear()
    Finalize(None, session.engine().dispose, exitpriority=2)
    gc.freeze()  # hundreds of thousands of objects that stay: looking through them took a tenth of all time


def one_round(seed: int, number: int, requests: int) -> Found:
    """Send so many requests of a seed's round, as a tenant of its own."""
    with session.transaction() as db:
        key = create_key(Scope(db, ensure_tenant(db, f"round {number}")), label="fuzz", scopes=SCOPES)
    with open_door(key) as door:
        return fuzz_round(door, f"{seed} {number}", requests).found
