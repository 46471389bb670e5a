"""The example on the page of certificates is what the product answers."""

import json
import re
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from afterturn.conversations.bundled import bundled_conversation
from models.recall.settings import recall_settings
from tests.integration.activating import Chat
from workers.jobs.recall import index_through

PAGE = Path(__file__).parents[2] / "docs/reference/certificates.md"
ASKED = {
    "model": "gpt-4o",
    "context_window": 8_000,
    "max_tokens": 1_000,
    "system_prompt": "You help the crew of a cold store. Be brief.",
    "messages": [{"role": "user", "content": "When may GW-3 be restarted?"}],
}


def test_the_example_is_a_real_answer(client: TestClient, tenant_id: Any) -> None:
    chat = Chat(client, tenant_id)
    for event in bundled_conversation().events:
        answer = client.post("/v1/sessions/s1/turns", json={**event.body(), "model": "gpt-4o"})
        assert answer.status_code == 202, answer.text
    assert chat.work_off() == "activated version 1: pressure"
    assert index_through(tenant_id, "s1", chat.show()["freshness"]["last_seq"], settings=recall_settings())
    found = client.post("/v1/sessions/s1/context", json=ASKED).json()["certificate"]
    (example,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found == json.loads(example)
