"""A stack with short leases and a scripted model, for everything that can go wrong."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from afterturn.stack.stack import Stack
from llm.scripted import ScriptedServer
from tests.acceptance.platform import ROLES, Platform, environment


@pytest.fixture(scope="package")
def faulty_platform() -> Iterator[Platform]:
    """One stack for all faults: what one of them broke, the next would notice."""
    with ExitStack() as running:
        model = running.enter_context(ScriptedServer())
        # The keeper takes the environment along at its start; no other test sees it.
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment(model).items():
                patch.setenv(name, value)
            stack = running.enter_context(Stack(roles=ROLES))
        platform = Platform(stack, model)
        running.callback(platform.close)
        yield platform


@pytest.fixture
def platform(faulty_platform: Platform) -> Iterator[Platform]:
    """The stack at rest before a fault, and after it with every promise kept."""
    faulty_platform.model.hold()
    yield faulty_platform
    faulty_platform.model.script.clear()
    faulty_platform.keeps_its_promises()
