"""Sessions and requests to measure: the bundled conversation, worked off, with and without a catalog."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
from rich.console import Console

from afterturn.client import Client
from afterturn.conversations.bundled import bundled_conversation
from afterturn.demo import CLOSING_QUESTION, STOPS
from afterturn.progress import wait_for_background
from afterturn.stack.stack import Stack
from models.database import make_engine
from models.database_settings import DatabaseSettings
from models.scope import Scope
from models.tenants.tenant import create_key, ensure_tenant
from tests.data import DATA, read_jsonl

SESSION = "read-real"
CATALOGS = {"tools-100": 100, "tools-739": 739}


@dataclass(frozen=True)
class Case:
    """A kind of request: its name in the table, and its catalog, if any."""

    name: str
    catalog: str | None = None


CASES = (Case("conversation"), *(Case(f"{size} tools", name) for name, size in CATALOGS.items()))


def prepare(stack: Stack, tenants: int = 1) -> tuple[list[str], int]:
    """Store the conversation and the catalogs of some tenants, and wait for the background.

    Returns:
        A key of each tenant, and the last message behind the summary in force.
    """
    keys = [stack.at.api_key]
    engine = make_engine(DatabaseSettings(database_url=stack.at.database_url))
    for number in range(1, tenants):
        with engine.begin() as db:
            keys.append(create_key(Scope(db, ensure_tenant(db, f"reader-{number}")), label="reader"))
    engine.dispose()
    [after, *_] = [_prepare(stack, key) for key in keys]
    return keys, after


def _prepare(stack: Stack, key: str) -> int:
    conversation = bundled_conversation()
    with Client(stack.at.base_url, key) as client:
        stored = 0
        for stop in (*STOPS, len(conversation.events)):
            for turn in conversation.events[stored:stop]:
                client.record_turn(SESSION, turn.body())
            stored = stop
            wait_for_background(client, [SESSION], Console(stderr=True), timeout_s=120)
            client.context(SESSION, body_of(CASES[0], "Which lots are open?"))
        wait_for_background(client, [SESSION], Console(stderr=True), timeout_s=120)
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=stack.at.base_url, headers=headers, timeout=60) as http:
        for name, size in CATALOGS.items():
            http.put(f"/v1/catalogs/{name}", json={"tools": _tools(size)}).raise_for_status()
        found = http.get(f"/v1/sessions/{SESSION}").json()
    return int(found["freshness"]["summarized_through"])


def _tools(size: int) -> list[dict[str, Any]]:
    """Tools of the data set with 739, or made ones where the data are absent."""
    path = DATA / "bfcl_live" / "catalog.jsonl"
    if path.is_file():
        return [{k: v for k, v in tool.items() if k != "id"} for tool in read_jsonl(path)[:size]]
    return [_made(number) for number in range(size)]


def _made(number: int) -> dict[str, Any]:
    verbs, things = (
        ("get", "list", "create", "update", "delete"),
        ("order", "truck", "invoice", "lot", "gate"),
    )
    name = f"{verbs[number % 5]}_{things[number // 5 % 5]}_{number}"
    members = {word: {"type": "string", "description": f"The {word} of the {name}."} for word in things}
    return {
        "name": name,
        "description": f"{name.replace('_', ' ').capitalize()} of the depot, by its id, and say how it went.",
        "parameters": {"type": "object", "properties": members, "required": ["order"]},
    }


def body_of(case: Case, question: str) -> dict[str, Any]:
    """Write the request of a case."""
    catalog = {"catalog": case.catalog} if case.catalog else {}
    return {
        "model": "gpt-4o-mini",
        "context_window": 16_000,
        "max_tokens": 1_000,
        "system_prompt": bundled_conversation().system_prompt,
        "messages": [{"role": "user", "content": question}],
        **catalog,
    }


def questions() -> Iterator[str]:
    """Questions without end, none of them twice: the users' own words, and a number."""
    said = [CLOSING_QUESTION]
    for turn in bundled_conversation().events:
        words = turn.messages[0].get("content")
        said.append(words if isinstance(words, str) else json.dumps(words))
    number = 0
    while True:
        for words in said:
            number += 1
            yield f"{words} (note {os.getpid()}-{number})"
