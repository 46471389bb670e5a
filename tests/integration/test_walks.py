"""The calls of the pages for a first hour, made as they stand: each is taken, none leaves a limit behind."""

import json
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.data import ROOT
from tests.integration.erasing import talk

CALL = re.compile(r"^ *curl -sS (.*?)(?:\n\n|\n(?=curl|[A-Z#.])|\Z)", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"http://127\.0\.0\.1:8700(/[^\s\"']*)")
BODY = re.compile(r" -d '(\{.*\})'", re.DOTALL)
BLOCK = re.compile(r"```bash\n(.*?)```", re.DOTALL)
SHELL = ("$(", "@-", "$ID", "@README")


def walk(page: Path) -> list[tuple[str, str, str | None]]:
    """The calls of a page as method, path and body; what needs a shell is left out."""
    found = []
    for block in BLOCK.findall(page.read_text()):
        for typed in CALL.findall(block):
            place, body = PLACE.search(typed), BODY.search(typed)
            if place is None or any(sign in typed.replace("$KEY", "") for sign in SHELL):
                continue
            way = re.search(r"-X ([A-Z]+)", typed)
            text = body[1].replace("'\"'\"'", "'") if body else None
            found.append((way[1] if way else "POST" if body else "GET", place[1], text))
    return found


@pytest.mark.parametrize(("page", "least"), [("README.md", 5), ("docs/how-to/calls.md", 18)])
def test_the_walk_is_taken_and_leaves_no_learned_limit(client: TestClient, page: str, least: int) -> None:
    calls = walk(ROOT / page)
    assert len(calls) >= least
    talk(client, "walk-long", 6)
    for method, path, body in calls:
        answer = client.request(method, path, content=body)
        assert answer.status_code < 300, (method, path, body, answer.text)
    assert client.get("/v1/limits").json()["limits"] == []
    asked = {"model": "gpt-4o", "max_tokens": 500, "messages": [{"role": "user", "content": "And now?"}]}
    for session_id in ("walk-long", "another"):
        answer = client.post(f"/v1/sessions/{session_id}/context", content=json.dumps(asked)).json()
        assert answer["utilization"]["limits"]["learned"] is None
