"""A whole running stack: API, dispatcher, worker and beat as processes, on real servers."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from afterturn.stack.roles import SERVERS, Addresses, StackRole
from afterturn.stack.stack import Stack

ROLES = (*SERVERS, StackRole.API, StackRole.DISPATCHER, StackRole.WORKER, StackRole.BEAT)


@pytest.fixture(scope="package")
def running_stack() -> Iterator[Stack]:
    """The stack; call `poll` on it before reading pids that may have changed."""
    with ExitStack() as running:
        # The keeper takes the environment along at its start; no other test sees it.
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("SUMMARIZER_MODEL", "extractive")
            environment.setenv("CONTEXT_PLANNER_MODEL", "extractive")
            stack = running.enter_context(Stack(roles=ROLES))
        yield stack


@pytest.fixture
def addresses(running_stack: Stack) -> Addresses:
    """Where the stack is reached now."""
    running_stack.poll()
    return running_stack.at


@pytest.fixture
def client(addresses: Addresses) -> Iterator[httpx.Client]:
    """A caller with the stack's first key."""
    with httpx.Client(
        base_url=addresses.base_url, headers={"Authorization": f"Bearer {addresses.api_key}"}, timeout=60
    ) as client:
        yield client
